package stats

import (
	"testing"
)

func TestGoldenAdjust(t *testing.T) {
	for _, c := range readGolden[struct {
		ID  string
		P   []*float64
		Out struct{ Holm, BH []*float64 }
	}](t, "adjust.json") {
		for name, s := range map[string]struct{ got, want []*float64 }{"holm": {Holm(c.P), c.Out.Holm}, "bh": {BenjaminiHochberg(c.P), c.Out.BH}} {
			for i, want := range s.want {
				if got := s.got[i]; (got == nil) != (want == nil) || got != nil && !near(*got, *want, 1e-9) {
					t.Errorf("%s, %s: p %d is %v", c.ID, name, i, got)
				}
			}
		}
	}
}

func TestGoldenMcNemar(t *testing.T) {
	for _, c := range readGolden[struct {
		ID   string
		A, B []*int
		Out  struct {
			Table []int
			P     *float64
		}
	}](t, "mcnemar.json") {
		if c.Out.P == nil {
			continue
		}
		if got := mcNemar(c.Out.Table[1], c.Out.Table[2]); !near(got, *c.Out.P, 1e-8) {
			t.Errorf("%s: %v, want %v", c.ID, got, *c.Out.P)
		}
	}
}

func TestGoldenTOST(t *testing.T) {
	for _, c := range readGolden[struct {
		ID       string
		A, B     []*float64
		Low, Upp float64
		Out      struct {
			N           int
			Mean, SD, P *float64
			PLow        *float64 `json:"p_low"`
			PUpp        *float64 `json:"p_upp"`
			CI90        []float64
		}
	}](t, "tost.json") {
		var d []float64
		for i := range c.A {
			if c.A[i] != nil && c.B[i] != nil {
				d = append(d, *c.A[i]-*c.B[i])
			}
		}
		got := TOST(d, c.Low, c.Upp)
		if got.N != c.Out.N || (got.Why == "") != (c.Out.P != nil) {
			t.Errorf("%s: n %d, %q", c.ID, got.N, got.Why)
			continue
		}
		ref := func(name string, got, want *float64, tol float64) {
			if (got == nil) != (want == nil) || got != nil && !(near(*got, *want, tol) || max(*got-*want, *want-*got) < 1e-12) {
				t.Errorf("%s: %s %v, want %v", c.ID, name, deref(got), deref(want))
			}
		}
		ref("mean", got.Mean, c.Out.Mean, 1e-9)
		ref("sd", got.SD, c.Out.SD, 1e-9)
		ref("p", got.P, c.Out.P, 1e-8)
		ref("p_low", got.PLow, c.Out.PLow, 1e-8)
		ref("p_upp", got.PHigh, c.Out.PUpp, 1e-8)
		if c.Out.CI90 != nil {
			// The reference's quantile of Student's t is off by 5e-9 at 4 degrees of
			// freedom, where it has a closed form (TestStudentQuantile).
			ref("low", got.Low, &c.Out.CI90[0], 1e-8)
			ref("high", got.High, &c.Out.CI90[1], 1e-8)
		}
	}
}

func deref(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// TestStudentQuantile: tabulated values, and those of one degree of freedom, which is
// Cauchy's.
func TestStudentQuantile(t *testing.T) {
	for _, c := range []struct{ q, df, want float64 }{
		{0.975, 1, 12.706204736432095}, {0.975, 2, 4.302652729696142}, {0.95, 9, 1.8331129326536335}, {0.975, 29, 2.045229642132703},
		{0.025, 29, -2.045229642132703}, {0.975, 1e6, 1.9599663569}, {0.5, 3, 0}, {0.95, 4, 2.13184678632665},
	} {
		if got := StudentQuantile(c.q, c.df); !near(got, c.want, 1e-8) {
			t.Errorf("t(%v, %v) = %v, want %v", c.q, c.df, got, c.want)
		}
	}
}
