package curate

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/results"
	"assay/results/stats"
)

// about is what was asked about.
type about struct {
	Dataset string
	Texts   int
	Without int // items that have no such text
	Same    int // items whose text another item has, too
}

const (
	modelsTable  = "contamination-models"
	nearestTable = "contamination-nearest"
	histogram    = "contamination-histogram"
	knownDots    = "contamination-known"

	nearestShown = 5 // texts of each model
)

// Section is all that a report says.
func Section(about about, list []contaminationResult, set ContaminationSettings) results.Section {
	s := results.Section{Name: "contamination", Title: "Has a model seen these texts before?",
		Intro: fmt.Sprintf("%s of data set %s (%s). Each model was given the first half of each and went on with it; what it wrote is compared with the second half, and with the second half of another text.",
			results.Count(about.Texts, "text", "texts"), about.Dataset, set.Of),
		Tables: []results.Table{models(list, set), nearest(list)}, Figures: []results.Figure{dots(list, set), bars(list, set)},
		Methods: []string{fmt.Sprintf("Contamination was measured by MELD: a model goes on with the first half of a text at temperature 0; rho is the greatest 1 - d/L over all windows of L code points in the first %g L of what it wrote, L being the length of the half held back and d the Levenshtein distance. A text with rho of at least %g counts as known. The same was done with the half of another text, paired by chance (seed %d). A model is flagged where more texts are known than with unrelated halves and p of the paired test (sign flips of texts; two-sided mid-p), corrected by Holm for all models of this report, is below 0.05. Intervals are 95 %%: Wilson's of shares and means, MOVER of differences. Texts of items that share images count together in intervals and test. As first published, a text is known where 2 LCS / (length of both), of two decimals, is above %g.",
			set.Reach, set.Threshold, set.Seed, set.Threshold)}}
	if about.Without > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s no text of this kind.", results.Count(about.Without, "item has", "items have")))
	}
	if about.Same > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s a text that another item has, too; it counts once.", results.Count(about.Same, "item has", "items have")))
	}
	for _, r := range list {
		short, byWords := 0, 0
		for _, m := range r.Measured {
			if m.Windowed.Short {
				short++
			}
			if m.Cut == cutByWords {
				byWords++
			}
		}
		switch {
		case r.Flagged == nil:
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: nothing can be said: %s.", r.Name, noAnswers))
		case *r.Flagged:
			s.Notes = append(s.Notes, fmt.Sprintf("%s knows texts of this data set: it went on with %.1f %% of them, and with the words of unrelated ones in %.1f %%; the difference is %s.",
				r.Name, *r.Known.Value, *r.UnrelatedKnown.Value, difference(r)))
		default:
			s.Notes = append(s.Notes, fmt.Sprintf("%s: no sign that it knows these texts (difference %s). That does not prove that it was not trained on them.",
				r.Name, difference(r)))
		}
		if n := len(r.Measured); n > 0 && 2*short > n {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %d of %d continuations are shorter than the half they are compared with, which can only lower rho.", r.Name, short, n))
		}
		if n := len(r.Measured); n > 0 && *r.UnrelatedRho.Value >= set.Threshold/1.5 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: texts are much alike: even unrelated ones have a mean rho of %.2f (texts in general: about 0.2). Trust the difference, not the share.", r.Name, *r.UnrelatedRho.Value))
		}
		if byWords > 0 && way(r) == rawText {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %d texts were halved by words: the server does not say the model's tokens.", r.Name, byWords))
		}
		if r.Failed > 0 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %s no continuation (%s). The same command asks again.", r.Name, results.Count(r.Failed, "text has", "texts have"), r.Why))
		}
		if r.Former > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s of another state of this model or its server is kept and not used.", r.Name, results.Count(r.Former, "continuation", "continuations")))
		}
	}
	return s
}

// difference is that of a model in words; where interval and test do not agree, it says so.
func difference(r contaminationResult) string {
	s := fmt.Sprintf("%.1f points", *r.Gain.Value)
	if r.Gain.Low != nil {
		s += fmt.Sprintf(" [%.1f, %.1f]", *r.Gain.Low, *r.Gain.High)
	}
	s += ", p = " + stats.Significant(*r.Holm, 2)
	if r.Gain.Low != nil && *r.Gain.Value > 0 && *r.Flagged != (*r.Gain.Low > 0) {
		s += "; the test decides, not the interval"
	}
	return s
}

// way is how a model was asked; "": it was not.
func way(r contaminationResult) askingWay {
	if len(r.Measured) == 0 {
		return ""
	}
	return r.Measured[0].Way
}

func cuts(r contaminationResult) string {
	var out []string
	for _, m := range r.Measured {
		if !slices.Contains(out, string(m.Cut)) {
			out = append(out, string(m.Cut))
		}
	}
	return strings.Join(out, ", ")
}

func cell(e *results.Estimate) results.Cell { return results.Cell{Estimate: e} }

func percent(name, title, help string) results.Column {
	return results.Column{Name: name, Title: title, Unit: "%", Digits: 2, Help: help}
}

func models(list []contaminationResult, set ContaminationSettings) results.Table {
	t := results.Table{Name: modelsTable, Title: "Texts that models go on with", Columns: []results.Column{
		{Name: "model", Title: "Model"},
		{Name: "asked", Title: "Asked", Help: "raw: the text alone, at an endpoint without a chat template; chat: by a prompt that asks to go on"},
		{Name: "halved", Title: "Halved by", Help: "the model's tokens, as its server says them, or else words"},
		percent("known", "Known", fmt.Sprintf("texts with rho of at least %g", set.Threshold)),
		percent("unrelated", "Unrelated", "the same, beside the half of another text: what similar texts alone give"),
		{Name: "difference", Title: "Difference", Unit: "points", Digits: 2, Help: "Known - Unrelated, of the same texts"},
		{Name: "p", Title: "p", Digits: 4, Help: "two-sided, of no difference: signs of texts are flipped, of those that share images together; mid-p"},
		{Name: "p_holm", Title: "p (Holm)", Digits: 4, Help: "the same, corrected for all models of this table"},
		{Name: "rho", Title: "Mean rho", Digits: 3, Help: "similarity of the nearest window, 0 to 1"},
		{Name: "rho_unrelated", Title: "Unrelated rho", Digits: 3, Help: "the same beside the half of another text"},
		percent("original", "As first published", fmt.Sprintf("texts with 2 LCS / (length of both) above %g", set.Threshold)),
		percent("original_unrelated", "Unrelated", "the same beside the half of another text"),
		{Name: "flagged", Title: "Flagged", Help: "yes: the difference lies above 0 and p (Holm) is below 0.05"},
	}, Notes: []string{"What a text counts as says nothing of one text alone; a model is flagged by how many more it goes on with than chance explains."}}
	for _, r := range list {
		chance := func(p *float64) results.Cell {
			e := *r.Gain
			if e.Value, e.Low, e.High = p, nil, nil; p != nil {
				e.Why = ""
			}
			return cell(&e)
		}
		flagged := "unknown"
		if r.Flagged != nil {
			flagged = map[bool]string{true: "yes", false: "no"}[*r.Flagged]
		}
		t.Rows = append(t.Rows, []results.Cell{words(r.Name), words(string(way(r))), words(cuts(r)), cell(r.Known), cell(r.UnrelatedKnown), cell(r.Gain), chance(r.P), chance(r.Holm), cell(r.Rho), cell(r.UnrelatedRho),
			cell(r.Original), cell(r.UnrelatedOrig), words(flagged)})
	}
	return t
}

func nearest(list []contaminationResult) results.Table {
	t := results.Table{Name: nearestTable, Title: "The nearest continuations", Columns: []results.Column{
		{Name: "model", Title: "Model"}, {Name: "item", Title: "Item"},
		{Name: "rho", Title: "rho", Digits: 3}, {Name: "rho_unrelated", Title: "Unrelated", Digits: 3, Help: "beside the half of another text"},
		{Name: "said", Title: "It went on with", Help: "the beginning of the nearest window"},
	}, Notes: []string{fmt.Sprintf("The %d nearest of each model; texts.csv has all.", nearestShown)}}
	for _, r := range list {
		of := slices.Clone(r.Measured)
		slices.SortStableFunc(of, func(a, b measuredText) int { return cmp.Compare(b.Windowed.Similarity, a.Windowed.Similarity) })
		for _, m := range of[:min(nearestShown, len(of))] {
			one := func(v float64) results.Cell { return cell(&results.Estimate{Value: &v, N: 1}) }
			said := []rune(m.beginsAfresh())
			said = said[min(m.Windowed.At, len(said)):]
			t.Rows = append(t.Rows, []results.Cell{words(r.Name), words(m.Item), one(m.Windowed.Similarity), one(m.Unrelated.Similarity), words(excerpt(said))})
		}
	}
	return t
}

func excerpt(r []rune) string {
	const most = 80
	s := strings.Join(strings.Fields(string(r[:min(len(r), most)])), " ")
	if len(r) > most {
		s += " ..."
	}
	return s
}

func dots(list []contaminationResult, set ContaminationSettings) results.Figure {
	zero, hundred := 0., 100.
	f := results.Figure{Name: knownDots, Kind: results.FigureDots, Title: "Texts that a model goes on with",
		Caption: fmt.Sprintf("Share of texts with rho of at least %g, beside their own second half and beside that of another text, with Wilson's 95 %% CIs over clusters of texts that share images.", set.Threshold),
		X:       results.Axis{Title: "Texts", Unit: "%", Low: &zero, High: &hundred}}
	own, other := results.Series{Name: "own second half"}, results.Series{Name: "that of another text"}
	var said []string
	for _, r := range list {
		own.Points = append(own.Points, results.Point{Label: r.Name, X: r.Known})
		other.Points = append(other.Points, results.Point{Label: r.Name, X: r.UnrelatedKnown})
		if r.Known.Value != nil {
			said = append(said, fmt.Sprintf("%s goes on with %.1f %% of the texts, with unrelated ones %.1f %%", r.Name, *r.Known.Value, *r.UnrelatedKnown.Value))
		}
	}
	f.Series = []results.Series{own, other}
	f.Alt = cmp.Or(strings.Join(said, "; "), noAnswers) + "."
	return f
}

// bins of the histogram.
const bins = 20

func bars(list []contaminationResult, set ContaminationSettings) results.Figure {
	zero, one := 0., 1.
	f := results.Figure{Name: histogram, Kind: results.FigureTime, Title: "How near continuations come",
		Caption: fmt.Sprintf("Histogram of rho, of %d bins, by model; all models' continuations beside unrelated halves are one more line.", bins),
		X:       results.Axis{Title: "rho", Low: &zero, High: &one, Marks: []results.Mark{{At: set.Threshold, Text: "known"}}},
		Y:       results.Axis{Title: "Texts", Unit: "%", Low: &zero}}
	line := func(name string, rho []float64) {
		if len(rho) == 0 {
			return
		}
		var count [bins]int
		for _, x := range rho {
			count[min(int(x*bins), bins-1)]++
		}
		s := results.Series{Name: name, Step: true}
		for i, k := range count {
			s.Samples = append(s.Samples, [2]float64{float64(i) / bins, 100 * float64(k) / float64(len(rho))})
		}
		last := s.Samples[bins-1]
		s.Samples = append(s.Samples, [2]float64{1, last[1]})
		f.Series = append(f.Series, s)
	}
	var unrelated []float64
	var said []string
	for _, r := range list {
		var own []float64
		for _, m := range r.Measured {
			own, unrelated = append(own, m.Windowed.Similarity), append(unrelated, m.Unrelated.Similarity)
		}
		line(r.Name, own)
		if q, ok := stats.Median(own); ok {
			said = append(said, fmt.Sprintf("%s has a median rho of %.2f", r.Name, q))
		}
	}
	line("unrelated halves", unrelated)
	f.Alt = cmp.Or(strings.Join(said, "; "), noAnswers) + "."
	return f
}

// WriteTexts writes what was measured of every text as CSV.
func WriteTexts(w io.Writer, list []contaminationResult) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"model", "item", "asked", "halved_by", "rho", "original_ratio", "rho_unrelated", "original_ratio_unrelated", "unrelated_item", "window_at_chars", "distance_chars", "held_back_chars", "finish", "given", "held_back", "went_on_with"}}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	for _, r := range list {
		for _, m := range r.Measured {
			rows = append(rows, []string{r.Name, m.Item, string(m.Way), string(m.Cut), number(m.Windowed.Similarity), number(m.Original), number(m.Unrelated.Similarity), number(m.UnrelatedOriginal), m.Other,
				strconv.Itoa(m.Windowed.At), strconv.Itoa(m.Windowed.Distance), strconv.Itoa(len([]rune(m.Rest))), string(m.Finish), m.Head, m.Rest, m.Said})
		}
	}
	return out.WriteAll(rows)
}
