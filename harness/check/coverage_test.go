package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/harness/study/cot"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// covered is one score over many simulated stores.
type covered struct {
	Score  string
	Truth  float64
	Mean   float64 // of the estimates
	Stores int     // with an interval
	Inside int     // intervals that hold the truth
	OK     bool    // Inside lies within bounds
}

// coverage simulates stores of trials and judgments drawn from known
// distributions, scores each as a report would, and counts how often an
// interval holds the truth. The same seed and number give the same counts.
func coverage(ctx context.Context, stores int, seed uint64) ([]covered, error) {
	dir, err := os.MkdirTemp("", "assay-coverage-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	steps, moved := targets(), influences()
	list := slices.Concat(steps, moved)
	got := make([][]*results.Estimate, stores)
	err = together(stores, runtime.GOMAXPROCS(0), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		a, err1 := simulate(ctx, path+"-cot.sqlite", seed, uint64(i), steps)
		b, err2 := simulateInfluence(ctx, path+"-faithfulness.sqlite", seed, uint64(i), moved)
		got[i] = slices.Concat(a, b)
		return errors.Join(err1, err2)
	})
	if err != nil {
		return nil, err
	}
	out := make([]covered, len(list))
	for k, t := range list {
		c := covered{Score: t.name, Truth: t.truth}
		for i := range stores {
			e := got[i][k]
			if e == nil || e.Value == nil || e.Low == nil {
				continue
			}
			c.Stores++
			c.Mean += *e.Value
			if *e.Low <= t.truth && t.truth <= *e.High {
				c.Inside++
			}
		}
		c.Mean /= float64(max(1, c.Stores))
		least, most := Bounds(stores)
		c.OK = c.Stores == stores && least <= c.Inside && c.Inside <= most
		out[k] = c
	}
	return out, nil
}

// The simulated reader. An item is easy or hard, with equal chance, in both
// arms: so arms, steps and times of an item belong together, as in life.
const (
	items   = 120
	easy    = .5
	spread  = .3  // of an item's time, common to its arms: SD of the logarithm
	jitter  = .25 // of a trial's time
	lost    = .04 // trials that fail
	unheard = .06 // judgments without a verdict
)

// kind is what holds of an easy or of a hard item.
type kind struct {
	direct, cot float64 // chance of a right answer
	match       float64 // of a step
	recall      float64 // of a gold step
}

func sorts() [2]kind { return [2]kind{{.85, .92, .85, .8}, {.45, .6, .6, .5}} }

// mistakes of the second judge of accuracy; the first makes none.
const falsePass, falseFail = .1, .05

// Seconds to the last chunk: exp of these, at the median.
var arms = []struct {
	name            string
	total, first    float64 // logarithms of seconds
	tokens, tokenSD float64 // logarithms
}{
	{"direct", math.Log(.4), math.Log(.2), math.Log(2000), .3},
	{"cot", math.Log(4), math.Log(.25), math.Log(9000), .3},
}

// What a GPU draws while it answers, and at rest, W, and what it costs.
const (
	draws, drawSD   = 250., .2 // median, SD of the logarithm
	rests           = 60.
	perHour, perKWh = 2., .3
)

type task struct {
	name  string
	walks []walk
}

func tasks() []task {
	return []task{
		{"Diagnosis", []walk{{.7, [4]int{1, 2, 3, 4}, "MFCO"}, {.15, [4]int{2, 1, 3, 4}, "FMCO"}, {.15, [4]int{1, 2, 3, 0}, "MFC"}}},
		{"Grading", []walk{{.5, [4]int{0, 1, 2, 3}, "FCO"}, {.2, [4]int{0, 2, 1, 3}, "CFO"}, {.2, [4]int{0, 1, 2, 0}, "FC"}, {.1, [4]int{1, 2, 3, 4}, "MFCO"}}},
		{"Cause", []walk{{.6, [4]int{1, 0, 2, 3}, "MCO"}, {.4, [4]int{1, 0, 2, 0}, "MC"}}},
	}
}

// target is a score whose truth is known, and where a report prints it.
type target struct {
	name   string
	table  string
	row    []string // text cells, in order
	column string
	truth  float64
}

// z is the standard normal quantile of 0.95.
const z95 = 1.6448536269514722

// targets derives the truth of every score from the distributions alone.
func targets() []target {
	k := sorts()
	mix := func(f func(kind) float64) float64 { return easy*f(k[0]) + (1-easy)*f(k[1]) }
	heard := func(p float64) float64 { return p*(1-falseFail) + (1-p)*falsePass } // by the second judge
	both := func(p float64) float64 { return 100 * (p + heard(p)) / 2 }
	direct, reasoned := mix(func(k kind) float64 { return k.direct }), mix(func(k kind) float64 { return k.cot })
	p, r := 100*mix(func(k kind) float64 { return k.match }), 100*mix(func(k kind) float64 { return k.recall })
	kept := (1 - lost) * (1 - unheard)
	const goldMean = 3. // of 2, 3, 4
	matched := goldMean * r / 100
	mean := func(log float64, sd ...float64) float64 {
		v := 0.
		for _, s := range sd {
			v += s * s
		}
		return math.Exp(log + v/2)
	}
	sd := math.Hypot(spread, jitter)
	ratioLog, ratioSD := arms[1].total-arms[0].total, jitter*math.Sqrt2
	m := func(column string, truth float64) target {
		return target{"cot-main " + column, "cot-main", []string{"sim"}, column, truth}
	}
	list := []target{
		m("f1", 2*p*r/(p+r)), m("precision", p), m("recall", r),
		m("accuracy_direct", both(direct)), m("accuracy_cot", both(reasoned)), m("impact", both(reasoned)-both(direct)),
		m("efficiency", matched/mean(arms[1].total, spread, jitter)),
		m("latency_ratio", mean(arms[1].total, spread, jitter)/mean(arms[0].total, spread, jitter)),
		{"cot-steps f1_items", "cot-steps", []string{"sim"}, "f1_items", 100 * mix(itemF1)},
		{"cot-steps precision_fixed_n", "cot-steps", []string{"sim"}, "precision_fixed_n", p * kept},
		{"cot-steps recall_fixed_n", "cot-steps", []string{"sim"}, "recall_fixed_n", r * kept},
		{"cot-efficiency tokens_per_step", "cot-efficiency", []string{"sim"}, "tokens_per_step", mean(arms[1].tokens, arms[1].tokenSD) / matched},
		{"cot-efficiency latency_ratio_median", "cot-efficiency", []string{"sim"}, "latency_ratio_median", math.Exp(ratioLog)},
		{"cot-efficiency latency_ratio_p95", "cot-efficiency", []string{"sim"}, "latency_ratio_p95", math.Exp(ratioLog + z95*ratioSD)},
	}
	for i, a := range arms {
		acc := []float64{direct, reasoned}[i]
		row := []string{"sim", a.name}
		at := func(table, column string, truth float64) {
			list = append(list, target{table + " " + a.name + " " + column, table, row, column, truth})
		}
		at("cot-accuracy", "accuracy_fixed_n", both(acc)*kept)
		at("cot-accuracy", "accuracy_all_right", both(acc)*kept+100*(1-kept))
		at("cot-latency", "ttft_median", math.Exp(a.first))
		at("cot-latency", "ttft_p95", math.Exp(a.first+z95*sd))
		at("cot-latency", "latency_median", math.Exp(a.total))
		at("cot-latency", "latency_p95", math.Exp(a.total+z95*sd))
		for j, name := range []string{"a", "b"} {
			truth := []float64{100 * acc, 100 * heard(acc)}[j]
			list = append(list, target{"cot-judges " + a.name + " value " + name, "cot-judges", []string{"sim", a.name, "accuracy", name}, "value", truth})
		}
	}
	for i, a := range arms {
		right := []float64{both(direct), both(reasoned)}[i] / 100
		seconds := mean(a.total, spread, jitter)
		joules := seconds * mean(math.Log(draws), drawSD)
		money := seconds/3600*perHour + joules/3.6e6*perKWh
		at := func(table, column string, truth float64) {
			list = append(list, target{table + " " + a.name + " " + column, table, []string{"sim", a.name}, column, truth})
		}
		at("cot-energy", "gross_median", draws*math.Exp(a.total))
		at("cot-energy", "mean", joules)
		at("cot-energy", "power", joules/seconds)
		at("cot-cost", "gpu_seconds", seconds)
		at("cot-cost", "gpu_seconds_per_correct", seconds/right)
		at("cot-cost", "joules_per_correct", joules/right)
		at("cot-cost", "money", money)
		at("cot-cost", "money_per_correct", money/right)
		at("cot-projection", "kwh_1000", joules/3600)
		if a.name == "cot" {
			at("cot-cost", "gpu_seconds_per_step", seconds/matched)
			at("cot-cost", "joules_per_step", joules/matched)
		}
	}
	var sum float64
	for _, t := range tasks() {
		c := consistency(t.walks)
		sum += c
		list = append(list, target{"cot-consistency " + t.name, "cot-consistency", []string{"sim", t.name}, "c", c})
	}
	return append(list, m("c_path", sum/float64(len(tasks()))))
}

// itemF1 is the expected F1 of an item: 3 to 6 steps, 2 to 4 gold steps.
func itemF1(k kind) float64 {
	var sum float64
	for steps := 3; steps <= 6; steps++ {
		for gold := 2; gold <= 4; gold++ {
			for a := range steps + 1 {
				for b := range gold + 1 {
					if a+b == 0 {
						continue
					}
					p, r := float64(a)/float64(steps), float64(b)/float64(gold)
					sum += binomial(steps, a, k.match) * binomial(gold, b, k.recall) * 2 * p * r / (p + r) / 12
				}
			}
		}
	}
	return sum
}

// simulate draws one store of the cot study and scores it.
func simulate(ctx context.Context, path string, seed, number uint64, list []target) ([]*results.Estimate, error) {
	s, err := cot.Study().With(nil, study.Choice{})
	if err != nil {
		return nil, err
	}
	d := drawn{r: rand.New(rand.NewPCG(seed, number))}
	for i := range items {
		d.item(i)
	}
	man := results.Manifest{Name: "simulated", Seed: number, Cost: &results.Cost{Currency: "EUR", GPUHour: new(perHour), KWh: new(perKWh)}}
	asked := map[string][]string{"accuracy": {"a", "b"}, "precision": {"a"}, "recall": {"a"}, "order": {"a"}}
	// Power is drawn by itself, so that what else is drawn does not depend on it.
	return d.scored(ctx, path, man, s, asked, list, rand.New(rand.NewPCG(seed^0x6a6f756c65, number)))
}

// power draws what one GPU took for each answer and stores it.
func power(ctx context.Context, st *store.Store, ses results.Session, r *rand.Rand) error {
	type flown struct {
		trial int64
		key   results.Key
		took  time.Duration
	}
	var list []flown
	for f, err := range st.Flights(ctx, ses) {
		if err != nil {
			return err
		}
		if !f.Failed && len(f.Turns) == 1 {
			list = append(list, flown{f.Trial, f.Key, f.Turns[0].Length()})
		}
	}
	// Trials are stored many at once, in no order.
	slices.SortFunc(list, func(a, b flown) int {
		return cmp.Or(cmp.Compare(a.key.Item, b.key.Item), cmp.Compare(a.key.Arm, b.key.Arm))
	})
	var uses []results.TrialUse
	for _, f := range list {
		watts := timing.Milliwatts(1000 * draws * math.Exp(drawSD*r.NormFloat64()))
		uses = append(uses, results.TrialUse{Trial: f.trial, Attempts: 1, Part: results.PartGPU, Use: results.Use{Held: new(f.took), Devices: new(1),
			Energy: timing.Energy{Gross: watts.Over(f.took), Net: new((watts - 1000*rests).Over(f.took)), NetUncertainty: new(timing.Millijoules), Method: timing.ByCounter, Ticks: 20}}})
	}
	return st.PutUses(ctx, ses.ID, uses, nil)
}

// find is the estimates of all targets.
func find(secs []results.Section, list []target) (found []*results.Estimate, err error) {
	for _, t := range list {
		e, err := cell(secs, t.table, t.column, t.row...)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, nil
}

// drawn is what a simulated run produced.
type drawn struct {
	r      *rand.Rand
	items  []results.Item
	trials []results.Trial
	said   []verdict
}

type verdict struct {
	trial         int
	rubric, judge string
	body          any
}

func (d *drawn) hits(p float64) bool { return d.r.Float64() < p }

// item draws an item and its trials.
func (d *drawn) item(n int) {
	k := sorts()[0]
	if !d.hits(easy) {
		k = sorts()[1]
	}
	gold := 2 + d.r.IntN(3)
	task := tasks()[d.r.IntN(len(tasks()))]
	id := fmt.Sprintf("item-%03d", n)
	d.items = append(d.items, results.Item{Study: cot.Name, ID: id, Type: "short", Task: task.name, Facts: fmt.Appendf(nil, `{"gold_steps":[%d]}`, gold)})
	own := spread * d.r.NormFloat64()
	for i, a := range arms {
		key := results.Key{Study: cot.Name, Model: "sim", Item: id, Arm: a.name, Condition: "baseline"}
		total := math.Exp(a.total + own + jitter*d.r.NormFloat64())
		first := math.Exp(a.first + own + jitter*d.r.NormFloat64())
		tokens := int(math.Round(math.Exp(a.tokens + a.tokenSD*d.r.NormFloat64())))
		if d.hits(lost) {
			d.trials = append(d.trials, results.Trial{Key: key, Attempts: []results.Attempt{{Failure: &results.Failure{Kind: string(backends.ErrServer)}}}})
			continue
		}
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		// Only the first and the last chunk matter, and each is drawn by itself:
		// where the first would come last, the two are kept apart.
		rec.MarkAt(timing.FirstContent, time.Second+seconds(first))
		rec.MarkAt(timing.LastContent, time.Second+seconds(total))
		out := results.Output{Answer: "x", Finish: backends.FinishStop}
		turn := results.Turn{Trace: rec.Trace(), Answer: out.Answer, Finish: out.Finish, Usage: backends.Usage{CompletionTokens: &tokens}}
		d.trials = append(d.trials, results.Trial{Key: key, Attempts: []results.Attempt{{Turns: []results.Turn{turn}, Output: &out}}})
		right := d.hits([]float64{k.direct, k.cot}[i])
		heard := right
		if right && d.hits(falseFail) || !right && d.hits(falsePass) {
			heard = !right
		}
		// Both judges or none, so that fixed N has one chance to be left out.
		if !d.hits(unheard) {
			d.say("accuracy", "a", word(right))
			d.say("accuracy", "b", word(heard))
		}
		if a.name == "cot" {
			d.steps(k, gold, task.walks)
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func word(right bool) any {
	return map[string]string{"quote": "x", "verdict": map[bool]string{true: "correct", false: "incorrect"}[right], "why": ""}
}

func (d *drawn) say(rubric, judge string, body any) {
	d.said = append(d.said, verdict{len(d.trials) - 1, rubric, judge, body})
}

// steps draws what the judges of steps say.
func (d *drawn) steps(k kind, gold int, walks []walk) {
	steps := []map[string]string{}
	if d.hits(.3) {
		steps = append(steps, map[string]string{"text": "x", "type": "restatement", "judgment": "match"})
	}
	for range 3 + d.r.IntN(4) {
		j := []string{"wrong", "na"}[d.r.IntN(2)]
		if d.hits(k.match) {
			j = "match"
		}
		steps = append(steps, map[string]string{"text": "x", "type": "feature", "judgment": j})
	}
	var found []map[string]any
	for i := range gold {
		found = append(found, map[string]any{"step": i + 1, "matched": d.hits(k.recall)})
	}
	at, pick := d.r.Float64(), walks[len(walks)-1]
	for _, w := range walks {
		if at -= w.chance; at < 0 {
			pick = w
			break
		}
	}
	if !d.hits(unheard) {
		d.say("precision", "a", map[string]any{"steps": steps})
	}
	if !d.hits(unheard) {
		d.say("recall", "a", map[string]any{"paths": []any{map[string]any{"path": 1, "steps": found}}})
	}
	if !d.hits(unheard) {
		o := pick.order
		d.say("order", "a", map[string]int{"modality": o[0], "feature": o[1], "conclusion": o[2], "other": o[3]})
	}
}

// atOnce is how much is put together: it shares a transaction.
const atOnce = 128

// put stores what was drawn.
func (d *drawn) put(ctx context.Context, st *store.Store) error {
	if err := together(len(d.trials), atOnce, func(i int) error { return st.PutTrial(ctx, d.trials[i]) }); err != nil {
		return err
	}
	cases := make([]results.Case, len(d.said))
	err := together(len(d.said), atOnce, func(i int) (err error) {
		v := d.said[i]
		if cases[i], err = (judge.Case{Rubric: v.rubric, Fields: []string{fmt.Sprint(v.trial)}}).Stored(); err != nil {
			return err
		}
		return st.PutCase(ctx, d.trials[v.trial].Key, cases[i])
	})
	if err != nil {
		return err
	}
	return together(len(d.said), atOnce, func(i int) error {
		v := d.said[i]
		body, err := json.Marshal(v.body)
		if err != nil {
			return err
		}
		return st.PutJudgment(ctx, results.Judgment{Case: cases[i].Digest, Rubric: v.rubric, Judge: v.judge, Status: results.StatusClean, Verdict: body})
	})
}

// scored stores what was drawn, and the power drawn from watts where that is not
// nil, and finds the targets' estimates.
func (d *drawn) scored(ctx context.Context, path string, man results.Manifest, s study.Study, asked map[string][]string, list []target, watts *rand.Rand) (found []*results.Estimate, err error) {
	st, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = cmp.Or(err, st.Close())
		for _, f := range []string{"", "-wal", "-shm", ".lock"} {
			os.Remove(path + f)
		}
	}()
	if err := st.PutManifest(ctx, man); err != nil {
		return nil, err
	}
	ses := results.Session{Origin: time.Unix(1, 0), Places: map[string]results.Place{}}
	if watts != nil { // trials belong to a session from the beginning
		if err := st.PutSession(ctx, &ses); err != nil {
			return nil, err
		}
	}
	if err := st.PutItems(ctx, d.items); err != nil {
		return nil, err
	}
	if err := d.put(ctx, st); err != nil {
		return nil, err
	}
	if watts != nil {
		if err := power(ctx, st, ses, watts); err != nil {
			return nil, err
		}
	}
	secs, err := s.Summarize(ctx, st, asked, kinds.NoDecode)
	if err != nil {
		return nil, err
	}
	return find(secs, list)
}

// together calls f for 0..n-1, many at once, and returns its first error.
func together(n, limit int, f func(int) error) error {
	var g errgroup.Group
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}
