package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/harness/score"
	"assay/results"
)

var columns = []score.Column{
	{Name: score.Name{Name: "accuracy", Unit: "1", Better: score.Higher}},
	{Name: score.Name{Name: "precision", Unit: "1", Better: score.Higher}, Judge: "lexical"},
	{Name: score.Name{Name: "latency_s", Unit: "s", Better: score.Lower}},
	{Name: score.Name{Name: "tokens", Unit: "tokens", Better: score.None}},
	{Name: score.Name{Name: "energy_j", Unit: "J", Better: score.Lower}},
}

// run is of one model on items, whose scores value draws.
func run(model string, items int, value func(item int, arm string, score int) float64) *Run {
	yes := true
	r := &Run{Path: model + ".sqlite", Studies: map[string]Table{}, Caches: map[string][]string{},
		Manifest: results.Manifest{Seed: 1, Rubrics: map[string]map[string][]string{"cot": {}}, StudySettings: map[string]results.StudySetting{"cot": {Timed: &yes}}, Host: map[string]string{"cpu": "one"}}}
	var kept memory
	for i := range items {
		for _, arm := range []string{"cot", "direct"} {
			var v []float64
			for s := range columns {
				v = append(v, value(i, arm, s))
			}
			kept = append(kept, trial{results.Key{Study: "cot", Model: model, Item: fmt.Sprintf("item%03d", i), Arm: arm, Condition: "baseline"}, v})
		}
	}
	r.Studies["cot"] = Table{Columns: columns, N: len(kept), Trials: kept}
	return r
}

func mustCompare(t *testing.T, a, b *Run, c Choice) *Comparison {
	t.Helper()
	out, err := Runs(t.Context(), a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What was planted is found, where it was, and nothing else.
func TestAPlantedDifferenceIsFound(t *testing.T) {
	base := func(i int, _ string, s int) float64 {
		return []float64{float64(i % 2), float64(i%5) / 4, 1 + float64(i%7)/10, float64(100 + i), 20 + float64(i%3)}[s]
	}
	a := run("old", 60, base)
	b := run("new", 60, func(i int, arm string, s int) float64 {
		if v := base(i, arm, s); arm != "cot" || s != 0 || i%3 != 0 {
			return v
		}
		return 0 // half of a third of the items: 10 of 60 fall
	})
	c := mustCompare(t, a, b, Choice{Moved: 3})
	if c.Pairs != 120 || c.OnlyA+c.OnlyB != 0 || c.Changed != 1 || len(c.Rows) != 8 {
		t.Fatalf("%+v", c)
	}
	if !strings.Contains(c.Notes[0], "model old is compared with model new") {
		t.Errorf("notes %q", c.Notes)
	}
	for _, r := range c.Rows {
		planted := r.Arm == "cot" && r.Score == "accuracy"
		if r.Changed != planted || r.Worse != planted {
			t.Errorf("%+v", r)
		}
		if !planted {
			continue
		}
		// 10 fell and none rose: McNemar's p is 2/2^10, of which a half is ties; eight rows.
		if *r.P != 1.0/1024 || *r.Holm != 8.0/1024 || len(r.Moved) != 3 || r.Items != 60 {
			t.Errorf("p %v, Holm %v, %+v", *r.P, *r.Holm, r)
		}
		if math.Abs(*r.Diff.Value+10.0/60) > 1e-12 || *r.Diff.High >= 0 || r.A != 0.5 {
			t.Errorf("A %v, difference %+v", r.A, r.Diff)
		}
		if got := r.Difference(); !strings.HasPrefix(got, "-16.7 [") || !strings.HasSuffix(got, "] pt") {
			t.Error(got)
		}
	}
	for _, l := range []struct {
		text   string
		broken int
	}{{"cot.accuracy < -2pt", 1}, {"cot.accuracy < -20pt", 0}, {"cot.accuracy > 2pt", 0}, {"cot.precision < 0", 0},
		{"cot.accuracy < -2%", 1}, {"cot.accuracy < -20%", 0}} {
		limit, err := ParseLimit(l.text)
		if err != nil {
			t.Fatal(err)
		}
		if broken, err := c.Broken([]Limit{limit}); err != nil || len(broken) != l.broken {
			t.Errorf("%s: %q, %v", l.text, broken, err)
		}
	}
	if _, err := c.Broken([]Limit{{Study: "cot", Score: "nothing"}}); err == nil {
		t.Error("a limit on a score that is not there is silent")
	}
	// "10 %" of a time was read as 0.1 s, and "-2" of a share as -200 points, which nothing is past.
	for text, want := range map[string]string{
		"cot.latency_s > 10%":  "cot.latency_s > 10%: expected a bound in s, the unit of cot.latency_s, found another unit",
		"cot.latency_s > 1J":   "cot.latency_s > 1J: expected a bound in s, the unit of cot.latency_s, found another unit",
		"cot.accuracy < -2":    "cot.accuracy < -2: expected a bound in points (-2pt) or from -1 to 1, as cot.accuracy is a share, found -2",
		"cot.accuracy < -2s":   "cot.accuracy < -2s: expected a bound in points (pt), as cot.accuracy is a share, found one in s",
		"cot.accuracy < -0.02": "", "cot.latency_s > 2": "", "cot.latency_s > 2s": "", "cot.accuracy < -100pt": "",
	} {
		limit, err := ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Broken([]Limit{limit}); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestWhichWayIsWorse: less is worse of an accuracy and better of times and energies; of what is
// better neither way it is a change.
func TestWhichWayIsWorse(t *testing.T) {
	all := Choice{Scores: []string{"accuracy", "latency_s", "energy_j", "tokens"}}
	level := func(v float64) func(int, string, int) float64 {
		return func(i int, _ string, s int) float64 { return v + float64((s*i)%5)/100 }
	}
	less, more := run("m", 40, level(0)), run("m", 40, level(0.5))
	for _, c := range []struct {
		a, b *Run
		want map[string]string
	}{
		{less, more, map[string]string{"accuracy": "better", "latency_s": "worse", "energy_j": "worse", "tokens": "changed"}},
		{more, less, map[string]string{"accuracy": "worse", "latency_s": "better", "energy_j": "better", "tokens": "changed"}},
		{more, more, map[string]string{"accuracy": "", "latency_s": "", "energy_j": "", "tokens": ""}},
	} {
		rows := mustCompare(t, c.a, c.b, all).Rows
		for _, r := range rows {
			if r.Direction() != c.want[r.Score] {
				t.Errorf("%s from %v to %v is %q, want %q", r.Score, r.A, r.B, r.Direction(), c.want[r.Score])
			}
		}
		if len(rows) != 8 {
			t.Errorf("%d rows", len(rows))
		}
	}
}

// TestReadIsCompared: the share of answers that could be read is compared like the accuracy, in the
// place of its rest, which can be asked for.
func TestReadIsCompared(t *testing.T) {
	unread := func(share int) *Run {
		r := run("m", 60, func(i int, _ string, s int) float64 {
			if i%share == 0 {
				return 1
			}
			return 0
		})
		table := r.Studies["cot"]
		table.Columns = []score.Column{{Name: score.Name{Name: "no_answer", Unit: "1", Better: score.Lower}}}
		r.Studies["cot"] = table
		return r
	}
	often, seldom := unread(2), unread(60)
	for _, choice := range []Choice{{}, {Scores: []string{"read"}}} {
		rows := mustCompare(t, often, seldom, choice).Rows
		if len(rows) != 2 || rows[0].Score != "read" || rows[0].A != 0.5 || math.Abs(rows[0].B-59./60) > 1e-12 || rows[0].Direction() != "better" || rows[0].Up != 29 {
			t.Errorf("%+v", rows)
		}
		moved, _ := Items(often, seldom, rows[0])
		if len(moved) != 29 || moved[0].A != 0 || moved[0].B != 1 {
			t.Errorf("items that changed: %+v", moved)
		}
		limit, _ := ParseLimit("cot.read < -2pt")
		if past, err := mustCompare(t, seldom, often, choice).Broken([]Limit{limit}); len(past) != 2 || err != nil {
			t.Errorf("%q, %v", past, err)
		}
	}
	if rows := mustCompare(t, often, seldom, Choice{Scores: []string{"no_answer"}}).Rows; len(rows) != 2 || rows[0].Score != "no_answer" || rows[0].A != 0.5 || rows[0].Direction() != "better" {
		t.Errorf("%+v", rows)
	}
}

// TestOneJudgeAloneIsAllOfThem: what it gives is not compared twice; what two give is, and all together.
func TestOneJudgeAloneIsAllOfThem(t *testing.T) {
	judged := func(judges ...string) *Run {
		r := run("m", 10, func(i int, _ string, s int) float64 { return float64(i % 2) })
		table := r.Studies["cot"]
		table.Columns = slices.Clone(columns)
		for i, j := range judges {
			table.Columns[i+1] = score.Column{Name: columns[0].Name, Judge: j}
		}
		r.Studies["cot"] = table
		return r
	}
	for _, c := range []struct {
		judges []string
		want   int // rows of the accuracy of each of two arms
	}{{[]string{"lexical"}, 1}, {[]string{"lexical", "model"}, 3}} {
		n := 0
		for _, r := range mustCompare(t, judged(c.judges...), judged(c.judges...), Choice{}).Rows {
			if r.Score == "accuracy" && r.Arm == "cot" {
				n++
			}
		}
		if n != c.want {
			t.Errorf("judges %v: %d rows, want %d", c.judges, n, c.want)
		}
	}
}

// TestOfManyRows: a limit is of one study, what is within noise is counted, what never changed has no p.
func TestOfManyRows(t *testing.T) {
	row := func(study string, diff float64, up, down int) Row {
		p := 0.001
		return Row{Study: study, Score: "accuracy", Unit: "1", Better: score.Higher, Up: up, Down: down, Changed: up+down > 0, Worse: down > 0, Holm: &p,
			Diff: results.Estimate{Value: new(diff), Low: new(diff - .01), High: new(diff + .01)}}
	}
	c := &Comparison{Rows: []Row{row("cot", 0, 0, 0), row("qa", -.1, 0, 9), row("qa", .2, 9, 0)}}
	for text, want := range map[string]int{"cot.accuracy < -2pt": 0, "qa.accuracy < -2pt": 1, "qa.accuracy > 2pt": 1} {
		l, err := ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		if broken, err := c.Broken([]Limit{l}); err != nil || len(broken) != want {
			t.Errorf("%s: %q, %v", text, broken, err)
		}
	}
	var said []string
	for _, r := range c.Rows {
		said = append(said, r.Difference()+", "+r.Chance()+", "+r.Direction())
	}
	if want := []string{"+0 [-1, 1] pt, no change, ", "-10 [-11, -9] pt, 0.0010, worse", "+20 [19, 21] pt, 0.0010, better"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	if c.OnlyChanged(); c.Within != 1 || len(c.Rows) != 2 {
		t.Errorf("%d within noise, %d rows", c.Within, len(c.Rows))
	}
}

// TestALimitIsNotBrokenByChance: one of 60 answers is wrong in B, 1.7 points, whose interval holds 0; in
// A, whose interval holds it from the other side.
func TestALimitIsNotBrokenByChance(t *testing.T) {
	wrong := func(n int) func(int, string, int) float64 {
		return func(i int, _ string, s int) float64 {
			if s == 0 && i < n {
				return 0
			}
			return 1
		}
	}
	for _, c := range []struct {
		a, b   int
		limit  string
		broken int
	}{{0, 1, "cot.accuracy < -1pt", 0}, {1, 0, "cot.accuracy > 1pt", 0}, {0, 20, "cot.accuracy < -1pt", 2}, {20, 0, "cot.accuracy > 1pt", 2}} {
		limit, err := ParseLimit(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		got := mustCompare(t, run("m", 60, wrong(c.a)), run("m", 60, wrong(c.b)), Choice{})
		if broken, err := got.Broken([]Limit{limit}); err != nil || len(broken) != c.broken {
			t.Errorf("%d wrong in A and %d in B, %s: %q, %v; want %d rows", c.a, c.b, c.limit, broken, err, c.broken)
		}
	}
}

// Runs of sampled readers that are the same differ by chance: with Holm's correction at
// most 18 of 200 comparisons may say otherwise (5 %, and its 99.9 % quantile).
func TestNullPairs(t *testing.T) {
	discoveries, rows := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		chance := make([]float64, 48)
		for i := range chance {
			chance[i] = r.Float64()
		}
		sampled := func(i int, _ string, s int) float64 {
			switch s {
			case 0: // right or wrong
				if r.Float64() < chance[i] {
					return 1
				}
				return 0
			case 1: // matched steps of four
				n := 0.0
				for range 4 {
					if r.Float64() < chance[i] {
						n++
					}
				}
				return n / 4
			}
			return math.Exp(r.NormFloat64() / 3)
		}
		c := mustCompare(t, run("m", 48, sampled), run("m", 48, sampled), Choice{})
		rows += len(c.Rows)
		if c.Changed > 0 {
			discoveries++
		}
	}
	t.Logf("%d of 200 null pairs have a discovery, %d rows in all", discoveries, rows)
	if discoveries > 18 {
		t.Errorf("%d discoveries in 200 null pairs, want at most 18", discoveries)
	}
}

// Times of other machines, other data: what cannot be compared is not.
func TestWhatCannotBeCompared(t *testing.T) {
	same := func(i int, _ string, s int) float64 { return float64(i + s) }
	a, b := run("m", 20, same), run("m", 20, func(i int, arm string, s int) float64 {
		if s == 2 {
			return 100
		}
		return same(i, arm, s)
	})
	timed := func(c *Comparison) (n int) {
		energies := 0
		for _, r := range c.Rows {
			switch r.Score {
			case "latency_s":
				n++
			case "energy_j":
				energies++
			}
		}
		if n != energies {
			t.Errorf("%d rows of times, %d of energies", n, energies)
		}
		return n
	}
	if c := mustCompare(t, a, b, Choice{}); timed(c) != 2 || len(c.Notes) != 0 {
		t.Errorf("%d rows of times, notes %q", timed(c), c.Notes)
	}
	b.GPUs = []string{"another"}
	if c := mustCompare(t, a, b, Choice{}); timed(c) != 0 || !slices.Equal(c.Notes, []string{"GPUs: none in A, another in B", LeftOut}) {
		t.Errorf("%d rows of times, notes %q", timed(c), c.Notes)
	}
	if strings.Contains(LeftOut, "--") {
		t.Error("pages say it too, and have no flags")
	}
	if c := mustCompare(t, a, b, Choice{Times: true}); timed(c) != 2 || !slices.Equal(c.Notes, []string{"GPUs: none in A, another in B"}) {
		t.Errorf("asked for: %d rows of times, notes %q", timed(c), c.Notes)
	}
	b.GPUs = nil
	// One card and two of them, and another driver, are other machines.
	a.On, b.On = map[string][]string{"m": {"A100, driver 550"}}, map[string][]string{"m": {"2 x A100, driver 550"}}
	if c := mustCompare(t, a, b, Choice{}); timed(c) != 0 || !slices.Equal(c.Notes, []string{"GPUs of model m: A100, driver 550 in A, 2 x A100, driver 550 in B", LeftOut}) {
		t.Errorf("%d rows of times, notes %q", timed(c), c.Notes)
	}
	b.On = nil
	// Two cards of one name compare, and their sensors are spoken of; one card's is in both alike.
	a.Cards, b.Cards = []string{"GPU-1"}, []string{"GPU-2"}
	if c := mustCompare(t, a, b, Choice{}); timed(c) != 2 || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "other cards (GPU-1 in A, GPU-2 in B)") {
		t.Errorf("%d rows of times, notes %q", timed(c), c.Notes)
	}
	b.Cards = a.Cards
	if c := mustCompare(t, a, b, Choice{}); len(c.Notes) != 0 {
		t.Errorf("notes %q", c.Notes)
	}
	a.Cards, b.Cards = nil, nil
	// More requests beside each other share the GPU otherwise; a store that does not say how
	// many is taken as it is.
	four, eight, was := 4, 8, a.Manifest.StudySettings
	for _, c := range []struct {
		in, other *int
		want      []string
	}{{&four, &eight, []string{"study cot, requests in flight: 4 in A, 8 in B", LeftOut}}, {&four, &four, nil}, {nil, &eight, nil}} {
		a.Manifest.StudySettings, b.Manifest.StudySettings = map[string]results.StudySetting{"cot": {InFlight: c.in}}, map[string]results.StudySetting{"cot": {InFlight: c.other}}
		if got := mustCompare(t, a, b, Choice{}); !slices.Equal(got.Notes, c.want) || timed(got) != 2-len(c.want) {
			t.Errorf("%d rows of times, notes %q, want %q", timed(got), got.Notes, c.want)
		}
	}
	a.Manifest.StudySettings, b.Manifest.StudySettings = was, was
	if c := mustCompare(t, a, b, Choice{}); timed(c) != 2 || len(c.Notes) != 0 {
		t.Errorf("what is not known differs: notes %q", c.Notes)
	}
	// A setting of one run alone is said, whichever has it.
	for want, in := range map[string]*Run{"studies.cot.think: only in A (true)": a, "studies.cot.think: only in B (true)": b} {
		in.Manifest.Settings = map[string]string{"studies.cot.think": "true", "models.x.think": "true"}
		if c := mustCompare(t, a, b, Choice{}); !slices.Equal(c.Notes, []string{want}) {
			t.Errorf("notes %q, want %q", c.Notes, want)
		}
		in.Manifest.Settings = nil
	}
	no := false
	b.Manifest.StudySettings = map[string]results.StudySetting{"cot": {Timed: &no}}
	if c := mustCompare(t, a, b, Choice{}); timed(c) != 0 {
		t.Errorf("one in flight and several: %d rows of times", timed(c))
	}
	a.Manifest.Datasets = []results.DatasetInfo{{Name: "d", Digest: "x"}}
	b.Manifest.Datasets = []results.DatasetInfo{{Name: "d", Digest: "y"}}
	var other *differentData
	if _, err := Runs(t.Context(), a, b, Choice{}); !errors.As(err, &other) {
		t.Errorf("other data: %v", err)
	}
	// Other data under another name has items of the same names, too.
	b.Manifest.Datasets[0].Name = "e"
	for of, r := range map[string]*Run{"d": a, "e": b} {
		r.Manifest.StudySettings = map[string]results.StudySetting{"cot": {Dataset: of}}
	}
	if _, err := Runs(t.Context(), a, b, Choice{}); !errors.As(err, &other) {
		t.Errorf("other data under another name: %v", err)
	}
	b.Manifest.Datasets[0].Digest = "x"
	if _, err := Runs(t.Context(), a, b, Choice{}); err != nil {
		t.Errorf("the same data under another name: %v", err)
	}
}

func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"cot.accuracy < -2pt", "cot.latency_s>0.5s", "a.b < 1e-3", "", "cot.accuracy = 2", "x.y < 1.2.3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLimit(s)
		if err == nil && (l.Study == "" || l.Score == "" || math.IsNaN(l.Bound)) {
			t.Errorf("%q is read as %+v", s, l)
		}
	})
}

// TestItemsThatShareAnImageAreOne: two runs differ in the 10 questions of 2 of 20 images. By items that
// would be 20 to nothing; images are what is drawn.
func TestItemsThatShareAnImageAreOne(t *testing.T) {
	value := func(wrong bool) func(int, string, int) float64 {
		return func(i int, _ string, s int) float64 {
			if s == 0 && (wrong && i < 20 || i >= 100) {
				return 0
			}
			return 1
		}
	}
	a, b := run("m", 200, value(false)), run("m", 200, value(true))
	of := func(c *Comparison) Row {
		i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Score == "accuracy" && r.Arm == "cot" })
		return c.Rows[i]
	}
	alone := of(mustCompare(t, a, b, Choice{}))
	table := a.Studies["cot"]
	table.Clusters = map[string]string{}
	for i := range 200 {
		table.Clusters[fmt.Sprintf("item%03d", i)] = fmt.Sprint("image", i/10)
	}
	a.Studies["cot"] = table
	r := of(mustCompare(t, a, b, Choice{}))
	if !alone.Changed || r.Changed || *r.P != 0.25 || r.Diff.Clusters != 20 || r.Diff.N != 200 {
		t.Errorf("items: %+v; images: %+v, p %v", alone, r, *r.P)
	}
	if math.Abs(*alone.Diff.Value-*r.Diff.Value) > 1e-12 || *r.Diff.Low >= *alone.Diff.Low || *r.Diff.High <= 0 {
		t.Errorf("images: %v [%v, %v]; items: [%v, %v]", *r.Diff.Value, *r.Diff.Low, *r.Diff.High, *alone.Diff.Low, *alone.Diff.High)
	}
}
