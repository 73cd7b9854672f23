package study

import (
	"fmt"

	"assay/results"
	"assay/results/stats"
)

// CoverageFigure is how many answers each judge has a usable verdict on, by
// account; none: nothing was judged. rubrics gives the order, judges the names.
func CoverageFigure(study string, accounts []*Account, rubrics []string, judges map[string][]string) []results.Figure {
	f := results.Figure{Name: study + "-coverage", Kind: results.FigureHeat, Title: "Judge coverage",
		Caption: "Answers with a usable verdict (clean or repaired), in per cent of all answers that the rubric is for. What is missing is left out of the scores; the table says why.",
		X:       results.Axis{Title: "Rubric and judge"}, Z: PercentAxis("Coverage")}
	type worst struct {
		share float64
		words string
	}
	least := worst{share: 101}
	arms := map[string]bool{}
	for _, a := range accounts {
		arms[a.Arm] = true
	}
	for _, a := range accounts {
		s := results.Series{Name: a.Model}
		if len(arms) > 1 {
			s.Name += ", " + a.Arm
		}
		for _, rubric := range rubrics {
			for j, name := range judges[rubric] {
				p := results.Point{Label: rubric + " · " + name, Y: &results.Estimate{Why: "the rubric is not for this arm"}}
				if by := a.Statuses[rubric]; by != nil {
					usable, all := usable(by[j])
					p.Y = &results.Estimate{N: all, Why: "there is no answer"}
					if all > 0 {
						v := 100 * float64(usable) / float64(all)
						p.Y.Value, p.Y.Why = &v, ""
						if v < least.share {
							least = worst{v, fmt.Sprintf("%s %% (%d of %d) for %s, %s by %s", stats.Fixed(v, 2), usable, all, s.Name, rubric, name)}
						}
					}
				}
				s.Points = append(s.Points, p)
			}
		}
		f.Series = append(f.Series, s)
	}
	if least.words == "" {
		return nil
	}
	f.Alt = "Heat table of coverage by model and judge. The least is " + least.words + "."
	return []results.Figure{f}
}
