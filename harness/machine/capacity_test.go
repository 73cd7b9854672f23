package machine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/harness/machine"
	"assay/harness/study"
	"assay/harness/study/qa"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

const (
	slots          = 4
	service        = 400 * time.Millisecond // mean; from half of it to one and a half
	idleWatts      = 50.
	wattsOfASlot   = 30.
	perGPUHour     = 3.6
	perKWh         = .36
	leastOfAnswers = 120
)

// worked is a server of four slots under load: n are on the wire, and who has got an
// answer asks again at once. Requests are as they are stamped, edges where power changes.
func worked(r *rand.Rand, begin time.Duration, n int) (all []timing.Window, tokens []int, edges []edge) {
	free, asks := slices.Repeat([]time.Duration{begin}, slots), slices.Repeat([]time.Duration{begin}, n)
	for range leastOfAnswers {
		who, slot := slices.Index(asks, slices.Min(asks)), slices.Index(free, slices.Min(free))
		at, takes := asks[who], time.Duration((.5+r.Float64())*float64(service)).Truncate(time.Millisecond)
		from := max(at, free[slot])
		free[slot], asks[who] = from+takes, from+takes
		all, tokens = append(all, timing.Window{From: at, To: from + takes}), append(tokens, int(takes/time.Millisecond))
		edges = append(edges, edge{from, 1}, edge{from + takes, -1})
	}
	return all, tokens, edges
}

type edge struct {
	at time.Duration
	by int
}

// drawn is a GPU's counter and power at a time, of edges in order.
func drawn(edges []edge) func(at time.Duration) (joules, watts float64) {
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	sums, on, last := make([]float64, len(edges)+1), make([]int, len(edges)+1), time.Duration(0)
	for i, e := range edges {
		sums[i+1] = sums[i] + (idleWatts+wattsOfASlot*float64(on[i]))*(e.at-last).Seconds()
		on[i+1], last = on[i]+e.by, e.at
	}
	return func(at time.Duration) (float64, float64) {
		i := sort.Search(len(edges), func(i int) bool { return edges[i].at > at })
		from := time.Duration(0)
		if i > 0 {
			from = edges[i-1].at
		}
		w := idleWatts + wattsOfASlot*float64(on[i])
		return sums[i] + w*(at-from).Seconds(), w
	}
}

// swept is the table of a load sweep of that server, from stored trials and samples as a
// run leaves them. No time passes: all of it is on a clock that the test moves.
func swept(t *testing.T, seed uint64, levels []int) (table results.Table, words []string) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		ctx, clock := t.Context(), timing.NewClock()
		judges := map[string][]string{"accuracy": {"rules"}}
		hour, kwh := perGPUHour, perKWh
		var names []string
		for _, c := range perturb.Loads(levels) {
			names = append(names, c.Name)
		}
		if err := st.PutManifest(ctx, results.Manifest{Name: "swept", Seed: 7, Rubrics: map[string]map[string][]string{"qa": judges},
			Conditions: map[string]map[string]json.RawMessage{"qa": results.DescribeLoads(names, levels)}, Cost: &results.Cost{Currency: "EUR", GPUHour: &hour, KWh: &kwh}}); err != nil {
			t.Fatal(err)
		}
		var items []results.Item
		for i := range leastOfAnswers {
			items = append(items, results.Item{Study: "qa", ID: fmt.Sprint(i), Type: "short", Task: "x", Facts: json.RawMessage("{}")})
		}
		if err := st.PutItems(ctx, items); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		at := 20 * time.Second
		var edges []edge
		var trials []results.Trial
		for i, n := range levels {
			all, tokens, steps := worked(r, at, n)
			edges = append(edges, steps...)
			for k, w := range all {
				rec := timing.NewRecorder(clock)
				rec.MarkAt(timing.Start, w.From)
				rec.Chunks([]timing.Chunk{{At: w.To, Runes: 1, Answer: true}}, timing.StampsUser)
				at = max(at, w.To)
				trials = append(trials, results.Trial{Key: results.Key{Study: "qa", Model: "m", Item: fmt.Sprint(k), Arm: "answer", Condition: perturb.Loads(levels)[i].Name}, Inputs: "x",
					Attempts: []results.Attempt{{Started: clock.Origin().Add(w.From), Output: &results.Output{Answer: "a", Finish: "stop"},
						Turns: []results.Turn{{Trace: rec.Trace(), Answer: "a", Finish: "stop", Usage: backends.Usage{CompletionTokens: &tokens[k]}}}}}})
			}
			at += 5 * time.Second
		}
		gpu := drawn(edges)
		m, err := machine.Start(ctx, st, clock, 20, []telemetry.Probe{&fake{id: "A", kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
			joules, watts := gpu(clock.Now())
			s.Set(telemetry.Energy, int64(1e6*joules))
			s.Set(telemetry.PowerInstant, int64(1e3*watts))
			return nil
		}}}, results.Session{Places: map[string]results.Place{"m": results.PlaceLocal}})
		if err != nil {
			t.Fatal(err)
		}
		m.Begin()
		if _, err := m.Hold(ctx, "m", results.Hold{Known: true, GPUs: []string{"A"}, How: "named"}, nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(at - clock.Now())
		for _, one := range trials {
			if err := st.PutTrial(ctx, one); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := machine.Measure(ctx, st, 0); err != nil {
			t.Fatal(err)
		}
		table, words = loadTable(t, st, judges, levels)
	})
	return table, words
}

func loadTable(t *testing.T, st *store.Store, judges map[string][]string, levels []int) (results.Table, []string) {
	s, err := qa.Study().With(nil, study.Choice{Levels: levels})
	if err != nil {
		t.Fatal(err)
	}
	sections, err := s.Summarize(t.Context(), st, judges, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sec := range sections {
		for _, table := range sec.Tables {
			if table.Name == "qa-load" {
				return table, sec.Notes
			}
		}
	}
	t.Fatal("no table of loads")
	return results.Table{}, nil
}

// A load sweep of a server of known capacity, all the way from stamps and samples in the
// store to the table: answers and tokens a second, joules and money of an answer lie in
// their intervals, and the knee is named at as many requests as the server has slots.
// ASSAY_SLOW=1 go test ./harness/machine -run KnownCapacity -v prints how many of 40 rounds do.
func TestALoadSweepOfKnownCapacity(t *testing.T) {
	levels := []int{1, 2, 4, 8}
	rounds := 1
	if os.Getenv("ASSAY_SLOW") != "" {
		rounds = 40
	}
	hits, all, knees := map[string]int{}, 0, 0
	for round := range rounds {
		table, words := swept(t, uint64(round+1), levels)
		column := func(name string) int {
			return slices.IndexFunc(table.Columns, func(c results.Column) bool { return c.Name == name })
		}
		if len(table.Rows) != len(levels) || len(words) != 1 {
			t.Fatalf("%d rows; %q", len(table.Rows), words)
		}
		for i, n := range levels {
			row := table.Rows[i]
			working := float64(min(n, slots))
			joules := (idleWatts + wattsOfASlot*working) * service.Seconds() / working
			for name, truth := range map[string]float64{"answers_per_s": working / service.Seconds(), "tokens_per_s": 1000 * working, "joules": joules,
				"money": service.Seconds()/working/3600*perGPUHour + joules/3.6e6*perKWh} {
				e := row[column(name)].Estimate
				if e.Value == nil || e.Low == nil {
					t.Fatalf("%s at %d in flight: %+v", name, n, e)
				}
				if slack := 1e-9 * truth; *e.Low-slack <= truth && truth <= *e.High+slack { // tokens at one in flight are exact
					hits[name]++
				} else {
					t.Logf("round %d: %s at %d in flight: %.4g [%.4g, %.4g], the truth is %.4g", round, name, n, *e.Value, *e.Low, *e.High, truth)
				}
				if off := *e.Value/truth - 1; off < -.12 || off > .12 {
					t.Errorf("round %d: %s at %d in flight: %.4g, the truth is %.4g", round, name, n, *e.Value, truth)
				}
			}
			if knee := row[column("knee")].Text == "knee"; knee && n == slots {
				knees++
			}
			all++
		}
	}
	t.Logf("of %d intervals each: %v hold the truth; the knee is at %d in flight in %d of %d rounds", all, hits, slots, knees, rounds)
	for name, n := range hits {
		if n*10 < all*9 && !(rounds == 1 && n == all-1) { // one of four may miss
			t.Errorf("%s: %d of %d intervals hold the truth", name, n, all)
		}
	}
	if len(hits) != 4 || knees*10 < rounds*9 {
		t.Errorf("%d quantities; the knee is at %d in flight in %d of %d rounds", len(hits), slots, knees, rounds)
	}
}
