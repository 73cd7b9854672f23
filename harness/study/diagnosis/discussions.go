package diagnosis

import (
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/text"
)

// Names of the scores of a discussion; those of sections are made of these.
const (
	sentenceCount    = "sentences"
	sentenceFactual  = "factual_sentences"
	sentenceUnjudged = "unjudged_sentences"
	criterion        = "criterion_"
	criteriaTotal    = "criteria_total"

	leafSaid = "factual share" // with the section
)

// discussionScores are declared with add.
func discussionScores(add func(name, unit string, better score.Better, rubric, help string)) {
	add(sentenceUnjudged, "sentences", score.Lower, sentences, "sentences of the discussion that the verdict leaves out")
	for _, s := range append(sectionNames(), "") {
		where := "all sections"
		if s != "" {
			where, s = "section "+s, "_"+s
		}
		add(sentenceCount+s, "sentences", score.None, sentences, "sentences with a verdict, "+where)
		add(sentenceFactual+s, "sentences", score.Higher, sentences, "factual ones, "+where)
	}
	for _, c := range criteriaNames() {
		add(criterion+c, "points", score.Higher, criteria, "0 to 2; of all judges the mean")
	}
	add(criteriaTotal, "points", score.Higher, criteria, "sum of the five criteria, 0 to 10, whatever total the judge wrote; of all judges the mean")
}

// discussionOf is what judges say of a trial's discussion.
func discussionOf(s score.Sample) []score.Value {
	out := append(s.Verdicts(sentences), s.Verdicts(criteria)...)
	out = append(out, score.EachJudge(s, sentences, sentenceNames(), func(_ string, v discussionVerdict) map[string]float64 {
		return countSentences(v, sectionsOf(text.Outside(s.Output.Answer)))
	})...)
	return append(out, score.EachJudge(s, criteria, gradeNames(), func(_ string, v map[string]any) map[string]float64 { return gradeScores(v) })...)
}

func sentenceNames() []string {
	names := []string{sentenceUnjudged, sentenceCount, sentenceFactual}
	for _, s := range sectionNames() {
		names = append(names, sentenceCount+"_"+s, sentenceFactual+"_"+s)
	}
	return names
}

// countSentences counts a verdict's sentences by section, and all of them.
func countSentences(v discussionVerdict, sections []section) map[string]float64 {
	n := map[string]float64{}
	for _, name := range sentenceNames() {
		n[name] = 0
	}
	for _, s := range sections {
		n[sentenceUnjudged] += float64(len(s.Sentences))
	}
	for _, s := range v.Sentences {
		n[sentenceUnjudged]--
		for _, where := range []string{"", "_" + s.Section} {
			n[sentenceCount+where]++
			if s.Factual {
				n[sentenceFactual+where]++
			}
		}
	}
	return n
}

func gradeNames() []string {
	var names []string
	for _, c := range criteriaNames() {
		names = append(names, criterion+c)
	}
	return append(names, criteriaTotal)
}

// gradeScores are the scores of a verdict on the criteria. The total is recomputed: what a
// judge adds up is not looked at.
func gradeScores(v map[string]any) map[string]float64 {
	n, sum := map[string]float64{}, 0.
	for _, c := range criteriaNames() {
		x, _ := v[c].(float64)
		n[criterion+c] = x
		sum += x
	}
	n[criteriaTotal] = sum
	return n
}

// discussionLeaves are what is added up of the scores.
func discussionLeaves() []score.Leaf {
	var list []score.Leaf
	for _, s := range append(sectionNames(), "") {
		if s != "" {
			s = "_" + s
		}
		list = append(list, score.Leaf{Name: leafSaid + s, Score: sentenceFactual + s, Over: &score.Term{Score: sentenceCount + s}, Why: "no discussion has a usable verdict on its sentences"})
	}
	list = append(list, score.Leaf{Score: sentenceUnjudged})
	for _, n := range gradeNames() {
		list = append(list, score.Leaf{Score: n, Why: "no discussion has usable grades"})
	}
	return list
}

// discussionTables are the sentences and the grades of the discussions of some rows.
func discussionTables(sentences, grades string, rows func(score.Group) []score.Row) []score.Table {
	said := score.Table{Name: sentences, Title: "Factual sentences of discussions", Rows: rows}
	for _, s := range append(sectionNames(), "") {
		column := study.PercentColumn("pooled", "All sections", "factual sentences / sentences judged, pooled over sentences")
		if s != "" {
			column, s = study.PercentColumn(s, strings.ToUpper(s[:1])+s[1:], "factual sentences / sentences judged of the section, over all cases"), "_"+s
		}
		said.Columns = append(said.Columns, score.Metric{Column: column, Of: score.Percent(leafSaid + s)})
	}
	said.Columns = append(said.Columns, score.Metric{Column: study.CountColumn("unjudged", "Left out", "sentences that verdicts leave out"), Of: score.Total(sentenceUnjudged)})
	graded := score.Table{Name: grades, Title: "Grades of discussions", Rows: rows}
	for _, n := range gradeNames() {
		c := results.Column{Name: strings.TrimPrefix(n, criterion), Title: strings.TrimPrefix(n, criterion), Unit: "points", Digits: 2, Help: "0 to 2, mean over cases"}
		if n == criteriaTotal {
			c.Title, c.Help = "Total", "sum of the five, 0 to 10, mean over cases"
		}
		graded.Columns = append(graded.Columns, score.Metric{Column: c, Of: score.Mean(n)})
	}
	return []score.Table{said, graded}
}
