// Package page makes what a report shows of a store.
//
//  1. page.go computes the sections: each study's, and the machine's.
//  2. power.go draws what the GPUs drew in a block.
//  3. example.go picks trials to show whole.
//  4. picture.go makes their pictures again, where the data is at hand.
package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/backends/kinds"
	"assay/harness/experiment"
	"assay/harness/study"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
)

// Rated are sections of what people rated, each of a study; nil: none.
type Rated func(context.Context, *store.Store, results.Manifest) ([]results.Section, error)

// Contents computes every study's sections, and the machine's, of what can be read, and
// what is said of the run. damage is why something cannot be read: a section stands in
// the place of each study that is damaged. A study that this version lacks is
// experiment.ErrUnknown. Models that are not in the run's bench.yaml are left out, unless all
// are asked for.
func Contents(ctx context.Context, st *store.Store, all bool, rated Rated) (secs []results.Section, meta report.Meta, damage, err error) {
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return nil, meta, nil, err
	}
	if !ok {
		return nil, meta, nil, errors.New("the store holds no run; assay run makes one")
	}
	var others []string
	if !all {
		if others = notPlanned(man); len(others) > 0 {
			var keep []string
			for m := range man.Models {
				if !slices.Contains(others, m) {
					keep = append(keep, m)
				}
			}
			st.Only(keep)
			if man, _, err = st.Manifest(ctx); err != nil {
				return nil, meta, nil, err
			}
		}
	}
	counted := make(chan error, 1) // beside the sections: of millions of judgments it takes seconds
	go func() {
		var err error
		meta, err = Meta(ctx, st, man)
		counted <- err
	}()
	secs, damage, err = sections(ctx, st, man, rated)
	if len(others) > 0 && len(secs) > 0 {
		secs[0].Warnings = append(secs[0].Warnings, fmt.Sprintf("The store holds answers of models that are not in its bench.yaml any more, which are left out here: %s. assay report --all-models shows them.", strings.Join(others, ", ")))
	}
	return secs, meta, damage, cmp.Or(err, <-counted)
}

// notPlanned are the models that answered and that the run's bench.yaml does not plan any
// more; nil: all are planned, or what was is not known.
func notPlanned(man results.Manifest) []string {
	if len(man.Planned) == 0 {
		return nil
	}
	var out []string
	for _, m := range slices.Sorted(maps.Keys(man.Models)) {
		if !slices.ContainsFunc(man.Planned, func(p results.Planned) bool { return p.Model == m }) {
			out = append(out, m)
		}
	}
	if len(out) == len(man.Models) {
		return nil // nothing would be left
	}
	return out
}

// builder gathers sections. What of a damaged store cannot be read leaves a section that says so.
type builder struct {
	ctx    context.Context
	st     *store.Store
	man    results.Manifest
	all    []results.Section
	damage error // the first
}

// whole says whether err leaves anything in doubt; damage is kept for later.
func (b *builder) whole(name string, err error) (bool, error) {
	if err == nil || !errors.Is(err, results.FaultDamaged) {
		return err == nil, err
	}
	b.damage = cmp.Or(b.damage, err)
	b.all = append(b.all, results.Section{Study: name, Name: name + "-damaged", Title: name + ": not to be read",
		Warnings: []string{fmt.Sprintf("%s cannot be read to its end, and nothing is computed from a part of it: %v", name, err)}})
	return false, nil
}

func sections(ctx context.Context, st *store.Store, man results.Manifest, rated Rated) (all []results.Section, damage, err error) {
	b := &builder{ctx: ctx, st: st, man: man}
	sessions, unread := st.Sessions(ctx)
	for _, name := range slices.Sorted(maps.Keys(man.Rubrics)) {
		proto, err := experiment.NewStudy(name, nil, study.Choice{})
		if err != nil {
			return nil, nil, err
		}
		secs, err := b.study(proto)
		if ok, err := b.whole(name, err); err != nil {
			return nil, nil, err
		} else if ok {
			b.all = append(b.all, secs...)
		}
	}
	if rated != nil {
		means, err := rated(ctx, st, man)
		if ok, err := b.whole("agreement", err); err != nil {
			return nil, nil, err
		} else if ok {
			b.behind(means)
		}
	}
	if err := b.machine(sessions, unread); err != nil {
		return nil, nil, err
	}
	return b.all, b.damage, nil
}

// study is a study's sections; none where it has no trials.
func (b *builder) study(s study.Study) ([]results.Section, error) {
	if begun, err := hasTrials(b.ctx, b.st, s.Name); err != nil || !begun {
		return nil, err
	}
	secs, err := s.Summarize(b.ctx, b.st, b.man.Rubrics[s.Name], kinds.NoDecode)
	if err == nil {
		secs, err = withTwice(b.ctx, b.st, s, b.man.Seed, secs)
	}
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", s.Name, err)
	}
	if err := tellLevels(b.man, s.Name, secs); err != nil {
		return nil, err
	}
	for i := range secs {
		secs[i].Study = s.Name
	}
	if b.man.Released() && len(secs) > 0 {
		secs[0].Methods = append(secs[0].Methods, "Study "+s.Name+" was scored as its authors' released code does (rules: released), where it differs from the paper: "+s.Scores.Released+".")
	}
	return secs, nil
}

// behind puts each section behind those of its study.
func (b *builder) behind(list []results.Section) {
	for _, m := range list {
		for at, s := range slices.Backward(b.all) {
			if s.Study == m.Study {
				b.all = slices.Insert(b.all, at+1, m)
				break
			}
		}
	}
}

// machine adds the machine's section; err is why sessions could not be read.
func (b *builder) machine(sessions []results.Session, err error) error {
	var events []results.Event
	if err == nil {
		events, err = b.st.Events(b.ctx)
	}
	var blocks []results.Block
	if err == nil {
		blocks, err = b.st.Blocks(b.ctx)
	}
	var trace results.Figure
	var powered bool
	if err == nil {
		trace, powered, err = powerTrace(b.ctx, b.st, sessions)
	}
	if ok, err := b.whole("machine", err); !ok {
		return err
	}
	hosts, warnings, methods, apart := study.MachineTable(sessions)
	sec, has := study.MachineSection(sessions, blocks, events)
	if !has && !apart {
		return nil
	}
	for i, t := range sec.Tables {
		sec.Tables[i].Rows = slices.DeleteFunc(t.Rows, func(row []results.Cell) bool { return t.Columns[0].Name == "model" && !b.st.Shows(row[0].Text) })
	}
	if apart {
		sec.Main = append(sec.Main, hosts.Name)
		sec.Tables, sec.Warnings, sec.Methods = slices.Insert(sec.Tables, 0, hosts), append(sec.Warnings, warnings...), append(sec.Methods, methods...)
	}
	if powered {
		sec.Figures = append(sec.Figures, trace)
	}
	b.all = append(b.all, sec)
	return nil
}

// withTwice adds how judges agree with themselves to the section about judges.
func withTwice(ctx context.Context, st *store.Store, s study.Study, seed uint64, secs []results.Section) ([]results.Section, error) {
	t, any, err := study.TwiceTable(ctx, st, s.Name, s.Rubrics, seed)
	if err != nil || !any {
		return secs, err
	}
	i := slices.IndexFunc(secs, func(sec results.Section) bool { return sec.Name == s.Name+"-judges" })
	if i < 0 {
		return append(secs, results.Section{Name: s.Name + "-judges", Title: "Judges", Tables: []results.Table{t}}), nil
	}
	secs[i].Tables = append(secs[i].Tables, t)
	return secs, nil
}

// hasTrials says whether anything of a study is stored.
func hasTrials(ctx context.Context, st *store.Store, study string) (bool, error) {
	for _, err := range st.Rows(ctx, study) {
		return err == nil, err
	}
	return false, nil
}

// Meta is what a report says of its run. What of a damaged store cannot be
// counted is left out: the sections say what is damaged.
func Meta(ctx context.Context, st *store.Store, man results.Manifest) (report.Meta, error) {
	m := report.Meta{Title: man.Name, Run: results.Run{Manifest: man}}
	extents, err := st.Extents(ctx, man)
	versions, unread := st.Versions(ctx)
	if err := cmp.Or(err, unread); err != nil && !errors.Is(err, results.FaultDamaged) {
		return m, err
	}
	m.Versions = versions
	m.Extents = slices.DeleteFunc(extents, func(e results.Extent) bool { return !st.Shows(e.Model) })
	return m, nil
}
