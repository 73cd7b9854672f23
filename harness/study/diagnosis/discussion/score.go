package discussion

import (
	"strings"

	"assay/harness/metric"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/text"
)

// Names of the scores of a trial; those of sections are made of these.
const (
	count     = "sentences"
	factual   = "factual_sentences"
	unjudged  = "unjudged_sentences"
	criterion = "criterion_"
	total     = "criteria_total"

	leafSaid = "factual share" // with the section
)

// Scores are declared with add.
func Scores(add func(name, unit string, better score.Better, rubric, help string)) {
	add(unjudged, "sentences", score.Lower, Sentences, "sentences of the discussion that the verdict leaves out")
	for _, s := range append(sectionNames(), "") {
		where := "all sections"
		if s != "" {
			where, s = "section "+s, "_"+s
		}
		add(count+s, "sentences", score.None, Sentences, "sentences with a verdict, "+where)
		add(factual+s, "sentences", score.Higher, Sentences, "factual ones, "+where)
	}
	for _, c := range criteria() {
		add(criterion+c, "points", score.Higher, Criteria, "0 to 2; of all judges the mean")
	}
	add(total, "points", score.Higher, Criteria, "sum of the five criteria, 0 to 10, whatever total the judge wrote; of all judges the mean")
}

// Score is what judges say of a trial's discussion.
func Score(s score.Sample) []score.Value {
	out := append(s.Verdicts(Sentences), s.Verdicts(Criteria)...)
	out = append(out, score.EachJudge(s, Sentences, sentenceNames(), func(_ string, v sentencesVerdict) map[string]float64 {
		return counted(v, sectionsOf(text.Outside(s.Output.Answer)))
	})...)
	return append(out, score.EachJudge(s, Criteria, gradeNames(), func(_ string, v map[string]any) map[string]float64 { return Grades(v) })...)
}

func sentenceNames() []string {
	names := []string{unjudged, count, factual}
	for _, s := range sectionNames() {
		names = append(names, count+"_"+s, factual+"_"+s)
	}
	return names
}

// counted counts a verdict's sentences by section, and all of them.
func counted(v sentencesVerdict, sections []Section) map[string]float64 {
	n := map[string]float64{}
	for _, name := range sentenceNames() {
		n[name] = 0
	}
	for _, s := range sections {
		n[unjudged] += float64(len(s.Sentences))
	}
	for _, s := range v.Sentences {
		n[unjudged]--
		for _, where := range []string{"", "_" + s.Section} {
			n[count+where]++
			if s.Factual {
				n[factual+where]++
			}
		}
	}
	return n
}

func gradeNames() []string {
	var names []string
	for _, c := range criteria() {
		names = append(names, criterion+c)
	}
	return append(names, total)
}

// Grades are the scores of a verdict on the criteria. The total is recomputed: what a
// judge adds up is not looked at.
func Grades(v map[string]any) map[string]float64 {
	n, sum := map[string]float64{}, 0.
	for _, c := range criteria() {
		x, _ := v[c].(float64)
		n[criterion+c] = x
		sum += x
	}
	n[total] = sum
	return n
}

// Leaves are what is added up of the scores.
func Leaves() []metric.Leaf {
	var list []metric.Leaf
	for _, s := range append(sectionNames(), "") {
		if s != "" {
			s = "_" + s
		}
		list = append(list, metric.Leaf{Name: leafSaid + s, Score: factual + s, Over: &metric.Term{Score: count + s}, Why: "no discussion has a usable verdict on its sentences"})
	}
	list = append(list, metric.Leaf{Score: unjudged})
	for _, n := range gradeNames() {
		list = append(list, metric.Leaf{Score: n, Why: "no discussion has usable grades"})
	}
	return list
}

// Tables are the sentences and the grades of the discussions of some rows.
func Tables(sentences, grades string, rows func(metric.Group) []metric.Row) []metric.Table {
	said := metric.Table{Name: sentences, Title: "Factual sentences of discussions", Rows: rows}
	for _, s := range append(sectionNames(), "") {
		column := study.PercentColumn("pooled", "All sections", "factual sentences / sentences judged, pooled over sentences")
		if s != "" {
			column, s = study.PercentColumn(s, strings.ToUpper(s[:1])+s[1:], "factual sentences / sentences judged of the section, over all cases"), "_"+s
		}
		said.Columns = append(said.Columns, metric.Metric{Column: column, Of: metric.Percent(leafSaid + s)})
	}
	said.Columns = append(said.Columns, metric.Metric{Column: study.CountColumn("unjudged", "Left out", "sentences that verdicts leave out"), Of: metric.Total(unjudged)})
	graded := metric.Table{Name: grades, Title: "Grades of discussions", Rows: rows}
	for _, n := range gradeNames() {
		c := results.Column{Name: strings.TrimPrefix(n, criterion), Title: strings.TrimPrefix(n, criterion), Unit: "points", Digits: 2, Help: "0 to 2, mean over cases"}
		if n == total {
			c.Title, c.Help = "Total", "sum of the five, 0 to 10, mean over cases"
		}
		graded.Columns = append(graded.Columns, metric.Metric{Column: c, Of: metric.Mean(n)})
	}
	return []metric.Table{said, graded}
}
