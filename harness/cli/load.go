package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/dataset/tables"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/harness/study/cot"
	"assay/harness/study/faithfulness"
	"assay/results"
)

// bench is a bench.yaml with everything it names read in.
type bench struct {
	cfg     *config.Config
	sets    map[string]*dataset.Dataset
	studies map[string]*study.Study
}

// studyNames are the studies this binary knows.
func studyNames() config.Known {
	var conditions []config.Condition
	for _, c := range faithfulness.ConditionNames() {
		conditions = append(conditions, config.Condition(c))
	}
	return config.Known{
		Studies: []config.StudyNames{
			{Name: cot.Name, Arms: cot.ArmNames(), Rubrics: cot.RubricNames(), Prompts: cot.PromptNames()},
			{Name: faithfulness.Name, Arms: faithfulness.ArmNames(), Rubrics: faithfulness.RubricNames(), Prompts: faithfulness.PromptNames(), Conditions: conditions},
		},
		Phantoms: append(phantom.ProfileNames(), phantom.JudgeNames()...),
		Regions:  tables.RegionNames(),
	}
}

// newStudy makes a study as it is summarized: nothing of it is chosen.
func newStudy(name string, prompts map[string]string) (study.Study, error) {
	return chosenStudy(name, prompts, study.Choice{})
}

// chosenStudy makes a study with the user's prompts in place of ours and the
// conditions chosen.
func chosenStudy(name string, prompts map[string]string, c study.Choice) (study.Study, error) {
	switch name {
	case cot.Name:
		return cot.New(prompts)
	case faithfulness.Name:
		return faithfulness.New(prompts, c)
	}
	return study.Study{}, usage("no study %q in this version", name)
}

// load reads the experiment named by --config, its studies and its data sets.
func load(c *cli.Context) (*bench, error) {
	cfg, err := config.Read(c.String("config"), studyNames())
	if err != nil {
		return nil, err
	}
	return assemble(cfg)
}

// assemble reads in what an experiment names.
func assemble(cfg *config.Config) (*bench, error) {
	b := &bench{cfg: cfg, sets: map[string]*dataset.Dataset{}, studies: map[string]*study.Study{}}
	for _, s := range cfg.Studies {
		st, err := chosenStudy(s.Name, cfg.Prompts, study.Choice{Conditions: s.Conditions, Sweeps: s.Sweeps, Grid: s.Grid})
		if err != nil {
			return nil, usage("%s: %w", cfg.File, err)
		}
		b.studies[s.Name] = &st
	}
	for _, d := range cfg.Datasets {
		if !slices.ContainsFunc(cfg.Studies, func(s config.Study) bool { return s.Dataset == d.Name }) {
			continue
		}
		set, err := openDataset(d, cfg.Seed)
		if err != nil {
			return nil, usage("%s: dataset %s: %w", cfg.File, d.Name, err)
		}
		if err := knowledgeable(cfg, d, set); err != nil {
			return nil, usage("%s: dataset %s: %w", cfg.File, d.Name, err)
		}
		b.sets[d.Name] = set
	}
	return b, nil
}

func openDataset(d config.Dataset, seed uint64) (*dataset.Dataset, error) {
	if d.Kind == "phantom" {
		set, err := dataset.Phantom(d.Name, seed, d.Items, d.Size)
		if err == nil {
			set.KeepDrawn()
		}
		return set, err
	}
	return dataset.Open(dataset.Source{Kind: d.Kind, Name: d.Name, Path: d.Path, Split: d.Split, Knowledge: d.Knowledge, Regions: d.Regions})
}

// fidelity is the rubric of clinical fidelity.
const fidelity = "CF"

// knowledgeable is an error where clinical fidelity is to be judged, the knowledge
// base does not know all of the data set, and nobody said to leave that out.
func knowledgeable(cfg *config.Config, d config.Dataset, set *dataset.Dataset) error {
	judged := slices.ContainsFunc(cfg.Studies, func(s config.Study) bool {
		return s.Name == faithfulness.Name && s.Dataset == d.Name &&
			slices.ContainsFunc(s.Rubrics, func(r config.Rubric) bool { return r.Name == fidelity && len(r.Judges) > 0 })
	})
	if !judged || d.SkipGaps || set.Synthetic {
		return nil
	}
	if d.Knowledge == "" {
		return fmt.Errorf("rubric %s compares reasoning with a knowledge base, and there is none: name its file under knowledge, or set knowledge_gaps: skip", fidelity)
	}
	return dataset.GapError(set.Gaps)
}

// filterFlags narrow a run or a plan.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "limit", Usage: "only the first `N` items of each study"},
		&cli.StringFlag{Name: "models", Usage: "only these models: `A,B`"},
		&cli.StringFlag{Name: "studies", Usage: "only these studies: `A,B`"},
	}
}

func filterOf(c *cli.Context) (plan.Filter, error) {
	f := plan.Filter{Limit: c.Int("limit"), Models: commaList(c.String("models")), Studies: commaList(c.String("studies"))}
	if c.IsSet("limit") && f.Limit < 1 {
		return f, usage("--limit: expected a number of at least 1, found %d", f.Limit)
	}
	return f, nil
}

// plan makes the trials.
func (b *bench) plan(f plan.Filter) (*plan.Plan, error) {
	req := plan.Request{Seed: b.cfg.Seed}
	for _, m := range b.cfg.Models {
		req.Models = append(req.Models, m.Name)
	}
	for _, s := range b.cfg.Studies {
		req.Studies = append(req.Studies, plan.Study{
			Study: b.studies[s.Name], Dataset: b.sets[s.Dataset],
			Models: s.Models, Arms: s.Arms, PerType: s.PerType, Repeats: s.Repeats,
		})
	}
	p, err := plan.Make(req, f)
	if err != nil {
		return nil, usage("%s: %w", b.cfg.File, err)
	}
	return p, nil
}

// synthetic says why results of this bench are synthetic; empty: they are not,
// as far as bench.yaml tells.
func (b *bench) synthetic() []string {
	var why []string
	for _, d := range b.cfg.Datasets {
		if set := b.sets[d.Name]; set != nil && set.Synthetic {
			why = append(why, fmt.Sprintf("dataset %s is made of phantom cases", d.Name))
		}
	}
	for _, m := range b.cfg.Models {
		for _, be := range b.cfg.Backends {
			if be.Name == m.Backend && be.Kind == "phantom" {
				why = append(why, fmt.Sprintf("model %s is a phantom reader", m.Name))
			}
		}
	}
	return why
}

// judges is what each rubric of each study asks, by study and rubric.
func (b *bench) judges() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, s := range b.cfg.Studies {
		all[s.Name] = map[string][]string{}
		for _, r := range s.Rubrics {
			all[s.Name][r.Name] = r.Judges
		}
	}
	return all
}

// manifest describes the run as it would be created now.
func (b *bench) manifest() results.Manifest {
	v := thisBuild()
	m := results.Manifest{
		Name: b.cfg.Name, Created: time.Now().UTC().Truncate(time.Second), Seed: b.cfg.Seed,
		Config: string(b.cfg.Text), Digest: results.DigestOf(b.cfg.Text), Settings: b.cfg.Settings(),
		Version: v.Version, Revision: v.Revision, Host: hostFacts(),
		Judges: map[string]string{}, Prompts: map[string]results.Digest{}, Rubrics: b.judges(), Cost: b.cfg.Cost,
		Synthetic: b.synthetic(),
	}
	for _, d := range b.cfg.Datasets {
		if set := b.sets[d.Name]; set != nil {
			m.Datasets = append(m.Datasets, results.DatasetInfo{Name: d.Name, Kind: d.Kind, Items: len(set.Items), Digest: results.Digest(set.Digest)})
		}
	}
	for _, j := range b.cfg.Judges {
		m.Judges[j.Name] = j.Kind
		if j.Kind != "lexical" {
			m.Judges[j.Name] = fmt.Sprintf("%s on %s", j.Model, j.Backend)
		}
	}
	for _, st := range b.studies {
		for name, text := range st.Prompts {
			m.Prompts[st.Name+"."+name] = results.DigestOf([]byte(text))
		}
	}
	return m
}

// commaList splits "a,b"; empty gives none.
func commaList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
