package study

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/results"
	"assay/timing"
)

func TestTheTableOfEachModelsGPUs(t *testing.T) {
	level := func(mw timing.Milliwatts) *timing.Baseline {
		return &timing.Baseline{Counter: &timing.Level{Median: mw}, Power: &timing.Level{Median: 1}}
	}
	ses := results.Session{ID: 3, Hz: 20, Devices: []results.Watched{{ID: "A", Name: "H200", Kind: "gpu"}, {ID: "B", Name: "H200", Kind: "gpu"}, {ID: "C", Name: "T4", Kind: "gpu"}},
		Holds: map[string]results.Hold{
			"two": {Known: true, GPUs: []string{"A", "B"}, How: "processes of vllm (7), the server", Rest: map[string]results.Rest{
				"A": {Loaded: level(100_000), Unloaded: level(60_000)}, "B": {Loaded: level(110_000)}, "C": {Loaded: level(9_000)}}},
			"guess": {Known: true, Assumed: true, GPUs: []string{"C"}, How: "it is the only one", Foreign: []string{"python (4711)"}},
			"lost":  {How: "nothing tells"},
			"none":  {Known: true, How: "it is in main memory"},
		}}
	blocks := []results.Block{
		{Session: 3, Study: "cot", Model: "two", Part: results.PartGPU, Throttled: &results.Throttled{Of: 30 * time.Second, Power: .5, Thermal: .1}},
		{Session: 3, Study: "faithfulness", Model: "two", Part: results.PartGPU, Throttled: &results.Throttled{Of: 10 * time.Second, Power: .1}},
		{Session: 3, Study: "cot", Model: "two", Part: results.PartCPU, Throttled: &results.Throttled{Of: time.Hour, Power: 1}},
		{Session: 2, Study: "cot", Model: "two", Part: results.PartGPU, Throttled: &results.Throttled{Of: time.Hour, Power: 1}},
		{Session: 3, Study: "cot", Model: "guess", Part: results.PartGPU},
	}
	sec, ok := MachineSection([]results.Session{ses}, blocks, nil)
	i := slices.IndexFunc(sec.Tables, func(t results.Table) bool { return t.Name == "machine-gpus" })
	if !ok || i < 0 {
		t.Fatal("no table")
	}
	rows := map[string][]results.Cell{}
	for _, r := range sec.Tables[i].Rows {
		rows[r[0].Text] = r
	}
	text := func(model string) string {
		var parts []string
		for _, c := range rows[model][2:6] {
			parts = append(parts, c.Text)
		}
		return strings.Join(parts, "|")
	}
	for model, want := range map[string]string{
		"two": "2 x H200|yes|processes of vllm (7), the server|", "guess": "T4|assumed|it is the only one|python (4711)", "lost": "|unknown|nothing tells|", "none": "none|yes|it is in main memory|",
	} {
		if got := text(model); got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
	}
	number := func(model string, column int, want float64) {
		t.Helper()
		e := rows[model][column].Estimate
		switch {
		case want < 0 && e.Value != nil, want < 0 && e.Why == "":
			t.Errorf("%s, column %d: %+v, want none and why", model, column, e)
		case want >= 0 && (e.Value == nil || *e.Value < want-1e-9 || *e.Value > want+1e-9):
			t.Errorf("%s, column %d: %+v, want %v", model, column, e, want)
		}
	}
	number("two", 6, -1) // of B it is not known
	number("two", 7, 210)
	number("two", 8, 40) // 15 + 1 of 40 s
	number("two", 9, 7.5)
	number("two", 10, 0)
	number("guess", 7, -1)
	number("guess", 8, -1)
	number("none", 7, -1)
	all := strings.Join(sec.Warnings, "\n")
	for _, want := range []string{"not known which GPUs worked for lost in session 3", "for guess in session 3 is assumed", "used the GPUs of guess in session 3: python (4711)"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in %q", want, all)
		}
	}
	if len(sec.Warnings) != 3 {
		t.Errorf("%q", sec.Warnings)
	}
	if m := strings.Join(sec.Methods, "\n"); !strings.Contains(m, "H200 (source ) drew at rest 100 W with two in memory, 60.0 W without two, each the median") {
		t.Errorf("%s", m)
	}
}

// Levels of a load sweep are never added up, and what is not counted is not 0.
func TestTheTableOfOutput(t *testing.T) {
	n := 90
	block := func(model string, out *timing.Throughput) results.Block {
		return results.Block{Session: 1, Study: "cot", Model: model, Part: results.PartGPU, Output: out}
	}
	sweep := block("swept", &timing.Throughput{Window: time.Second, N: 2, Tokens: &n})
	sweep.Loads = []results.Load{{InFlight: 1}}
	sec, _ := MachineSection(nil, []results.Block{block("m", &timing.Throughput{Window: 3 * time.Second, N: 2, Tokens: &n}), block("uncounted", &timing.Throughput{Window: 3 * time.Second, N: 2}), block("old", nil),
		block("failed", &timing.Throughput{Window: time.Second}), sweep}, nil)
	if len(sec.Tables) != 1 || len(sec.Tables[0].Rows) != 2 {
		t.Fatalf("%+v", sec.Tables)
	}
	rows := sec.Tables[0].Rows
	if e := rows[0][6].Estimate; e.Value == nil || *e.Value != 30 || e.N != 2 {
		t.Errorf("m: %+v, want 30 tokens/s", e)
	}
	if e := rows[1][6].Estimate; e.Value != nil || e.Why == "" || rows[1][4].Estimate.Value != nil || *rows[1][5].Estimate.Value != 3 {
		t.Errorf("uncounted: %+v", rows[1])
	}
}
