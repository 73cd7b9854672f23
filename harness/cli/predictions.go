package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset/table"
	"assay/harness/exchange"
	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/harness/plan"
)

// predictions is the command import predictions.
func (s streams) predictions(version, revision string) *cli.Command {
	return &cli.Command{
		Name:      "predictions",
		ArgsUsage: "FILE",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "format", Usage: "the `FORMAT` of FILE: " + strings.Join(exchange.ImportFormats(), ", ")},
			&cli.StringFlag{Name: "model", Usage: "the `MODEL` that answered", DefaultText: "the only imported one"},
			studyFlag("the `STUDY`", "the only one"),
			&cli.StringFlag{Name: "arm", Usage: "the `ARM`", DefaultText: "the study's only one, or what the column arm says"},
			&cli.StringFlag{Name: "condition", Usage: conditionUsage, DefaultText: "the baseline, or what the column condition says"},
			&cli.StringFlag{Name: "match", Usage: "find items by this `KEY`: item (its name) or place (in the data set, from 0)", DefaultText: "item; place for lmms-eval"},
			&cli.BoolFlag{Name: "any-gold", Usage: "accept gold answers that differ from the data set's: only for other wording"},
			columnFlag("of csv: item, answer")},
		Action: func(c *cli.Context) error { return s.importPredictions(c, version, revision) },
	}
}

func (s streams) importPredictions(c *cli.Context, version, revision string) error {
	as, ids := c.String("format"), c.String("match")
	switch {
	case c.NArg() != 1:
		return usage("import predictions: expected one file, found %d arguments", c.NArg())
	case !slices.Contains(exchange.ImportFormats(), as):
		return usage("import predictions: --format: expected one of %s, found %q", strings.Join(exchange.ImportFormats(), ", "), as)
	case ids != "" && ids != "item" && ids != "place":
		return usage("import predictions: --match: expected item or place, found %q", ids)
	}
	b, err := load(c)
	if err != nil {
		return err
	}
	in, err := importOf(c, b.Config)
	if err != nil {
		return err
	}
	p, err := in.join(c, b)
	if err != nil {
		return err
	}
	stored, err := s.putPredictions(c, b, p, in, version, revision)
	if err != nil {
		return err
	}
	said := struct {
		Store     string `json:"store"`
		File      string `json:"file"`
		Stored    int    `json:"stored"`
		Answers   int    `json:"answers"`
		Failures  int    `json:"failures"`
		Unplanned int    `json:"unplanned"`
		Missing   int    `json:"missing"`
	}{b.Config.Store, filepath.Base(in.file), stored, in.joined.Answers, in.joined.Failures, in.joined.Unplanned, in.joined.Missing}
	if c.Bool("json") {
		return s.JSON(said)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d answers and %d failures of model %s in study %s, %d of them new in %s; %d rows are of no planned trial, %d planned trials of the same arms, conditions and repeats have no row here\nassay run judges and reports them\n",
		in.file, said.Answers, said.Failures, in.to.Model, in.to.Study, stored, b.Config.Store, said.Unplanned, said.Missing)
	return environment(err)
}

// imported is a file of answers and the trials that they are.
type imported struct {
	file    string
	as      string
	content []byte
	to      exchange.Target
	dataset string // of the study
	server  string // the model's name there
	joined  exchange.Joined
}

// importOf is whose answers are brought in, by flags, or as there is one choice alone.
func importOf(c *cli.Context, cfg *config.Config) (*imported, error) {
	as, ids := c.String("format"), c.String("match")
	in := &imported{file: c.Args().First(), as: as, to: exchange.Target{Study: c.String("study"), Model: c.String("model"), Arm: c.String("arm"), Condition: c.String("condition"),
		AnyGold: c.Bool("any-gold"), ByPlace: ids == "place" || ids == "" && as == exchange.FormatLMMSEval}}
	t := &in.to
	var models, studies []string
	for _, m := range cfg.Models {
		if cfg.Imported(m.Name) {
			models = append(models, m.Name)
		}
	}
	if t.Model == "" && len(models) == 1 {
		t.Model = models[0]
	}
	at := slices.IndexFunc(cfg.Models, func(m backends.Model) bool { return m.Name == t.Model })
	if !slices.Contains(models, t.Model) {
		return nil, usage("import predictions: --model: expected a model on a backend of kind: imported (%s), found %q", strings.Join(models, ", "), t.Model)
	}
	in.server = cfg.Models[at].Model
	for _, sc := range cfg.Studies {
		if slices.Contains(sc.Models, t.Model) {
			studies = append(studies, sc.Name)
		}
	}
	if t.Study == "" && len(studies) == 1 {
		t.Study = studies[0]
	}
	if !slices.Contains(studies, t.Study) {
		return nil, usage("import predictions: --study: expected a study that has model %s (%s), found %q", t.Model, strings.Join(studies, ", "), t.Study)
	}
	in.dataset = cfg.Studies[slices.IndexFunc(cfg.Studies, func(sc config.Study) bool { return sc.Name == t.Study })].Dataset
	return in, nil
}

// join reads the file and finds the planned trials of its answers.
func (in *imported) join(c *cli.Context, b *experiment.Bench) (p *plan.Plan, err error) {
	if in.content, err = os.ReadFile(in.file); err != nil {
		return nil, environment(err)
	}
	of, err := columnsOf(c, map[string]string{"item": "item", "answer": "answer"})
	if err != nil {
		return nil, usage("import predictions: %w", err)
	}
	rows, problems := exchange.ReadAnswers(in.as, in.file, in.content, exchange.Columns{ID: of["item"], Answer: of["answer"]})
	if len(problems) > 0 {
		return nil, usage("%w", table.Listed(problems))
	}
	if p, err = b.Plan(plan.Filter{}); err != nil {
		return nil, usage("%w", err)
	}
	if in.joined, problems = exchange.JoinAnswers(in.file, rows, in.to, p, b.Sets[in.dataset]); len(problems) > 0 {
		return nil, usage("%w", table.Listed(problems))
	}
	if len(in.joined.Trials) == 0 {
		return nil, usage("import predictions: %s has no answer to a planned trial of study %s: %d rows are of others", in.file, in.to.Study, in.joined.Unplanned)
	}
	return p, nil
}

// putPredictions stores them, and says how many are new.
func (s streams) putPredictions(c *cli.Context, b *experiment.Bench, p *plan.Plan, in *imported, version, revision string) (stored int, err error) {
	now := b.Manifest()
	now.Version, now.Revision, now.Host = version, revision, machine.Facts(machine.ThisHost(version))
	st, man, err := b.Open(c.Context, p, now, s.Err)
	var mixes *experiment.MixesError
	switch {
	case errors.As(err, &mixes):
		return 0, usage("%w", err)
	case err != nil:
		return 0, environment(err)
	}
	defer st.Close()
	by := exchange.Elsewhere(in.server)
	man.Models[in.to.Model], man.Imported = by, exchange.NoteImport(man.Imported, in.file, in.as, in.content, in.to, in.joined)
	stored, err = exchange.Put(c.Context, st, in.joined.Trials, by, func() error { return st.PutManifest(c.Context, man) })
	if err == nil {
		man.Planned, err = b.Planned(c.Context, st, p)
	}
	if err == nil {
		err = st.PutManifest(c.Context, man)
	}
	return stored, environment(err)
}
