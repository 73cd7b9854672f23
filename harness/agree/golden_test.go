package agree

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

func golden(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestGoldenGates(t *testing.T) {
	var f struct {
		Cases []struct {
			ID                                  string
			N, Parse, Schema, Evidence, Abstain int
			ShamN                               int `json:"sham_n"`
			ShamPositive                        int `json:"sham_positive"`
			Out                                 struct {
				Gate map[string]map[string]*bool
				Pass map[string]*bool
			}
		}
	}
	golden(t, "gates.json", &f)
	as := func(o outcome) *bool {
		yes := o == passed
		if o == undecided {
			return nil
		}
		return &yes
	}
	equal := func(a, b *bool) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	for _, c := range f.Cases {
		gates := tally{N: c.N, Parse: c.Parse, Schema: c.Schema, Evidence: c.Evidence, Abstained: c.Abstain}.gates([2]int{c.ShamPositive, c.ShamN})
		for _, p := range policies() {
			for _, g := range gates {
				name := g.name
				if name == "sham" {
					name = "fpr_sham"
				}
				if got := as(g.judge(p)); !equal(got, c.Out.Gate[name][p.name]) {
					t.Errorf("%s: gate %s under %s: %v", c.ID, name, p.name, words(g.judge(p), nil))
				}
			}
			if out, which := through(gates, p); !equal(as(out), c.Out.Pass[p.name]) {
				t.Errorf("%s under %s: %s", c.ID, p.name, words(out, which))
			}
		}
	}
	if len(f.Cases) == 0 {
		t.Error("no cases")
	}
}

// TestGateAtItsLimit: a rate that is the limit passes, one above it does not.
func TestGateAtItsLimit(t *testing.T) {
	point := policies()[0]
	for k, want := range map[int]outcome{1: passed, 2: failed} {
		if got := (gate{"schema", 0.01, k, 100}).judge(point); got != want {
			t.Errorf("%d of 100: %s", k, words(got, nil))
		}
	}
}

func TestGoldenFit(t *testing.T) {
	var f struct {
		Cases []struct {
			ID   string
			CF   []float64 `json:"s_cf"`
			CT   []float64 `json:"s_ct"`
			CC   []float64 `json:"reader_cc"`
			Seed uint64
			Out  struct {
				Kappa, MSE float64
				Zero       float64 `json:"zero_penalty_share"`
				Active     bool    `json:"clip_active"`
				CI         []float64
			}
		}
	}
	golden(t, "cc_fit.json", &f)
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for _, c := range f.Cases {
		var clusters [][]int
		for i := range c.CF {
			c.CF[i], c.CT[i] = (c.CF[i]-1)/4, (c.CT[i]-1)/4
			clusters = append(clusters, []int{i})
		}
		got := fitKappa(c.CF, c.CT, c.CC, clusters, c.Seed)
		if !near(*got.kappa.Value, c.Out.Kappa) || !near(*got.kappa.Low, c.Out.CI[0]) || !near(*got.kappa.High, c.Out.CI[1]) || !near(*got.mse, c.Out.MSE) || !near(*got.zero, c.Out.Zero) || got.active != c.Out.Active {
			t.Errorf("%s: %v [%v, %v] mse %v zero %v active %v, want %+v", c.ID, *got.kappa.Value, *got.kappa.Low, *got.kappa.High, *got.mse, *got.zero, got.active, c.Out)
		}
	}
	if len(f.Cases) == 0 {
		t.Error("no cases")
	}
}

func TestChoose(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	for name, c := range map[string]struct {
		list []candidate
		want string
	}{
		"the best tau":                       {[]candidate{{"a", v(.5), passed, nil, 1, 0}, {"b", v(.55), passed, nil, .99, 0}}, "b"},
		"within .02 more verdicts":           {[]candidate{{"a", v(.535), passed, nil, 1, 0}, {"b", v(.55), passed, nil, .99, 0}}, "a"},
		"exactly .02 counts, beyond doesn't": {[]candidate{{"a", v(.52), passed, nil, 1, 0}, {"b", v(.54), passed, nil, .99, 0}, {"c", v(.5199), passed, nil, 1, 0}}, "a"},
		"then fewer alarms":                  {[]candidate{{"a", v(.54), passed, nil, 1, .01}, {"b", v(.55), passed, nil, 1, .04}}, "a"},
		"then tau":                           {[]candidate{{"a", v(.54), passed, nil, 1, .01}, {"b", v(.55), passed, nil, 1, .01}}, "b"},
		"one that fails is not chosen":       {[]candidate{{"a", v(.3), undecided, nil, 1, 2}, {"b", v(.55), failed, nil, 1, 0}}, "a"},
		"nobody":                             {[]candidate{{"b", v(.55), failed, nil, 1, 0}, {"c", nil, passed, nil, 1, 0}}, ""},
	} {
		got := ""
		if best := choose(c.list); best != nil {
			got = best.name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
