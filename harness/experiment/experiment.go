// Package experiment is an experiment ready to run: bench.yaml with its studies,
// its data sets and what follows from them.
//
//  1. studies.go is the list of the studies. Everything that plans, runs, judges, scores,
//     reports, drafts or previews one finds it here; nothing else tells studies apart. To
//     add one: its package, and an entry in All.
//  2. experiment.go reads in what bench.yaml names, and plans.
//  3. manifest.go describes it, and sees what would mix results.
//  4. store.go opens its store.
//  5. preview.go says what a run would do, and take;
//  6. requests.go and show.go make the requests of a trial without sending them.
//  7. task.go finds what judges are to be asked of the stored answers.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/backends/hosted"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/harness/run"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// Bench is a bench.yaml with everything it names read in.
type Bench struct {
	Config  *config.Config
	Sets    map[string]*dataset.Dataset // by name; those that a study asks about
	Studies map[string]*study.Study     // by name
	// Changed is what Open found changed since the store was written and let pass:
	// settings that no answer was given under. Their failures are to be tried again.
	Changed []config.Change

	Meter *run.Meter // counts what a run does; nil: nobody asks

	whole  []results.Planned          // once it is known
	shots  map[string]*render.Pool    // by study; those that show examples
	judges map[string]judge.Judge     // by name; those that ask no model
	hosted map[string]*hosted.Backend // of hosted judges, by name, once they are asked
}

// Known are the studies, phantoms and tables of regions that this version has.
func Known() config.Known {
	var servers []config.ServerKind
	for _, k := range kinds.All() {
		servers = append(servers, config.ServerKind{Name: k.Name, Omits: k.Omits})
	}
	var studies []config.StudyKind
	for _, s := range All() {
		studies = append(studies, s.Kind())
	}
	var judges []config.JudgeKind
	for _, k := range judge.Kinds() {
		known := config.JudgeKind{Name: k.Name, Asks: k.Make == nil}
		for _, key := range k.Keys {
			known.Keys = append(known.Keys, config.JudgeKey(key))
		}
		judges = append(judges, known)
	}
	return config.Known{
		Studies:   studies,
		Kinds:     servers,
		Phantoms:  append(append(phantom.ProfileNames(), phantom.JudgeNames()...), phantom.CaseJudge().Name),
		Protocols: phantom.Protocols(),
		Judges:    judges,
	}
}

// Assemble reads in what an experiment names: its studies and their data sets.
func Assemble(ctx context.Context, cfg *config.Config) (*Bench, error) {
	b := &Bench{Config: cfg, Sets: map[string]*dataset.Dataset{}, Studies: map[string]*study.Study{}, hosted: map[string]*hosted.Backend{}, shots: map[string]*render.Pool{}}
	for _, s := range cfg.Studies {
		st, err := NewStudy(s.Name, cfg.Prompts, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cfg.File, err)
		}
		if err := judge.CheckNeeds(st.Rubrics); err != nil {
			return nil, fmt.Errorf("study %s: %w; this is a mistake of assay, not of %s", s.Name, err, cfg.File)
		}
		b.Studies[s.Name] = &st
	}
	if err := b.makeJudges(); err != nil {
		return nil, err
	}
	for _, d := range cfg.Datasets {
		if !slices.ContainsFunc(cfg.Studies, func(s config.Study) bool { return s.Dataset == d.Name || s.ShotsFrom == d.Name }) {
			continue
		}
		knowing := slices.ContainsFunc(cfg.Studies, func(s config.Study) bool { return s.Dataset == d.Name && s.Knowing })
		set, err := dataset.Open(d)
		if err == nil && knowing && !d.SkipGaps {
			err = dataset.GapError(set.Gaps)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: dataset %s: %w", d.At, d.Name, err)
		}
		set.KeepDrawn()
		if slices.ContainsFunc(cfg.Studies, func(s config.Study) bool {
			return s.Dataset == d.Name && slices.Contains(s.Conditions, study.OtherImage)
		}) {
			dataset.Pair(set, cfg.Seed)
		}
		for _, t := range cfg.Texts {
			if err := dataset.Word(set, t.Name, t.Path, t.Content); err != nil {
				return nil, fmt.Errorf("%s: texts %s: %w", cfg.File, t.Name, err)
			}
		}
		for _, s := range cfg.Studies {
			if s.Dataset != d.Name {
				continue
			}
			if err := reword(ctx, set, s, cfg.Seed); err != nil {
				return nil, fmt.Errorf("%s: %w", cfg.File, err)
			}
		}
		if cfg.Rules == results.RulesReleased {
			truncate(set.Items)
		}
		b.Sets[d.Name] = set
	}
	return b, b.makeShots()
}

// reword has programs of the user's put the questions of a study in other words.
func reword(ctx context.Context, set *dataset.Dataset, s config.Study, seed uint64) error {
	ops, err := study.Rewordings(s.Name, s)
	if err != nil {
		return err
	}
	for _, words := range slices.Sorted(maps.Keys(ops)) {
		made, err := render.Reword(ctx, ops[words], set, seed)
		if err == nil {
			err = dataset.Word(set, words, "the output of "+strings.Join(ops[words].Program.Command, " "), made)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeShots finds the examples of studies that show some.
func (b *Bench) makeShots() error {
	var errs []error
	for _, s := range b.Config.Studies {
		if len(s.Shots) == 0 || slices.Max(s.Shots) == 0 {
			continue
		}
		from := cmp.Or(s.ShotsFrom, s.Dataset)
		pool, err := render.NewPool(render.PoolSource{Seed: b.Config.Seed, Study: b.Studies[s.Name].Protocol(), Arms: s.Arms, Questions: b.Sets[s.Dataset].Items,
			Name: from, Examples: b.Sets[from].Items, Frame: b.frame(from), Most: slices.Max(s.Shots)})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: studies.%s.shots: %w", b.Config.File, s.Name, err))
		}
		b.shots[s.Name] = pool
	}
	return errors.Join(errs...)
}

// truncate has boxes drawn as the authors' released code does.
func truncate(items []dataset.Item) {
	for i := range items {
		sides := map[string][]perturb.Region{}
		for side, list := range items[i].Regions {
			for _, r := range list {
				r.Truncate = true
				sides[side] = append(sides[side], r)
			}
		}
		if items[i].Regions != nil {
			items[i].Regions = sides
		}
	}
}

// makeJudges makes the judges that ask no model. The error says all that is wrong
// with their files.
func (b *Bench) makeJudges() error {
	b.judges = map[string]judge.Judge{}
	var errs []error
	for _, j := range b.Config.Judges {
		spec := judge.Spec{Name: j.Name, Values: j.Values, Content: j.Content, Rubrics: b.asked(j.Name)}
		made, err := judge.Make(j.Kind, spec)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.Config.File, err))
		} else if made != nil {
			b.judges[j.Name] = made
		}
	}
	return errors.Join(errs...)
}

// asked are the rubrics that a judge is asked under.
func (b *Bench) asked(name string) []judge.Rubric {
	var out []judge.Rubric
	for _, sc := range b.Config.Studies {
		for _, r := range b.Studies[sc.Name].Rubrics {
			if slices.ContainsFunc(sc.Rubrics, func(c config.Rubric) bool { return c.Name == r.Name && slices.Contains(c.Judges, name) }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// Plan makes the trials.
func (b *Bench) Plan(f plan.Filter) (*plan.Plan, error) {
	req := plan.Request{Seed: b.Config.Seed}
	for _, m := range b.Config.Models {
		req.Models = append(req.Models, m.Name)
	}
	for _, s := range b.Config.Studies {
		req.Studies = append(req.Studies, plan.Study{Study: s, Protocol: b.Studies[s.Name].Protocol(), Set: b.Sets[s.Dataset]})
	}
	p, err := plan.Make(req, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Config.File, err)
	}
	return p, nil
}

// Settings are how the trials of one of its studies are run.
func (b *Bench) Settings(sc config.Study) run.Settings {
	return run.Settings{Study: sc, Frame: b.frame(sc.Dataset), Examples: b.shots[sc.Name]}
}

// frame is how pictures of a data set are sent.
func (b *Bench) frame(dataset string) (f render.Frame) {
	for _, d := range b.Config.Datasets {
		if d.Name == dataset {
			f = render.Frame{MaxSide: d.MaxSide, MaxPixels: d.MaxPixels, Metadata: d.Metadata}
		}
	}
	return f
}
