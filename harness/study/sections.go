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

// NamesOf are those of all tables and figures of a section.
func NamesOf(s results.Section) (out []string) {
	for _, t := range s.Tables {
		out = append(out, t.Name)
	}
	for _, f := range s.Figures {
		out = append(out, f.Name)
	}
	return out
}

// Efficiency is the section of times.
func (b *Basis) Efficiency(accounts []*Account) results.Section {
	s := results.Section{Name: b.Study + "-efficiency", Title: "Efficiency", Methods: cacheMethods(b.Study, accounts)}
	s.Tables, s.Figures = b.Times(accounts)
	return s
}

// Spent are the sections of energy and of cost, of which something is known.
func (b *Basis) Spent(accounts []*Account) (out []results.Section) {
	for _, of := range []func([]*Account) (results.Section, bool){b.EnergySection, b.CostSection} {
		if s, ok := of(accounts); ok {
			out = append(out, s)
		}
	}
	return out
}

// Closing are the sections that a study ends with: what answers took, what judges said of
// them, whose section has its name and tables, and what was left out.
func (b *Basis) Closing(accounts []*Account, judges results.Section) []results.Section {
	judges.Title, judges.Intro = "Judges", "Verdicts count when they are clean or repaired. Everything else is left out, never replaced by a default."
	out := results.Section{Name: b.Study + "-left-out", Title: "What was left out", Tables: []results.Table{AnswersTable(b.Study, accounts)}}
	if t, ok := b.ArrivalTable(); ok {
		out.Tables = append(out.Tables, t)
	}
	return append(b.Spent(accounts), judges, out)
}
