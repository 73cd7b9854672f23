package diagnosis

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"assay/results/stats"
)

// TestPublishedTables: every figure of the publication that follows from others of
// it, by our own arithmetic, and those that do not follow, which docs/study-diagnosis.md
// lists.
func TestPublishedTables(t *testing.T) {
	var file struct {
		Mismatches []string `json:"expected_mismatches"`
		Cases      []struct {
			ID    string
			Value json.RawMessage
		}
	}
	golden(t, "tables_medthinkvqa.json", &file)
	if len(file.Mismatches) != 8 {
		t.Errorf("%d known mismatches", len(file.Mismatches))
	}
	read := func(id string, into any) {
		t.Helper()
		for _, c := range file.Cases {
			if c.ID == id {
				if err := json.Unmarshal(c.Value, into); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
		t.Fatalf("no %s", id)
	}
	checked := 0
	percent := func(what string, k, n, want float64, decimals int) {
		t.Helper()
		checked++
		got, ok := stats.Percent(k, n, decimals)
		if !ok || got != stats.Fixed(want, decimals) {
			t.Errorf("%s: %v of %v is %s %%, published %v", what, k, n, got, want)
		}
	}

	type block struct {
		Steps, Critical [3]float64
		ErrN            float64               `json:"err_n"`
		Err             map[string][2]float64 `json:"err"`
		CritN           float64               `json:"crit_err_n"`
		CritErr         map[string][2]float64 `json:"crit_err"`
	}
	type errors struct {
		Total          float64 `json:"total_steps"`
		Correct, Wrong block
	}
	var appendix map[string]errors
	read("MT_APPL", &appendix)
	for m, e := range appendix {
		for _, b := range []block{e.Correct, e.Wrong} {
			percent(m+" factual", b.Steps[0], b.Steps[1], b.Steps[2], 2)
			percent(m+" critical factual", b.Critical[0], b.Critical[1], b.Critical[2], 2)
			if b.Steps[1]-b.Steps[0] != b.ErrN || b.Critical[1]-b.Critical[0] != b.CritN {
				t.Errorf("%s: %v steps, %v errors; critical %v, %v", m, b.Steps, b.ErrN, b.Critical, b.CritN)
			}
			for name, x := range b.Err {
				percent(m+" "+name, x[0], b.ErrN, x[1], 2)
			}
			for name, x := range b.CritErr {
				percent(m+" critical "+name, x[0], b.CritN, x[1], 2)
			}
		}
		if e.Correct.Steps[1]+e.Wrong.Steps[1] != e.Total {
			t.Errorf("%s: %v steps in all", m, e.Total)
		}
	}
	var table2 map[string]map[string]json.RawMessage // pools the right and wrong answers of the largest model
	read("MT_TABLE2", &table2)
	for kind, of := range map[string]func(block) (float64, map[string][2]float64){
		"all":      func(b block) (float64, map[string][2]float64) { return b.ErrN, b.Err },
		"critical": func(b block) (float64, map[string][2]float64) { return b.CritN, b.CritErr },
	} {
		right, byRight := of(appendix["gpt-5"].Correct)
		wrong, byWrong := of(appendix["gpt-5"].Wrong)
		for name, raw := range table2[kind] {
			var n float64
			var pair [2]float64
			if json.Unmarshal(raw, &n) == nil {
				if n != right+wrong {
					t.Errorf("table 2, %s: %v errors, appendix %v", kind, n, right+wrong)
				}
				continue
			}
			if err := json.Unmarshal(raw, &pair); err != nil || pair[0] != byRight[name][0]+byWrong[name][0] {
				t.Errorf("table 2, %s, %s: %v, %v", kind, name, pair, err)
			}
			percent("table 2 "+kind+" "+name, pair[0], right+wrong, pair[1], 2)
		}
	}
	var human struct {
		Steps, Critical float64
		Errors          float64               `json:"error_steps"`
		Percent         float64               `json:"error_steps_pct"`
		Counts          map[string][2]float64 `json:"err_counts"`
		CritErrors      float64               `json:"critical_error_steps"`
		CritPct         map[string]float64    `json:"crit_pct"`
	}
	read("MT_HUMAN", &human)
	percent("experts", human.Errors, human.Steps, human.Percent, 2)
	for name, x := range human.Counts {
		percent("experts "+name, x[0], human.Errors, x[1], 2)
	}
	for name, share := range human.CritPct { // without counts: some whole number of steps has it
		percent("experts critical "+name, math.Round(share*human.CritErrors/100), human.CritErrors, share, 2)
	}

	var runs map[string]struct {
		Runs     [][3]float64
		Joint    [3]float64
		Mean, SD float64
	}
	var n float64
	read("MT_RAW_N", &n)
	read("MT_TABLE567", &runs)
	for m, r := range runs {
		var v []float64
		for _, one := range append(slices.Clone(r.Runs), r.Joint) {
			percent(m, one[0], n, one[2], 2)
			if got := stats.Fixed(one[0]/n, 3); got != stats.Fixed(one[1], 3) {
				t.Errorf("%s: a share of %s, published %v", m, got, one[1])
			}
		}
		for _, one := range r.Runs {
			v = append(v, 100*one[0]/n)
		}
		mean, _ := stats.Mean(v)
		sd, _ := stats.SD(v)
		if math.Abs(mean-r.Mean) > 0.0051 || math.Abs(sd-r.SD) > 0.0051 {
			t.Errorf("%s: mean %v, SD %v, published %v, %v", m, mean, sd, r.Mean, r.SD)
		}
	}
	var grades map[string][6]float64
	read("MT_TABLE10", &grades)
	for m, g := range grades {
		v := map[string]any{}
		for i, c := range []string{"overview", "pathophysiology", "imaging", "differentiation", "transfer"} {
			v[c] = g[1+i]
		}
		if got := gradeScores(v)[criteriaTotal]; math.Abs(got-g[0]) > 1e-9 {
			t.Errorf("%s: total %v, published %v", m, got, g[0])
		}
	}
	var ladder struct {
		Order    []string
		Baseline map[string]float64
		Delta    []float64 `json:"delta_summary_expert"`
		Relative []float64 `json:"relative_pct"`
		Ratio    []float64
	}
	read("MT_FIG4", &ladder)
	for i, m := range ladder.Order {
		base := ladder.Baseline[m]
		ratio := (base + ladder.Delta[i]) / base // of rounded figures
		if math.Abs(ratio-ladder.Ratio[i]) > 0.006 || math.Abs(100*(ratio-1)-ladder.Relative[i]) > 0.6 {
			t.Errorf("%s: ratio %v, published %v, %v %%", m, ratio, ladder.Ratio[i], ladder.Relative[i])
		}
	}
	var set struct {
		N, Common, Rare int
		Chapters        map[string][]json.RawMessage
	}
	read("MT_APPN", &set)
	total := 0
	for name, raw := range set.Chapters {
		var count int
		var share float64
		var blocks []int
		for i, into := range []any{&count, &share, &blocks} {
			if err := json.Unmarshal(raw[i], into); err != nil {
				t.Fatal(err)
			}
		}
		sum := 0
		for _, b := range blocks {
			sum += b
		}
		percent("chapter "+name, float64(count), float64(set.N), share, 1)
		total += count
		if sum != count {
			t.Errorf("chapter %s: %d cases, its blocks %d", name, count, sum)
		}
	}
	if total != set.Common || set.Common+set.Rare != set.N || len(set.Chapters) != 18 {
		t.Errorf("%d cases in %d chapters, %d of them common and %d rare", total, len(set.Chapters), set.Common, set.Rare)
	}
	var size struct {
		Samples, Images int
		Per             float64 `json:"imgs_per_sample"`
	}
	read("MT_TABLE4", &size)
	if got := stats.Fixed(float64(size.Images)/float64(size.Samples), 2); got != stats.Fixed(size.Per, 2) {
		t.Errorf("%s images a case, published %v", got, size.Per)
	}
	var funnel struct {
		Collected, Test, Train int
		Enough                 int `json:"ddx_ge5"` // cases with five options and more
		Leaked                 int `json:"leaked_removed"`
		Solvable               int `json:"text_solvable_removed"`
		Biased                 int `json:"length_bias_removed"`
	}
	read("MT_FUNNEL", &funnel)
	if funnel.Test+funnel.Train != funnel.Collected || funnel.Enough-funnel.Leaked-funnel.Solvable-funnel.Biased != funnel.Test || funnel.Test != size.Samples {
		t.Errorf("%+v", funnel)
	}
	// Sections of a discussion, and all of them pooled over sentences: between the least
	// and the greatest.
	var sections map[string][6]float64
	read("MT_TABLE9", &sections)
	for m, v := range sections {
		if v[5] < slices.Min(v[:5]) || v[5] > slices.Max(v[:5]) {
			t.Errorf("%s: %v pooled from %v", m, v[5], v[:5])
		}
	}

	// What does not follow: of 753 cases, not 751; and two accuracies of none. Some
	// are cut off at two decimals, some rounded.
	of := func(share float64, n int) bool {
		k := math.Round(share * float64(n) / 100)
		return math.Abs(100*k/float64(n)-share) < 0.01
	}
	var table8, prose map[string]float64
	read("MT_TABLE8", &table8)
	read("MT_ACC_PROSE", &prose)
	misses := 0
	for _, v := range table8 {
		if !of(v, 753) {
			t.Errorf("%v is no share of 753", v)
		}
		if !of(v, 751) {
			misses++
		}
	}
	if misses == 0 {
		t.Error("table 8 fits 751 cases after all")
	}
	for m, v := range prose {
		wrong := v == 42.02 || v == 49.18
		if of(v, 751) == wrong {
			t.Errorf("%s: %v of 751 cases", m, v)
		}
	}
	// Two of the shares are of 751 only if they were cut off, one only if it was rounded.
	for m, want := range map[string][2]bool{"Qwen2.5-VL-32B": {true, false}, "Qwen2.5-VL-7B base": {true, false}, "MedGemma-27B (abstract)": {false, true}} {
		v, cut, rounded := prose[m], false, false
		for k := range 751 {
			share := 1e4 * float64(k) / 751
			cut, rounded = cut || math.Floor(share) == math.Round(100*v), rounded || math.Round(share) == math.Round(100*v)
		}
		if v == 0 || cut != want[0] || rounded != want[1] {
			t.Errorf("%s: %v of 751 if cut off: %v, if rounded: %v", m, v, cut, rounded)
		}
	}
	// Three kappas of 202 steps: no number of steps that expert 1 can have called factual
	// gives both of his.
	var kappas map[string]float64
	read("MT_TABLE11", &kappas)
	factual := map[string][]int{}
	for pair, published := range kappas {
		for first := range int(human.Steps) + 1 {
			for second := range int(human.Steps) + 1 {
				if kappaCanBe(published, first, second, int(human.Steps)) {
					factual[pair] = append(factual[pair], first)
				}
			}
		}
		if len(factual[pair]) == 0 {
			t.Errorf("%s: kappa %v is that of no table of %v steps", pair, published, human.Steps)
		}
	}
	for _, n := range factual["expert1-expert2"] {
		if slices.Contains(factual["expert1-judge"], n) {
			t.Errorf("expert 1 may have called %d steps factual after all", n)
		}
	}
	if checked < 125 {
		t.Errorf("%d percentages checked", checked)
	}
}

// kappaCanBe says whether two raters of n steps, who call so many factual, can have a
// kappa as published, to six decimals.
func kappaCanBe(published float64, first, second, n int) bool {
	for both := max(0, first+second-n); both <= min(first, second); both++ {
		k, why := stats.Kappa([][]int{{both, first - both}, {second - both, n - first - second + both}}, stats.Plain)
		if why == "" && math.Abs(k-published) < 6e-7 {
			return true
		}
	}
	return false
}
