package stats

import "testing"

type ppiBlock struct {
	Estimate, Var, SE *float64
	CI95              []float64
	Lambda            []float64
}

func TestGoldenPPI(t *testing.T) {
	type stratum struct {
		Share  float64
		Labels []float64 `json:"y_l"`
		Judged []float64 `json:"f_l"`
		Others []float64 `json:"f_u"`
	}
	for _, c := range readGolden[struct {
		ID string
		stratum
		Strata []stratum
		Out    struct {
			N         int
			Classical ppiBlock
			PlugIn    ppiBlock `json:"plug_in"`
			L0        ppiBlock `json:"lambda_0"`
			Half      ppiBlock `json:"lambda_0.5"`
			L1        ppiBlock `json:"lambda_1"`
		}
	}](t, "ppi.json") {
		if c.Strata == nil {
			c.stratum.Share = 1
			c.Strata = []stratum{c.stratum}
		}
		var strata []Stratum
		for _, s := range c.Strata {
			strata = append(strata, Stratum{Share: s.Share, Labels: s.Labels, Judged: s.Judged, Unlabelled: s.Others})
		}
		for name, x := range map[string]struct {
			weigh Weighing
			want  ppiBlock
		}{"classical": {FixedWeight(0), c.Out.Classical}, "0": {FixedWeight(0), c.Out.L0}, "0.5": {FixedWeight(0.5), c.Out.Half}, "1": {FixedWeight(1), c.Out.L1}, "plug-in": {plugIn, c.Out.PlugIn}} {
			got := Correct(strata, x.weigh)
			ref := func(what string, got, want *float64, tol float64) {
				if (got == nil) != (want == nil) || got != nil && !near(*got, *want, tol) {
					t.Errorf("%s, %s: %s %v, want %v (%s)", c.ID, name, what, deref(got), deref(want), what)
				}
			}
			ref("estimate", got.Value, x.want.Estimate, 1e-9)
			ref("se", got.SE, x.want.SE, 1e-9)
			if x.want.CI95 != nil {
				ref("low", got.Low, &x.want.CI95[0], 1e-8) // see TestGoldenTOST
				ref("high", got.High, &x.want.CI95[1], 1e-8)
			} else if got.Low != nil {
				t.Errorf("%s, %s: an interval", c.ID, name)
			}
			for i, l := range x.want.Lambda {
				if !near(got.Lambda[i], l, 1e-9) {
					t.Errorf("%s, %s: lambda %v, want %v", c.ID, name, got.Lambda[i], l)
				}
			}
		}
	}
}

// TestCrossFitted: no label chooses its own weight: moving one label far away changes
// the weight of the other folds' cases, and not its own.
func TestCrossFitted(t *testing.T) {
	s := Stratum{Share: 1, Labels: []float64{0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0}, Judged: []float64{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1}, Unlabelled: []float64{0, 1, 1, 0, 1, 0, 1, 1, 0, 1}}
	before, why := CrossFitted(s)
	if why != "" || len(before) != 12 {
		t.Fatal(why)
	}
	s.Labels[3] = 40
	after, _ := CrossFitted(s)
	for i := range after {
		if own := i%folds == 3; own != (after[i] == before[i]) {
			t.Errorf("case %d: weight %v, before %v", i, after[i], before[i])
		}
	}
	s.Labels[3] = 1
	got := Correct([]Stratum{s}, CrossFitted)
	// theta by its formula, fold by fold.
	mu, _ := Mean(s.Unlabelled)
	var want float64
	for i := range s.Labels {
		want += (before[i]*mu + s.Labels[i] - before[i]*s.Judged[i]) / 12
	}
	if !near(*got.Value, want, 1e-12) {
		t.Errorf("theta %v, want %v", *got.Value, want)
	}
	s.Judged = make([]float64, 12)
	if got := Correct([]Stratum{s}, CrossFitted); got.Why != flatJudge || got.Value != nil {
		t.Errorf("a judge who always says the same: %+v", got)
	}
}

// TestCorrectClusters: cases that are there ten times over, in clusters of ten, say no more than
// they do once.
func TestCorrectClusters(t *testing.T) {
	one := judgedPopulation(new(SplitMix64(3)), 20, 40, 1, 0.7)
	ten := Stratum{Share: 1}
	for i := range one.Labels {
		for range 10 {
			ten.Labels, ten.Judged, ten.LabelOf = append(ten.Labels, one.Labels[i]), append(ten.Judged, one.Judged[i]), append(ten.LabelOf, i)
		}
	}
	for i, f := range one.Unlabelled {
		for range 10 {
			ten.Unlabelled, ten.OtherOf = append(ten.Unlabelled, f), append(ten.OtherOf, 20+i)
		}
	}
	for name, weigh := range map[string]Weighing{"fixed": FixedWeight(0.6), "cross-fitted": CrossFitted} {
		a, b := Correct([]Stratum{one}, weigh), Correct([]Stratum{ten}, weigh)
		if !near(*a.Value, *b.Value, 1e-9) || !near(*a.SE, *b.SE, 1e-9) || !near(*a.Low, *b.Low, 1e-9) {
			t.Errorf("%s: %v (SE %v) of clusters of ten, %v (SE %v) of one each", name, *b.Value, *b.SE, *a.Value, *a.SE)
		}
	}
	// What is labelled and what is not, of one image, move together.
	tied := one
	tied.LabelOf, tied.OtherOf = upTo(20), upTo(40)
	a, b := Correct([]Stratum{one}, FixedWeight(0.6)), Correct([]Stratum{tied}, FixedWeight(0.6))
	if near(*a.SE, *b.SE, 1e-9) {
		t.Errorf("SE %v where labelled and other cases are of one image, too", *b.SE)
	}
	// Differences ten times over are tested as they are once.
	d, sums, tens := []float64{1, 4, -2, 6, 3, 3, -1}, []float64{}, []float64{}
	for _, x := range d {
		sums, tens = append(sums, 10*x), append(tens, 10)
	}
	if x, y := TOST(d, -5, 5), TOST(Linearized(sums, tens), -5, 5); !near(*x.P, *y.P, 1e-12) || !near(*x.Low, *y.Low, 1e-12) {
		t.Errorf("TOST of clusters: %+v, want %+v", y, x)
	}
}

// plugIn weighs by the best lambda of all labelled cases.
func plugIn(s Stratum) ([]float64, Undefined) {
	l, why := bestLambda(s, func(int) bool { return true })
	return repeated(l, len(s.Labels)), why
}
