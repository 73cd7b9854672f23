package agree

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"assay/results/stats"
)

// alone is the estimate where every case is a cluster of its own.
func (c prevalenceCounts) alone() prevalenceEstimate { return c.estimate(1, c.Yes+c.No) }

func TestGoldenRoganGladen(t *testing.T) {
	var file struct {
		Cases []struct {
			ID        string
			P, SE, SP *float64
			Counts    *struct {
				Positive, N, TP, TN int
				Yes                 int `json:"human_positive"`
				No                  int `json:"human_negative"`
			}
			Out struct{ Unclipped, Estimate *float64 }
		}
	}
	b, err := os.ReadFile("testdata/prevalence/rogan_gladen.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &file); err != nil || len(file.Cases) < 20 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	for _, c := range file.Cases {
		var got prevalenceEstimate
		switch k := c.Counts; {
		case k != nil:
			got = prevalenceCounts{k.N, k.Positive, k.Yes, k.TP, k.No, k.TN}.alone()
		case c.P == nil || c.SE == nil || c.SP == nil:
			continue // what is not known has no number to hand over
		default:
			v, why := roganGladen(*c.P, *c.SE, *c.SP)
			got.Why = why
			if why == "" {
				clipped := min(1, max(0, v))
				got.Unclipped, got.Value = &v, &clipped
			}
		}
		for name, x := range map[string][2]*float64{"unclipped": {got.Unclipped, c.Out.Unclipped}, "estimate": {got.Value, c.Out.Estimate}} {
			if (x[0] == nil) != (x[1] == nil) || x[0] != nil && math.Abs(*x[0]-*x[1]) > 1e-9*math.Abs(*x[1])+1e-12 {
				t.Errorf("%s: %s %v, want %v (%s)", c.ID, name, said(x[0]), said(x[1]), got.Why)
			}
		}
		if got.Low != nil && !(*got.Low <= *got.High && *got.Low >= 0 && *got.High <= 1) {
			t.Errorf("%s: interval %v to %v", c.ID, *got.Low, *got.High)
		}
	}
}

func said(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprint(*v)
}

// TestInterval: at an end inside of (0, 1) the likelihood ratio is the limit, and a step
// beyond it is more. The likelihood is looked for over a grid here, finer around what was found.
func TestInterval(t *testing.T) {
	ratio := func(c prevalenceCounts, pi float64) float64 {
		l := func(k, n int, x float64) float64 {
			return float64(k)*math.Log(x) + float64(n-k)*math.Log(1-x)
		}
		value := func(pi, a, b float64) float64 {
			return l(c.Positive, c.Judged, pi*a+(1-pi)*b) + l(c.TrueYes, c.Yes, a) + l(c.No-c.TrueNo, c.No, b)
		}
		a, b, wide, best := 0.5, 0.5, 0.5, math.Inf(-1)
		for range 30 {
			at, bt := a, b
			for i := -10.0; i <= 10; i++ {
				for j := -10.0; j <= 10; j++ {
					x, y := min(1-1e-12, max(1e-12, at+i*wide/10)), min(1-1e-12, max(1e-12, bt+j*wide/10))
					if v := value(pi, x, y); v > best {
						a, b, best = x, y, v
					}
				}
			}
			wide /= 2
		}
		// All three shares are free at the estimate, where it is none of 0 and 1.
		free := func(k, n int) float64 {
			return l(k, n, min(1-1e-12, max(1e-12, float64(k)/float64(n))))
		}
		return 2 * (free(c.Positive, c.Judged) + free(c.TrueYes, c.Yes) + free(c.No-c.TrueNo, c.No) - best)
	}
	for _, c := range []prevalenceCounts{
		{Judged: 500, Positive: 150, Yes: 40, TrueYes: 36, No: 60, TrueNo: 54},
		{Judged: 90, Positive: 40, Yes: 12, TrueYes: 11, No: 18, TrueNo: 17},
		{Judged: 90, Positive: 40, Yes: 12, TrueYes: 12, No: 18, TrueNo: 18},
		{Judged: 970, Positive: 190, Yes: 3, TrueYes: 3, No: 27, TrueNo: 24},
		{Judged: 1_000_000, Positive: 300_000, Yes: 40_000, TrueYes: 36_000, No: 60_000, TrueNo: 54_000},
		{Judged: 9_000_000, Positive: 2_709_000, Yes: 400_000, TrueYes: 360_000, No: 600_000, TrueNo: 540_000},
		{Judged: 900, Positive: 100, Yes: 30, TrueYes: 1, No: 70, TrueNo: 60},
	} {
		e := c.alone()
		if e.Low == nil || !(0 <= *e.Low && *e.Low <= *e.Value && *e.Value <= *e.High && *e.High <= 1) {
			t.Fatalf("%+v: %s [%s, %s]", c, said(e.Value), said(e.Low), said(e.High))
		}
		t.Logf("%+v: %.4f [%.4f, %.4f]", c, *e.Value, *e.Low, *e.High)
		if *e.Unclipped != *e.Value {
			t.Fatalf("%+v: the estimate is clipped", c)
		}
		limit := math.Pow(stats.StudentQuantile(0.975, float64(c.Yes+c.No-2)), 2)
		for _, end := range []struct{ at, out float64 }{{*e.Low, -1}, {*e.High, 1}} {
			r := ratio(c, end.at)
			if end.at == 0 || end.at == 1 {
				if r > limit {
					t.Errorf("%+v: %v is in the interval, its ratio %v is above %v", c, end.at, r, limit)
				}
				continue
			}
			if math.Abs(r-limit) > 1e-3*limit {
				t.Errorf("%+v: the ratio at %v is %v, want %v", c, end.at, r, limit)
			}
			if r := ratio(c, end.at+end.out*1e-3*(*e.High-*e.Low)); r <= limit {
				t.Errorf("%+v: beyond %v the ratio is %v, want more than %v", c, end.at, r, limit)
			}
		}
	}
	// A judge whose shares contradict each other: nobody is positive, and it says so in an interval.
	e := prevalenceCounts{Judged: 500, Positive: 0, Yes: 20, TrueYes: 18, No: 30, TrueNo: 15}.alone()
	if *e.Value != 0 || *e.Low != 0 || *e.High <= 0 || *e.High > 0.05 {
		t.Errorf("%v [%v, %v], want 0 and an interval from 0", *e.Value, *e.Low, *e.High)
	}
}

// TestCoverage: how often intervals hold the truth in populations of cases, some of which
// have labels, of judges by their sensitivity and specificity: those of r = 0, .5 and .9 where
// 40 % are positive, and where few or many are. Of a judge who tells nothing the shares that are not
// rejected can be two pieces, about the truth, with which all between them counts: he is above 97 %.
// The figures of docs/people.md at their N:
//
//	ASSAY_SLOW=1 go test -v -run TestCoverage ./harness/agree
func TestCoverage(t *testing.T) {
	rounds, slow := 100, os.Getenv("ASSAY_SLOW") != ""
	if slow {
		rounds = 2000
	}
	for i, q := range []struct {
		positive, se, sp float64
		labels, all      int
	}{
		{.4, .4, .6, 30, 1000}, {.4, .75, .76, 30, 1000}, {.4, .95, .955, 30, 1000}, {.1, .99, .9, 30, 1000},
		{.4, .4, .6, 100, 1000}, {.4, .75, .76, 100, 1000}, {.4, .95, .955, 100, 1000}, {.1, .99, .9, 100, 1000},
		{.4, .4, .6, 300, 1000}, {.4, .75, .76, 300, 1000}, {.4, .95, .955, 300, 1000}, {.1, .99, .9, 300, 1000},
		{.4, .4, .6, 30, 120}, {.4, .75, .76, 30, 120}, {.4, .95, .955, 30, 120}, {.1, .99, .9, 30, 120},
		{.1, .95, .955, 30, 1000}, {.25, .99, .9, 30, 1000}, {.7, .99, .9, 30, 1000}, {.7, .8, .7, 30, 1000},
	} {
		if !slow && i >= 4 {
			break
		}
		rng := stats.SplitMix64(uint64(11 + i))
		held, n, none, width := 0, 0, 0, 0.0
		for range rounds {
			e := counts(&rng, q.positive, q.se, q.sp, q.labels, q.all).alone()
			if e.Low == nil { // labels of one kind alone: it says nothing
				none++
				continue
			}
			n++
			width += *e.High - *e.Low
			if *e.Low <= q.positive && q.positive <= *e.High {
				held++
			}
		}
		p := float64(held) / float64(n)
		se := math.Sqrt(0.05 * 0.95 / float64(n))
		what := fmt.Sprintf("%.0f %% positive, sensitivity %g, specificity %g, %d labels of %d", 100*q.positive, q.se, q.sp, q.labels, q.all)
		mark := ""
		if p < .93 || p > .97 {
			mark = "  outside of 93 to 97 %"
		}
		t.Logf("%s: %.1f %% (+/- %.1f) of %d, width %.3f, none of %d%s", what, 100*p, 100*se, n, width/float64(n), none, mark)
		if p < .93-4*se || slow && p > .97+4*se && q.se+q.sp > 1 {
			t.Errorf("%s: the truth is held in %.1f %% of %d", what, 100*p, n)
		}
	}
}

// counts draws cases and what a judge says of them.
func counts(rng *stats.SplitMix64, positive, se, sp float64, labels, all int) (c prevalenceCounts) {
	for i := range all {
		yes := rng.Binomial(1, positive)
		says := rng.Binomial(1, []float64{1 - sp, se}[yes])
		switch {
		case i >= labels:
			c.Judged++
			c.Positive += says
		case yes == 1:
			c.Yes++
			c.TrueYes += says
		default:
			c.No++
			c.TrueNo += 1 - says
		}
	}
	return c
}

// TestOfClusters: cases that are there ten times over, in clusters of ten, say hardly more than
// they do once; each a cluster of its own, they are the counts.
func TestOfClusters(t *testing.T) {
	yes, no := true, false
	var once []judgedCase
	for i := range 60 {
		c := judgedCase{Called: i%3 == 0, Cluster: i}
		switch {
		case i < 12:
			c.Label, c.Called = &yes, i%4 != 0
		case i < 30:
			c.Label, c.Called = &no, i%6 == 0
		}
		once = append(once, c)
	}
	var tens []judgedCase
	for _, c := range once {
		for range 10 {
			tens = append(tens, c)
		}
	}
	a, b, counts := estimatePrevalence(once), estimatePrevalence(tens), prevalenceCounts{Judged: 30, Positive: 10, Yes: 12, TrueYes: 9, No: 18, TrueNo: 15}.alone()
	if *a.Low != *counts.Low || *a.High != *counts.High || *a.Value != *counts.Value {
		t.Errorf("each a cluster: %v [%v, %v], want %v [%v, %v]", *a.Value, *a.Low, *a.High, *counts.Value, *counts.Low, *counts.High)
	}
	if w, v := *a.High-*a.Low, *b.High-*b.Low; v < 0.95*w || v > 1.1*w || *a.Value != *b.Value {
		t.Errorf("in clusters of ten [%v, %v], of one each [%v, %v]", *b.Low, *b.High, *a.Low, *a.High)
	}
}
