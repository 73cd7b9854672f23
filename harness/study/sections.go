package study

import (
	"assay/harness/score"
	"assay/results"
)

// Filled are those tables of a run that have a row.
func Filled(r *score.Run, names ...string) (out []results.Table) {
	for _, name := range names {
		if t := r.Table(name); len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// Efficiency is the section of times.
func (b Basis) Efficiency(r *score.Run, accounts []*Account) results.Section {
	speed, times := b.Speed(r)
	return results.Section{Name: b.Study + "-efficiency", Title: "Efficiency", Tables: append([]results.Table{LatencyTable(b.Study, accounts)}, speed...), Figures: times,
		Methods: cacheMethods(b.Study, accounts)}
}

// Spent are the sections of energy and of cost, of which something is known.
func (b Basis) Spent(costs []*Costs) (out []results.Section) {
	for _, of := range []func([]*Costs) (results.Section, bool){b.EnergySection, b.CostSection} {
		if s, ok := of(costs); ok {
			out = append(out, s)
		}
	}
	return out
}

// Closing are the sections that a study ends with: what answers took, what judges said of
// them, whose section has its name and tables, and what was left out.
func (b Basis) Closing(accounts []*Account, costs []*Costs, judges results.Section) []results.Section {
	judges.Title, judges.Intro = "Judges", "Verdicts count when they are clean or repaired. Everything else is left out, never replaced by a default."
	out := results.Section{Name: b.Study + "-left-out", Title: "What was left out", Tables: []results.Table{AnswersTable(b.Study, accounts)}}
	if t, ok := b.ArrivalTable(); ok {
		out.Tables = append(out.Tables, t)
	}
	return append(b.Spent(costs), judges, out)
}
