package diagnosis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
)

// Names of leaves that are not called as their score, and the strata.
const (
	leafRatio  = "accuracy ratio"
	leafMoving = "named where it moves"
	leafIdle   = "named where it does not"
	alone      = "baseline"
	anyLess    = "one image less"         // all that leave one out
	otherLess  = "any but the first less" // of these, all but the first image
	byImages   = 0
	byModality = 1
	byChapter  = 2
	byRare     = 3
)

// design is what is added up of the study's trials, and the tables of it. A cell's
// third key is whether the answer was right.
func design(b *study.Basis) (score.Design, study.Lay, error) {
	judges, layout := b.Judges, b.Layout
	right := layout.Place(scoreRight, "")
	order := []string{alone}
	for _, c := range everyCondition() {
		order = append(order, c.Name)
	}
	rank := func(list []string, name string) int {
		if i := slices.Index(list, name); i >= 0 {
			return i
		}
		return len(list)
	}
	level := func(condition string) float64 { // of a sweep
		c, _ := described(b.Manifest, condition)
		return c.Level
	}
	return score.Design{
		Cells: []string{"arm", "condition", "outcome"},
		Cell: func(t *score.Scored) (score.Keys, error) {
			keys := score.Keys{t.Row.Key.Arm, t.Row.Key.Condition}
			if v, ok := t.Number(right); ok {
				keys[2] = map[bool]string{true: "right", false: "wrong"}[v == 1]
			}
			return keys, nil
		},
		Order: func(x, y score.Keys) int {
			return cmp.Or(rank(armNames(), x[0])-rank(armNames(), y[0]), rank(order, x[1])-rank(order, y[1]), cmp.Compare(level(x[1]), level(y[1])),
				strings.Compare(x[1], y[1]), strings.Compare(x[2], y[2]))
		},
		Strata: []score.Stratum{byImages: {Name: "images", Order: byNumber}, byModality: {Name: "modality"}, byChapter: {Name: "chapter", Order: byNumber}, byRare: {Name: "rare"}},
		Item: func(it results.Item) (score.Item, error) {
			f, err := study.FactsOf[itemFacts](it)
			rare := ""
			if f.Rare != nil {
				rare = map[bool]string{true: "rare", false: "common"}[*f.Rare]
			}
			return score.Item{Strata: []string{byImages: strconv.Itoa(f.Images), byModality: it.Modality, byChapter: f.Chapter, byRare: rare}}, err
		},
		Leaves: append(leaves(), study.UnreadLeaves(judges)...),
		Tables: tables(judges),
		Pairs:  []score.Compared{{Column: "accuracy", Leaf: scoreAccuracy, Rows: conditionRows, Apart: true}},
		Extra: func(model string) score.Extra {
			return study.NewArms(model, b, armNames(), nil, scoreAccuracy, "").Reading(study.WithoutAnswer(layout.Places(scoreNoAnswer, judges[study.RubricAccuracy])))
		},
	}, func(r *score.Run) []results.Section { return sections(r, *b) }, nil
}

// described is a condition as a run describes it; false: it does not.
func described(m results.Manifest, condition string) (c perturb.Condition, ok bool) {
	return c, json.Unmarshal(m.Conditions[studyName][condition], &c) == nil
}

// byNumber sorts names that begin with a number by it.
func byNumber(names []string) []string {
	lead := func(s string) int {
		n, _ := strconv.Atoi(s[:len(s)-len(strings.TrimLeft(s, "0123456789"))])
		return n
	}
	slices.SortStableFunc(names, func(a, b string) int { return lead(a) - lead(b) })
	return names
}

func leaves() []score.Leaf {
	list := []score.Leaf{
		{Score: scoreAccuracy, Repeats: true, Why: "no usable verdict"},
		{Score: scoreNoAnswer, Why: "no usable verdict"},
		{Score: scoreRight, Fixed: true, Why: "no answer is decided"},
		{Score: scoreGain, With: scoreAccuracy, Why: "no answer has its pair"},
		{Score: scoreChanged, Why: "no answer has its pair", Invalid: "no pair of answers names one option each"},
		{Score: scoreFlipped, Why: "no answer has its pair"},
		{Name: leafMoving, Score: scoreNamed, Where: []score.Is{{Score: scoreChanged, Number: 1}}, Why: "no answer changed"},
		{Name: leafIdle, Score: scoreNamed, Where: []score.Is{{Score: scoreChanged}}, Why: "every answer changed"},
		{Score: score.PromptTokens, Why: "the server counts no tokens"},
		{Score: score.Latency, Why: "no answer has a valid time"},
		{Score: score.Energy, Why: "no answer has a known energy"},
		{Name: leafRatio, Score: scoreAccuracy, Over: &score.Term{Score: scoreAccuracy, Condition: alone}, Why: "no answer has its pair"},
	}
	list = append(append(list, marginalLeaves()...), stepLeaves()...)
	list = append(list, agreementLeaves()...)
	list = append(list, discussionLeaves()...)
	return append(list, writingLeaves()...)
}

// everyCondition is all that a plan can have beside the baseline.
func everyCondition() []perturb.Condition {
	return expand(study.Choice{Conditions: []string{leaveOut, reorder}})[1:]
}

func isText(condition string) bool {
	return condition == alone || slices.ContainsFunc(textConditions(), func(c perturb.Condition) bool { return c.Name == condition })
}

// conditionRows is a row for each text condition of arm mcq.
func conditionRows(all score.Group) []score.Row {
	mcq := all.In(score.Keys{armMCQ})
	var out []score.Row
	for _, c := range mcq.Distinct(1) {
		if !isText(c) {
			continue
		}
		out = append(out, score.Row{Group: mcq.In(score.Keys{"", c}), Text: []string{called(c)}})
	}
	return out
}

// imageRows is the images alone, all that leave one out together, and every
// condition on images by itself; none where there is no such condition.
func imageRows(all score.Group) []score.Row {
	mcq := all.In(score.Keys{armMCQ})
	firstTest(all.Model)
	out := []score.Row{{Group: mcq.In(score.Keys{"", alone}), Text: []string{called(alone)}}}
	for i, name := range []string{anyLess, otherLess} {
		if g := mcq.Only(func(k score.Keys) bool { return leftOut(k[1]) > i }); len(g.Cells) > 0 {
			out = append(out, score.Row{Group: g, Text: []string{name}})
		}
	}
	for _, c := range mcq.Distinct(1) {
		if !isText(c) {
			out = append(out, score.Row{Group: mcq.In(score.Keys{"", c}), Text: []string{c}})
		}
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// called is a condition as tables name it.
func called(condition string) string {
	if condition == alone {
		return "images alone"
	}
	return condition
}

// strataRows is a row for each stratum of a kind that has an answer from the images
// alone.
func strataRows(kind int) func(score.Group) []score.Row {
	return func(all score.Group) []score.Row {
		g := all.In(score.Keys{armMCQ, alone})
		names, _ := g.Strata(kind)
		var out []score.Row
		for i, name := range names {
			if one := g.Stratum(kind, i); one.Count(scoreAccuracy) != (score.Count{}) {
				out = append(out, score.Row{Group: one, Text: []string{name}})
			}
		}
		return out
	}
}

func armRow(arm string) func(score.Group) []score.Row {
	return func(all score.Group) []score.Row {
		g := all.In(score.Keys{arm})
		if len(g.Cells) == 0 {
			return nil
		}
		return []score.Row{{Group: g}}
	}
}

func tables(judges map[string][]string) []score.Table {
	share := score.Metric{Column: study.PercentColumn("accuracy", "Accuracy", "right / answers; what cannot be read is wrong; failures are left out; mean over judges"), Of: score.Percent(scoreAccuracy)}
	spent := []score.Metric{
		{Column: results.Column{Name: "prompt_tokens", Title: "Prompt tokens", Unit: "tokens", Digits: 1, Help: "images and text, as the server counts them, mean"}, Of: score.Mean(score.PromptTokens)},
		{Column: results.Column{Name: "latency", Title: "T", Unit: "s", Digits: 3, Help: "last content - start of the request, mean of times that count"}, Of: score.Mean(score.Latency)},
		{Column: results.Column{Name: "energy", Title: "Energy", Unit: "J", Digits: 2, Help: "gross energy of the GPUs per answer, mean"}, Of: score.Mean(score.Energy)},
	}
	list := []score.Table{
		{Name: "diagnosis-accuracy", Title: "Accuracy by what is shown", Keys: []string{"condition"}, Rows: conditionRows, Columns: slices.Concat([]score.Metric{share}, study.Columns(judges, nil), []score.Metric{
			study.Percent("no_answer", "No answer", "answers that name no option; they count as wrong", score.Percent(scoreNoAnswer)),
			study.Points("gain", "Gain", "accuracy less that from the images alone, of the same items and repeats", score.Gain(scoreGain)),
			study.Percent("relative_gain", "Relative gain", "gain / accuracy from the images alone", score.Then(score.Mean(leafRatio), func(x float64) (float64, bool) { return 100*x - 100, true })),
			{Column: results.Column{Name: "ratio", Title: "Ratio", Digits: 3, Help: "accuracy / accuracy from the images alone, of the same items and repeats"}, Of: score.Mean(leafRatio)},
		}, score.TestColumns("of the gain", textTest))},
		{Name: "diagnosis-repeats", Title: "Repeats", Keys: []string{"condition"}, Rows: conditionRows, Columns: []score.Metric{
			study.Percent("mean", "Mean", "of the repeats' own accuracies", repeats(stats.Mean, string(stats.NoCases))),
			study.Points("sd", "SD", "sample standard deviation between repeats", repeats(stats.SD, string(stats.OneCase))),
			study.Percent("joint", "Joint-correct", "items that are right in every repeat, of those with an answer in every one", score.PassHat(scoreRight, 0)),
			study.Percent("pass_2", "pass^2", "chance that two repeats of an item, drawn at random, are both right", score.PassHat(scoreRight, 2)),
			study.Percent("pass_3", "pass^3", "the same of three", score.PassHat(scoreRight, 3)),
		}},
	}
	list = append(list, score.Table{Name: "diagnosis-which", Title: "Which image matters", Keys: []string{"condition"}, Rows: imageRows, Columns: []score.Metric{
		share,
		study.Points("gain", "Gain", "accuracy less that from all images as they are, of the same items and repeats", score.Gain(scoreGain)),
		study.Percent("answer_changed", "Answer changed", "answers that name another option than from all images as they are, right or wrong; one that names none, or several, is left out", score.Percent(scoreChanged)),
		study.Percent("rightness_changed", "Rightness changed", "answers that became right or became wrong", score.Percent(scoreFlipped)),
		study.Percent("named_moving", "Named where it changes", "of the answers that leaving an image out changed, those whose explanation from all images names it", score.Percent(leafMoving)),
		study.Percent("named_idle", "Named where not", "the same of the answers that did not change: what is named in any case", score.Percent(leafIdle)),
		spent[0], spent[1], spent[2],
	}}, marginalTable(share))
	for kind, name := range []string{byImages: "images", byModality: "modality", byChapter: "chapter", byRare: "rare"} {
		list = append(list, score.Table{Name: "diagnosis-" + name, Title: "Accuracy from the images alone by " + [...]string{"number of images", "modality", "ICD chapter", "how common the disease is"}[kind],
			Keys: []string{name}, Rows: strataRows(kind), Columns: []score.Metric{share}})
		if kind == byImages {
			list[len(list)-1].Columns = append(list[len(list)-1].Columns, spent...)
		}
	}
	fromImages := func(all score.Group) score.Group { return all.In(score.Keys{armMCQ, alone}) }
	list = append(list, stepTable("diagnosis-steps", fromImages), agreementTable("diagnosis-experts", judges[errors], fromImages))
	list = append(list, writingTables("diagnosis-captions", "diagnosis-findings", armRow(armCaptions), armRow(armFindings))...)
	list = append(list, discussionTables("diagnosis-sentences", "diagnosis-criteria", armRow(armDiscussion))...)
	return append(list,
		score.Table{Name: "diagnosis-judges", Title: "Per-judge results", Keys: []string{"arm", "rubric", "judge"},
			Rows: study.JudgeRows(append(rubricNames(), study.Unread), judges, func(string) score.Kind { return nil }), Columns: append(study.StatusColumns(), study.NeedsColumn())})
}

// textTest is of a text condition's accuracy against that from the images alone.
func textTest(r score.Row) score.Tested {
	if r.Text[0] == called(alone) {
		return score.Tested{P: &results.Estimate{Why: "the others are compared with it"}}
	}
	return r.Once("test of "+r.Text[0], func() any {
		return score.TestOf(r.Group, r.All().In(score.Keys{armMCQ, alone}), scoreAccuracy)
	}).(score.Tested)
}

// firstTest is of whether the answer changes without the first image against whether it does without
// another. It is made while rows are laid out.
func firstTest(m *score.Model) score.Tested {
	return m.Once("test of the first image", func() any {
		mcq := m.All().In(score.Keys{armMCQ})
		first := perturb.LeaveOut(1).Name
		return score.TestOf(mcq.In(score.Keys{"", first}), mcq.Only(func(k score.Keys) bool { return k[1] != first && leftOut(k[1]) > 0 }), scoreChanged)
	}).(score.Tested)
}

// leftOut is the image that a condition leaves out, from 1; 0: none.
func leftOut(condition string) int {
	for _, c := range expand(study.Choice{Conditions: []string{leaveOut}}) {
		if c.Name == condition {
			return c.Without
		}
	}
	return 0
}

// repeats summarises the accuracy of each repeat.
func repeats(of func([]float64) (float64, bool), why string) score.Direct {
	return func(r score.Row) *results.Estimate { return score.ByRepeat(r.Group, scoreAccuracy).Over(why, of) }
}

func sections(r *score.Run, b study.Basis) []results.Section {
	accounts := study.ArmsOf(r)
	table := func(name string) results.Table { return r.Table("diagnosis-" + name) }
	section := func(name, title, intro string, tables ...string) results.Section {
		for i := range tables {
			tables[i] = "diagnosis-" + tables[i]
		}
		return results.Section{Name: "diagnosis-" + name, Title: title, Intro: intro, Tables: study.Filled(r, tables...)}
	}
	first := section("", "Diagnosis from several images (diagnosis)", "Every case is asked about from its images alone, and with captions, findings or both beside them, by experts or by the model itself. Intervals are 95 % CIs over clusters: cases, or what several cases share.", "accuracy")
	first.Name = studyName
	first.Methods = b.Methods(accounts)
	main := table("accuracy")
	withoutDoubt(table("marginal"), "per_joule", "joules") // tables share their estimates
	which := section("which", "Which image matters", "What becomes of answers when an image is left out, when images stand in another order, or are smaller.", "which", "marginal")
	which.Notes = append(looks(r.Models, table("which"), firstTest), cites(r, table("which"))...)
	which.Figures = overSize(r, table("which"), sizes(b.Manifest))
	first.Notes = findings(r, main)
	first.Warn(b.Warnings(r, accounts, rubricNames())...)
	first.Figures = ladder(main)
	first.Headline = slices.Concat([]results.Headline{{Table: "diagnosis-accuracy", Column: "accuracy", Row: []string{called(alone)}, Title: "Accuracy, images", Main: true, Drawn: true}},
		study.ReadHeadline(accounts, "diagnosis-accuracy", called(alone)),
		[]results.Headline{{Table: "diagnosis-accuracy", Column: "gain", Row: []string{fromExpert + "-" + hint}, Title: "Gain, captions"}}, b.Headline("Accuracy, images", armMCQ))
	first.Main = []string{"diagnosis-accuracy", "diagnosis-which", "diagnosis-steps", "diagnosis-energy", "diagnosis-cost", "diagnosis-ladder"}
	list := append([]results.Section{first}, study.PairSections(r)...)
	groups := section("groups", "Kinds of cases", "Accuracy from the images alone.", "images", "modality", "chapter", "rare")
	groups.Figures = overImages(table("images"))
	steps := section("steps", "Steps of explanations", "Where do explanations go wrong? Steps are those of answers from the images alone; a step may carry several types of error.", "steps", "experts")
	steps.Figures = errorFigure(table("steps"))
	list = append(list, groups)
	if slices.ContainsFunc(r.Models, func(m *score.Model) bool { return m.Repeated() }) {
		list = append(list, section("repeats", "Repeats", "How much of the accuracy holds when a case is asked about again?", "repeats"))
	}
	for _, s := range []results.Section{which, steps,
		section("written", "Captions and findings", "What the model writes of the images, beside what experts wrote: the same words in the same order.", "captions", "findings"),
		section("discussion", "Case discussions", "What a model writes that is told the case and its diagnosis.", "sentences", "criteria")} {
		if len(s.Tables) > 0 {
			list = append(list, s)
		}
	}
	if !b.Together {
		list = append(list, b.Efficiency(accounts))
	}
	return append(list, b.Closing(accounts, section("judges", "", "", "judges"))...)
}

// findings say in words what texts add to the images.
func findings(r *score.Run, t results.Table) []string {
	var out []string
	for _, m := range r.Models {
		for _, c := range textConditions() {
			gain := study.Contrast{Difference: score.FindEstimate(t, "gain", m.Name, c.Name), P: score.FindEstimate(t, results.PairHolm, m.Name, c.Name), Family: true, Of: "pairs of answers"}
			if !gain.Known() {
				continue
			}
			gain.More = m.Once("test of "+c.Name, nil).(score.Tested).More
			does := map[int]string{-1: "lower", 0: "do not clearly change", 1: "raise"}[gain.Way()]
			out = append(out, fmt.Sprintf("%s: %s %s accuracy (%s).", m.Name, inWords(c), does, gain.Words()))
		}
	}
	return out
}

const few = 20 // answers that say nothing yet

// looks say of a model that leaving images out changes none of its answers, or the first
// image more of them than the others: by the test, corrected for all models (Holm).
func looks(models []*score.Model, t results.Table, test func(*score.Model) score.Tested) []string {
	var out []string
	var tests []*float64
	for _, m := range models {
		tests = append(tests, test(m).P.Value)
	}
	holm := stats.Holm(tests)
	for i, m := range models {
		changed := func(condition string) *results.Estimate {
			return score.FindEstimate(t, "answer_changed", m.Name, condition)
		}
		any, first, others := changed(anyLess), changed(perturb.LeaveOut(1).Name), changed(otherLess)
		if first == nil || first.Value == nil || others == nil || others.Value == nil || others.N < few {
			continue
		}
		switch {
		case stats.Same(*any.Value, 0):
			out = append(out, fmt.Sprintf("%s: no answer changed when an image was removed (0 of %d): the model may ignore the images.", m.Name, any.N))
		case stats.Same(*others.Value, 0):
			out = append(out, fmt.Sprintf("%s: no answer changed when an image other than the first was removed (0 of %d): the model may use the first image alone.", m.Name, others.N))
		case holm[i] != nil && *holm[i] <= results.Sure && test(m).More > 0 && *first.Value > *others.Value:
			out = append(out, fmt.Sprintf("%s: %s %% of its answers changed when the first image was removed (n = %d), %s %% for any other image (n = %d; Holm p = %s over %s that have both): the model uses the first image more than others.", m.Name,
				stats.Fixed(*first.Value, 1), first.N, stats.Fixed(*others.Value, 1), others.N, stats.Significant(*holm[i], 2), results.Count(test(m).P.N, "case", "cases")))
		}
	}
	return out
}

func inWords(c perturb.Condition) string {
	what := map[string]string{hint: "captions", summary: "findings"}[c.Shows[0]]
	if len(c.Shows) > 1 {
		what = "captions and findings"
	}
	return map[string]string{fromExpert: what + " by experts", fromSelf: what + " of its own"}[c.From]
}
