package stats

import (
	"math"
	"slices"
	"testing"
)

// panel is ratings as the golden files have them: null is a missing one.
type panel [][]*float64

func (p panel) ratings() Ratings {
	out := make(Ratings, len(p))
	for i, row := range p {
		for _, v := range row {
			if v == nil {
				out[i] = append(out[i], Rating{})
			} else {
				out[i] = append(out[i], Rating{*v, true})
			}
		}
	}
	return out
}

// same compares a number, or its absence, with a golden one.
func same(t *testing.T, what string, got float64, why Undefined, want *float64) {
	t.Helper()
	switch {
	case (why == "") != (want != nil):
		t.Errorf("%s: got %v %q, want defined %v", what, got, why, want != nil)
	case want != nil && !near(got, *want, 1e-9):
		t.Errorf("%s: got %v, want %v", what, got, *want)
	}
}

func TestGoldenAlpha(t *testing.T) {
	for _, c := range readGolden[struct {
		ID      string
		Ratings panel
		Out     struct{ Nominal, Ordinal, Interval *float64 }
	}](t, "alpha.json") {
		p := NewPanel(c.Ratings.ratings(), 0)
		for level, want := range map[Level]*float64{Nominal: c.Out.Nominal, Ordinal: c.Out.Ordinal, Interval: c.Out.Interval} {
			got, why := p.Whole(p.Alpha(level))
			same(t, c.ID, got, why, want)
		}
	}
}

func TestGoldenFleiss(t *testing.T) {
	for _, c := range readGolden[struct {
		ID      string
		Ratings panel
		Out     struct{ Kappa *float64 }
	}](t, "fleiss.json") {
		p := NewPanel(c.Ratings.ratings(), 0)
		got, why := p.Whole(p.Fleiss)
		same(t, c.ID, got, why, c.Out.Kappa)
	}
}

func TestGoldenAC1(t *testing.T) {
	for _, c := range readGolden[struct {
		ID         string
		Ratings    panel
		Categories []float64
		Out        struct{ AC1 *float64 }
	}](t, "ac1.json") {
		p := NewPanel(c.Ratings.ratings(), len(c.Categories))
		got, why := p.Whole(p.AC1)
		same(t, c.ID, got, why, c.Out.AC1)
	}
}

func TestGoldenConsensus(t *testing.T) {
	for _, c := range readGolden[struct {
		ID      string
		Ratings panel
		Judge   []*float64
		Out     struct {
			DDOF0 struct {
				Consensus   []*float64
				RatersUsed  []int      `json:"raters_used"`
				JudgeTau    *float64   `json:"judge_tau"`
				RaterJudge  []*float64 `json:"rater_vs_judge"`
				LeaveOneOut []*float64 `json:"leave_one_out"`
			}
		}
	}](t, "consensus.json") {
		want := c.Out.DDOF0
		r := c.Ratings.ratings()
		judge := panel{c.Judge}.ratings()[0]
		z, used := r.Standard()
		var kept []int
		for i, u := range used {
			if u {
				kept = append(kept, i)
			}
		}
		if !slices.Equal(kept, want.RatersUsed) {
			t.Errorf("%s: raters %v, want %v", c.ID, kept, want.RatersUsed)
		}
		all := z.Consensus(nil)
		for i, v := range all {
			if v.Given != (want.Consensus[i] != nil) || v.Given && !(near(v.Value, *want.Consensus[i], 1e-9) || max(v.Value, -v.Value) < 1e-11) {
				t.Errorf("%s: consensus of case %d: %v", c.ID, i, v)
			}
		}
		x, y, _ := Both(judge, all)
		tau, why := Kendall(x, y)
		same(t, c.ID+": judge", tau.Value, why, want.JudgeTau)
		for i := range r {
			x, y, _ := Both(r[i], judge)
			tau, why := Kendall(x, y)
			if !used[i] {
				why = Constant
			}
			same(t, c.ID+": rater and judge", tau.Value, why, want.RaterJudge[i])
			x, y, _ = Both(r[i], r.Others(i))
			tau, why = Kendall(x, y)
			if !used[i] {
				why = Constant
			}
			same(t, c.ID+": leave one out", tau.Value, why, want.LeaveOneOut[i])
		}
	}
}

// TestPanelDraws: a case that is drawn twice counts as two cases, and a rater drawn
// twice is not compared with himself.
func TestPanelDraws(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	p := NewPanel(panel{{f(1), f(2), f(3), f(3)}, {f(1), f(3), f(3), f(2)}, {f(2), f(2), f(3), f(1)}}.ratings(), 5)
	twice := NewPanel(panel{{f(1), f(1), f(2), f(3), f(3)}, {f(1), f(1), f(3), f(3), f(2)}, {f(2), f(2), f(2), f(3), f(1)}}.ratings(), 5)
	two := NewPanel(panel{{f(1), f(2), f(3), f(3)}, {f(1), f(3), f(3), f(2)}}.ratings(), 5)
	for name, of := range map[string]func(p *Panel) PanelStat{
		"alpha":  func(p *Panel) PanelStat { return p.Alpha(Ordinal) },
		"fleiss": func(p *Panel) PanelStat { return p.Fleiss },
		"ac1":    func(p *Panel) PanelStat { return p.AC1 },
	} {
		got, _ := of(p)([]int{0, 0, 1, 2, 3}, []int{0, 1, 2})
		want, _ := twice.Whole(of(twice))
		if !near(got, want, 1e-12) {
			t.Errorf("%s with a case twice: %v, want %v", name, got, want)
		}
		got, _ = of(p)([]int{0, 1, 2, 3}, []int{0, 0, 1, 1})
		want, _ = two.Whole(of(two))
		if !near(got, want, 1e-12) {
			t.Errorf("%s with two raters twice: %v, want %v", name, got, want)
		}
		if v, why := of(p)([]int{0, 1, 2, 3}, []int{1, 1, 1}); why == "" {
			t.Errorf("%s of one rater thrice is %v", name, v)
		}
	}
	if levels, shares := p.Shares(); !slices.Equal(levels, []float64{1, 2, 3}) || !near(shares[0], 0.25, 1e-12) || !near(shares[2], 5./12, 1e-12) {
		t.Errorf("shares %v of %v", shares, levels)
	}
}

// TestDrawnRatersCountAsOftenAsTheyAreDrawn: a rater who was not drawn has no say, one who was drawn twice
// has two.
func TestDrawnRatersCountAsOftenAsTheyAreDrawn(t *testing.T) {
	z := Ratings{{{1, true}, {}}, {{4, true}, {-2, true}}}
	for _, c := range []struct {
		times []int
		want  []Rating
	}{{nil, []Rating{{2.5, true}, {-2, true}}}, {[]int{2, 1}, []Rating{{2, true}, {-2, true}}}, {[]int{2, 0}, []Rating{{1, true}, {}}}, {[]int{0, 3}, []Rating{{4, true}, {-2, true}}}} {
		got := z.Consensus(c.times)
		for i, w := range c.want {
			if got[i].Given != w.Given || math.Abs(got[i].Value-w.Value) > 1e-9 {
				t.Errorf("raters drawn %v times: %v, want %v", c.times, got, c.want)
			}
		}
	}
}
