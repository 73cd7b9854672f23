package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/agree"
	"assay/harness/experiment"
	"assay/harness/page"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
	"assay/results/text"
)

func (s streams) reportCommand() *cli.Command {
	return &cli.Command{
		Name:  "report",
		Usage: "compute the scores of a store and write its report",
		Description: "Needs the store alone: neither the data set nor a server. The same store gives the same report.\n" +
			"Where the run's bench.yaml and its data are at hand, the page shows the pictures of its examples.",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
			&cli.StringFlag{Name: "rules", Usage: "score by these `RULES`, into a folder of its own: paper, or released (the authors' code where it differs)"},
			&cli.IntFlag{Name: "examples", Value: mostExamples, Usage: "show `N` trials of each study whole"}, digitsFlag(),
			&cli.BoolFlag{Name: "all-models", Usage: "show also models that bench.yaml has no more"},
			&cli.StringFlag{Name: "latex", Usage: "print only this `TABLE`, as LaTeX"},
			&cli.StringFlag{Name: "columns", Usage: "with --latex: these columns in this order, `COLUMN,...`"}},
		Action: func(c *cli.Context) error {
			style, err := digitsOf(c)
			if err != nil {
				return err
			}
			if c.Int("examples") < 0 {
				return usage("report: --examples: expected 0 or more, found %d", c.Int("examples"))
			}
			if c.IsSet("columns") && c.String("latex") == "" {
				return usage("report: --columns picks from one table: add --latex TABLE")
			}
			rules := c.String("rules")
			if rules != "" && !slices.Contains(results.Rules(), rules) {
				return usage("report: --rules: expected paper or released, found %q", rules)
			}
			path, err := storeOf(c)
			if err != nil {
				return err
			}
			st, err := store.OpenReader(c.Context, path)
			if err != nil {
				return s.whatIsLeft(c.Context, path, err)
			}
			defer func() { st.Close() }()
			// Where the energies cannot be read or stored, the rest may be: tables first.
			unmeasured := environment(experiment.MeasureFile(c.Context, st, path, s.Err))
			if errors.Is(unmeasured, results.FaultDamaged) {
				unmeasured = nil // reading the rest will say so
			}
			suffix := ""
			if rules != "" { // scored on the way: the store keeps those of its run
				st.Under(rules)
				suffix = "-" + rules
			} else {
				again, err := experiment.ScoreFile(c.Context, st, path, s.Err)
				if err != nil {
					return s.whatIsLeft(c.Context, path, err)
				}
				st = again
			}
			err = s.publish(c.Context, st, path, publication{json: c.Bool("json"), figures: figures(c), examples: c.Int("examples"), config: c.String("config"), suffix: suffix, digits: style,
				all: c.Bool("all-models"), latex: c.String("latex"), columns: commaList(c.String("columns"))})
			return cmp.Or(err, unmeasured)
		},
	}
}

// whatIsLeft says on stderr what can still be read of a store that err is about,
// and returns err.
func (s streams) whatIsLeft(ctx context.Context, path string, err error) error {
	err = environment(err)
	if !errors.Is(err, results.FaultDamaged) && !errors.Is(err, results.FaultNewer) {
		return err
	}
	left, lost := store.LookForLeft(ctx, path)
	if lost != nil {
		return err
	}
	err = told{Err: err}
	printLeft(s.Err, path, left)
	return err
}

// mostExamples are shown of each study, unless --examples says otherwise.
const mostExamples = 4

// publication is how a report is published.
type publication struct {
	json     bool
	figures  []string      // file types
	brief    bool          // print each study's overview alone
	examples int           // of each study
	pics     page.Pictures // nil: look for them with config
	config   string        // the bench.yaml to look with
	suffix   string        // of the folder
	digits   results.Digits
	all      bool   // show models that are not in bench.yaml, too
	latex    string // the table that is printed alone; "": all are, and files are written
	columns  []string
}

func digitsFlag() cli.Flag {
	return &cli.IntFlag{Name: "digits", Usage: "print percentages with `N` decimals, as papers do", DefaultText: "by the interval"}
}

func digitsOf(c *cli.Context) (results.Digits, error) {
	n := c.Int("digits")
	switch {
	case !c.IsSet("digits"):
		return results.Digits{}, nil
	case n < 0 || n > results.MostDecimals:
		return results.Digits{}, usage("%s: --digits: expected 0 to %d, found %d", c.Command.Name, results.MostDecimals, n)
	}
	return results.Digits{Percent: &n}, nil
}

// publish computes the scores, prints them and writes the report's files beside
// the store. Where they cannot be written, the tables are printed all the same.
func (s streams) publish(ctx context.Context, st *store.Store, store string, how publication) error {
	defer st.Only(nil)
	secs, meta, damage, err := page.Contents(ctx, st, how.all, agree.Corrected)
	if err != nil {
		return s.whatIsLeft(ctx, store, err)
	}
	meta.Digits, meta.Figures = how.digits, how.figures
	man := meta.Run.Manifest
	if how.latex != "" {
		return cmp.Or(s.latex(secs, meta, how), s.ifDamaged(ctx, store, damage))
	}
	if how.examples > 0 {
		if how.pics == nil {
			how.pics = page.AtHand(ctx, how.config, man)
		}
		meta.Examples, err = page.Examples(ctx, st, man, how.examples, how.pics, page.Rubrics)
		if err != nil && !errors.Is(err, results.FaultDamaged) {
			return environment(err)
		}
		damage = cmp.Or(damage, environment(err))
	}
	dir := strings.TrimSuffix(store, filepath.Ext(store)) + "-report" + how.suffix
	unwritten := report.Write(dir, secs, meta)
	if unwritten != nil {
		unwritten = environment(fmt.Errorf("%w; the tables were printed all the same", unwritten))
	}
	if how.json {
		return cmp.Or(report.JSON(s.Out, secs, meta), unwritten, s.ifDamaged(ctx, store, damage))
	}
	shown, more := secs, ""
	if how.brief {
		shown, more = page.Overview(secs), "; assay report prints every table"
	}
	if err := report.Terminal(s.Out, secs, shown, meta, s.Width()); err != nil || unwritten != nil {
		return cmp.Or(err, unwritten)
	}
	_, err = fmt.Fprintf(s.Out, "\nreport: %s%s\n", filepath.Join(dir, report.Page), more)
	return cmp.Or(err, s.ifDamaged(ctx, store, damage))
}

// latex prints one table.
func (s streams) latex(secs []results.Section, meta report.Meta, how publication) error {
	var names []string
	for _, t := range report.Tables(secs) {
		if t.Name != how.latex {
			names = append(names, t.Name)
			continue
		}
		if len(how.columns) > 0 {
			var err error
			if t, err = report.Columns(t, how.columns); err != nil {
				return usage("report: --columns: %w", err)
			}
		}
		return report.LaTeX(s.Out, t, meta)
	}
	return usage("report: --latex: there is no table %s%s; there are %s", how.latex, text.DidYouMean(how.latex, names), strings.Join(names, ", "))
}

func (s streams) ifDamaged(ctx context.Context, path string, damage error) error {
	if damage == nil {
		return nil
	}
	return s.whatIsLeft(ctx, path, damage)
}
