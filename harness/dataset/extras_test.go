package dataset

import (
	"slices"
	"testing"

	"assay/perturb"
)

func TestDescribeLeavesWhatAnItemHas(t *testing.T) {
	r, err := ReadRegions("taix")
	if err != nil {
		t.Fatal(err)
	}
	own := Item{Question: "How big is the heart?", Type: TypeOrdinal, Options: []Option{{Text: "Borderline"}, {Text: "normal"}}}
	bare := own
	describe(r, &bare)
	if !slices.Equal(bare.Scale, []string{"normal", "Borderline"}) || bare.Finding != "HeartSize" || len(bare.Regions[""]) != 1 {
		t.Errorf("described: %+v", bare)
	}
	own.Finding, own.Scale, own.Aliases = "shape", []string{"Borderline", "normal"}, map[string]string{"ok": "normal"}
	own.Regions = map[string][]perturb.Region{"": {{X1: 1, Y1: 1}}}
	full := own
	describe(r, &full)
	if full.Finding != "shape" || full.Scale[0] != "Borderline" || len(full.Aliases) != 1 || full.Regions[""][0].X1 != 1 {
		t.Errorf("described over what it had: %+v", full)
	}
	// By its finding, where the question says nothing.
	by := Item{Question: "What is this?", Type: TypeSpatial, Finding: "GastricTube", Options: []Option{{Text: "correctly positioned"}, {Text: "none"}, {Text: "not present"}}}
	describe(r, &by)
	if len(by.Regions[""]) != 1 || by.Aliases["absent"] != "not present" || by.Aliases["correct"] != "correctly positioned" {
		t.Errorf("by its finding: %+v", by)
	}
}
