// Cost says what a study's answers took: time, energy, GPU time, money.
//
//  1. A Basis is what a study's tables rest on besides trials: prices, blocks,
//     whether requests ran beside each other.
//  2. An Account has what one model's trials in one arm took, as columns (took.go).
//  3. Measures follow from these: latencies (account.go), paces (pace.go), energies
//     (tables.go), costs and projections (cost.go). Score adds them to the bootstrap
//     sample that the study's scores are in; a table is a list of them.

package study

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"assay/harness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
)

// Basis is what a study's tables rest on besides trials.
type Basis struct {
	Study    string
	Manifest results.Manifest
	Prices   Prices
	Judges   map[string][]string // that were asked, by rubric
	Layout   *score.Layout       // places of its scores
	NoDecode NoDecode
	Blocks   []results.Block // of all studies
	// Together says that requests ran beside each other.
	Together bool
	Steps    bool           // the study knows how many steps are correct
	Levels   map[string]int // of requests in flight by condition, of a load sweep; none: it is none
	// Spread is, by model, over how many machines a load sweep went, in words; none: over one.
	Spread map[string]string
	// Shots are the examples before a question, by condition; none: no condition has any.
	Shots map[string]ShotLevel
	// Changes are the conditions of any study that the run describes, by name.
	Changes map[string]perturb.Condition

	sessions []results.Session
	where    *whereabouts // nil: every model was timed on one machine
}

// Arm names the arm of a trial, and in a load sweep its level, and the examples before its
// question: these are never added up.
func (b *Basis) Arm(k results.Key) string {
	if l, ok := b.Shots[k.Condition]; ok {
		return ShotsName(k.Arm, l)
	}
	if n, ok := b.Levels[k.Condition]; ok {
		return LevelName(k.Arm, n)
	}
	return k.Arm
}

// LevelName is an arm at a level of a load sweep.
func LevelName(arm string, n int) string { return fmt.Sprintf("%s, %d in flight", arm, n) }

// ShotsName is an arm with examples; without any it is the arm.
func ShotsName(arm string, l ShotLevel) string {
	if l.Shots == 0 {
		return arm
	}
	return arm + ", " + l.String()
}

// Names are arms in the order of tables, at every level in turn.
func (b *Basis) Names(arms []string) []string {
	if len(b.Shots) > 0 {
		var out []string
		for _, a := range arms {
			out = append(out, a) // also where no trial is planned without examples any more
			for _, c := range sorted(b.Shots) {
				if n := ShotsName(a, b.Shots[c]); n != a {
					out = append(out, n)
				}
			}
		}
		return out
	}
	if len(b.Levels) == 0 {
		return arms
	}
	var out []string
	for _, a := range arms {
		for _, n := range slices.Sorted(maps.Values(b.Levels)) {
			out = append(out, LevelName(a, n))
		}
	}
	return out
}

// BasisOf reads it from the store.
func BasisOf(ctx context.Context, st *store.Store, name string, why NoDecode) (Basis, error) {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return Basis{}, err
	}
	how := man.Study(name)
	b := Basis{Study: name, Manifest: man, NoDecode: why, Prices: Prices{Cost: man.Cost}, Together: how.Timed != nil && !*how.Timed}
	b.Levels, b.Shots = man.LoadLevels(name), ShotLevels(man, name)
	for _, d := range man.Datasets {
		if d.Name == how.Dataset {
			b.Prices.Items = d.Items
			if cases := man.Sizes(d).Cases; cases != nil { // each has a question for every study
				b.Prices.Items = *cases
			}
		}
	}
	if b.Blocks, err = st.Blocks(ctx); err != nil {
		return b, err
	}
	b.sessions, err = st.Sessions(ctx)
	if len(b.Levels) > 0 {
		b.Spread = spread(b.Blocks, b.sessions, name)
	} else if errors.Is(err, results.FaultDamaged) {
		err = nil // scores need none of them
	}
	return b, err
}

// spread says of the models of a load sweep over how many hosts, or else kinds of GPU, it went.
func spread(blocks []results.Block, sessions []results.Session, study string) map[string]string {
	hosts, gpus := map[string][]string{}, map[string][]string{}
	note := func(in map[string][]string, model, what string) {
		if what != "" && !slices.Contains(in[model], what) {
			in[model] = append(in[model], what)
		}
	}
	for _, x := range blocks {
		i := slices.IndexFunc(sessions, func(s results.Session) bool { return s.ID == x.Session })
		if x.Study != study || len(x.Loads) == 0 || i < 0 {
			continue
		}
		w := sessions[i].Hardware(x.Model)
		note(hosts, x.Model, w.Host)
		note(gpus, x.Model, w.GPU)
	}
	out := map[string]string{}
	for model, all := range gpus {
		if len(all) > 1 {
			out[model] = fmt.Sprintf("%d kinds of GPU", len(all))
		}
	}
	for model, all := range hosts {
		if len(all) > 1 {
			out[model] = fmt.Sprintf("%d hosts", len(all))
		}
	}
	return out
}

// Currency is that of money; "": no prices are given.
func (b *Basis) Currency() string {
	if b.Prices.Cost == nil {
		return ""
	}
	return b.Prices.Cost.Currency
}

// Headline is what an answer takes, as a report begins with it: of the rows that are
// named, of those who answer what the Main column called price ranks.
func (b Basis) Headline(price string, row ...string) []results.Headline {
	of := func(column, title string) results.Headline {
		return results.Headline{Table: b.Study + "-cost", Column: column, Row: row, Title: title, Price: price}
	}
	return []results.Headline{of("joules", "Energy"), of("money", "Money")}
}

// Warnings are what a reader must know of a run before trusting a score; rubrics gives
// the order.
func (b *Basis) Warnings(r *score.Run, accounts []*Account, rubrics []string) []results.Warning {
	if len(r.Models) == 0 {
		return []results.Warning{{Text: "The store holds no trials of this study."}}
	}
	var out []results.Warning
	for _, a := range accounts {
		if b.Together { // times are no score of such a run
			a = a.Untimed()
		}
		out = append(out, a.Warnings(rubrics, r.Judges)...)
	}
	return out
}
