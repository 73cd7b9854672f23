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

func paced(t *testing.T, slo timing.SLO, noDecode string, rows ...results.Row) *Account {
	t.Helper()
	b := &Basis{Study: "s", Manifest: results.Manifest{StudySettings: map[string]results.StudySetting{"s": {SLO: slo}}}, NoDecode: func(string) string { return noDecode }}
	a := NewAccount(b, "m", "a")
	s := &score.PairSample{}
	for _, r := range rows {
		a.Add(s.Item(), r, nil, nil, nil)
	}
	a.Score(s)
	s.Run(1, 200)
	return a
}

func first[T, U any](v T, _ U) T { return v }

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
	hasPace(t, "first answer", p.Estimate("first_answer_median"), .3, 4)
	hasPace(t, "TPOT", p.Estimate("tpot_median"), 10, 3)
	hasPace(t, "TPOT p95", p.Estimate("tpot_p95"), 10, 3)
	hasPace(t, "gap p95", p.Estimate("gap_p95"), 12, 4)
	hasPace(t, "gap p99", p.Estimate("gap_p99"), 30, 4)
	hasPace(t, "prefill", p.Estimate("prefill"), 400/.8, 4)
	hasPace(t, "prefill of the server", p.Estimate("prefill_server"), 4*90/.6, 4) // without what it had in its cache
	hasPace(t, "decode", p.Estimate("decode"), 100, 3)
	hasPace(t, "decode of the server", p.Estimate("decode_server"), 125, 3)
	hasPace(t, "per stream", p.Estimate("stream"), 133/(.6+1.3), 3)
	if p.Estimate("tpot_median").Undefined != 1 || p.Estimate("stream").Undefined != 1 {
		t.Errorf("left out: %+v, %+v", p.Estimate("tpot_median"), p.Estimate("stream"))
	}
	if p := paced(t, timing.SLO{}, "it leaves out sampling", answer(11)); p.Estimate("decode_server").Value != nil || !strings.Contains(p.Estimate("decode_server").Why, "sampling") || p.Estimate("prefill_server").Value == nil {
		t.Errorf("Ollama's decoding: %+v", p.Estimate("decode_server"))
	}
	if tables, _ := p.basis.Times([]*Account{p}); len(tables) != 2 || len(tables[1].Rows[0]) != len(tables[1].Columns) {
		t.Errorf("%+v", tables)
	}
	if p := paced(t, timing.SLO{}, "", lost); len(first(p.basis.Times([]*Account{p}))) != 1 {
		t.Error("a table of speeds without any time")
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
	hasPace(t, "share", p.Estimate("slo_share"), 50, 4)
	if p.Estimate("slo_share").Undefined != 4 {
		t.Errorf("%d are undefined, want 4: a time that does not count, one without TPOT, and two that sent nothing", p.Estimate("slo_share").Undefined)
	}
	hasPace(t, "share of answers", p.Estimate("slo_met"), 200./3, 3) // the truncated one is no answer
	hasPace(t, "share of TTFT alone", paced(t, timing.SLO{TTFT: ms(200)}, "", rows...).Estimate("slo_share"), 60, 5)
	hasPace(t, "share of TPOT alone", paced(t, timing.SLO{TPOT: ms(9.99)}, "", answer(11), answer(21)).Estimate("slo_share"), 0, 2)
	table := first(p.basis.Times([]*Account{p}))[1]
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
	table := first(p.basis.Times([]*Account{p}))[1]
	for column, want := range map[string]float64{"first_answer_median": 1.1, "first_answer_p95": 2, "tpot_median": 11, "tpot_p95": 20, "gap_median": 11, "gap_p95": 22, "gap_p99": 33} {
		i := slices.IndexFunc(table.Columns, func(c results.Column) bool { return c.Name == column })
		hasPace(t, column, table.Rows[0][i].Estimate, want, 21)
	}
}

func TestFigureOfTimes(t *testing.T) {
	p := paced(t, timing.SLO{}, "", answer(11))
	f := paceFigure("s", []*Account{p})
	if len(f) != 1 || len(f[0].Series) != 3 || !strings.Contains(f[0].Alt, "m, a: first content (TTFT) 0.200 s, first of the answer 0.300 s, last content (T) 0.300 s") {
		t.Errorf("%+v", f)
	}
}
