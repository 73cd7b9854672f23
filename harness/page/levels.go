package page

import (
	"fmt"
	"strconv"
	"strings"

	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// tellLevels says of a study's arms and conditions, in every table, which of them are levels of
// a sweep.
func tellLevels(man results.Manifest, name string, secs []results.Section) error {
	conditions := map[string]results.Level{}
	for condition, described := range man.Conditions[name] {
		c, err := study.ConditionOf(name, condition, described)
		if err != nil {
			return err
		}
		of, _, _ := strings.Cut(condition, "@")
		switch {
		case c.Param != "":
			conditions[condition] = results.Level{Of: of, Parameter: c.Param, At: strconv.FormatFloat(c.Level, 'g', -1, 64)}
		case c.Without > 0:
			conditions[condition] = results.Level{Of: of, Parameter: "without", At: fmt.Sprint(c.Without)}
		case c.Draw > 0:
			conditions[condition] = results.Level{Of: of, Parameter: "order", At: fmt.Sprint(c.Draw)}
		case c.Order > 0:
			conditions[condition] = results.Level{Of: of, Parameter: "order", At: fmt.Sprint(c.Order)}
		}
	}
	arms := map[string]results.Level{} // by what an arm's name ends in
	for _, n := range man.LoadLevels(name) {
		arms[study.LevelName("", n)] = results.Level{Parameter: perturb.ParamInFlight, At: fmt.Sprint(n)}
	}
	for _, l := range study.ShotLevels(man, name) {
		arms[study.ShotsName("", l)] = results.Level{Parameter: study.Param, At: fmt.Sprint(l.Shots)}
	}
	arm := func(text string) (l results.Level, ok bool) {
		for end, level := range arms {
			if of, has := strings.CutSuffix(text, end); has && (!ok || end != "") {
				l, ok = results.Level{Of: of, Parameter: level.Parameter, At: level.At}, true
			}
		}
		return l, ok
	}
	condition := func(text string) (l results.Level, ok bool) {
		l, ok = conditions[text]
		return l, ok
	}
	for _, s := range secs {
		for _, t := range s.Tables {
			for j := range t.Columns {
				of := map[string]func(string) (results.Level, bool){"arm": arm, "condition": condition}[t.Columns[j].Name]
				if of == nil {
					continue
				}
				for _, row := range t.Rows {
					if l, ok := of(row[j].Text); ok {
						if t.Columns[j].Levels == nil {
							t.Columns[j].Levels = map[string]results.Level{}
						}
						t.Columns[j].Levels[row[j].Text] = l
					}
				}
			}
		}
	}
	return nil
}
