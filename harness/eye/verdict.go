package eye

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Said is what a server answered to a question of the chart.
type Said struct {
	Text  string
	First map[string]float64 // log-probabilities of the likeliest first tokens; nil: it does not say
}

// Verdict is what a server's answers to the chart say of its way from a picture to an answer.
type Verdict struct {
	Engine Engine  // the one that its answers fit best
	Fault  Fault   // what explains what is off; its zero value with Off > 0: nothing that is known
	Cases  int     // questions asked
	Off    int     // of them answered in another way than the model answers
	Worst  float64 // difference of a log-probability where nothing is off, in nats; NaN: the server says none
}

// What is off. Servers that were right, on two engines and with caches of 16 bits, were
// at most 0.01 off; the mildest fault is off by more than 0.3 somewhere.
const (
	offBy  = 0.25
	farOff = 3.0 // what one answer counts at most
)

// off is how far what a server said is from what is expected.
func (s Said) off(want Word, text string) float64 {
	if s.First == nil {
		if s.Text != text {
			return farOff
		}
		return 0
	}
	d := 0.0
	for token, p := range s.First {
		expected, ok := want.LogProbs[token]
		if !ok || p < -6 && expected < -6 { // too rare to matter
			continue
		}
		d = max(d, math.Abs(p-expected))
	}
	return min(d, farOff)
}

// Judge compares servers' answers to the chart with what the model has to answer. It is safe
// for concurrent use.
type Judge struct {
	model *Model
	chart []Ask
	mu    sync.Mutex
	known map[way][]expected // what was computed so far
}

// way is an engine, and what a fault of some name does before it.
type way struct {
	engine Engine
	fault  string
}

// expected are a question's first word and whole answer.
type expected struct {
	word Word
	text string
}

// NewJudge reads the model.
func NewJudge() (*Judge, error) {
	m, err := Read()
	return &Judge{model: m, chart: Chart(), known: map[way][]expected{}}, err
}

// Chart are the questions to ask.
func (j *Judge) Chart() []Ask { return j.chart }

// expect answers the chart under a fault, on as many processors as there are.
func (j *Judge) expect(e Engine, f Fault) []expected {
	j.mu.Lock()
	defer j.mu.Unlock()
	if out, ok := j.known[way{e, f.Name}]; ok {
		return out
	}
	out := make([]expected, len(j.chart))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(out)) {
		wg.Go(func() {
			for i := range next {
				text, words := j.model.say(j.model.faulty(e, f, j.chart[i]), ChartTokens)
				out[i] = expected{words[0], text}
			}
		})
	}
	for i := range out {
		next <- i
	}
	close(next)
	wg.Wait()
	j.known[way{e, f.Name}] = out
	return out
}

// Judge compares answers to the chart, in its order and not more of them.
func (j *Judge) Judge(said []Said) Verdict {
	type fit struct {
		engine Engine
		fault  Fault
		off    []float64
		sum    float64
	}
	try := func(e Engine, f Fault) fit {
		out := fit{engine: e, fault: f}
		for i, want := range j.expect(e, f)[:len(said)] {
			d := said[i].off(want.word, want.text)
			out.off, out.sum = append(out.off, d), out.sum+d
		}
		return out
	}
	least := func(all []fit) fit {
		return slices.MinFunc(all, func(a, b fit) int { return cmp.Compare(a.sum, b.sum) })
	}
	var right []fit
	for _, e := range Engines() {
		right = append(right, try(e, Fault{}))
	}
	best := least(right)
	v := Verdict{Engine: best.engine, Cases: len(said), Worst: math.NaN()}
	for i, d := range best.off {
		if d > offBy {
			v.Off++
		}
		if said[i].First != nil && !(d <= v.Worst) { // also from NaN
			v.Worst = d
		}
	}
	if v.Off == 0 {
		return v
	}
	v.Worst = math.NaN()
	var wrong []fit
	for _, e := range Engines() {
		for _, f := range Faults()[1:] {
			wrong = append(wrong, try(e, f))
		}
	}
	if w := least(wrong); w.sum < best.sum/2 {
		v.Engine, v.Fault = w.engine, w.fault
	}
	return v
}
