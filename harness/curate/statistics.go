package curate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/harness/dataset"
	"assay/results"
)

// Statistics are those of a data set as papers describe theirs. What items do not state
// has no value.
func Statistics(d *dataset.Dataset) results.Table {
	t := results.Table{Name: "dataset-statistics", Title: "Statistics", Columns: []results.Column{
		{Name: "what", Title: "Statistic"}, {Name: "value", Title: "Value", Digits: 3, Help: "n is how many items it rests on"}, {Name: "counted_in", Title: "Unit"}, {Name: "how", Title: "How"}}}
	row := func(what, unit, how string, of []float64, sum func([]float64) float64) {
		e := &results.Estimate{N: len(of), Why: "no item states it"}
		if len(of) > 0 {
			v := sum(of)
			e.Value, e.Why = &v, ""
		}
		t.Rows = append(t.Rows, []results.Cell{words(what), {Estimate: e}, words(unit), words(how)})
	}
	total := func(v []float64) float64 {
		s := 0.
		for _, x := range v {
			s += x
		}
		return s
	}
	mean := func(v []float64) float64 { return total(v) / float64(len(v)) }
	per := func(of func(dataset.Item) (float64, bool)) []float64 {
		var out []float64
		for _, it := range d.Items {
			if v, ok := of(it); ok {
				out = append(out, v)
			}
		}
		return out
	}
	one := func(v float64) []float64 { return []float64{v} }
	size := func(of func(dataset.Item) string) []float64 {
		return per(func(it dataset.Item) (float64, bool) {
			s := strings.TrimSpace(of(it))
			return float64(utf8.RuneCountInString(s)), s != ""
		})
	}
	images := per(func(it dataset.Item) (float64, bool) { return float64(len(it.Images)), true })
	row("items", "", "", one(float64(len(d.Items))), total)
	row("images", "", "shown, over all items", images, total)
	row("images per item", "", "mean", images, mean)
	row("most images of an item", "", "", images, slices.Max)
	row("question", "characters", "mean", size(func(it dataset.Item) string { return it.Question }), mean)
	row("history", "characters", "mean, of cases", size(func(it dataset.Item) string {
		if it.Case == nil {
			return ""
		}
		return it.Case.History
	}), mean)
	row("captions", "characters", "mean, all of a case together", size(func(it dataset.Item) string { return strings.Join(it.AnswerLeaking().Captions, "") }), mean)
	row("findings", "characters", "mean, of cases", size(func(it dataset.Item) string { return it.AnswerLeaking().Findings }), mean)
	row("discussion", "characters", "mean, of cases", size(discussionOf), mean)
	row("options", "characters", "mean, of each option", slices.Concat(perOption(d, func(o dataset.Option) float64 { return float64(utf8.RuneCountInString(strings.TrimSpace(o.Text))) })...), mean)
	row("options per item", "", "mean", per(func(it dataset.Item) (float64, bool) { return float64(len(it.Options)), len(it.Options) > 0 }), mean)
	row("place of the right option", "", "mean, from 1", per(func(it dataset.Item) (float64, bool) {
		_, at := optionTexts(it)
		return float64(at + 1), at >= 0
	}), mean)
	row("right option longer than all others", "share", "of items with options", per(func(it dataset.Item) (float64, bool) {
		texts, at := optionTexts(it)
		if at < 0 {
			return 0, false
		}
		strictly, _ := longest(texts, at)
		return map[bool]float64{true: 1}[strictly], true
	}), mean)
	row("digits", "share", "of the characters of captions, findings and discussion", digits(d), func(v []float64) float64 { return v[0] / v[1] })
	t.Rows[len(t.Rows)-1][1].Estimate.N = len(d.Items)
	var all []string
	modalities := per(func(it dataset.Item) (float64, bool) {
		var of []string
		for _, im := range it.Images {
			if im.Modality != "" && !slices.Contains(of, im.Modality) {
				of = append(of, im.Modality)
			}
		}
		if len(of) == 0 && it.Modality != "" {
			of = []string{it.Modality}
		}
		for _, m := range of {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
		return float64(len(of)), len(of) > 0
	})
	row("modalities per item", "", "mean", modalities, mean)
	row("modalities", "", "over all items", modalities, func([]float64) float64 { return float64(len(all)) })
	flag := func(of func(*dataset.Case) *bool) []float64 {
		return per(func(it dataset.Item) (float64, bool) {
			if it.Case == nil || of(it.Case) == nil {
				return 0, false
			}
			return map[bool]float64{true: 1}[*of(it.Case)], true
		})
	}
	row("longitudinal", "share", "of cases that say so or not", flag(func(c *dataset.Case) *bool { return c.Longitudinal }), mean)
	row("rare disease", "share", "of cases that say so or not", flag(func(c *dataset.Case) *bool { return c.Rare }), mean)
	var chapters []string
	with := per(func(it dataset.Item) (float64, bool) {
		if it.Case == nil || it.Case.Chapter == "" {
			return 0, false
		}
		if !slices.Contains(chapters, it.Case.Chapter) {
			chapters = append(chapters, it.Case.Chapter)
		}
		return 1, true
	})
	row("ICD chapters", "", "over all cases", with, func([]float64) float64 { return float64(len(chapters)) })
	return t
}

func discussionOf(it dataset.Item) string {
	var parts []string
	for _, s := range it.AnswerLeaking().Discussion {
		parts = append(parts, s.Text)
	}
	return strings.Join(parts, "\n")
}

func perOption(d *dataset.Dataset, of func(dataset.Option) float64) [][]float64 {
	var out [][]float64
	for _, it := range d.Items {
		var one []float64
		for _, o := range it.Options {
			one = append(one, of(o))
		}
		out = append(out, one)
	}
	return out
}

// digits are how many characters are digits, and how many there are; nil: none.
func digits(d *dataset.Dataset) []float64 {
	n, all := 0., 0.
	for _, it := range d.Items {
		for _, r := range strings.Join(it.AnswerLeaking().Captions, "") + it.AnswerLeaking().Findings + discussionOf(it) {
			all++
			if unicode.IsDigit(r) {
				n++
			}
		}
	}
	if all == 0 {
		return nil
	}
	return []float64{n, all}
}
