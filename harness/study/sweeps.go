// Sweeps are conditions whose parameter was varied: dose and response.

package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/harness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
)

// Sweep is the cells of one parameter of one condition of an arm, and their levels,
// upwards.
type Sweep struct {
	score.Group
	arm, condition, param string
	levels                []float64
}

func (w Sweep) text() []string { return []string{w.arm, w.condition, w.param} }

// SweepsOf finds the cells that are levels of a parameter; of is a cell's condition, false: it
// is of none. The unswept condition is among them where its default is a level.
func SweepsOf(all score.Group, of func(score.Keys) (perturb.Condition, bool)) (out []Sweep) {
	for _, arm := range score.ByKey(all) {
		own := arm.Only(func(k score.Keys) bool {
			_, ok := of(k)
			return ok
		})
		var list []Sweep
		for _, x := range own.Cells {
			f, _ := of(x.Keys)
			if f.Param == "" {
				continue
			}
			name := f.Unswept()
			at := slices.IndexFunc(list, func(w Sweep) bool { return w.condition == name && w.param == f.Param })
			if at < 0 {
				w := Sweep{arm: arm.Text[0], condition: name, param: f.Param, Group: arm.Group}
				w.Cells = nil
				at, list = len(list), append(list, w)
			}
			w := &list[at]
			w.Cells, w.levels = append(w.Cells, x), append(w.levels, f.Level)
			unswept := slices.IndexFunc(own.Cells, func(o *score.Cell) bool {
				u, _ := of(o.Keys)
				return u.Param == "" && u.Family == f.Family && u.Sign == f.Sign
			})
			if unswept >= 0 && f.Usual != nil && !slices.Contains(w.Cells, own.Cells[unswept]) {
				w.Cells, w.levels = append(w.Cells, own.Cells[unswept]), append(w.levels, *f.Usual)
			}
		}
		for i := range list {
			list[i].sort()
		}
		slices.SortStableFunc(list, func(a, b Sweep) int {
			return cmp.Or(cmp.Compare(a.condition, b.condition), cmp.Compare(a.param, b.param))
		})
		out = append(out, list...)
	}
	return out
}

// sort puts the levels of a sweep upwards.
func (w *Sweep) sort() {
	levels := map[*score.Cell]float64{}
	for i, c := range w.Cells {
		levels[c] = w.levels[i]
	}
	slices.SortFunc(w.Cells, func(a, b *score.Cell) int { return cmp.Compare(levels[a], levels[b]) })
	slices.Sort(w.levels)
}

// Names of the tables of sweeps, after the study's.
const (
	tableSweeps = "sweeps"
	tableLevels = "levels"
)

// SweepTables are the slopes of a study's measures over the levels of each sweep, and what they
// are at each level. Each measure is a score.Sum.
func SweepTables(study string, sweeps func(score.Group) []Sweep, measures []score.Metric) []score.Table {
	type swept struct {
		of     score.Sum
		levels []float64
	}
	slope := func(times func(levels []float64) float64) score.Kind {
		return score.Direct(func(r score.Row) *results.Estimate {
			d := r.Data.(swept)
			return score.Slope(d.of, d.levels, times(d.levels), "fewer than two levels have a value, or a level is 0").Of(r)
		})
	}
	number := func(name, title string, digits int, help string, of score.Kind) score.Metric {
		return score.Metric{Column: results.Column{Name: name, Title: title, Unit: "points", Digits: digits, Help: help}, Of: of}
	}
	return []score.Table{
		{Name: study + "-" + tableSweeps, Title: "Dose and response", Keys: []string{"arm", "condition", "parameter", "measure"},
			Rows: func(all score.Group) (out []score.Row) {
				for _, w := range sweeps(all) {
					for _, x := range measures {
						out = append(out, score.Row{Group: w.Group, Text: append(w.text(), x.Title), Data: swept{x.Of.(score.Sum), w.levels}})
					}
				}
				return out
			},
			Columns: []score.Metric{
				number("slope", "Slope", 3, "change per doubling of the parameter: straight line over log2 of the levels; a replicate draws items once for all levels", slope(func([]float64) float64 { return 1 })),
				number("delta", "End to end", 2, "slope x doublings between the first and the last level", slope(doublings)),
				{Column: TextColumn("course", "Course"), Text: func(r score.Row) string {
					var v []float64
					for _, g := range r.Each() {
						x, ok := g.Now(r.Data.(swept).of(g))
						if !ok {
							x = math.NaN()
						}
						v = append(v, x)
					}
					return course(v)
				}},
			}},
		{Name: study + "-" + tableLevels, Title: "Means by level", Keys: []string{"arm", "condition", "parameter", "level"}, Columns: measures,
			Rows: func(all score.Group) (out []score.Row) {
				for _, w := range sweeps(all) {
					for i, g := range w.Each() {
						out = append(out, score.Row{Group: g, Text: append(w.text(), strconv.FormatFloat(w.levels[i], 'g', -1, 64))})
					}
				}
				return out
			}},
	}
}

// doublings are those between the first and the last level of a parameter.
func doublings(levels []float64) float64 {
	return math.Log2(levels[len(levels)-1]) - math.Log2(levels[0])
}

// course says in a word how values go along the levels, NaN left out.
func course(values []float64) string {
	up, down := false, false
	last := math.NaN()
	n := 0
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if !math.IsNaN(last) && !stats.Same(v, last) {
			up, down = up || v > last, down || v < last
		}
		last = v
		n++
	}
	switch {
	case n < 2:
		return ""
	case up && down:
		return "not monotone"
	case up:
		return "rising"
	case down:
		return "falling"
	}
	return "flat"
}

// SweepSection is the dose-response of swept parameters; false: nothing was swept. Its figures
// are of the first measure, which of is in words, with a caption; plain is the arm that lines need not name.
func SweepSection(r *score.Run, study, intro, plain, of, caption string) (results.Section, bool) {
	fits, levels := r.Table(study+"-"+tableSweeps), r.Table(study+"-"+tableLevels)
	s := results.Section{Name: fits.Name, Title: "Sweeps", Intro: intro, Tables: []results.Table{fits, levels}}
	s.Figures = sweepFigures(study, levels, plain, of, caption)
	const drawn = 2 // on the first page
	s.Main = append(s.Main, fits.Name)
	for _, f := range s.Figures[:min(drawn, len(s.Figures))] {
		s.Main = append(s.Main, f.Name)
	}
	return s, len(fits.Rows) > 0
}

// sweepFigures are the first measure by level: a figure for each parameter, a line for each model
// in an arm. Columns of levels are model, arm, condition, parameter, level, measures.
func sweepFigures(study string, levels results.Table, plain, of, caption string) (out []results.Figure) {
	var all []*results.Figure
	for rows := levels.Rows; len(rows) > 0; {
		same := func(row []results.Cell) bool {
			return slices.EqualFunc(row[:4], rows[0][:4], func(a, b results.Cell) bool { return a.Text == b.Text })
		}
		n := 1
		for n < len(rows) && same(rows[n]) {
			n++
		}
		head := sweepFigure(study, levels.Columns[5].Title, of, caption, rows[:n])
		at := slices.IndexFunc(all, func(f *results.Figure) bool { return f.Name == head.Name })
		if at < 0 {
			at, all = len(all), append(all, head)
		}
		s := results.Series{Name: rows[0][0].Text}
		if arm := rows[0][1].Text; arm != plain {
			s.Name += " " + arm
		}
		for _, row := range rows[:n] {
			if row[5].Estimate.Value != nil {
				s.Points = append(s.Points, results.Point{X: &results.Estimate{Value: new(levelOf(row)), N: row[5].Estimate.N}, Y: row[5].Estimate})
			}
		}
		if len(s.Points) > 0 {
			all[at].Series = append(all[at].Series, s)
			all[at].Alt += describe(s)
		}
		rows = rows[n:]
	}
	for _, f := range all {
		if len(f.Series) > 0 {
			out = append(out, *f)
		}
	}
	return out
}

// levelOf is the level of a row of such a table.
func levelOf(row []results.Cell) float64 {
	v, err := strconv.ParseFloat(row[4].Text, 64)
	if err != nil {
		panic("study: internal error: " + err.Error())
	}
	return v
}

// sweepFigure is the figure of a sweep, without its lines.
func sweepFigure(study, measure, of, caption string, rows [][]results.Cell) *results.Figure {
	condition, param := rows[0][2].Text, rows[0][3].Text
	log := !slices.ContainsFunc(rows, func(row []results.Cell) bool { return levelOf(row) <= 0 })
	title, unit := param, ""
	if name, ok := strings.CutSuffix(param, "_px"); ok {
		title, unit = strings.ReplaceAll(name, "_", " "), "px"
	}
	return &results.Figure{Name: study + "-sweep-" + figureName(condition) + "-" + strings.ReplaceAll(param, "_", "-"), Kind: results.FigureLines,
		Title:   fmt.Sprintf("%s under %s by %s", measure, condition, title),
		Caption: caption,
		Alt:     fmt.Sprintf("%s by %s under %s.", of, title, condition),
		X:       results.Axis{Title: title, Unit: unit, Log: log}, Y: PercentAxis(measure)}
}

// figureName spells the sign out: names are made of letters, digits and hyphens.
func figureName(condition string) string {
	s := strings.ReplaceAll(strings.ToLower(condition), "_", "-")
	if strings.HasSuffix(s, "+") {
		s = strings.TrimSuffix(s, "+") + "-aligned"
	} else if strings.HasSuffix(s, "-") {
		s += "misleading"
	}
	return s
}

func describe(s results.Series) string {
	var parts []string
	for _, p := range s.Points {
		parts = append(parts, fmt.Sprintf("%s %% at %s", stats.Fixed(*p.Y.Value, 1), strconv.FormatFloat(*p.X.Value, 'g', -1, 64)))
	}
	return fmt.Sprintf(" %s: %s.", s.Name, strings.Join(parts, ", "))
}
