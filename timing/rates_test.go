package timing_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

type goldenTrace struct {
	Start       int64   `json:"start_ns"`
	Arrivals    []int64 `json:"arrivals_ns"`
	Tokens      *int    `json:"tokens"`
	First       *int    `json:"first_chunk_tokens"`
	FirstAnswer *int    `json:"first_answer"`
}

func (g goldenTrace) trace() (timing.Trace, timing.Tokens) {
	r := timing.NewRecorder(timing.NewClock())
	r.MarkAt(timing.Start, time.Duration(g.Start))
	var chunks []timing.Chunk
	for i, at := range g.Arrivals {
		chunks = append(chunks, timing.Chunk{At: time.Duration(at), Runes: 1, Answer: g.FirstAnswer != nil && i >= *g.FirstAnswer})
	}
	r.Chunks(chunks, timing.StampsKernel)
	return r.Trace(), timing.Tokens{Total: g.Tokens, First: g.First}
}

// golden compares one figure with its expected value; "" is a defined one.
func golden(t *testing.T, out map[string]json.RawMessage, key string, got float64, why string) {
	t.Helper()
	raw, ok := out[key]
	if !ok {
		t.Fatalf("%s is not in the golden file", key)
	}
	var want *float64
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	var reasons map[string]string
	if r, ok := out["reasons"]; ok {
		if err := json.Unmarshal(r, &reasons); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case want == nil && (why == "" || reasons[key] == ""):
		t.Errorf("%s: %v (%s), want undefined: %s", key, got, why, reasons[key])
	case want != nil && (why != "" || math.Abs(got-*want) > 1e-9*math.Abs(*want)):
		t.Errorf("%s: %v (%s), want %v", key, got, why, *want)
	}
}

func span(d time.Duration, ok bool) (float64, string) {
	if !ok {
		return 0, "absent"
	}
	return float64(d), ""
}

// paceOf is that of a stored answer of one request, which tables are made of.
func paceOf(tr timing.Trace, n timing.Tokens) timing.Pace {
	r := results.Row{CompletionTokens: n.Total, FirstTokens: n.First}
	for _, x := range []struct {
		to **time.Duration
		of func() (time.Duration, bool)
	}{{&r.Latency, tr.Latency}, {&r.Decode, tr.Decode}, {&r.TTFT, tr.TTFT}} {
		if d, ok := x.of(); ok {
			*x.to = &d
		}
	}
	return r.Pace()
}

func TestGoldenTimes(t *testing.T) {
	b, err := os.ReadFile("testdata/times.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID, Kind string
			goldenTrace
			Window   [2]int64 `json:"window_ns"`
			InFlight int      `json:"in_flight"`
			SLO      struct {
				TTFT *time.Duration `json:"ttft_ns"`
				TPOT *time.Duration `json:"tpot_ns"`
			} `json:"slo"`
			Traces []goldenTrace
			Out    map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, c := range file.Cases {
		kinds[c.Kind]++
		t.Run(c.ID, func(t *testing.T) {
			check := func(key string, got float64, why string) { t.Helper(); golden(t, c.Out, key, got, why) }
			with := func(key string) func(float64, string) {
				return func(got float64, why string) { t.Helper(); check(key, got, why) }
			}
			switch c.Kind {
			case "trace":
				tr, n := c.trace()
				with("ttft_ns")(span(tr.TTFT()))
				with("latency_ns")(span(tr.Latency()))
				with("decode_ns")(span(tr.Decode()))
				with("time_to_first_answer_ns")(span(tr.TimeToFirstAnswer()))
				with("tpot_ns")(tr.TPOT(n))
				if p := paceOf(tr, n); p.TPOT != nil {
					check("tpot_ns", *p.TPOT, "")
				} else {
					check("tpot_ns", 0, "undefined")
				}
				with("decode_tokens_per_s")(tr.DecodeRate(n))
				with("stream_tokens_per_s")(tr.StreamRate(n))
				var gaps []float64
				for _, d := range tr.Gaps() {
					gaps = append(gaps, float64(d))
				}
				check("gaps", float64(len(gaps)), "")
				for key, q := range map[string]float64{"gap_median_ns": .5, "gap_p95_ns": .95, "gap_p99_ns": .99} {
					v, ok := stats.Quantile(gaps, q)
					why := ""
					if !ok {
						why = "no gap"
					}
					check(key, v, why)
				}
			case "block":
				b := timing.Throughput{Window: time.Duration(c.Window[1] - c.Window[0]), InFlight: c.InFlight}
				var verdicts []timing.Verdict
				for _, g := range c.Traces {
					tr, n := g.trace()
					slo := timing.SLO{TTFT: c.SLO.TTFT, TPOT: c.SLO.TPOT}
					v := slo.Verdict(tr.Pace(n))
					if stored := slo.Verdict(paceOf(tr, n)); stored != v {
						t.Errorf("a stored answer is %s, the request %s", stored, v)
					}
					b.Add(v, n.Total)
					verdicts = append(verdicts, v)
				}
				check("n", float64(b.N), "")
				check("within", float64(b.Within), "")
				check("n_undefined", float64(b.Unjudged), "")
				with("slo_share")(b.Share())
				with("goodput_per_s")(b.Goodput())
				with("block_tokens_per_s")(b.TokenRate())
				var want []timing.Verdict
				if err := json.Unmarshal(c.Out["per_trial"], &want); err != nil {
					t.Fatal(err)
				}
				if len(want) != len(verdicts) {
					t.Fatalf("%d verdicts, want %d", len(verdicts), len(want))
				}
				for i := range want {
					if verdicts[i] != want[i] {
						t.Errorf("trial %d: %s, want %s", i, verdicts[i], want[i])
					}
				}
			default:
				t.Fatalf("kind %q", c.Kind)
			}
		})
	}
	if kinds["trace"] < 20 || kinds["block"] < 11 {
		t.Errorf("the golden file has %v cases", kinds)
	}
}

// TestAnUndefinedLimit: what cannot be compared is neither kept nor missed, and
// is left out of the share; the golden file has no such block.
func TestAnUndefinedLimit(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	seven := 7
	tr, _ := goldenTrace{Arrivals: []int64{1e6, 2e6, 3e6}}.trace()
	var b timing.Throughput
	add := func(s timing.SLO, n timing.Tokens) timing.Verdict {
		v := s.Verdict(tr.Pace(n))
		b.Add(v, n.Total)
		return v
	}
	if v := add(timing.SLO{TPOT: ms(1)}, timing.Tokens{Total: &seven}); v != timing.Undefined || b.Unjudged != 1 || b.N != 1 {
		t.Errorf("%s, %+v", v, b)
	}
	if _, why := b.Share(); why == "" {
		t.Error("a share of no trials")
	}
	for _, none := range []timing.Throughput{b, {}} {
		none.Window, none.InFlight = time.Second, 2
		if v, why := none.Goodput(); why == "" {
			t.Errorf("goodput %v of %d trials, of which none can be compared", v, none.N)
		}
	}
	if v := add(timing.SLO{TTFT: ms(1)}, timing.Tokens{}); v != timing.Within {
		t.Errorf("%s", v)
	}
	if v, why := b.Share(); v != 1 || why != "" {
		t.Errorf("share %v %s, want 1 of the one that can be compared", v, why)
	}
}

// TestTokensOfTheFirstChunk: how many they are is said by the server, or follows
// where there are no more tokens than chunks; else it is unknown.
func TestTokensOfTheFirstChunk(t *testing.T) {
	chunks := func(n int, said *int) timing.Trace {
		r := timing.NewRecorder(timing.NewClock())
		r.Chunks(make([]timing.Chunk, n), timing.StampsUser)
		if said != nil {
			r.FirstTokens(*said)
		}
		return r.Trace()
	}
	n := func(v int) *int { return &v }
	for name, c := range map[string]struct {
		trace   timing.Trace
		total   *int
		stopped bool
		want    *int
	}{
		"one each":                        {chunks(5, nil), n(5), false, n(1)},
		"one each and an end mark":        {chunks(5, nil), n(6), true, n(1)},
		"one too many for the limit":      {chunks(5, nil), n(6), false, nil},
		"several":                         {chunks(5, nil), n(7), true, nil},
		"half characters":                 {chunks(5, nil), n(3), true, n(1)},
		"all at once":                     {chunks(1, nil), n(40), false, nil},
		"no count":                        {chunks(5, nil), nil, true, nil},
		"no chunk":                        {chunks(0, nil), n(0), false, nil},
		"said":                            {chunks(2, n(3)), n(9), true, n(3)},
		"said, against the number of all": {chunks(5, n(2)), n(5), false, n(2)},
		"said without a count of all":     {chunks(5, n(2)), nil, false, n(2)},
	} {
		got := c.trace.Tokens(c.total, c.stopped)
		if (got.First == nil) != (c.want == nil) || got.First != nil && *got.First != *c.want || got.Total != c.total {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAtMost(t *testing.T) {
	r := timing.NewRecorder(timing.NewClock())
	r.MarkAt(timing.Start, 0)
	r.Chunks([]timing.Chunk{{At: 1, Shared: true}, {At: 2, Answer: true}, {At: 3, Shared: true, Answer: true}, {At: 4, Answer: true}}, timing.StampsKernel)
	tr := r.Trace()
	for e := timing.Start; e <= timing.End; e++ {
		if got := tr.AtMost(e); got != (e == timing.FirstContent) {
			t.Errorf("%s at most: %t", e, got)
		}
	}
	tr.Chunks[1].Shared, tr.Chunks[3].Shared, tr.Chunks[0].Shared = true, true, false
	for e := timing.Start; e <= timing.End; e++ {
		if got := tr.AtMost(e); got != (e == timing.FirstAnswer || e == timing.LastContent) {
			t.Errorf("%s at most: %t", e, got)
		}
	}
	if (timing.Trace{}).AtMost(timing.FirstContent) {
		t.Error("the first content of an empty trace")
	}
}
