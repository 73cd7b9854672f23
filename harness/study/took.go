package study

import (
	"math"
	"time"

	"assay/harness/score"
	"assay/results"
	"assay/timing"
)

// quantity is a column of what trials took; NaN: not known of the trial.
type quantity int

const (
	ttft    quantity = iota // s, as the next three; of times that count
	latency                 // T
	served                  // as the server timed itself
	worded                  // first of the answer itself
	tpot                    // ms, as the next three
	gapMedian
	gapP95
	gapP99
	asked       // tokens of the prompt, where TTFT is known
	askedTTFT   // s, that they took
	uncached    // tokens of the prompt that the server read, where it says how long
	uncachedFor // s
	decoded     // tokens after the first chunk, where it is known how long they took
	decodedFor  // s
	wrote       // tokens but one, where the server says how long they took
	wroteFor    // s
	streamed    // tokens of the answer, where T is known
	streamedFor // s
	within      // 100: within the limits of the SLO, 0: missed
	kept        // the same of answers alone
	prompt      // tokens, where those of the answer are known, too
	tokens      // tokens of the answer
	heldSeconds // GPU-seconds
	busy        // s: T, or of answers beside each other their share of the time
	gross       // J, as the next five
	net
	inexact  // of gross, as a part of it, within the card
	absolute // of gross, with the gain and offset of the sensor
	cpu
	cpuAbsolute
	right    // 0..1: mean over judges
	steps    // that are right
	answered // 1: it is an answer
	quantities
)

// took keeps what a trial of an item took.
func (a *Account) took(item int, r *results.Row, correct, matched *float64) {
	a.items = append(a.items, int32(item))
	for q := range a.columns {
		a.columns[q] = append(a.columns[q], math.NaN())
	}
	set := func(q quantity, v float64) { a.columns[q][len(a.items)-1] = v }
	if a.basis.slo().Any() {
		a.limits(r, set)
	}
	if r.Failed {
		return
	}
	set(answered, 1)
	a.paces(r, set)
	for q, v := range map[quantity]*float64{right: correct, steps: matched} {
		if v != nil {
			set(q, *v)
		}
	}
	if r.CompletionTokens != nil {
		set(tokens, float64(*r.CompletionTokens))
		if r.PromptTokens != nil {
			set(prompt, float64(*r.PromptTokens))
		}
	}
	a.spent(r, set)
}

// paces are the times of an answer whose time counts, and the tokens that belong to them.
func (a *Account) paces(r *results.Row, set func(quantity, float64)) {
	sec, timed := score.Seconds(r)
	if !timed {
		return
	}
	set(latency, sec)
	span := func(q quantity, d *time.Duration, unit time.Duration) {
		if d != nil {
			set(q, float64(*d)/float64(unit))
		}
	}
	span(ttft, r.TTFT, time.Second)
	span(served, r.ServerTotal, time.Second)
	span(worded, r.FirstAnswer, time.Second)
	span(gapMedian, r.GapMedian, time.Millisecond)
	span(gapP95, r.GapP95, time.Millisecond)
	span(gapP99, r.GapP99, time.Millisecond)
	n := r.Decoded()
	if n != nil && r.Decode != nil {
		span(tpot, new(*r.Decode/time.Duration(*n)), time.Millisecond)
	}
	one := 1 // the server's clock of decoding starts with the first token
	for _, x := range []struct {
		tokens quantity // the time is the next one
		n      *int
		took   *time.Duration
	}{{asked, r.PromptTokens, r.TTFT}, {uncached, less(r.PromptTokens, r.CachedTokens), r.ServerPrompt}, {decoded, n, r.Decode},
		{wrote, less(r.CompletionTokens, &one), r.ServerDecode}, {streamed, r.CompletionTokens, r.Latency}} {
		if x.n != nil && x.took != nil && *x.took > 0 {
			set(x.tokens, float64(*x.n))
			set(x.tokens+1, x.took.Seconds())
		}
	}
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

// limits compares a trial with the SLO. A request that was sent and got no answer is
// missed. A time that does not count, and a trial that sent nothing, are not compared.
func (a *Account) limits(r *results.Row, set func(quantity, float64)) {
	v := a.basis.slo().Verdict(r.Pace())
	if len(score.Lost(r)) > 0 || r.Failed && unsent(r.Kind) || v == timing.Undefined {
		return
	}
	in := 0.
	if v == timing.Within {
		in = 100
	}
	set(within, in)
	if !r.Failed {
		set(kept, in)
	}
}

// unsent says of a kind of failure that nothing was asked of the server.
func unsent(kind string) bool { return kind == "needs" || kind == "input" }

// spent is the time on GPUs and the energy of an answer.
func (a *Account) spent(r *results.Row, set func(quantity, float64)) {
	seconds, assumed := heldBy(r, a.together)
	if seconds != nil {
		set(heldSeconds, *seconds)
	}
	a.assumed = a.assumed || assumed
	switch sec, timed := score.Seconds(r); {
	case !a.together && timed:
		set(busy, sec)
	case a.together && r.GPU == nil:
		a.unattributed++
	case a.together && r.GPU.Held != nil: // its own latency holds others' time
		set(busy, r.GPU.Held.Seconds())
	}
	joules := func(q quantity, e timing.Millijoules) { set(q, float64(e)/1000) }
	switch u := r.GPU; {
	case u == nil:
		a.unknown["no telemetry"]++
	case u.Unknown != "":
		a.unknown[u.Unknown]++
	default:
		joules(gross, u.Gross)
		set(inexact, 0)
		if u.Gross > 0 {
			set(inexact, float64(u.Uncertainty/u.Gross))
		}
		if u.Net != nil {
			joules(net, *u.Net)
		}
		if u.Absolute != nil {
			joules(absolute, *u.Absolute)
		}
		a.methods[u.Method]++
		for _, f := range u.Flags {
			a.odd[f]++
		}
		if u.LowConfidence {
			a.low++
		}
	}
	if j := joulesOf(r.CPU); j != nil {
		set(cpu, *j)
		if r.CPU.Absolute != nil {
			joules(cpuAbsolute, *r.CPU.Absolute)
		}
	}
}

// Score adds an estimate of each measure to a sample, whose Run fills them.
func (a *Account) Score(s *score.PairSample) {
	a.sample, a.made = s, map[string]*results.Estimate{}
	a.paid = parts(a.known(gross), a.known(cpu), a.count(func(i int) bool { return a.has(gross, i) && a.has(cpu, i) }))
	for _, m := range a.basis.measures() {
		if _, twice := a.made[m.Name]; twice {
			panic("study: internal error: two measures " + m.Name)
		}
		if m.of != nil {
			a.made[m.Name] = m.of(a)
		}
	}
	a.items, a.columns, a.sample = nil, [quantities][]float64{}, nil // the sample has them
}

// Estimate is that of a measure, by the name of its column; filled once the sample has run.
func (a *Account) Estimate(name string) *results.Estimate {
	e := a.made[name]
	if e == nil {
		panic("study: internal error: no measure " + name)
	}
	return e
}

// measure is a column of a table of accounts.
type measure struct {
	results.Column
	of func(a *Account) *results.Estimate // nil: cell
	// cell is made when the estimates are there.
	cell func(a *Account) results.Cell
}

// unseen is a measure that stands in no table by itself.
func unseen(name string, of func(a *Account) *results.Estimate) measure {
	return measure{Column: results.Column{Name: name}, of: of}
}

// measures are all that accounts have.
func (b *Basis) measures() []measure {
	var out []measure
	for _, of := range [][]measure{b.latencies(), b.paces(), b.costs(), b.energies(), b.projections(), b.hostedPrices()} {
		out = append(out, of...)
	}
	return out
}

// accountTable is measures of accounts, one row each. It follows Score and Run.
func accountTable(name, title string, accounts []*Account, columns []measure) results.Table {
	t := results.Table{Name: name, Title: title, Columns: []results.Column{TextColumn("model", "Model"), TextColumn("arm", "Arm")}}
	for _, m := range columns {
		if m.Title != "" {
			t.Columns = append(t.Columns, m.Column)
		}
	}
	for _, a := range accounts {
		row := []results.Cell{Text(a.Model), Text(a.Arm)}
		for _, m := range columns {
			switch {
			case m.Title == "":
			case m.cell != nil:
				row = append(row, m.cell(a))
			default:
				row = append(row, Value(a.Estimate(m.Name)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (a *Account) has(q quantity, i int) bool { return !math.IsNaN(a.columns[q][i]) }

// count is the trials of which something holds; known those of which a quantity is.
func (a *Account) count(holds func(i int) bool) (n int) {
	for i := range a.items {
		if holds(i) {
			n++
		}
	}
	return n
}

func (a *Account) known(q quantity) int { return a.count(func(i int) bool { return a.has(q, i) }) }

// number is one of a trial; NaN: not known.
type number func(i int) float64

func (a *Account) column(q quantity) number { return func(i int) float64 { return a.columns[q][i] } }

func one(int) float64 { return 1 }

// among says which trials a number is of, and so what one is that does not have it.
type among int

const (
	ofTrials   among = iota // of all: one without it is not known
	ofTimed                 // of those whose time counts: it is undefined
	ofCompared              // of all: it is undefined
	ofHaving                // of those that have it
	ofAnswers               // of answers: it is not known
)

// note counts a trial.
func (of among) note(n *score.Count, a *Account, i int, known bool) {
	switch {
	case known:
		n.N++
	case of == ofTrials, of == ofAnswers && a.has(answered, i):
		n.Invalid++
	case of == ofCompared, of == ofTimed && a.has(latency, i):
		n.Undefined++
	}
}

// ratio is that of two sums over the trials that have both.
func (a *Account) ratio(of among, why string, num, den number) *results.Estimate {
	return a.scaled(of, why, num, den, func([]float64) (float64, bool) { return 1, true })
}

// scaled is a ratio times a number that follows from the sums, too.
func (a *Account) scaled(of among, why string, num, den number, times func(sums []float64) (float64, bool)) *results.Estimate {
	x, y := a.sample.Column(), a.sample.Column()
	var n score.Count
	for i, item := range a.items {
		v, w := num(i), den(i)
		known := !math.IsNaN(v) && !math.IsNaN(w)
		if of.note(&n, a, i, known); known {
			a.sample.Add(x, int(item), v)
			a.sample.Add(y, int(item), w)
		}
	}
	e := a.sample.Sums(func(sums []float64) (float64, bool) {
		k, ok := times(sums)
		if !ok || sums[y] == 0 {
			return 0, false
		}
		return sums[x] / sums[y] * k, true
	})
	return n.Of(a.sample.Rests(e, nil, x, y), why)
}

// quantiles are those (each in 0..1) of a number.
func (a *Account) quantiles(of among, why string, v number, q ...float64) []*results.Estimate {
	var all []score.Observation
	var n score.Count
	for i, item := range a.items {
		x := v(i)
		known := !math.IsNaN(x)
		if of.note(&n, a, i, known); known {
			all = append(all, score.Observation{Item: int(item), Value: x})
		}
	}
	out := a.sample.Quantiles(all, q...)
	for _, e := range out {
		n.Of(e, why)
	}
	return out
}
