package phantom

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// this is for the differential check only
func TestZZ(t *testing.T) {
	f, _ := os.Open("/tmp/simproto/golden.jsonl")
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	byName := map[string]Judge{"judge-of-cases": CaseJudge()}
	for _, j := range Judges() {
		byName[j.Name] = j
	}
	n, miss := 0, 0
	for sc.Scan() {
		var r []any
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			continue
		}
		n++
		ok := false
		for _, typ := range []string{"single", "multiple", "short", "bool", ""} {
			for _, k := range []bool{true, false} {
				for seed := range uint64(50) {
					if ok {
						break
					}
					text, o := byName[r[0].(string)].Reply(seed, r[1].(string), json.RawMessage(r[2].(string)), func(string) (string, bool) { return typ, k })
					ok = text == r[3].(string) && o == r[4].(bool)
				}
			}
		}
		if !ok {
			miss++
			if miss < 5 {
				text, o := byName[r[0].(string)].Reply(7, r[1].(string), json.RawMessage(r[2].(string)), func(string) (string, bool) { return "single", true })
				t.Errorf("%v\n%s\nnow %s %v\nwas %v %v\n", r[0], r[2], text, o, r[3], r[4])
			}
		}
	}
	t.Logf("%d compared, %d differ", n, miss)
}
