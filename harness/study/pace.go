package study

import (
	"fmt"
	"strings"
	"time"

	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

// paces collects those of one model's answers in one arm. Only times that count are in
// them (score.Seconds).
type paces struct {
	Model, Arm string

	slo                             timing.SLO
	noDecode                        string // why the server's own figure of decoding says nothing; "": it does
	timed                           int
	first, tpot, median, p95, p99   series
	prefill, reading, decode, write ratio
	stream                          ratio
	kept, met                       ratio // trials, answers within the SLO

	// Set by Score and filled by the sample's Run.
	FirstAnswer, TPOT             [2]*results.Estimate // s; ms: median, p95
	GapMedian, GapP95, GapP99     *results.Estimate    // ms: medians over answers
	Prefill, ServerPrefill        *results.Estimate    // tokens/s
	Decode, ServerDecode, PerTime *results.Estimate    // tokens/s
	Share, Met                    *results.Estimate    // %: of trials, of answers
}

// series is one value an answer.
type series struct {
	all []score.Observation
	n   score.Count
}

func (s *series) add(item int, d *time.Duration, unit time.Duration) {
	s.n.Note(true, d != nil)
	if d != nil {
		s.all = append(s.all, score.Observation{Item: item, Value: float64(*d) / float64(unit)})
	}
}

// ratio is a ratio of two sums over answers.
type ratio struct {
	all []part
	n   score.Count
}

type part struct {
	item     int
	num, den float64
}

// add takes in tokens that took a time; one that is not known, or took none, is left out.
func (r *ratio) add(item int, tokens *int, took *time.Duration) {
	ok := tokens != nil && took != nil && *took > 0
	r.n.Note(true, ok)
	if ok {
		r.all = append(r.all, part{item, float64(*tokens), took.Seconds()})
	}
}

func (r *ratio) score(s *score.PairSample, why string) *results.Estimate {
	num, den := s.Column(), s.Column()
	for _, p := range r.all {
		s.Add(num, p.item, p.num)
		s.Add(den, p.item, p.den)
	}
	r.all = nil // the sample has them
	return r.n.Of(s.Sums(func(sums []float64) (float64, bool) {
		return sums[num] / sums[den], sums[den] > 0
	}), why)
}

// NewPaces makes an empty one. noDecode is why the server's own figure of decoding says
// nothing; "": it does.
func NewPaces(model, arm, noDecode string, slo timing.SLO) *paces {
	return &paces{Model: model, Arm: arm, slo: slo, noDecode: noDecode}
}

// Add takes in a trial of an item.
func (p *paces) Add(item int, r results.Row) {
	if p.slo.Any() {
		p.judge(item, &r)
	}
	if _, ok := score.Seconds(&r); !ok {
		return
	}
	p.timed++
	p.first.add(item, r.FirstAnswer, time.Second)
	n := r.Decoded()
	var tpot *time.Duration
	if n != nil && r.Decode != nil {
		tpot = new(*r.Decode / time.Duration(*n))
	}
	p.tpot.add(item, tpot, time.Millisecond)
	p.median.add(item, r.GapMedian, time.Millisecond)
	p.p95.add(item, r.GapP95, time.Millisecond)
	p.p99.add(item, r.GapP99, time.Millisecond)
	p.prefill.add(item, r.PromptTokens, r.TTFT)
	p.reading.add(item, less(r.PromptTokens, r.CachedTokens), r.ServerPrompt)
	p.decode.add(item, n, r.Decode)
	one := 1 // the server's clock of decoding starts with the first token
	p.write.add(item, less(r.CompletionTokens, &one), r.ServerDecode)
	p.stream.add(item, r.CompletionTokens, r.Latency)
}

// less is a - b where that is at least 1; b nil: none are to be taken away.
func less(a, b *int) *int {
	if a == nil {
		return nil
	}
	n := *a
	if b != nil {
		n -= *b
	}
	if n < 1 {
		return nil
	}
	return &n
}

// judge compares a trial with the SLO. A request that was sent and got no answer is
// missed. A time that does not count, and a trial that sent nothing, are not compared.
func (p *paces) judge(item int, r *results.Row) {
	v := p.slo.Verdict(r.Pace())
	if len(score.Lost(r)) > 0 || r.Failed && unsent(r.Kind) {
		v = timing.Undefined
	}
	p.kept.n.Note(true, v != timing.Undefined)
	if v == timing.Undefined {
		return
	}
	in := 0.
	if v == timing.Within {
		in = 100
	}
	p.kept.all = append(p.kept.all, part{item, in, 1})
	if !r.Failed {
		p.met.n.Note(true, true)
		p.met.all = append(p.met.all, part{item, in, 1})
	}
}

// unsent says of a kind of failure that nothing was asked of the server.
func unsent(kind string) bool { return kind == "needs" || kind == "input" }

// Score adds the paces to a sample whose Run will fill them.
func (p *paces) Score(s *score.PairSample) {
	const untimed, uncounted = "no answer has a valid time", "the server does not count tokens"
	why := func(reason string) string {
		if p.timed == 0 {
			return untimed
		}
		return reason
	}
	pair := func(x *series, reason string) (out [2]*results.Estimate) {
		for i, q := range s.Quantiles(x.all, .5, .95) {
			out[i] = x.n.Of(q, why(reason))
		}
		x.all = nil
		return out
	}
	one := func(x *series) *results.Estimate {
		e := x.n.Of(s.Quantiles(x.all, .5)[0], why("no answer has two chunks, or the store is of an assay that did not keep gaps"))
		x.all = nil
		return e
	}
	p.FirstAnswer = pair(&p.first, "nothing came after the reasoning, or the store is of an assay that did not keep it")
	p.TPOT = pair(&p.tpot, "it is not known how many tokens came after the first chunk")
	p.GapMedian, p.GapP95, p.GapP99 = one(&p.median), one(&p.p95), one(&p.p99)
	p.Prefill = p.prefill.score(s, why(uncounted))
	p.ServerPrefill = p.reading.score(s, why("the server does not say how long it read, or the store is of an assay that did not keep it"))
	p.Decode = p.decode.score(s, why("it is not known how many tokens came after the first chunk"))
	if p.noDecode != "" {
		p.ServerDecode = &results.Estimate{Undefined: p.timed, Why: p.noDecode}
	} else {
		p.ServerDecode = p.write.score(s, why("the server does not say how long it wrote, or the store is of an assay that did not keep it"))
	}
	p.PerTime = p.stream.score(s, why(uncounted))
	p.Share = p.kept.score(s, "no trial can be compared with the limits")
	p.Met = p.met.score(s, "no answer can be compared with the limits")
}

// Limits says an SLO in words; "": it has no limit.
func Limits(s timing.SLO) string {
	var parts []string
	if s.TTFT != nil {
		parts = append(parts, fmt.Sprintf("TTFT at most %v", *s.TTFT))
	}
	if s.TPOT != nil {
		parts = append(parts, fmt.Sprintf("TPOT at most %v", *s.TPOT))
	}
	return strings.Join(parts, ", ")
}

// paceTable is the paces of arms, one row each; false: none has a valid time. It follows
// Score and Run.
func paceTable(name string, all []*paces) (results.Table, bool) {
	rate := func(name, title, help string) results.Column {
		return SignificantColumn(name, title, "tokens/s", help)
	}
	ms := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Unit: "ms", Digits: 2, Help: help}
	}
	s := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Unit: "s", Digits: 3, Help: help}
	}
	t := results.Table{Name: name + "-speed", Title: "Speed of answers", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		s("first_answer_median", "First answer median", "first chunk after the reasoning - start of the request, summed over turns"), s("first_answer_p95", "First answer p95", ""),
		ms("tpot_median", "TPOT median", "decode time / tokens after the first chunk, of each answer"), ms("tpot_p95", "TPOT p95", ""),
		ms("gap_median", "Gap median", "time between two chunks: each answer's median, and of these the median"),
		ms("gap_p95", "Gap p95", "each answer's 95th percentile, and of these the median"),
		ms("gap_p99", "Gap p99", "each answer's 99th percentile, and of these the median"),
		rate("prefill", "Prefill", "tokens of prompts / TTFT, both summed: upload, queue and pictures included"),
		rate("prefill_server", "Prefill, server", "tokens that it read / time that it says it read, both summed; many servers leave the encoder of pictures out"),
		rate("decode", "Decode", "tokens after the first chunk / decode time, both summed"),
		rate("decode_server", "Decode, server", "tokens but one / time that the server says it wrote, both summed"),
		rate("stream", "Per stream", "tokens / T, both summed: what one asker gets"),
	}}
	any := false
	var slo timing.SLO
	for _, p := range all {
		if p.slo.Any() {
			slo = p.slo
		}
	}
	if slo.Any() {
		t.Columns = append(t.Columns, PercentColumn("slo_share", "Within SLO", "share of trials within "+Limits(slo)+" (limits included); no content is missed, what is undefined is left out"))
	}
	for _, p := range all {
		any = any || p.timed > 0
		row := []results.Cell{Text(p.Model), Text(p.Arm)}
		for _, e := range []*results.Estimate{p.FirstAnswer[0], p.FirstAnswer[1], p.TPOT[0], p.TPOT[1], p.GapMedian, p.GapP95, p.GapP99, p.Prefill, p.ServerPrefill, p.Decode, p.ServerDecode, p.PerTime} {
			row = append(row, Value(e))
		}
		if slo.Any() {
			row = append(row, Value(p.Share))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, any
}

// paceFigure draws the times of arms: TTFT, the first words of the answer, T; nil: none has
// one.
func paceFigure(name string, all []*paces, accounts []*Account) []results.Figure {
	f := results.Figure{Name: name + "-times", Kind: results.FigureDots, Title: "When answers begin and end",
		Caption: "Medians over answers whose time counts, with 95 % intervals: the first words (reasoning included), the first words of the answer itself, and the last ones.",
		X:       results.Axis{Title: "Time since the request began", Unit: "s", Log: true}}
	series := []results.Series{{Name: "first content (TTFT)"}, {Name: "first of the answer"}, {Name: "last content (T)"}}
	var words []string
	for i, p := range all {
		label := p.Model + ", " + p.Arm
		a := accounts[i].Times
		var said []string
		for k, e := range []*results.Estimate{a.TTFT[0], p.FirstAnswer[0], a.Latency[0]} {
			if e == nil || e.Value == nil || *e.Value <= 0 {
				continue
			}
			series[k].Points = append(series[k].Points, results.Point{Label: label, X: e})
			said = append(said, series[k].Name+" "+stats.Significant(*e.Value, 3)+" s")
		}
		if len(said) > 0 {
			words = append(words, label+": "+strings.Join(said, ", "))
		}
	}
	for _, s := range series {
		if len(s.Points) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	if len(words) == 0 {
		return nil
	}
	f.Alt = "Medians of times by model and arm. " + strings.Join(words, "; ") + "."
	return []results.Figure{f}
}
