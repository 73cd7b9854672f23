package score_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
)

// TestMain has garbage collected less often: what tests make is small and soon gone. Benchmarks collect as the
// program does.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}

// trial is a made-up trial; its answer is itself, from which rules read its scores.
type trial struct {
	item, stratum, arm, condition string
	image                         string // what items share; the item itself where they share none
	repeat                        int

	Failed    bool
	Absent    bool       // x is not given
	Undefined bool       // x does not exist
	X         [2]float64 // by judge: 0 or 1; -1: not known
	Flip      float64    // 0 or 1; -1: not given
	Secs      float64    // -1: not known
}

const (
	seed            = 11
	replicates      = 40
	replicatesDrawn = replicates
)

func toyJudges() map[string][]string { return map[string][]string{"r": {"p", "q"}} }

func toyRules() score.Rules {
	return score.Rules{Study: "toy", Answers: true, Names: []score.Name{{Name: "x", Rubric: "r"}, {Name: "flip"}, {Name: "secs"}},
		Score: func(s score.Sample) []score.Value {
			var t trial
			if s.Failed {
				return []score.Value{score.Invalid("x", "", score.Failure), score.Invalid("secs", "", score.Failure)}
			}
			if err := json.Unmarshal([]byte(s.Output.Answer), &t); err != nil {
				panic(err)
			}
			var out []score.Value
			sum, n := 0.0, 0.0
			for j, v := range t.X {
				if v >= 0 && !t.Absent && !t.Undefined {
					out = append(out, score.ValueOf("x", s.Judges("r")[j], v))
					sum, n = sum+v, n+1
				}
			}
			switch {
			case t.Absent:
			case t.Undefined:
				out = append(out, score.Undefined("x", "", "there is none"))
			case n == 0:
				out = append(out, score.Invalid("x", "", "nobody said"))
			default:
				out = append(out, score.ValueOf("x", "", sum/n))
			}
			if t.Flip >= 0 {
				out = append(out, score.ValueOf("flip", "", t.Flip))
			}
			if t.Secs >= 0 {
				return append(out, score.ValueOf("secs", "", t.Secs))
			}
			return append(out, score.Invalid("secs", "", "not timed"))
		}}
}

// made is a random store of one model.
func made(t *testing.T, rng *rand.Rand) (*store.Store, []trial) {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(st.PutManifest(t.Context(), results.Manifest{Name: "toy"}))
	var all []trial
	var items []results.Item
	for i := range 3 + rng.IntN(7) {
		it := results.Item{Study: "toy", ID: fmt.Sprintf("i%02d", i), Type: "short", Task: []string{"", "north", "south"}[rng.IntN(3)]}
		image := it.ID
		if rng.IntN(2) == 0 {
			image = fmt.Sprint("image", rng.IntN(3))
			it.Facts = json.RawMessage(`{"picture":"` + image + `"}`)
		}
		items = append(items, it)
		arms := []string{"a", "b"}
		if rng.IntN(4) == 0 {
			arms = arms[:1]
		}
		for _, arm := range arms {
			for _, condition := range []string{"baseline", "cue", "veil"} {
				for repeat := range 2 {
					if rng.IntN(5) == 0 {
						continue
					}
					one := func() float64 { return float64(rng.IntN(2)) }
					x := trial{item: it.ID, image: image, stratum: it.Task, arm: arm, condition: condition, repeat: repeat,
						Failed: rng.IntN(8) == 0, Absent: condition == "veil" && rng.IntN(2) == 0, Undefined: rng.IntN(8) == 0,
						X: [2]float64{one(), one()}, Flip: float64(rng.IntN(3) - 1), Secs: float64(rng.IntN(9)) / 4}
					for j := range x.X {
						if rng.IntN(4) == 0 {
							x.X[j] = -1
						}
					}
					if rng.IntN(4) == 0 {
						x.Secs = -1
					}
					if x.Failed {
						x.Absent, x.Undefined, x.X, x.Flip, x.Secs = false, false, [2]float64{-1, -1}, -1, -1
					}
					all = append(all, x)
				}
			}
		}
	}
	must(st.PutItems(t.Context(), items))
	for _, i := range rng.Perm(len(all)) {
		x := all[i]
		a := results.Attempt{Started: time.Unix(1, 0)}
		if x.Failed {
			a.Failure = &results.Failure{Kind: "stalled", Message: "no"}
		} else {
			b, err := json.Marshal(x)
			must(err)
			a.Turns = []results.Turn{{Answer: string(b), Finish: backends.FinishStop}}
			a.Output = &results.Output{Answer: string(b), Finish: backends.FinishStop}
		}
		must(st.PutTrial(t.Context(), results.Trial{Inputs: "sha256:0", Attempts: []results.Attempt{a},
			Key: results.Key{Study: "toy", Model: "m", Item: x.item, Arm: x.arm, Condition: x.condition, Repeat: x.repeat}}))
	}
	return st, all
}

// plain computes a metric from a list of trials, with nothing in between.
type plain func(list []trial) (float64, bool)

type counts struct{ n, undefined, invalid int }

func (x trial) given() bool { return !x.Absent }
func (x trial) known() bool {
	return !x.Failed && !x.Absent && !x.Undefined && (x.X[0] >= 0 || x.X[1] >= 0)
}
func (x trial) joint() float64 {
	var sum, n float64
	for _, v := range x.X {
		if v >= 0 {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

func countX(list []trial) (c counts) {
	for _, x := range list {
		switch {
		case !x.given():
		case x.known():
			c.n++
		case x.Undefined:
			c.undefined++
		default:
			c.invalid++
		}
	}
	return c
}

func meanX(judges ...int) plain {
	return func(list []trial) (float64, bool) {
		var means []float64
		for _, j := range judges {
			var v []float64
			for _, x := range list {
				if x.known() && x.X[j] >= 0 {
					v = append(v, 100*x.X[j])
				}
			}
			if m, ok := stats.Mean(v); ok {
				means = append(means, m)
			}
		}
		return stats.Mean(means)
	}
}

func only(keep func(trial) bool, f plain) plain {
	return func(list []trial) (float64, bool) { return f(kept(list, keep)) }
}

func kept(list []trial, keep func(trial) bool) []trial {
	return slices.DeleteFunc(slices.Clone(list), func(x trial) bool { return !keep(x) })
}

func minus(a, b plain) plain {
	return func(list []trial) (float64, bool) {
		x, ok := a(list)
		y, okY := b(list)
		return x - y, ok && okY
	}
}

func under(arm, condition string) func(trial) bool {
	return func(x trial) bool {
		return (arm == "" || x.arm == arm) && (condition == "" || x.condition == condition)
	}
}

// fixed is where what is not known is 0, or 1.
func fixed(right bool) plain {
	return func(list []trial) (float64, bool) {
		var v []float64
		for _, x := range list {
			if !x.given() || x.Undefined {
				continue
			}
			for j := range x.X {
				switch {
				case x.known() && x.X[j] >= 0:
					v = append(v, 100*x.X[j])
				case right:
					v = append(v, 100)
				default:
					v = append(v, 0)
				}
			}
		}
		return stats.Mean(v)
	}
}

// overSeconds is the ratio of sums of x and seconds, where both are known.
func overSeconds(list []trial) (float64, bool) {
	var num, den float64
	for _, x := range list {
		if x.known() && x.Secs >= 0 {
			num, den = num+x.joint(), den+x.Secs
		}
	}
	return num / den, den > 0
}

// overTwin is the ratio of the seconds of an arm's trials and of their twins in the
// other one.
func overTwin(list []trial) (float64, bool) {
	var num, den float64
	for _, x := range list {
		for _, y := range twins(x, list) {
			if x.Secs >= 0 && y.Secs >= 0 {
				num, den = num+x.Secs, den+y.Secs
			}
		}
	}
	return num / den, den > 0
}

// twins are the trials beside x in arm b; a list with items drawn twice has no item
// twice: draw tells them apart.
func twins(x trial, list []trial) []trial {
	return kept(list, func(y trial) bool {
		return x.arm == "a" && y.arm == "b" && y.item == x.item && y.condition == x.condition && y.repeat == x.repeat
	})
}

func cellMean(list []trial) (float64, bool) {
	var v []float64
	for _, arm := range []string{"a", "b"} {
		for _, condition := range []string{"baseline", "cue", "veil"} {
			if m, ok := meanX(0, 1)(kept(list, under(arm, condition))); ok {
				v = append(v, m)
			}
		}
	}
	return stats.Mean(v)
}

// toyTables are metrics of every kind that follows from sums.
func toyTables() []score.Table {
	at := func(name string, of score.Kind) score.Metric {
		return score.Metric{Column: results.Column{Name: name, Title: name}, Of: of}
	}
	x := score.Percent("x")
	quantiles := score.Quantiles("kept", "secs", .5)
	return []score.Table{
		{Name: "one", Rows: score.OneRow, Columns: []score.Metric{
			at("x", x), at("flipped", score.Percent("x_flip")), at("x_a", score.In(score.Keys{"a"}, x)),
			at("cue", score.In(score.Keys{"", "cue"}, x)),
			at("difference", score.Minus(score.In(score.Keys{"a"}, x), score.In(score.Keys{"b", "cue"}, x))),
			at("cells", score.EachCell(x, "none")), at("ratio", score.Mean("ratio")), at("twins", score.Mean("twins")),
			at("low", score.Fixed("x", "x", false)), at("high", score.Fixed("x", "x", true)),
			at("f1", score.F1(score.In(score.Keys{"a"}, x), score.In(score.Keys{"b"}, x), "any")),
			at("median", quantiles[0]), at("coverage", score.Coverage("x")), at("total", score.Total("x")),
			at("spread", score.Spread(x, "none")),
		}},
		{Name: "strata", Keys: []string{"arm", "task"}, Rows: score.ByStratum(0), Columns: []score.Metric{
			at("x", x), at("ratio", score.Mean("ratio")), at("low", score.Fixed("x", "x", false)), at("cells", score.EachCell(x, "none"))}},
		{Name: "judges", Keys: []string{"judge"}, Columns: []score.Metric{at("x", x)}, Rows: func(all score.Group) []score.Row {
			return []score.Row{{Group: all.Judge(0), Text: []string{"p"}}, {Group: all.Judge(1), Text: []string{"q"}}}
		}},
		{Name: "votes", Columns: []score.Metric{
			at("p", score.Direct(func(r score.Row) *results.Estimate { return r.Data.(score.Paired).Test() })),
			at("repeats", score.Direct(func(r score.Row) *results.Estimate {
				return score.ByRepeat(r.Group, "x").Over("none", stats.SD)
			}))},
			Rows: func(all score.Group) []score.Row {
				return []score.Row{{Group: all, Data: score.PairedBy(all.In(score.Keys{"a"}), all.In(score.Keys{"b"}), "x")}}
			}},
	}
}

func toyDesign() score.Design {
	return score.Design{Rules: toyRules(), Cells: []string{"arm", "condition"},
		Cell: func(t *score.Scored) (score.Keys, error) {
			return score.Keys{t.Row.Key.Arm, t.Row.Key.Condition}, nil
		},
		Strata:     []score.Stratum{{Name: "task"}},
		Item:       func(it results.Item) (score.Item, error) { return score.Item{Strata: []string{it.Task}}, nil },
		Replicates: func(*score.Model) int { return replicates },
		Leaves: []score.Leaf{
			{Score: "x", Fixed: true, Repeats: true, Why: "nothing"},
			{Name: "x_flip", Score: "x", Where: []score.Is{{Score: "flip", Number: 1}}},
			{Name: "ratio", Score: "x", Over: &score.Term{Score: "secs"}},
			{Name: "twins", Score: "secs", Over: &score.Term{Score: "secs", Arm: "b"}},
			{Name: "kept", Score: "secs", Keep: true},
			{Score: "secs"},
			{Name: "any", Any: []string{"x", "flip"}},
		}, Tables: toyTables()}
}

// TestMetricsAreThoseOfTheirTrials: every declared metric, its counts and its
// interval equal what a plain loop over the trials gives, and over the trials of each
// draw of images; that of a share is Wilson's over images.
func TestMetricsAreThoseOfTheirTrials(t *testing.T) {
	for round := range 25 {
		st, all := made(t, rand.New(rand.NewPCG(uint64(round), 1)))
		run, err := score.Compute(t.Context(), st, toyDesign(), toyJudges(), seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			continue
		}
		var images []string // of the sample: those with trials
		for _, x := range all {
			if !slices.Contains(images, x.image) {
				images = append(images, x.image)
			}
		}
		// of says which trials a metric rests on, where its interval is of replicates, and ends what
		// it is where it is not.
		check := func(table, column string, texts []string, f plain, c *counts, of func(trial) bool, ends func() (stats.Share, *stats.Share)) {
			t.Helper()
			e := score.FindEstimate(run.Table(table), column, append([]string{"m"}, texts...)...)
			if e == nil {
				t.Fatalf("round %d: no %s %s %v", round, table, column, texts)
			}
			var want stats.Estimate
			if ends == nil {
				var replicates []float64
				b := stats.Bootstrap{Seed: seed, B: replicatesDrawn, Alpha: .05, Plain: true}
				first := true
				want = b.Stat(len(images), func(idx []int) (float64, bool) {
					var list []trial
					for draw, i := range idx {
						for _, x := range all {
							if x.image == images[i] {
								x.item = fmt.Sprint(x.item, " ", draw) // drawn twice, an item is two
								list = append(list, x)
							}
						}
					}
					v, ok := f(list)
					if ok && !first {
						replicates = append(replicates, v)
					}
					first = false
					return v, ok
				})
				want.Low, want.High = nil, nil
				held := map[string]bool{}
				for _, x := range all {
					if of(x) {
						held[x.image] = true
					}
				}
				if want.Value != nil && len(held) > 1 && len(replicates) > 0 {
					tail := stats.TailOf(len(held))
					low, _ := stats.Quantile(replicates, tail)
					high, _ := stats.Quantile(replicates, 1-tail)
					if !stats.Same(low, high) {
						want.Low, want.High = &low, &high
					}
				}
			} else {
				if v, ok := f(all); ok {
					want.Value = &v
				}
				a, b := ends()
				switch {
				case b == nil && a.Low != nil:
					low, high := 100**a.Low, 100**a.High
					want.Low, want.High = &low, &high
				case b != nil && a.P != nil && b.P != nil:
					if low, high, ok := a.Less(*b, true); ok {
						low, high = 100*low, 100*high
						want.Low, want.High = &low, &high
					}
				}
			}
			same := func(a, b *float64) bool {
				return (a == nil) == (b == nil) && (a == nil || math.Abs(*a-*b) < 1e-9*max(1, math.Abs(*b)))
			}
			if !same(e.Value, want.Value) || !same(e.Low, want.Low) || !same(e.High, want.High) {
				t.Errorf("round %d: %s %s %v: %s, want %s", round, table, column, texts, shown(e.Value, e.Low, e.High), shown(want.Value, want.Low, want.High))
			}
			if got := (counts{e.N, e.Undefined, e.Invalid}); c != nil && got != *c {
				t.Errorf("round %d: %s %s %v counts %+v, want %+v", round, table, column, texts, got, *c)
			}
			if (e.Value == nil || e.Low == nil) != (e.Why != "") {
				t.Errorf("round %d: %s %s %v: value %v and why %q", round, table, column, texts, e.Value, e.Why)
			}
		}
		// judged are a judge's scores of trials, by image; those that are not known count as another
		// number, or not at all.
		judged := func(keep func(trial) bool, j int, otherwise float64) stats.Share {
			sums, answers := make([]float64, len(images)), make([]float64, len(images))
			for _, x := range all {
				if !keep(x) || x.Absent || x.Undefined {
					continue
				}
				v := otherwise
				if x.known() && x.X[j] >= 0 {
					v = x.X[j]
				}
				if v >= 0 {
					at := slices.Index(images, x.image)
					sums[at] += v
					answers[at]++
				}
			}
			return stats.ShareOf(sums, answers)
		}
		there := func(same bool, list ...stats.Share) stats.Share {
			return stats.MeanShare(slices.DeleteFunc(list, func(s stats.Share) bool { return s.P == nil }), same)
		}
		judges := func(keep func(trial) bool) stats.Share { return there(true, judged(keep, 0, -1), judged(keep, 1, -1)) }
		share := func(keep func(trial) bool) func() (stats.Share, *stats.Share) {
			return func() (stats.Share, *stats.Share) { return judges(keep), nil }
		}
		cells := func(in func(trial) bool) func() (stats.Share, *stats.Share) {
			return func() (stats.Share, *stats.Share) {
				var list []stats.Share
				for _, arm := range []string{"a", "b"} {
					for _, condition := range []string{"baseline", "cue", "veil"} {
						list = append(list, judges(func(x trial) bool { return in(x) && under(arm, condition)(x) }))
					}
				}
				return there(false, list...), nil
			}
		}
		known := func(in func(trial) bool, v float64) func() (stats.Share, *stats.Share) {
			return func() (stats.Share, *stats.Share) {
				return there(true, judged(in, 0, v), judged(in, 1, v)), nil
			}
		}
		every := func(trial) bool { return true }
		timed := func(x trial) bool { return x.Secs >= 0 }
		both := meanX(0, 1)
		c := countX(all)
		check("one", "x", nil, both, &c, nil, share(every))
		flipped := func(x trial) bool { return x.Flip == 1 }
		cf := countX(kept(all, flipped))
		check("one", "flipped", nil, only(flipped, both), &cf, nil, share(flipped))
		ca, cb := countX(kept(all, under("a", ""))), countX(kept(all, under("b", "cue")))
		check("one", "x_a", nil, only(under("a", ""), both), &ca, nil, share(under("a", "")))
		check("one", "cue", nil, only(under("", "cue"), both), nil, nil, share(under("", "cue")))
		check("one", "difference", nil, minus(only(under("a", ""), both), only(under("b", "cue"), both)), &counts{ca.n + cb.n, ca.undefined + cb.undefined, ca.invalid + cb.invalid}, nil, func() (stats.Share, *stats.Share) {
			b := judges(under("b", "cue"))
			return judges(under("a", "")), &b
		})
		check("one", "cells", nil, cellMean, &c, nil, cells(every))
		check("one", "ratio", nil, overSeconds, nil, func(x trial) bool { return x.known() && timed(x) && (x.joint() != 0 || x.Secs != 0) }, nil)
		check("one", "twins", nil, overTwin, nil, func(x trial) bool {
			return timed(x) && slices.ContainsFunc(twins(x, all), func(y trial) bool { return timed(y) && (x.Secs != 0 || y.Secs != 0) })
		}, nil)
		asked := &counts{n: c.n + c.invalid, undefined: c.undefined}
		check("one", "low", nil, fixed(false), asked, nil, known(every, 0))
		check("one", "high", nil, fixed(true), asked, nil, known(every, 1))
		check("one", "f1", nil, func(list []trial) (float64, bool) {
			p, ok := only(under("a", ""), both)(list)
			r, okR := only(under("b", ""), both)(list)
			return harmonic(p, r, ok && okR)
		}, nil, trial.known, nil)
		for _, arm := range []string{"a", "b"} {
			for _, task := range []string{"north", "south"} {
				in := func(x trial) bool { return x.arm == arm && x.stratum == task }
				if !slices.ContainsFunc(all, func(x trial) bool { return x.stratum == task }) {
					continue // no item of the store is of it
				}
				cs := countX(kept(all, in))
				check("strata", "x", []string{arm, task}, only(in, both), &cs, nil, share(in))
				check("strata", "ratio", []string{arm, task}, only(in, overSeconds), nil, func(x trial) bool { return in(x) && x.known() && timed(x) && (x.joint() != 0 || x.Secs != 0) }, nil)
				check("strata", "low", []string{arm, task}, only(in, fixed(false)), nil, nil, known(in, 0))
				check("strata", "cells", []string{arm, task}, only(in, cellMean), nil, nil, cells(in))
			}
		}
		for j, name := range []string{"p", "q"} {
			own := 0
			for _, x := range all {
				if x.known() && x.X[j] >= 0 {
					own++
				}
			}
			check("judges", "x", []string{name}, meanX(j), &counts{own, c.undefined, c.n + c.invalid - own}, nil, func() (stats.Share, *stats.Share) { return judged(every, j, -1), nil })
		}
		checkDirect(t, round, run, all, c)
	}
}

func harmonic(p, r float64, ok bool) (float64, bool) {
	if !ok || p+r == 0 {
		return 0, false
	}
	return 2 / (1/p + 1/r), true
}

func shown(v ...*float64) string {
	s := ""
	for _, x := range v {
		if x == nil {
			s += "none "
		} else {
			s += fmt.Sprint(*x, " ")
		}
	}
	return s
}

// checkDirect compares what does not follow from sums.
func checkDirect(t *testing.T, round int, run *score.Run, all []trial, c counts) {
	t.Helper()
	is := func(table, column string, want float64, ok bool, n int) {
		t.Helper()
		e := score.FindEstimate(run.Table(table), column, "m")
		if (e.Value != nil) != ok || ok && math.Abs(*e.Value-want) > 1e-9 || e.N != n {
			t.Errorf("round %d: %s is %s of %d, want %v (%v) of %d", round, column, shown(e.Value), e.N, want, ok, n)
		}
	}
	var secs []float64
	usable, hits := 0, 0.0
	for _, x := range all {
		if x.Secs >= 0 {
			secs = append(secs, x.Secs)
		}
		for _, v := range x.X {
			if x.known() && v >= 0 {
				usable, hits = usable+1, hits+v
			}
		}
	}
	median, ok := stats.Median(secs)
	is("one", "median", median, ok, len(secs))
	is("one", "coverage", 100*float64(usable)/float64(2*(c.n+c.invalid)), c.n+c.invalid > 0, 2*(c.n+c.invalid))
	is("one", "total", hits, true, usable)
	var cells, repeats []float64
	without := 0
	for _, arm := range []string{"a", "b"} {
		for _, condition := range []string{"baseline", "cue", "veil"} {
			if m, ok := meanX(0, 1)(kept(all, under(arm, condition))); ok {
				cells = append(cells, m)
			}
		}
	}
	sd, ok := stats.SD(cells)
	is("one", "spread", sd, ok, len(cells))
	for n := range 2 {
		own := kept(all, func(x trial) bool { return x.repeat == n })
		if !slices.ContainsFunc(own, func(x trial) bool { return !x.Failed }) {
			continue
		}
		if m, ok := meanX(0, 1)(own); ok {
			repeats = append(repeats, m)
		} else {
			without++
		}
	}
	sd, ok = stats.SD(repeats)
	is("votes", "repeats", sd, ok, len(repeats))
	if e := score.FindEstimate(run.Table("votes"), "repeats", "m"); e.Undefined != without {
		t.Errorf("round %d: %d repeats without a value, want %d", round, e.Undefined, without)
	}
	// p: flipped signs of images, of the items' own means in a less those in b.
	less := map[string]float64{}
	scored, unscored := 0, 0
	byItem := map[string][]trial{}
	for _, x := range all {
		byItem[x.item] = append(byItem[x.item], x)
	}
	for _, list := range byItem {
		mean := func(arm string) (m float64, known, asked bool) {
			k, n := 0.0, 0.0
			for _, x := range kept(list, under(arm, "")) {
				asked = asked || x.given() && !x.Undefined
				for _, v := range x.X {
					if x.known() && v >= 0 {
						k, n = k+v, n+1
					}
				}
			}
			return k / n, n > 0, asked
		}
		a, okA, askedA := mean("a")
		b, okB, askedB := mean("b")
		switch {
		case okA && okB:
			scored++
			less[list[0].image] += a - b
		case askedA && askedB:
			unscored++
		}
	}
	var d []float64
	for _, image := range slices.Sorted(maps.Keys(less)) {
		d = append(d, less[image])
	}
	is("votes", "p", stats.SignFlips(d), scored > 0, scored)
	if e := score.FindEstimate(run.Table("votes"), "p", "m"); e.Invalid != unscored || scored > 0 && e.Clusters != len(d) {
		t.Errorf("round %d: %d without a score and %d images, want %d and %d", round, e.Invalid, e.Clusters, unscored, len(d))
	}
}
