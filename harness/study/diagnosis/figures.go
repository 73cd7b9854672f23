package diagnosis

import (
	"fmt"
	"strconv"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// rowsOf gathers a table's rows by model, in order.
func rowsOf(t results.Table) (models []string, rows map[string][][]results.Cell) {
	rows = map[string][][]results.Cell{}
	for _, r := range t.Rows {
		name := r[0].Text
		if rows[name] == nil {
			models = append(models, name)
		}
		rows[name] = append(rows[name], r)
	}
	return models, rows
}

// drawn is a list with the figure, where there is something to draw.
func drawn(f results.Figure, any bool, words []string) []results.Figure {
	if !any {
		return nil
	}
	f.Alt = strings.Join(words, "; ") + "."
	return []results.Figure{f}
}

func told(e *results.Estimate) string {
	if e == nil || e.Value == nil {
		return "undefined"
	}
	return stats.Fixed(*e.Value, 1) + " %"
}

// ladder is accuracy by text condition, one row each, from the images alone up.
func ladder(t results.Table) []results.Figure {
	f := results.Figure{Name: "diagnosis-ladder", Kind: results.FigureDots, Title: "What texts add to the images",
		Caption: "Accuracy from the images alone, and with captions (hint), findings (summary) or both beside them, by experts or by the model itself.", X: study.PercentAxis("Accuracy")}
	models, rows := rowsOf(t)
	any := false
	words := []string{"Dots of accuracy by condition"}
	for _, m := range models {
		s := results.Series{Name: m}
		var said []string
		for _, r := range rows[m] {
			e := r[2].Estimate
			s.Points = append(s.Points, results.Point{Label: r[1].Text, X: e})
			said = append(said, r[1].Text+" "+told(e))
			any = any || e.Value != nil
		}
		f.Series = append(f.Series, s)
		words = append(words, m+": "+strings.Join(said, ", "))
	}
	return drawn(f, any, words)
}

// overImages is accuracy over the number of images.
func overImages(t results.Table) []results.Figure {
	f := results.Figure{Name: "diagnosis-over-images", Kind: results.FigureLines, Title: "Accuracy over the number of images",
		Caption: "Accuracy from the images alone of the cases with so many images; bars are 95 % CIs, the table has counts.", X: results.Axis{Title: "Images of the case"}, Y: study.PercentAxis("Accuracy")}
	models, rows := rowsOf(t)
	several := false
	words := []string{"Lines of accuracy over the number of images"}
	for _, m := range models {
		s := results.Series{Name: m}
		var said []string
		for _, r := range rows[m] {
			n, err := strconv.ParseFloat(r[1].Text, 64)
			if err != nil || r[2].Estimate.Value == nil {
				continue
			}
			s.Points = append(s.Points, results.Point{Label: r[1].Text, X: &results.Estimate{Value: &n, N: r[2].Estimate.N}, Y: r[2].Estimate})
			said = append(said, fmt.Sprintf("%s at %s", told(r[2].Estimate), r[1].Text))
		}
		several = several || len(s.Points) > 1
		f.Series = append(f.Series, s)
		words = append(words, m+": "+strings.Join(said, ", "))
	}
	return drawn(f, several, words)
}

// errorFigure is the shares of error types, of right and of wrong answers.
func errorFigure(t results.Table) []results.Figure {
	f := results.Figure{Name: "diagnosis-error-types", Kind: results.FigureHeat, Title: "Types of errors in explanations",
		Caption: "Share of the steps that are not factual which carry a type, of right and of wrong answers; a step may carry several.", X: results.Axis{Title: "Type of error"}, Z: study.PercentAxis("Share")}
	any := false
	words := []string{"Heat table of error types"}
	for _, r := range t.Rows {
		if r[1].Text == "all" || r[2].Text != "all" {
			continue
		}
		s := results.Series{Name: r[0].Text + ", " + r[1].Text + " answers"}
		var said []string
		for _, kind := range types() {
			e := score.FindEstimate(t, kind, r[0].Text, r[1].Text, r[2].Text)
			s.Points = append(s.Points, results.Point{Label: strings.ReplaceAll(kind, "_", " "), Y: e})
			said = append(said, strings.ReplaceAll(kind, "_", " ")+" "+told(e))
			any = any || e.Value != nil
		}
		f.Series = append(f.Series, s)
		words = append(words, s.Name+": "+strings.Join(said, ", "))
	}
	return drawn(f, any, words)
}
