package agree

import (
	"encoding/json"
	"os"
	"testing"

	"assay/harness/agree/rated"
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
		yes := o == Passed
		if o == Undecided {
			return nil
		}
		return &yes
	}
	equal := func(a, b *bool) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	for _, c := range f.Cases {
		gates := gatesOf(rated.Tally{N: c.N, Parse: c.Parse, Schema: c.Schema, Evidence: c.Evidence, Abstained: c.Abstain}, [2]int{c.ShamPositive, c.ShamN})
		for _, p := range policies() {
			for _, g := range gates {
				name := g.name
				if name == "sham" {
					name = "fpr_sham"
				}
				if got := as(g.judge(p)); !equal(got, c.Out.Gate[name][p.Name]) {
					t.Errorf("%s: gate %s under %s: %v", c.ID, name, p.Name, outcomeWords(g.judge(p), nil))
				}
			}
			if out, which := through(gates, p); !equal(as(out), c.Out.Pass[p.Name]) {
				t.Errorf("%s under %s: %s", c.ID, p.Name, outcomeWords(out, which))
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
	for k, want := range map[int]outcome{1: Passed, 2: Failed} {
		if got := (gate{"schema", 0.01, k, 100}).judge(point); got != want {
			t.Errorf("%d of 100: %s", k, outcomeWords(got, nil))
		}
	}
}

func TestChoose(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	for name, c := range map[string]struct {
		list []candidate
		want string
	}{
		"the best tau":                       {[]candidate{{"a", v(.5), Passed, nil, 1, 0}, {"b", v(.55), Passed, nil, .99, 0}}, "b"},
		"within .02 more verdicts":           {[]candidate{{"a", v(.535), Passed, nil, 1, 0}, {"b", v(.55), Passed, nil, .99, 0}}, "a"},
		"exactly .02 counts, beyond doesn't": {[]candidate{{"a", v(.52), Passed, nil, 1, 0}, {"b", v(.54), Passed, nil, .99, 0}, {"c", v(.5199), Passed, nil, 1, 0}}, "a"},
		"then fewer alarms":                  {[]candidate{{"a", v(.54), Passed, nil, 1, .01}, {"b", v(.55), Passed, nil, 1, .04}}, "a"},
		"then tau":                           {[]candidate{{"a", v(.54), Passed, nil, 1, .01}, {"b", v(.55), Passed, nil, 1, .01}}, "b"},
		"one that fails is not chosen":       {[]candidate{{"a", v(.3), Undecided, nil, 1, 2}, {"b", v(.55), Failed, nil, 1, 0}}, "a"},
		"nobody":                             {[]candidate{{"b", v(.55), Failed, nil, 1, 0}, {"c", nil, Passed, nil, 1, 0}}, ""},
	} {
		got := ""
		if best := choose(c.list); best != nil {
			got = best.Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
