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
		Name:      "report",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
			&cli.StringFlag{Name: "rules", Usage: "score by these `RULES`, into a folder of its own: paper, or released (the authors' code where it differs)"},
			&cli.IntFlag{Name: "examples", Value: mostExamples, Usage: "show `N` trials of each study whole"}, digitsFlag(),
			&cli.BoolFlag{Name: "all-models", Usage: "show also models that bench.yaml has no more"},
			&cli.BoolFlag{Name: "all", Usage: "print every table"},
			&cli.StringFlag{Name: "table", Usage: "print only these tables, `TABLE,...`"},
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
			if err := onlyOne(c, "all", "table", "latex", "json"); err != nil {
				return err
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
				all: c.Bool("all-models"), whole: c.Bool("all"), tables: commaList(c.String("table")), latex: c.String("latex"), columns: commaList(c.String("columns"))})
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
	whole    bool          // print every table
	tables   []string      // print these alone, and write no files
	examples int           // of each study
	pics     page.Pictures // nil: look for them with config
	config   string        // the bench.yaml to look with
	suffix   string        // of the folder
	digits   results.Digits
	all      bool   // show models that are not in bench.yaml, too
	latex    string // the table that is printed alone, and no files are written; "": none
	columns  []string
}

// onlyOne refuses flags that do not go together.
func onlyOne(c *cli.Context, flags ...string) error {
	var set []string
	for _, f := range flags {
		if c.IsSet(f) {
			set = append(set, "--"+f)
		}
	}
	if len(set) > 1 {
		return usage("%s: expected one of %s, found %s", c.Command.Name, "--"+strings.Join(flags, ", --"), strings.Join(set, " and "))
	}
	return nil
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
	if len(how.tables) > 0 {
		return cmp.Or(s.tables(secs, meta, how.tables), s.ifDamaged(ctx, store, damage))
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
	at := filepath.Join(dir, report.Page)
	if how.whole {
		if err := report.Terminal(s.Out, secs, meta, s.Width()); err != nil || unwritten != nil {
			return cmp.Or(err, unwritten)
		}
		_, err = fmt.Fprintf(s.Out, "\nreport: %s\n", at)
		return cmp.Or(err, s.ifDamaged(ctx, store, damage))
	}
	more := []string{"report: " + at, "more: assay report --table NAME prints one table (" + strings.Join(report.MainTables(secs), ", ") + "); assay report --all prints all"}
	if err := report.Summary(s.Out, secs, meta, s.Width(), more...); err != nil || unwritten != nil {
		return cmp.Or(err, unwritten)
	}
	return s.ifDamaged(ctx, store, damage)
}

// tableNamed finds a table by its name.
func tableNamed(secs []results.Section, meta report.Meta, flag, name string) (results.Table, error) {
	var names []string
	for _, t := range report.Tables(secs, meta) {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return results.Table{}, usage("report: --%s: there is no table %s%s; tables: %s", flag, name, text.DidYouMean(name, names), strings.Join(names, ", "))
}

// tables prints some tables.
func (s streams) tables(secs []results.Section, meta report.Meta, names []string) error {
	var list []results.Table
	for _, name := range names {
		t, err := tableNamed(secs, meta, "table", name)
		if err != nil {
			return err
		}
		list = append(list, t)
	}
	for _, t := range list {
		if err := report.TerminalTable(s.Out, t, meta, s.Width()); err != nil {
			return err
		}
	}
	return nil
}

// latex prints one table.
func (s streams) latex(secs []results.Section, meta report.Meta, how publication) error {
	t, err := tableNamed(secs, meta, "latex", how.latex)
	if err != nil {
		return err
	}
	if len(how.columns) > 0 {
		if t, err = report.Columns(t, how.columns); err != nil {
			return usage("report: --columns: %w", err)
		}
	}
	return report.LaTeX(s.Out, t, meta)
}

func (s streams) ifDamaged(ctx context.Context, path string, damage error) error {
	if damage == nil {
		return nil
	}
	return s.whatIsLeft(ctx, path, damage)
}
