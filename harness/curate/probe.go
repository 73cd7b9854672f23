package curate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/score"
	"assay/harness/servers"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
	"assay/timing/telemetry"
)

// Answers are what probes, models without pictures, said to the items of a data set.
type Answers struct {
	Probes  []string
	Repeats int
	runs    map[string][]reply // by item
}

// reply is one answer; right is nil where there is none, or no verdict on it.
type reply struct {
	right  *bool
	option int // that it took; -1: that cannot be told
}

// solvable are the items that every probe answered right in every run. A run that is
// missing keeps an item.
func solvable(items []dataset.Item, a *Answers) (gone []removed, note string) {
	incomplete := 0
	for _, it := range items {
		known, right := 0, 0
		for _, r := range a.runs[it.ID] {
			if r.right != nil {
				known++
				if *r.right {
					right++
				}
			}
		}
		all := len(a.Probes) * a.Repeats
		if known < all {
			incomplete++
		}
		if all > 0 && right == all {
			gone = append(gone, removed{Item: it.ID, Why: fmt.Sprintf("right without pictures in all %d runs of %s", all, strings.Join(a.Probes, ", "))})
		}
	}
	note = fmt.Sprintf("%d probes x %d runs", len(a.Probes), a.Repeats)
	if incomplete > 0 {
		note += fmt.Sprintf("; %d items that some run is missing of stay", incomplete)
	}
	return gone, note
}

// taken is how often probes took an option.
func (a *Answers) taken(item string, option int) int {
	if a == nil {
		return 0
	}
	n := 0
	for _, r := range a.runs[item] {
		if r.option == option {
			n++
		}
	}
	return n
}

// ProbesStore is where the answers of probes are kept: a run's store of its own.
func ProbesStore(store string) string { return beside(store, "probes") }

// Asking is how probes are asked.
type Asking struct {
	Dataset  string
	Probes   []string // models of bench.yaml
	Repeats  int
	Note     func(results.Manifest) results.Manifest // adds what only the command line knows
	Notes    io.Writer
	Width    int
	Terminal bool
}

// Ask asks probes about a data set without its pictures: an ordinary run, with a store,
// judges and scores, that goes on where it stopped. The study, its judges of accuracy and
// the sampling are those of bench.yaml; where they are asked several times no seed is
// sent.
func Ask(ctx context.Context, b *experiment.Bench, a Asking) (*Answers, error) {
	cfg, err := without(*b.Config, a)
	if err != nil {
		return nil, err
	}
	bench, err := experiment.Assemble(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	set := bench.Sets[a.Dataset]
	for i := range set.Items {
		set.Items[i].Images, set.Items[i].Picture, set.Items[i].Regions = nil, "", nil
	}
	set.Digest += " without pictures"
	p, err := bench.Plan(plan.Filter{})
	if err != nil {
		return nil, err
	}
	st, man, err := bench.Open(ctx, p, a.Note(bench.Manifest()), a.Notes)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	defer context.AfterFunc(ctx, st.MarkStopping)()
	srv := servers.NewServers(experiment.Setup(&cfg))
	defer srv.Close()
	sum, err := bench.Answer(ctx, p, st, &man, experiment.Asking{Servers: srv, RetryFailed: true, Notes: a.Notes, Width: a.Width, Terminal: a.Terminal})
	if err != nil {
		return nil, err
	}
	for _, r := range sum.Refused {
		return nil, fmt.Errorf("probe %s was not asked: %s", r.Model, r.Reason)
	}
	for _, s := range sum.Stopped {
		return nil, fmt.Errorf("probe %s stopped with %d answers to go: %w", s.Model, s.Left, s.Err)
	}
	if _, err := bench.Judge(ctx, p, st, srv, a.Notes); err != nil {
		return nil, err
	}
	return read(ctx, st, set.Items, a)
}

// without is a bench.yaml that asks probes alone.
func without(cfg config.Config, a Asking) (config.Config, error) {
	i := slices.IndexFunc(cfg.Studies, func(s config.Study) bool { return s.Dataset == a.Dataset })
	if i < 0 {
		return cfg, fmt.Errorf("%s has no study of data set %s, whose prompt and judges probes need", cfg.File, a.Dataset)
	}
	for _, name := range a.Probes {
		if !slices.ContainsFunc(cfg.Models, func(m backends.Model) bool { return m.Name == name }) {
			return cfg, fmt.Errorf("%s has no model %q", cfg.File, name)
		}
	}
	s := cfg.Studies[i]
	arm := s.Arms[0]
	for _, plain := range []string{"mcq", "direct"} { // one that asks for an answer and needs no other arm's
		if slices.Contains(s.Arms, plain) {
			arm = plain
		}
	}
	s.Arms = []string{arm}
	s.Models, s.PerType, s.Repeats, s.Conditions, s.Sweeps, s.Image = a.Probes, 0, a.Repeats, nil, nil, 0
	s.Grid.Columns, s.Grid.Rows = 0, 0
	if s.Timed {
		s.Timed, s.InFlight, s.Cache, s.RepeatsOfInvalid, s.CoolDown = false, 4, "", 0, config.CoolDown{}
	}
	if a.Repeats > 1 {
		s.Sampling.Seed = nil
	}
	var judged []config.Rubric
	for _, r := range s.Rubrics {
		if r.Name == accuracy {
			judged = append(judged, r)
		}
	}
	s.Rubrics, s.NeedsFrom, s.Knowing = judged, nil, false
	cfg.Studies, cfg.Store, cfg.Telemetry, cfg.Cost = []config.Study{s}, ProbesStore(cfg.Store), telemetry.Settings{}, nil
	return cfg, nil
}

// read takes the answers from the store.
func read(ctx context.Context, st *store.Store, items []dataset.Item, a Asking) (*Answers, error) {
	out := &Answers{Probes: a.Probes, Repeats: a.Repeats, runs: map[string][]reply{}}
	rights, err := Rights(ctx, st)
	if err != nil {
		return nil, err
	}
	by := map[string]dataset.Item{}
	for _, it := range items {
		by[it.ID] = it
	}
	took := map[results.Key]int{}
	for _, study := range studiesOf(rights) {
		for o, err := range st.Outputs(ctx, study) {
			if err != nil {
				return nil, err
			}
			took[o.Key] = tookOption(o.Answer, by[o.Key.Item].Options)
		}
	}
	for _, r := range rights {
		if !slices.Contains(a.Probes, r.Key.Model) || r.Key.Repeat >= a.Repeats {
			continue
		}
		one := reply{right: r.is(1), option: -1}
		if k, ok := took[r.Key]; ok {
			one.option = k
		}
		out.runs[r.Key.Item] = append(out.runs[r.Key.Item], one)
	}
	return out, nil
}

func studiesOf(rights []right) []string {
	var out []string
	for _, r := range rights {
		if !slices.Contains(out, r.Key.Study) {
			out = append(out, r.Key.Study)
		}
	}
	return out
}

// right is how right a trial without a change of its input is.
type right struct {
	Key   results.Key
	Right *float64 // 0 to 1: over judges; nil: no answer, or no verdict on it
}

// is says whether it is as right as that; nil: not known.
func (r right) is(x float64) *bool {
	if r.Right == nil {
		return nil
	}
	same := *r.Right == x
	return &same
}

const accuracy = "accuracy" // rubric and score

// Rights are the accuracies that a store holds, of trials of the unchanged input.
func Rights(ctx context.Context, st *store.Store) (list []right, err error) {
	asked, err := experiment.Asked(ctx, st)
	if err != nil {
		return nil, err
	}
	for _, s := range asked {
		layout := s.Rules.Layout(s.Judges)
		if !slices.ContainsFunc(layout.Columns(), func(c score.Column) bool { return c.Name.Name == accuracy && c.Judge == "" }) {
			continue
		}
		at := layout.Place(accuracy, "")
		err := score.Walk(ctx, st, s.Rules, s.Judges, func(trials []score.Scored) error {
			for _, t := range trials {
				if t.Row.Key.Condition != perturb.Baseline().Name || !t.Given(at) {
					continue
				}
				r := right{Key: t.Row.Key}
				if v, ok := t.Number(at); ok {
					r.Right = &v
				}
				list = append(list, r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// tookOption is the option that an answer takes, by its letter or its text; -1: none.
func tookOption(answer string, options []dataset.Option) int {
	list := make([]text.Choice, len(options))
	for i, o := range options {
		list[i] = text.Choice(o)
	}
	if c := text.ReadAnswer(text.Single, list, answer); len(c.Chosen) > 0 {
		return c.Chosen[0]
	}
	return -1
}

var errNoProbes = errors.New("--text-solvable needs --probes: models of bench.yaml to ask without pictures")
