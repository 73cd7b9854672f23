package study

import (
	"fmt"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

// slo is the limits that bench.yaml has for the study.
func (b *Basis) slo() timing.SLO { return b.Manifest.Study(b.Study).SLO }

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

// paces are the measures of how fast answers came.
func (b *Basis) paces() []measure {
	const uncounted, noAfter = "the server does not count tokens", "it is not known how many tokens came after the first chunk"
	why := func(a *Account, reason string) string {
		if a.timed() == 0 {
			return untimed
		}
		return reason
	}
	pair := func(q quantity, i int, reason string) func(*Account) *results.Estimate {
		return func(a *Account) *results.Estimate { return a.pair(ofTimed, why(a, reason), q)[i] }
	}
	gap := func(name, title, help string, q quantity) measure {
		return measure{Column: results.Column{Name: name, Title: title, Unit: "ms", Digits: 2, Help: help},
			of: func(a *Account) *results.Estimate {
				return a.quantiles(ofTimed, why(a, "no answer has two chunks, or the store is of an assay that did not keep gaps"), a.column(q), .5)[0]
			}}
	}
	rate := func(name, title, help string, tokens, took quantity, reason string) measure {
		return measure{Column: SignificantColumn(name, title, "tokens/s", help),
			of: func(a *Account) *results.Estimate {
				return a.ratio(ofTimed, why(a, reason), a.column(tokens), a.column(took))
			}}
	}
	const noFirst = "nothing came after the reasoning, or the store is of an assay that did not keep it"
	written := rate("decode_server", "Decode, server", "tokens but one / time that the server says it wrote, both summed", wrote, wroteFor, "the server does not say how long it wrote, or the store is of an assay that did not keep it")
	ratio := written.of
	written.of = func(a *Account) *results.Estimate {
		if no := b.NoDecode.Of(b.Manifest, a.Model); no != "" {
			return &results.Estimate{Undefined: a.timed(), Why: no}
		}
		return ratio(a)
	}
	ms := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Unit: "ms", Digits: 2, Help: help}
	}
	s := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Unit: "s", Digits: 3, Help: help}
	}
	out := []measure{
		{Column: s("first_answer_median", "First answer median", "first chunk after the reasoning - start of the request, summed over turns"), of: pair(worded, 0, noFirst)},
		{Column: s("first_answer_p95", "First answer p95", ""), of: pair(worded, 1, noFirst)},
		{Column: ms("tpot_median", "TPOT median", "decode time / tokens after the first chunk, of each answer"), of: pair(tpot, 0, noAfter)},
		{Column: ms("tpot_p95", "TPOT p95", ""), of: pair(tpot, 1, noAfter)},
		gap("gap_median", "Gap median", "time between two chunks: each answer's median, and of these the median", gapMedian),
		gap("gap_p95", "Gap p95", "each answer's 95th percentile, and of these the median", gapP95),
		gap("gap_p99", "Gap p99", "each answer's 99th percentile, and of these the median", gapP99),
		rate("prefill", "Prefill", "tokens of prompts / TTFT, both summed: upload, queue and images included", asked, askedTTFT, uncounted),
		rate("prefill_server", "Prefill, server", "tokens that it read / time that it says it read, both summed; many servers leave out the image encoder", uncached, uncachedFor, "the server does not say how long it read, or the store is of an assay that did not keep it"),
		rate("decode", "Decode", "tokens after the first chunk / decode time, both summed", decoded, decodedFor, noAfter),
		written,
		rate("stream", "Per stream", "tokens / T, both summed: what one asker gets", streamed, streamedFor, uncounted),
	}
	if slo := b.slo(); slo.Any() {
		out = append(out, measure{Column: PercentColumn("slo_share", "Within SLO", "share of trials within "+Limits(slo)+" (limits included); no content is missed, what is undefined is left out"),
			of: func(a *Account) *results.Estimate {
				return a.ratio(ofCompared, "no trial can be compared with the limits", a.column(within), one)
			}},
			unseen("slo_met", func(a *Account) *results.Estimate {
				return a.ratio(ofHaving, "no answer can be compared with the limits", a.column(kept), one)
			}))
	}
	return out
}

// paceFigure draws the times of arms: TTFT, the first words of the answer, T; nil: none has
// one.
func paceFigure(name string, accounts []*Account) []results.Figure {
	f := results.Figure{Name: name + "-times", Kind: results.FigureDots, Title: "When answers begin and end",
		Caption: "Medians over answers whose time counts, with 95 % CIs: the first words (reasoning included), the first words of the answer itself, and the last ones.",
		X:       results.Axis{Title: "Time since the request began", Unit: "s", Log: true}}
	series := []results.Series{{Name: "first content (TTFT)"}, {Name: "first of the answer"}, {Name: "last content (T)"}}
	var words []string
	for _, a := range accounts {
		label := a.Model + ", " + a.Arm
		var said []string
		for k, column := range []string{"ttft_median", "first_answer_median", "latency_median"} {
			e := a.Estimate(column)
			if e.Value == nil || *e.Value <= 0 {
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
