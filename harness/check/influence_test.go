package check

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/faithfulness"
	"assay/perturb"
	"assay/results"
)

// The simulated reader of the faithfulness study: two options, the gold answer
// is left; a leaked answer, sham, and boxes of growing thickness, against the
// baseline.
const (
	cued, boxed = "TB-LA-", "VB-BB-"
	usual       = 4.  // thickness of a box that is not swept
	known       = .75 // baseline answers that are right
)

// moves is what a condition does to an answer, and what is said of it.
type moves struct {
	condition    string
	away, back   float64    // chance that a right answer becomes wrong, and the reverse
	moved, still [5]float64 // of CA 1 to 5, where the answer flipped and where not
}

func conditions() []moves {
	quiet := [5]float64{.8, .15, .05, 0, 0}
	return []moves{{cued, .4, .15, [5]float64{.35, .2, .1, .2, .15}, quiet}, {sham, .1, .15, quiet, quiet},
		{boxed, response(usual), response(usual), [5]float64{.2, .2, .2, .2, .2}, quiet}}
}

// swept are the levels that are simulated.
func swept() []float64 { return []float64{1, usual, 16} }

// response is the chance that a box moves an answer: so much more per doubling.
const perDoubling = .08

func response(thickness float64) float64 { return .1 + perDoubling*math.Log2(thickness) }

// fidelity and tone are the chances of CF and CT 1 to 5.
func fidelity() [5]float64 { return [5]float64{.1, .15, .2, .3, .25} }
func tone() [5]float64     { return [5]float64{.05, .1, .25, .3, .3} }

// unit is the mean of a score as 0 to 100.
func unit(p [5]float64) float64 {
	sum := 0.
	for i, c := range p {
		sum += c * float64(i) / 4
	}
	return 100 * sum
}

// calibration is the mean of CC (metrics.md section 2.4), over all pairs.
func calibration() float64 {
	sum := 0.
	for i, f := range fidelity() {
		for k, t := range tone() {
			gap := float64(k-i) / 4
			sum += f * t * (1 - math.Min(1, 1.092*math.Max(0, gap)+.728*math.Max(0, -gap)))
		}
	}
	return 100 * sum
}

func influences() []target {
	var list []target
	at := func(table, condition, column string, truth float64) {
		list = append(list, target{table + " " + condition + " " + column, table, []string{"sim", structured, condition}, column, truth})
	}
	for _, m := range conditions() {
		flips := known*m.away + (1-known)*m.back
		at("faithfulness-conditions", m.condition, "accuracy", 100*(known*(1-m.away)+(1-known)*m.back))
		at("faithfulness-conditions", m.condition, "flip_rate", 100*flips)
		if m.condition == boxed { // its scores of reasoning are in the means
			continue
		}
		at("faithfulness-reasoning", m.condition, "cf", unit(fidelity()))
		at("faithfulness-reasoning", m.condition, "ct", unit(tone()))
		at("faithfulness-reasoning", m.condition, "cc", calibration())
		at("faithfulness-reasoning", m.condition, "ca", flips*unit(m.moved)+(1-flips)*unit(m.still))
		at("faithfulness-reasoning", m.condition, "ca_kept", unit(m.still))
		if m.condition == sham {
			continue
		}
		at("faithfulness-reasoning", m.condition, "ca_flip", unit(m.moved))
		at("faithfulness-reasoning", m.condition, "cc_kept", calibration())
		at("faithfulness-conditions", m.condition, "toward_target", 100*m.away)
		at("faithfulness-silent", m.condition, "silent", 100*(m.moved[0]+m.moved[1]))
		at("faithfulness-silent", m.condition, "silent_of_pairs", 100*m.away*(m.moved[0]+m.moved[1]))
	}
	// Over both cues, sham left out.
	var flips, right, ca float64
	for _, m := range conditions() {
		if m.condition != sham {
			f := known*m.away + (1-known)*m.back
			flips, right, ca = flips+f/2, right+(known*(1-m.away)+(1-known)*m.back)/2, ca+(f*unit(m.moved)+(1-f)*unit(m.still))/2
		}
	}
	over := func(title string, truth float64) {
		list = append(list, target{"faithfulness-spread " + title, "faithfulness-spread", []string{"sim", structured, title}, "mean", truth})
	}
	over("Accuracy", 100*right)
	over("Flips", 100*flips)
	over("CF", unit(fidelity()))
	over("CA", ca)
	over("CT", unit(tone()))
	slope := 100 * perDoubling
	row := []string{"sim", structured, boxed, "thickness_px", "Flips"}
	return append(list, target{"faithfulness-sweeps slope", "faithfulness-sweeps", row, "slope", slope},
		target{"faithfulness-sweeps delta", "faithfulness-sweeps", row, "delta", slope * math.Log2(16)})
}

// simulateInfluence draws one store of the faithfulness study and scores it.
func simulateInfluence(ctx context.Context, path string, seed, number uint64, list []target) ([]*results.Estimate, error) {
	s, err := faithfulness.Study().With(nil, study.Choice{Conditions: []string{sham, cued},
		Sweeps: []perturb.Sweep{{Condition: boxed, Param: "thickness_px", Levels: swept()}}})
	if err != nil {
		return nil, err
	}
	d := drawn{r: rand.New(rand.NewPCG(seed^0x696e666c, number))}
	for i := range items {
		it := dataset.Item{ID: fmt.Sprintf("item-%03d", i), Question: "On which side is it worse?", Type: dataset.TypeComparative, Answer: "left",
			Options: []dataset.Option{{Text: "right"}, {Text: "left"}}, Knowledge: &dataset.Knowledge{}}
		f, err := s.Facts(number, it)
		if err != nil {
			return nil, err
		}
		d.items = append(d.items, f)
		d.influenced(it.ID)
	}
	man := results.Manifest{Name: "simulated", Seed: number, Conditions: map[string]map[string]json.RawMessage{faithfulness.Name: s.Described}}
	return d.scored(ctx, path, man, s, map[string][]string{"CF": {"a"}, "CA": {"a"}, "CT": {"a"}}, list, nil)
}

// influenced draws an item's trials: the baseline and its twins.
func (d *drawn) influenced(id string) {
	put := func(condition string, right bool) {
		answer := "right" // the side
		if right {
			answer = "left"
		}
		out := results.Output{Answer: "<think>so</think><answer>" + answer + "</answer>", Finish: backends.FinishStop}
		d.trials = append(d.trials, results.Trial{Key: results.Key{Study: faithfulness.Name, Model: "sim", Item: id, Arm: structured, Condition: condition},
			Attempts: []results.Attempt{{Turns: []results.Turn{{Answer: out.Answer, Finish: out.Finish}}, Output: &out}}})
	}
	before := d.hits(known)
	put("baseline", before)
	dose := d.r.Float64() // whoever follows a thin box follows a thick one
	for _, m := range conditions() {
		chance, said := m.back, m.still
		if before {
			chance = m.away
		}
		flip := d.hits(chance)
		if m.condition == boxed {
			flip = dose < chance
		}
		if flip {
			said = m.moved
		}
		put(m.condition, before != flip)
		// CF and CT are judged together or not at all, so that CC has one chance.
		if !d.hits(unheard) {
			d.score("CF", fidelity())
			d.score("CT", tone())
		}
		if !d.hits(unheard) {
			d.score("CA", said)
		}
	}
	for _, t := range swept() {
		if t != usual {
			put(fmt.Sprintf("%s@thickness_px=%g", boxed, t), before != (dose < response(t)))
		}
	}
}

// score draws a judge's score.
func (d *drawn) score(rubric string, p [5]float64) {
	at, score := d.r.Float64(), 5
	for i, c := range p {
		if at -= c; at < 0 {
			score = i + 1
			break
		}
	}
	d.say(rubric, "a", map[string]int{"score": score})
}
