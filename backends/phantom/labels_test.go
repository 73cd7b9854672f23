package phantom

import "testing"

func TestSeveralLabelsAreASet(t *testing.T) {
	c := shown{typ: "multiple"}
	if !c.same("C, A", "A, C") || c.same("A", "A, C") || c.same("A, B, C", "A, C") {
		t.Error("several labels are a set")
	}
}
