package results

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// serve is a server of so many slots with n requests in flight: whoever has got an answer
// asks again after a pause, and who finds no slot free waits for one. An answer takes
// service and has tokens in proportion to it. While k replies are worked on, idleWatts + k
// watts each are drawn.
func serve(items, n, slots int, pause time.Duration, service func() time.Duration) (all []LoadRequest, power []draw) {
	free := make([]time.Duration, slots) // when a slot is free again
	asks := make([]time.Duration, n)     // when an asker asks again
	for range items {
		who := slices.Index(asks, slices.Min(asks))
		at := asks[who]
		slot := slices.Index(free, slices.Min(free))
		begin, takes := max(at, free[slot]), service()
		free[slot] = begin + takes
		asks[who] = begin + takes + pause
		tokens := int(takes / time.Millisecond)
		all = append(all, LoadRequest{From: at, To: begin + takes, Answered: true, Tokens: &tokens})
		power = append(power, draw{begin, 1}, draw{begin + takes, -1})
	}
	slices.SortFunc(power, func(a, b draw) int { return cmp.Compare(a.at, b.at) })
	return all, power
}

type draw struct {
	at time.Duration
	by int
}

const idleWatts, eachWatts = 50., 30. // W

// drew is the energy between two times, exactly.
func drew(power []draw) func(from, to time.Duration) (float64, bool) {
	return func(from, to time.Duration) (float64, bool) {
		joules, on, last := 0., 0, from
		for _, s := range power {
			if s.at > from {
				at := min(s.at, to)
				joules += (idleWatts + eachWatts*float64(on)) * max(0, at-last).Seconds()
				last = max(last, at)
			}
			on += s.by
		}
		return joules + idleWatts*max(0, to-last).Seconds(), true
	}
}

// A server of known capacity: answers, tokens and joules are those of the server, in
// every one of the levels, although the last answers of a level have fewer beside them.
func TestAServerOfKnownCapacity(t *testing.T) {
	const slots, mean = 4, 100 * time.Millisecond
	levels := []int{1, 2, 4, 8}
	const rounds = 300
	hit := map[string]map[int]int{"answers": {}, "tokens": {}, "joules": {}}
	knees := map[int]int{}
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		var rates []*Estimate
		for _, n := range levels {
			all, power := serve(120, n, slots, 0, func() time.Duration { return time.Duration((.5 + r.Float64()) * float64(mean)) })
			l := SplitLoad(all, n, drew(power))
			if len(l.Stretches) < 5 || l.Answers != 120 || math.Abs(l.Mean-float64(n)) > 1e-9 {
				t.Fatalf("%d in flight: %d stretches, %d answers, %v in flight", n, len(l.Stretches), l.Answers, l.Mean)
			}
			working := float64(min(n, slots))
			truth := map[string]float64{"answers": working / mean.Seconds(), "tokens": 1000 * working, "joules": (idleWatts + eachWatts*working) * mean.Seconds() / working}
			got := map[string]*Estimate{
				"answers": Rate(l.Stretches, "", func(s Stretch) (float64, float64, bool) { return float64(s.Answers), s.Took.Seconds(), true }),
				"tokens":  Rate(l.Stretches, "", func(s Stretch) (float64, float64, bool) { return float64(*s.Tokens), s.Took.Seconds(), true }),
				"joules":  Rate(l.Stretches, "", func(s Stretch) (float64, float64, bool) { return *s.Joules, float64(s.Answers), true }),
			}
			rates = append(rates, got["answers"])
			for name, e := range got {
				if math.Abs(*e.Value-truth[name]) > .15*truth[name] {
					t.Fatalf("%s at %d in flight: %v, the truth is %v", name, n, *e.Value, truth[name])
				}
				// Half a token of 100 is lost in rounding down.
				if want := truth[name]; *e.Low <= want && want <= *e.High || name == "tokens" && math.Abs(*e.Value-want) < .007*want {
					hit[name][n]++
				}
			}
		}
		k, ok := Knee(rates)
		if !ok {
			t.Fatal("no knee")
		}
		knees[levels[k]]++
	}
	for name, by := range hit {
		for n, k := range by {
			if share := float64(k) / rounds; share < .9 {
				t.Errorf("%s at %d in flight: %.3f of the intervals hold the truth", name, n, share)
			}
		}
	}
	t.Logf("of %d rounds each: %v; knees %v", rounds, hit, knees)
	if knees[slots] < rounds*95/100 {
		t.Errorf("the knee is found at %v, the server has %d slots", knees, slots)
	}
}

// Time in which we had nothing on the wire is not the server's.
func TestOurOwnPauses(t *testing.T) {
	all, power := serve(60, 1, 1, 400*time.Millisecond, func() time.Duration { return 100 * time.Millisecond })
	l := SplitLoad(all, 1, drew(power))
	rate := Rate(l.Stretches, "", func(s Stretch) (float64, float64, bool) { return float64(s.Answers), s.Took.Seconds(), true })
	joules := Rate(l.Stretches, "", func(s Stretch) (float64, float64, bool) { return *s.Joules, float64(s.Answers), true })
	if math.Abs(*rate.Value-10) > 1e-9 || math.Abs(*joules.Value-8) > 1e-9 || math.Abs(l.Mean-1) > 1e-9 {
		t.Errorf("%v answers/s, %v J, %v in flight; want 10, 8, 1", *rate.Value, *joules.Value, l.Mean)
	}
}

// What is not known is not guessed.
func TestRatesThatDoNotExist(t *testing.T) {
	ms := time.Millisecond
	one := 1
	few := []LoadRequest{{0, 10 * ms, true, &one}, {0, 10 * ms, true, &one}}
	if l := SplitLoad(few, 2, nil); len(l.Stretches) != 0 || l.Answers != 2 {
		t.Errorf("a level that was never kept: %+v", l)
	}
	if l := SplitLoad(nil, 2, nil); len(l.Stretches) != 0 {
		t.Errorf("%+v", l)
	}
	three := []LoadRequest{{0, 10 * ms, true, &one}, {10 * ms, 20 * ms, false, nil}, {20 * ms, 30 * ms, true, nil}, {30 * ms, 40 * ms, true, &one}}
	l := SplitLoad(three, 1, func(_, to time.Duration) (float64, bool) { return 1, to < 15*ms })
	if len(l.Stretches) != 1 || l.Stretches[0].Tokens != nil || l.Stretches[0].Joules != nil || l.Stretches[0].Answers != 2 || l.Stretches[0].Took != 30*ms || l.Answers != 3 {
		t.Errorf("%+v", l.Stretches)
	}
	tokens := func(s Stretch) (float64, float64, bool) { return 1, 1, s.Tokens != nil }
	if e := Rate(l.Stretches, "uncounted", tokens); e.Value != nil || e.Why != "uncounted" {
		t.Errorf("%+v", e)
	}
	if e := Rate(nil, "", tokens); e.Value != nil || e.Why == "" {
		t.Errorf("%+v", e)
	}
	if e := Rate(l.Stretches, "", func(s Stretch) (float64, float64, bool) { return 1, 1, true }); e.Value == nil || e.Low != nil || e.Why == "" {
		t.Errorf("one stretch has no interval: %+v", e)
	}
}

func TestLoadLevelsOfARun(t *testing.T) {
	names := []string{"baseline", "LOAD@in_flight=2", "LOAD@in_flight=8"}
	m := Manifest{}
	m.Conditions = map[string]map[string]json.RawMessage{"qa": DescribeLoads(names, []int{1, 2, 8}), "f": {"sham": json.RawMessage(`{"kind":"sham"}`)}}
	if got := m.LoadLevels("qa"); len(got) != 3 || got["baseline"] != 1 || got["LOAD@in_flight=2"] != 2 {
		t.Errorf("%v", got)
	}
	if got := m.LoadLevels("f"); len(got) != 0 || DescribeLoads(nil, nil) != nil {
		t.Errorf("%v", got)
	}
}

func TestKnee(t *testing.T) {
	e := func(v, half float64) *Estimate {
		low, high := v-half, v+half
		return &Estimate{Value: &v, Low: &low, High: &high}
	}
	for _, c := range []struct {
		rates []*Estimate
		want  int
		ok    bool
	}{
		{[]*Estimate{e(10, 1), e(20, 1), e(40, 1), e(41, 1)}, 2, true},
		{[]*Estimate{e(10, 1), e(20, 1), e(38, .94), e(41, 1)}, 3, true}, // 38.94 is less than 95 % of 41
		{[]*Estimate{e(10, 1), e(20, 1), e(38, .96), e(41, 1)}, 2, true},
		{[]*Estimate{e(10, 40), e(20, 1)}, 0, true},
		{[]*Estimate{e(40, 1), e(30, 1), e(20, 1)}, 0, true}, // more only harms
		{[]*Estimate{e(10, 1), {Why: "unknown"}}, 0, false},
	} {
		if got, ok := Knee(c.rates); got != c.want || ok != c.ok {
			t.Errorf("%d, %t, want %d, %t", got, ok, c.want, c.ok)
		}
	}
}

// TestStretchesByHand: two requests in flight, each of 2 s, begun a second apart: an answer each
// second. Seven of them come before the last request begins, at 7 s.
func TestStretchesByHand(t *testing.T) {
	var all []LoadRequest
	for i := range 9 {
		tokens := 10 * (i + 1)
		all = append(all, LoadRequest{From: time.Duration(i) * time.Second, To: time.Duration(i+2) * time.Second, Answered: true, Tokens: &tokens})
	}
	power := func(from, to time.Duration) (float64, bool) { return 100 * (to - from).Seconds(), true }
	for n, want := range map[int][]Stretch{
		// Of 7 answers at 2 to 8 s, 2 are in the first stretch and none ends before one of its own.
		2: {{Took: 3 * time.Second, Answers: 2, Tokens: new(30), Joules: new(300.)}, {Took: 2 * time.Second, Answers: 2, Tokens: new(70), Joules: new(200.)}, {Took: 3 * time.Second, Answers: 3, Tokens: new(180), Joules: new(300.)}},
		4: {{Took: 8 * time.Second, Answers: 7, Tokens: new(280), Joules: new(800.)}},
	} {
		l := SplitLoad(all, n, power)
		if l.Answers != 9 || l.InFlight != n || !reflect.DeepEqual(l.Stretches, want) {
			t.Errorf("%d in flight: %d answers, %s", n, l.Answers, said(l.Stretches))
		}
	}
}

func said(l []Stretch) string {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestTheIntervalOfARate: 10, 12 and 8 answers in 10 s each are 1 a second; squares of 0, 2 and -2 are 8,
// of which 3/2 are 12. Student's t of 2 degrees of freedom is 4.303.
func TestTheIntervalOfARate(t *testing.T) {
	e := Rate([]Stretch{{Answers: 10}, {Answers: 12}, {Answers: 8}}, "", func(s Stretch) (float64, float64, bool) { return float64(s.Answers), 10, true })
	half := 4.302652729749464 * math.Sqrt(12) / 30
	if e.N != 30 || *e.Value != 1 || math.Abs(*e.Low-(1-half)) > 1e-9 || math.Abs(*e.High-(1+half)) > 1e-9 {
		t.Errorf("%v [%v, %v] of %d, want 1 +/- %v", *e.Value, *e.Low, *e.High, e.N, half)
	}
}

// TestTwoStretchesHaveNoInterval: of one degree of freedom it would say nothing.
func TestTwoStretchesHaveNoInterval(t *testing.T) {
	e := Rate([]Stretch{{Answers: 10}, {Answers: 12}}, "", func(s Stretch) (float64, float64, bool) { return float64(s.Answers), 10, true })
	if *e.Value != 1.1 || e.Low != nil || e.Why != "too few answers for an interval" {
		t.Errorf("%+v", e)
	}
}
