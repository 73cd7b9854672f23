package cot

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"assay/harness/score"
)

// This file tests the arithmetic against published and recomputed values. It
// alone has to notice the mutants of score.go and steps.go (harness/mutants).

func golden(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// checkValue compares with a value of which null means undefined.
func checkValue(t *testing.T, what string, got float64, ok bool, want *float64) {
	t.Helper()
	if ok != (want != nil) || ok && !near(got, *want) {
		w := "undefined"
		if want != nil {
			w = strconv.FormatFloat(*want, 'g', -1, 64)
		}
		t.Errorf("%s is %v (defined: %v), want %s", what, got, ok, w)
	}
}

func average(v []float64) (float64, bool) {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return ratio(sum, float64(len(v)))
}

func TestGoldenSteps(t *testing.T) {
	var f struct {
		Efficiency []struct {
			Matched float64
			TCot    float64 `json:"t_cot"`
			TDirect float64 `json:"t_direct"`
			E, L    *float64
		}
		Cases []struct {
			ID    string
			Items []struct {
				Steps  [][2]any
				GT     int
				Recall []string
			}
			Out map[string]json.RawMessage
		}
	}
	golden(t, "m3_steps.json", &f)
	if len(f.Cases) < 10 || len(f.Efficiency) != 4 {
		t.Fatalf("%d cases", len(f.Cases))
	}
	types := []string{modality, feature, conclusion, other, restatement}
	judgments := map[string]string{"Match": matched, "Wrong": wrong, "N/A": na}
	for _, c := range f.Cases {
		t.Run(c.ID, func(t *testing.T) {
			var want struct {
				P, R, F1 *float64
				NP       int `json:"n_P"`
				NR       int `json:"n_R"`
			}
			var total int
			var macro *float64
			for name, into := range map[string]any{"upstream/zero": &want, "matched_total": &total, "macro_F1_per_item_for_contrast": &macro} {
				if err := json.Unmarshal(c.Out[name], into); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			var ps, rs, f1s []float64
			matched := 0
			for _, it := range c.Items {
				var judged []step
				for _, s := range it.Steps {
					judged = append(judged, step{Type: types[int(s[0].(float64))], Judgment: judgments[s[1].(string)]})
				}
				p := precision(judged)
				ps = append(ps, p)
				if it.Recall == nil { // the judge's reply was unusable
					continue
				}
				v := recallVerdict{Paths: []recallPath{{Path: 1}}}
				for i, m := range it.Recall {
					v.Paths[0].Steps = append(v.Paths[0].Steps, recallStep{Step: i + 1, Matched: m == "Matched"})
				}
				r, ok := recallOf([]int{it.GT}, v.Matched([]int{it.GT}))
				if ok != (it.GT > 0) || ok && r.Complete != (len(it.Recall) >= it.GT) {
					t.Errorf("recall of %d gold steps and %d verdicts: %+v, %v", it.GT, len(it.Recall), r, ok)
				}
				if !ok {
					continue
				}
				matched += r.Matched
				rs = append(rs, r.value())
				f1s = append(f1s, itemF1(p, r.value()))
			}
			p, okP := average(ps)
			r, okR := average(rs)
			checkValue(t, "P", p, okP, want.P)
			checkValue(t, "R", r, okR, want.R)
			v, ok := score.Harmonic(p, r)
			checkValue(t, "F1", v, ok && okP && okR, want.F1)
			m, ok := average(f1s)
			checkValue(t, "F1 by item", m, ok, macro)
			if len(ps) != want.NP || len(rs) != want.NR || matched != total {
				t.Errorf("n %d, %d, %d matched; want %d, %d, %d", len(ps), len(rs), matched, want.NP, want.NR, total)
			}
		})
	}
	for _, c := range f.Efficiency {
		e, ok := sumOver(c.Matched, c.TCot)
		checkValue(t, "E", e, ok, c.E)
		l, ok := sumOver(c.TCot, c.TDirect)
		checkValue(t, "L", l, ok, c.L)
	}
}

// sumOver is the arithmetic of a ratio of sums.
func sumOver(num, den float64) (float64, bool) {
	return score.OverJudges([]float64{num}, []float64{den}, 1)
}

func constant(v float64) score.Sum {
	return func(score.Group) score.GroupValue {
		return score.GroupValue{Of: func([]float64) (float64, bool) { return v, true }}
	}
}

func TestGoldenAccuracy(t *testing.T) {
	var f struct {
		Accuracy []struct {
			N      float64
			Judges map[string][]*float64
			Acc    *float64
			Skip   *float64 `json:"acc_skip"`
			Wrong  *float64 `json:"acc_as_wrong"`
		}
	}
	golden(t, "m3_steps.json", &f)
	if len(f.Accuracy) != 2 {
		t.Fatalf("%d cases", len(f.Accuracy))
	}
	for _, c := range f.Accuracy {
		var hits, usable []float64
		for _, name := range []string{"a", "b"} {
			var h, u float64
			for _, v := range c.Judges[name] {
				if v != nil {
					h, u = h+*v, u+1
				}
			}
			hits, usable = append(hits, h), append(usable, u)
		}
		skip := c.Skip
		if skip == nil {
			skip, c.Wrong = c.Acc, c.Acc // nothing is left out
		}
		v, ok := score.OverJudges(hits, usable, 100)
		checkValue(t, "accuracy", v/100, ok, skip)
		v, ok = score.FixedN(hits, c.N, 0)
		checkValue(t, "fixed N", v/100, ok, c.Wrong)
		extra := 0.0
		for _, u := range usable {
			extra += c.N - u
		}
		right, ok := score.FixedN(hits, c.N, extra)
		if want := v + 100*extra/(2*c.N); !ok || !near(right, want) {
			t.Errorf("all right %v, want %v", right, want)
		}
	}
	if v, ok := score.OverJudges([]float64{0, 3}, []float64{0, 4}, 100); !ok || v != 75 {
		t.Errorf("a judge without verdicts changes the mean of the others: %v", v)
	}
	if _, ok := score.OverJudges([]float64{0}, []float64{0}, 100); ok {
		t.Error("accuracy without verdicts is defined")
	}
	if _, ok := score.FixedN([]float64{0}, 0, 0); ok {
		t.Error("fixed N of nothing is defined")
	}
}

func TestGoldenTables(t *testing.T) {
	var f struct {
		Cases []struct {
			ID     string
			Table2 struct {
				F1, P, R, I, L float64
				Direct         float64 `json:"Acc_direct"`
				Step           float64 `json:"Acc_step"`
			}
			TableA2 struct {
				Direct float64 `json:"T_direct"`
				CoT    float64 `json:"T_CoT"`
			}
			Recomputed struct {
				F1, I, L float64
				Interval [2]float64 `json:"L_interval_from_rounding"`
				Direct   float64    `json:"acc_direct_count_of_2158"`
				Step     float64    `json:"acc_step_count_of_2158"`
			}
		}
	}
	golden(t, "tables_m3cot.json", &f)
	if len(f.Cases) != 18 {
		t.Fatalf("%d models", len(f.Cases))
	}
	var off []string
	for _, c := range f.Cases {
		v, ok := score.Harmonic(c.Table2.P, c.Table2.R)
		if !ok || !near(v, c.Recomputed.F1) {
			t.Errorf("%s: F1 %v, want %v", c.ID, v, c.Recomputed.F1)
		}
		if math.Abs(v-c.Table2.F1) > 0.0101 { // P and R are rounded, too
			off = append(off, "F1 "+c.ID)
		}
		if i, ok := score.Minus(constant(c.Table2.Step), constant(c.Table2.Direct))(score.Group{}).Of(nil); !ok || !near(i, c.Recomputed.I) || math.Abs(i-c.Table2.I) > 0.005 {
			t.Errorf("%s: I %v, want %v", c.ID, i, c.Table2.I)
		}
		l, ok := sumOver(c.TableA2.CoT, c.TableA2.Direct)
		if !ok || !near(l, c.Recomputed.L) {
			t.Errorf("%s: L %v, want %v", c.ID, l, c.Recomputed.L)
		}
		if c.Table2.L+0.005 < c.Recomputed.Interval[0] || c.Table2.L-0.005 > c.Recomputed.Interval[1] {
			off = append(off, "L "+c.ID)
		}
		// Every published accuracy is k of 2 x 1079 verdicts.
		for k, printed := range map[float64]float64{c.Recomputed.Direct: c.Table2.Direct, c.Recomputed.Step: c.Table2.Step} {
			v, ok := score.FixedN([]float64{math.Floor(k / 2), math.Ceil(k / 2)}, 1079, 0)
			if want := strconv.FormatFloat(printed, 'f', 2, 64); !ok || strconv.FormatFloat(v, 'f', 2, 64) != want {
				t.Errorf("%s: accuracy %v, want %s", c.ID, v, want)
			}
		}
	}
	slices.Sort(off)
	if want := []string{"F1 MedGemma-27B", "L LLaVA-CoT"}; !slices.Equal(off, want) {
		t.Errorf("values that do not follow from their table: %v, want %v", off, want)
	}
}

func TestGoldenSimilarity(t *testing.T) {
	var f struct {
		Cases []struct {
			ID   string
			A, B []string
			Out  struct{ Sim float64 }
		}
	}
	golden(t, "lcs.json", &f)
	letter := map[string]byte{"modality": 'M', "feature": 'F', "diagnosis": 'C', "treatment": 'O'}
	letters := func(names []string) path {
		var p []byte
		for _, n := range names {
			p = append(p, letter[n])
		}
		return path(p)
	}
	if len(f.Cases) < 8 {
		t.Fatalf("%d cases", len(f.Cases))
	}
	for _, c := range f.Cases {
		if got := similarity(letters(c.A), letters(c.B)); !near(got, c.Out.Sim) {
			t.Errorf("%s: %v, want %v", c.ID, got, c.Out.Sim)
		}
	}
}

func TestGoldenPaths(t *testing.T) {
	var f struct {
		Orders []struct {
			Modality, Feature, Conclusion, Others int
			Path                                  string
		}
		Cases []struct {
			ID    string
			Paths []path
			Out   struct {
				Observed struct {
					Ref string
					C   float64
				}
				ModeUpstream struct {
					Ref string
					C   float64
				} `json:"mode_upstream"`
				N int
			}
		}
	}
	golden(t, "cpath.json", &f)
	if len(f.Orders) < 5 || len(f.Cases) < 15 {
		t.Fatalf("%d orders, %d cases", len(f.Orders), len(f.Cases))
	}
	for _, o := range f.Orders {
		v := orderVerdict{Modality: o.Modality, Feature: o.Feature, Conclusion: o.Conclusion, Other: o.Others}
		if got := orderPath(v); string(got) != o.Path {
			t.Errorf("%+v is path %q", o, got)
		}
	}
	if got := orderPath(orderVerdict{Modality: 2, Feature: 2, Conclusion: 1, Other: 2}); got != "CMFO" {
		t.Errorf("ties give %q", got)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	differ := 0
	for _, c := range f.Cases {
		t.Run(c.ID, func(t *testing.T) {
			if c.Out.ModeUpstream.Ref != c.Out.Observed.Ref {
				differ++
			}
			p := newPaths(c.Paths)
			counts := make([]int, len(p.list))
			for _, x := range c.Paths {
				counts[slices.Index(p.list, x)]++
			}
			ref := p.mostFrequent(c.Paths, counts)
			if v, ok := p.toReference(counts, ref); !ok || !near(v/100, c.Out.ModeUpstream.C) || string(p.list[ref]) != c.Out.ModeUpstream.Ref {
				t.Errorf("released: C %v with reference %q, want %v with %q", v/100, p.list[ref], c.Out.ModeUpstream.C, c.Out.ModeUpstream.Ref)
			}
			for range 3 { // in any order of the answers
				rng.Shuffle(len(c.Paths), func(i, j int) { c.Paths[i], c.Paths[j] = c.Paths[j], c.Paths[i] })
				p := newPaths(c.Paths)
				counts := make([]int, len(p.list))
				for _, x := range c.Paths {
					counts[slices.Index(p.list, x)]++
				}
				v, ref, ok := p.consistency(counts)
				if again, ok := p.toReference(counts, ref); !ok || again != v {
					t.Fatalf("C %v, against its own reference %v", v, again)
				}
				if !ok || !near(v/100, c.Out.Observed.C) || string(p.list[ref]) != c.Out.Observed.Ref {
					t.Fatalf("C %v with reference %q, want %v with %q", v/100, p.list[ref], c.Out.Observed.C, c.Out.Observed.Ref)
				}
			}
		})
	}
	if differ < 3 {
		t.Errorf("only %d references of the released code are others", differ)
	}
	if _, _, ok := newPaths(nil).consistency(nil); ok {
		t.Error("consistency of nothing is defined")
	}
	// FOMC would be the best reference of the others, but was not generated.
	p := newPaths([]path{"OMFC", "FMC", "FCOM", "OMCF", "FOMC"})
	counts := []int{1, 1, 1, 1, 1}
	counts[slices.Index(p.list, "FOMC")] = 0
	if v, ref, ok := p.consistency(counts); !ok || !near(v, 68.75) || p.list[ref] != "OMFC" {
		t.Errorf("a path that does not occur: %v with %s", v, p.list[ref])
	}
}

// Drawn again, paths are compared with the reference that was, also where
// another one would be nearer, or where it was not drawn.
func TestConsistencyToReference(t *testing.T) {
	p := newPaths([]path{"FC", "FCO", "CFO"})
	ref := slices.Index(p.list, "FCO")
	counts := make([]int, 3)
	counts[slices.Index(p.list, "FC")], counts[slices.Index(p.list, "CFO")] = 3, 1
	if v, ok := p.toReference(counts, ref); !ok || !near(v, 100*2.0/3) {
		t.Errorf("%v, %v; want 66.67", v, ok)
	}
	counts[ref] = 4
	if v, ok := p.toReference(counts, ref); !ok || !near(v, 100*5.0/6) {
		t.Errorf("%v, %v; want 83.33", v, ok)
	}
	if _, ok := p.toReference(make([]int, 3), ref); ok {
		t.Error("consistency of nothing is defined")
	}
}

func TestRecallOfSeveralPaths(t *testing.T) {
	yes, no := true, false
	y, n := &yes, &no
	for _, c := range []struct {
		name    string
		gold    []int
		matched [][]*bool
		want    recalled
		ok      bool
	}{
		{"largest overlap", []int{2, 4}, [][]*bool{{y, n}, {y, y, n, n}}, recalled{2, 4, true}, true},
		{"same overlap: the shorter", []int{4, 2}, [][]*bool{{y, y, n, n}, {y, y}}, recalled{2, 2, true}, true},
		{"same overlap: the shorter, in front", []int{2, 4}, [][]*bool{{y, y}, {y, y, n, n}}, recalled{2, 2, true}, true},
		{"none matched: the shorter", []int{4, 3}, [][]*bool{{n, n, n, n}, {n, n, n}}, recalled{0, 3, true}, true},
		{"an empty path does not count", []int{0, 2}, [][]*bool{{}, {y, n}}, recalled{1, 2, true}, true},
		{"a missing verdict", []int{3}, [][]*bool{{y, nil, y}}, recalled{2, 3, false}, true},
		{"a missing path", []int{2, 2}, [][]*bool{{y, y}}, recalled{2, 2, false}, true},
		{"no verdicts", []int{2}, nil, recalled{0, 2, false}, true},
		{"no gold step", []int{0}, [][]*bool{{}}, recalled{}, false},
		{"no gold path", nil, nil, recalled{}, false},
	} {
		got, ok := recallOf(c.gold, c.matched)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, ok, c.want)
		}
	}
}

func TestSurplusVerdictsAreCut(t *testing.T) {
	v := recallVerdict{Paths: []recallPath{
		{Path: 1, Steps: []recallStep{{Step: 1, Matched: true}, {Step: 2}, {Step: 3, Matched: true}}},
		{Path: 2, Steps: []recallStep{{Step: 1, Matched: true}}},
	}}
	r, ok := recallOf([]int{2}, v.Matched([]int{2}))
	if !ok || r != (recalled{1, 2, true}) {
		t.Errorf("%+v, %v", r, ok)
	}
}
