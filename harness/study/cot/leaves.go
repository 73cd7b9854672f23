package cot

import (
	"slices"

	"assay/harness/dataset"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
)

// Leaves that are not called as the score that they add up.
const (
	leafTrials = "trials"              // counts all, failures too
	leafEither = "precision or recall" // counts answers that enter one of them
	leafTimed  = "matched_per_second"
	leafTokens = "tokens_per_matched"
	leafPaired = "paired_seconds"
	leafOwn    = "own_seconds" // where rules are released
	leafRatios = "latency_ratios"
)

// Sorts of items: those of exam follow tasks.
const strataTasks = 0

// design is what is added up of the study's trials; tables.go says what of.
func design(b *study.Basis) (score.Design, study.Lay, error) {
	const noGold = "the items have no gold steps"
	const none = "no usable verdict in arm " + armCoT
	judges, layout := b.Judges, b.Layout
	b.Steps = true
	d := score.Design{
		Tables: declared(b, judges), Keep: study.Keep(b.Manifest, tableMain),
		Pairs: []score.Compared{{Column: "accuracy_cot", Leaf: scoreAccuracy, Rows: inArm(armCoT)}, {Column: "accuracy_direct", Leaf: scoreAccuracy, Rows: inArm(armDirect)}},
		Order: func(x, y score.Keys) int {
			return slices.Index(ArmNames(), x[0]) - slices.Index(ArmNames(), y[0])
		},
		Strata: append([]score.Stratum{strataTasks: {Name: "task", Order: taskOrder}}, strata()...),
		Item: func(it results.Item) (score.Item, error) {
			return score.Item{Strata: append([]string{it.Task}, sorts(it)...)}, nil
		},
		Leaves: []score.Leaf{
			{Name: leafTrials, Any: []string{score.Answered}},
			{Score: scoreAccuracy, Fixed: true, Repeats: true, Why: "no usable verdict"},
			{Score: scoreNoAnswer},
			{Score: scorePrecision, Fixed: true, Repeats: true, Why: none, Undefined: noGold},
			{Score: scoreRecall, Repeats: true, Why: none, Undefined: noGold},
			{Score: scoreRecallFixed},
			{Score: scoreF1, Why: "no answer has usable verdicts of precision and recall", Undefined: noGold},
			{Name: leafEither, Any: []string{scorePrecision, scoreRecall}, Why: none, Undefined: noGold},
			{Name: leafTimed, Score: scoreMatched, Over: &score.Term{Score: score.Latency}, Undefined: noGold,
				Why: "no answer in arm " + armCoT + " has both a valid time and a recall verdict"},
			{Name: leafTokens, Score: score.Tokens, Over: &score.Term{Score: scoreMatched}, Undefined: noGold,
				Why: "no answer in arm " + armCoT + " has both a token count and a recall verdict"},
			{Name: leafPaired, Score: score.Latency, Over: &score.Term{Score: score.Latency, Arm: armDirect}, Why: noPair},
			{Name: leafRatios, Score: scoreLatencyRatio, Keep: true},
			{Score: scorePath, Labels: true, Why: none},
		},
		Extra: func(model string) score.Extra {
			return study.Beside{Arms: study.NewArms(model, b, ArmNames(), nil, scoreAccuracy, scoreMatched).Reading(study.WithoutAnswer(layout.Places(scoreNoAnswer, judges[rubAccuracy]))),
				More: newChanges(armDirect, armCoT, layout.Places(scoreAccuracy, judges[rubAccuracy]), layout.Places(scoreFirstWrong, judges[rubricPrecision]))}
		},
	}
	d.Leaves = append(d.Leaves, study.UnreadLeaves(judges)...)
	if b.Manifest.Released() {
		d.Leaves = append(d.Leaves, score.Leaf{Name: leafOwn, Score: score.Latency, Why: noPair})
	}
	return d, func(r *score.Run) []results.Section {
		all := &run{Run: r, basis: *b}
		all.accounts = study.ArmsOf(r)
		return all.sections()
	}, nil
}

const noPair = "no item has a valid time in both arms"

// taskOrder is the distinct tasks: the thirteen in the paper's order, then
// others by name.
func taskOrder(names []string) []string {
	order := slices.DeleteFunc(dataset.Tasks(), func(t string) bool { return !slices.Contains(names, t) })
	for _, t := range names {
		if t != "" && !slices.Contains(order, t) {
			order = append(order, t)
		}
	}
	return order
}
