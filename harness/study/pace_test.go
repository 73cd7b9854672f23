package study

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/harness/score"
	"assay/results"
	"assay/timing"
)

func ms(n float64) *time.Duration { return ptr(time.Duration(n * 1e6)) }

// answer is one of so many tokens, the first of which came after 200 ms; the rest took
// 10 ms each. The server read 90 of 100 tokens of the prompt in 150 ms.
func answer(tokens int) results.Row {
	decode := 10 * float64(tokens-1)
	return results.Row{TTFT: ms(200), Decode: ms(decode), Latency: ms(200 + decode), PromptTokens: ptr(100), CompletionTokens: &tokens, FirstTokens: ptr(1),
		Paces: results.Paces{FirstAnswer: ms(300), GapMedian: ms(10), GapP95: ms(12), GapP99: ms(30), ServerPrompt: ms(150), ServerDecode: ms(8 * float64(tokens-1)), CachedTokens: ptr(10)}}
}

func paced(t *testing.T, slo timing.SLO, noDecode string, rows ...results.Row) *paces {
	t.Helper()
	p := NewPaces("m", "a", noDecode, slo)
	s := &score.PairSample{}
	for _, r := range rows {
		p.Add(s.Item(), r)
	}
	p.Score(s)
	s.Run(1, 200)
	return p
}

func hasPace(t *testing.T, what string, e *results.Estimate, want float64, n int) {
	t.Helper()
	if e.Value == nil || math.Abs(*e.Value-want) > 1e-9*math.Abs(want) || e.N != n {
		t.Errorf("%s is %+v, want %v of %d", what, e, want, n)
	}
}

// Rates are ratios of sums over the tokens and the times that belong together.
func TestPaces(t *testing.T) {
	lost := answer(7)
	lost.Flags = []results.Flag{results.FlagThrottled}
	uncounted := answer(11)
	uncounted.CompletionTokens, uncounted.FirstTokens = nil, nil
	p := paced(t, timing.SLO{}, "", answer(11), answer(101), answer(21), lost, uncounted, results.Row{Failed: true, Kind: "stalled"})
	hasPace(t, "first answer", p.FirstAnswer[0], .3, 4)
	hasPace(t, "TPOT", p.TPOT[0], 10, 3)
	hasPace(t, "TPOT p95", p.TPOT[1], 10, 3)
	hasPace(t, "gap p95", p.GapP95, 12, 4)
	hasPace(t, "gap p99", p.GapP99, 30, 4)
	hasPace(t, "prefill", p.Prefill, 400/.8, 4)
	hasPace(t, "prefill of the server", p.ServerPrefill, 4*90/.6, 4) // without what it had in its cache
	hasPace(t, "decode", p.Decode, 100, 3)
	hasPace(t, "decode of the server", p.ServerDecode, 125, 3)
	hasPace(t, "per stream", p.PerTime, 133/(.6+1.3), 3)
	if p.TPOT[0].Undefined != 1 || p.PerTime.Undefined != 1 {
		t.Errorf("left out: %+v, %+v", p.TPOT[0], p.PerTime)
	}
	if p := paced(t, timing.SLO{}, "it leaves out sampling", answer(11)); p.ServerDecode.Value != nil || !strings.Contains(p.ServerDecode.Why, "sampling") || p.ServerPrefill.Value == nil {
		t.Errorf("Ollama's decoding: %+v", p.ServerDecode)
	}
	table, ok := paceTable("s", []*paces{p})
	if !ok || len(table.Rows[0]) != len(table.Columns) {
		t.Errorf("%t, %+v", ok, table)
	}
	if _, ok := paceTable("s", []*paces{paced(t, timing.SLO{}, "", lost)}); ok {
		t.Error("a table of no time")
	}
}

// Limits are inclusive; what was sent and has no content is missed; what cannot be
// compared is left out and counted.
func TestShareWithinTheLimits(t *testing.T) {
	lost, odd := answer(11), answer(11)
	lost.Flags = []results.Flag{results.FlagOtherProcess}
	odd.FirstTokens = nil // TPOT is undefined
	late := answer(11)
	late.TTFT = ms(200.000001)
	rows := []results.Row{answer(11), answer(101), late, lost, odd, {Failed: true, Kind: "truncated"}, {Failed: true, Kind: "needs"}, {Failed: true, Kind: "input"}}
	p := paced(t, timing.SLO{TTFT: ms(200), TPOT: ms(10)}, "", rows...)
	hasPace(t, "share", p.Share, 50, 4)
	if p.Share.Undefined != 4 {
		t.Errorf("%d are undefined, want 4: a time that does not count, one without TPOT, and two that sent nothing", p.Share.Undefined)
	}
	hasPace(t, "share of answers", p.Met, 200./3, 3) // the truncated one is no answer
	hasPace(t, "share of TTFT alone", paced(t, timing.SLO{TTFT: ms(200)}, "", rows...).Share, 60, 5)
	hasPace(t, "share of TPOT alone", paced(t, timing.SLO{TPOT: ms(9.99)}, "", answer(11), answer(21)).Share, 0, 2)
	table, _ := paceTable("s", []*paces{p})
	last := table.Columns[len(table.Columns)-1]
	if last.Name != "slo_share" || !strings.Contains(last.Help, "TTFT at most 200ms, TPOT at most 10ms") {
		t.Errorf("%+v", last)
	}
}

// TestPacesAreSpread: 21 answers whose times are 1 to 21 times those of the first; the 20th is p95.
func TestPacesAreSpread(t *testing.T) {
	var rows []results.Row
	for i := range 21 {
		n := float64(i + 1)
		r := answer(11)
		r.Decode, r.Latency = ms(10*n), ms(200+10*n) // of 10 tokens
		r.FirstAnswer, r.GapMedian, r.GapP95, r.GapP99 = ms(100*n), ms(n), ms(2*n), ms(3*n)
		rows = append(rows, r)
	}
	p := paced(t, timing.SLO{}, "", rows...)
	table, _ := paceTable("s", []*paces{p})
	for column, want := range map[string]float64{"first_answer_median": 1.1, "first_answer_p95": 2, "tpot_median": 11, "tpot_p95": 20, "gap_median": 11, "gap_p95": 22, "gap_p99": 33} {
		i := slices.IndexFunc(table.Columns, func(c results.Column) bool { return c.Name == column })
		hasPace(t, column, table.Rows[0][i].Estimate, want, 21)
	}
}

func TestFigureOfTimes(t *testing.T) {
	p := paced(t, timing.SLO{}, "", answer(11))
	a := NewAccount("m", "a")
	s := &score.PairSample{}
	a.Add(s.Item(), answer(11), nil)
	a.Score(s)
	s.Run(1, 10)
	f := paceFigure("s", []*paces{p}, []*Account{a})
	if len(f) != 1 || len(f[0].Series) != 3 || !strings.Contains(f[0].Alt, "m, a: first content (TTFT) 0.200 s, first of the answer 0.300 s, last content (T) 0.300 s") {
		t.Errorf("%+v", f)
	}
}
