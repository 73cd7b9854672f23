package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/dataset/table"
	"assay/harness/exchange"
	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/harness/plan"
)

// predictions is the command import predictions.
func (s streams) predictions(version, revision string) *cli.Command {
	return &cli.Command{
		Name:  "predictions",
		Usage: "bring in answers that were made elsewhere, to be judged and reported here",
		Description: "FILE holds an answer to each item. Its model stands in bench.yaml on a backend of kind: imported. The answers become trials without times, tokens and energy;\n" +
			"what has no answer is a failure. assay run then judges and reports them. The report says which file they are from.",
		ArgsUsage: "FILE",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "as", Usage: "how FILE is written: " + strings.Join(exchange.ImportFormats(), ", ")},
			&cli.StringFlag{Name: "model", Usage: "whose answers they are: its `NAME` in bench.yaml (default: the only imported one)"},
			&cli.StringFlag{Name: "study", Usage: "they are answers in this `STUDY` (default: the only one)"},
			&cli.StringFlag{Name: "arm", Usage: "they are answers under this `ARM` (default: the study's only one, or what the column arm says)"},
			&cli.StringFlag{Name: "condition", Usage: "they are answers under this `CONDITION` (default: the baseline, or what the column condition says)"},
			&cli.StringFlag{Name: "ids", Usage: "what names an item: item (its name) or place (its place in the data set, from 0; default of lmms-eval)"},
			&cli.BoolFlag{Name: "any-gold", Usage: "take the answers though FILE has other gold answers: only where these are worded otherwise"},
			&cli.StringFlag{Name: "id", Value: "item", Usage: "of csv: the `COLUMN` of items"},
			&cli.StringFlag{Name: "answer", Value: "answer", Usage: "of csv: the `COLUMN` of answers"}},
		Action: func(c *cli.Context) error { return s.importPredictions(c, version, revision) },
	}
}

func (s streams) importPredictions(c *cli.Context, version, revision string) error {
	as, ids := c.String("as"), c.String("ids")
	switch {
	case c.NArg() != 1:
		return usage("import predictions: expected one file, found %d arguments", c.NArg())
	case !slices.Contains(exchange.ImportFormats(), as):
		return usage("import predictions: --as: expected one of %s, found %q", strings.Join(exchange.ImportFormats(), ", "), as)
	case ids != "" && ids != "item" && ids != "place":
		return usage("import predictions: --ids: expected item or place, found %q", ids)
	}
	b, err := load(c)
	if err != nil {
		return err
	}
	t := exchange.Target{Study: c.String("study"), Model: c.String("model"), Arm: c.String("arm"), Condition: c.String("condition"),
		AnyGold: c.Bool("any-gold"), ByPlace: ids == "place" || ids == "" && as == exchange.FormatLMMSEval}
	var imported, studies []string
	for _, m := range b.Config.Models {
		if b.Config.Imported(m.Name) {
			imported = append(imported, m.Name)
		}
	}
	if t.Model == "" && len(imported) == 1 {
		t.Model = imported[0]
	}
	if !slices.Contains(imported, t.Model) {
		return usage("import predictions: --model: expected a model on a backend of kind: imported (%s), found %q", strings.Join(imported, ", "), t.Model)
	}
	name, server := "", ""
	for _, sc := range b.Config.Studies {
		if slices.Contains(sc.Models, t.Model) {
			studies = append(studies, sc.Name)
		}
		if sc.Name == t.Study || t.Study == "" && len(studies) == 1 {
			name = sc.Dataset
		}
	}
	if t.Study == "" && len(studies) == 1 {
		t.Study = studies[0]
	}
	if !slices.Contains(studies, t.Study) {
		return usage("import predictions: --study: expected a study that has model %s (%s), found %q", t.Model, strings.Join(studies, ", "), t.Study)
	}
	for _, m := range b.Config.Models {
		if m.Name == t.Model {
			server = m.Model
		}
	}
	file := c.Args().First()
	content, err := os.ReadFile(file)
	if err != nil {
		return environment(err)
	}
	rows, problems := exchange.ReadAnswers(as, file, content, exchange.Columns{ID: c.String("id"), Answer: c.String("answer")})
	if len(problems) > 0 {
		return usage("%w", table.Listed(problems))
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return usage("%w", err)
	}
	j, problems := exchange.JoinAnswers(file, rows, t, p, b.Sets[name])
	if len(problems) > 0 {
		return usage("%w", table.Listed(problems))
	}
	if len(j.Trials) == 0 {
		return usage("import predictions: %s has no answer to a planned trial of study %s: %d rows are of others", file, t.Study, j.Unplanned)
	}
	now := b.Manifest()
	now.Version, now.Revision, now.Host = version, revision, machine.Facts(machine.ThisHost(version))
	st, man, err := b.Open(c.Context, p, now, s.Err)
	var mixes *experiment.MixesError
	switch {
	case errors.As(err, &mixes):
		return usage("%w", err)
	case err != nil:
		return environment(err)
	}
	defer st.Close()
	by := exchange.Elsewhere(server)
	man.Models[t.Model], man.Imported = by, exchange.NoteImport(man.Imported, file, as, content, t, j)
	stored, err := exchange.Put(c.Context, st, j.Trials, by, func() error { return st.PutManifest(c.Context, man) })
	if err != nil {
		return environment(err)
	}
	if man.Planned, err = b.Planned(c.Context, st, p); err == nil {
		err = st.PutManifest(c.Context, man)
	}
	if err != nil {
		return environment(err)
	}
	said := struct {
		Store     string `json:"store"`
		File      string `json:"file"`
		Stored    int    `json:"stored"`
		Answers   int    `json:"answers"`
		Failures  int    `json:"failures"`
		Unplanned int    `json:"unplanned"`
		Missing   int    `json:"missing"`
	}{b.Config.Store, filepath.Base(file), stored, j.Answers, j.Failures, j.Unplanned, j.Missing}
	if c.Bool("json") {
		return s.JSON(said)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d answers and %d failures of model %s in study %s, %d of them new in %s; %d rows are of no planned trial, %d planned trials of the same arms, conditions and repeats have no row here\nassay run judges and reports them\n",
		file, j.Answers, j.Failures, t.Model, t.Study, stored, b.Config.Store, j.Unplanned, j.Missing)
	return environment(err)
}
