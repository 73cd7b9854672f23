package study

import (
	"encoding/json"
	"fmt"
	"testing"

	"assay/perturb"
	"assay/results"
)

func TestLevels(t *testing.T) {
	cs := Conditions([]int{0, 1, 4}, "train")
	if len(cs) != 3 || cs[0].Name != "baseline" || cs[0].Level != 0 || cs[0].Kind != perturb.KindBaseline || cs[2].Name != "SHOTS@shots=4,from=train" || cs[2].Level != 4 || cs[2].Kind != perturb.KindShots || Conditions([]int{4}, "")[0].Name != "SHOTS@shots=4" {
		t.Errorf("%+v", cs)
	}
	var m results.Manifest
	m.Conditions = map[string]map[string]json.RawMessage{"qa": ShotDescribed([]int{0, 1, 4}, "train"), "load": {"baseline": json.RawMessage(`{"in_flight":1}`)}}
	levels := ShotLevels(m, "qa")
	if got := fmt.Sprint(sorted(levels), levels["baseline"], levels["SHOTS@shots=1,from=train"]); got != "[baseline SHOTS@shots=1,from=train SHOTS@shots=4,from=train] 0 shots 1 shot of train" {
		t.Error(got)
	}
	if len(ShotLevels(m, "load")) != 0 || ShotDescribed(nil, "") != nil {
		t.Error("levels that are none")
	}
}
