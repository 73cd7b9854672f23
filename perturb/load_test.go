package perturb_test

import (
	"testing"

	"assay/perturb"
)

func TestLoadsAreConditions(t *testing.T) {
	cs := perturb.Loads([]int{1, 2, 8})
	if len(cs) != 3 || cs[0].Name != "baseline" || cs[2].Name != "LOAD@in_flight=8" || cs[0].InFlight() != 1 || cs[2].InFlight() != 8 {
		t.Errorf("%+v", cs)
	}
	var none *perturb.Condition
	if cs := perturb.Loads(nil); len(cs) != 1 || cs[0].InFlight() != 0 || none.InFlight() != 0 {
		t.Errorf("%+v", cs)
	}
}
