package agree

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"assay/results/stats"
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
		// As many clusters as answers.
		list := make([]tally, max(c.N, c.ShamN))
		at := func(from, n int, set func(*tally)) int {
			for i := range n {
				set(&list[from+i])
			}
			return from + n
		}
		at(0, c.N, func(t *tally) { t.N = 1 })
		at(0, c.ShamN, func(t *tally) { t.Shams = 1 })
		at(0, c.ShamPositive, func(t *tally) { t.Alarms = 1 })
		next := at(0, c.Parse, func(t *tally) { t.Parse = 1 })
		next = at(next, c.Schema, func(t *tally) { t.Schema = 1 })
		next = at(next, c.Evidence, func(t *tally) { t.Evidence = 1 })
		at(next, c.Abstain, func(t *tally) { t.Abstained = 1 })
		gates := gatesOf(list)
		for _, p := range policies(stats.Bootstrap95(1, 1000)) {
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
	point := policies(stats.Bootstrap95(1, 1000))[0]
	for k, want := range map[int]outcome{1: passed, 2: failed} {
		if got := (gate{"schema", 0.01, rate{[]float64{float64(k)}, []float64{100}}}).judge(point); got != want {
			t.Errorf("%d of 100: %s", k, outcomeWords(got, nil))
		}
	}
}

// TestGatesOverClusters: 20 images of 10 answers each that are of no use together. Bounds are
// those of 20 cases, not of 200; where all are of one image there is none.
func TestGatesOverClusters(t *testing.T) {
	rates := func(images, bad int) rate {
		var r rate
		for i := range images {
			r.hits, r.answers = append(r.hits, map[bool]float64{true: 10}[i < bad]), append(r.answers, 10)
		}
		return r
	}
	rules := policies(stats.Bootstrap95(1, 4000))
	for _, c := range []struct {
		images, bad int
		name        string
		least, most float64
	}{
		{20, 1, "bootstrap_upper", 0.15, 0.2}, {20, 1, "wilson_upper", 0.2, 0.3}, {20, 0, "wilson_upper", 0.15, 0.2},
		{20, 0, "bootstrap_upper", 0, 0}, {20, 1, "point", 0.05, 0.05},
	} {
		p := rules[slices.IndexFunc(rules, func(p policy) bool { return p.Name == c.name })]
		if got, ok := p.bound(rates(c.images, c.bad)); !ok || got < c.least || got > c.most {
			t.Errorf("%d of %d images, %s: %v, want %v to %v", c.bad, c.images, c.name, got, c.least, c.most)
		}
	}
	for _, p := range rules[1:] {
		if got := (gate{"abstain", 0.02, rates(1, 0)}).judge(p); (got == undecided) != (p.Name == "wilson_upper" || p.Name == "bootstrap_upper") {
			t.Errorf("one image, %s: %s", p.Name, outcomeWords(got, nil))
		}
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
			got = best.Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
