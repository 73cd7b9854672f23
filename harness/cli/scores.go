package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/dataset/table"
	"assay/harness/exchange"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/score"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
)

// reports is the command export reports.
func (s streams) reports() *cli.Command {
	return &cli.Command{
		Name: "reports",
		Flags: []cli.Flag{configFlag(),
			&cli.StringFlag{Name: "for", Value: exchange.Tools()[0], Usage: "the `TOOL`: " + strings.Join(exchange.Tools(), ", ")},
			&cli.StringFlag{Name: "out", Required: true, Usage: "the `FOLDER` to write into", TakesFile: true}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if !slices.Contains(exchange.Tools(), c.String("for")) {
				return usage("export reports: --for: expected one of %s, found %q", strings.Join(exchange.Tools(), ", "), c.String("for"))
			}
			b, p, st, err := answers(c)
			if err != nil {
				return err
			}
			defer st.Close()
			w, err := exchange.WriteReports(exchange.Cases(c.Context, b.Studies, p, st), c.String("out"))
			switch {
			case err != nil:
				return environment(err)
			case w.Reports == 0:
				return usage("export reports: %s has no report with a reference: study diagnosis writes some in arm findings", b.Config.Store)
			}
			_, err = fmt.Fprintf(s.Out, "%s: %d reports and their references, %d without a word left out\n", c.String("out"), w.Reports, w.Empty)
			return environment(err)
		},
	}
}

// answers opens the store of bench.yaml with its plan.
func answers(c *cli.Context) (*experiment.Bench, *plan.Plan, *store.Store, error) {
	b, err := load(c)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return nil, nil, nil, usage("%w", err)
	}
	st, err := store.OpenReader(c.Context, b.Config.Store)
	return b, p, st, environment(err)
}

// importCommand is the command import.
func importCommand(s streams, version, revision string) *cli.Command {
	return &cli.Command{
		Name:   "import",
		Action: onlySubcommands("assay import"),
		Subcommands: []*cli.Command{{
			Name:      "scores",
			ArgsUsage: "[FILE]",
			Flags: []cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
				&cli.StringFlag{Name: "metric", Usage: "the `NAME` of what the numbers measure"},
				columnFlag("case (default: case), score (default: the metric's name)"),
				&cli.StringFlag{Name: "ids", Usage: "the `FILE` that maps ids to cases: ids.csv of assay export reports", TakesFile: true},
				&cli.StringFlag{Name: "direction", Usage: "the better `DIRECTION`: higher or lower"},
				&cli.StringFlag{Name: "tool", Usage: "the `NAME` of the tool that made them"},
				&cli.StringFlag{Name: "tool-version", Usage: "the tool's `VERSION`"},
				&cli.StringFlag{Name: "verdicts", Usage: "also write a `FILE` for a judge of kind file, of --verdict-metrics", TakesFile: true},
				repeatedFlag("verdict-metrics", "the metrics that make a verdict together: `NAME,...`"),
				drawsFlag()},
			Action: func(c *cli.Context) error { return s.importScores(c, version, revision) },
		}, s.predictions(version, revision)},
	}
}

func (s streams) importScores(c *cli.Context, version, revision string) error {
	wrong := func() string {
		switch {
		case c.NArg() > 1:
			return fmt.Sprintf("expected one file, found %d arguments", c.NArg())
		case c.Int("draws") < 100:
			return fmt.Sprintf("--draws: expected 100 or more, found %d", c.Int("draws"))
		case (c.String("verdicts") == "") != !c.IsSet("verdict-metrics"):
			return "--verdicts and --verdict-metrics go together"
		case c.NArg() == 0:
			return ""
		case c.String("metric") == "" || c.String("tool") == "" || c.String("tool-version") == "":
			return "--metric, --tool and --tool-version are needed: they are stored with the numbers"
		case c.String("direction") != "higher" && c.String("direction") != "lower":
			return fmt.Sprintf("--direction: expected higher or lower, found %q", c.String("direction"))
		}
		return ""
	}()
	if wrong != "" {
		return usage("import scores: %s", wrong)
	}
	b, p, st, err := answers(c)
	if err != nil {
		return err
	}
	defer st.Close()
	var known []results.Digest
	cases := exchange.Cases(c.Context, b.Studies, p, st)
	for one, err := range cases {
		if err != nil {
			return environment(err)
		}
		known = append(known, one.Digest)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	former := exchange.FormerStore(b.Config.Store)
	if _, err := os.Stat(former); err == nil {
		return usage("import scores: %s has numbers that an earlier assay kept; this one keeps them in %s: move the file away, and import the tools' files again", former, b.Config.Store)
	}
	if c.NArg() == 1 {
		if err := s.store(c, b.Config.Store, cases, known); err != nil {
			return err
		}
	}
	all, err := exchange.ReadScores(c.Context, st)
	if err != nil {
		return environment(err)
	}
	if to := c.String("verdicts"); to != "" {
		n := 0
		if err := writeFile(to, func(w io.Writer) (err error) {
			n, err = exchange.WriteVerdicts(w, all, listOf(c, "verdict-metrics"))
			return err
		}); err != nil {
			return usage("import scores: %w", errors.Join(err, os.Remove(to)))
		}
		fmt.Fprintf(s.Err, "%s: %d verdicts\n", to, n)
	}
	clusters := map[string]map[string]string{}
	for name := range b.Studies {
		if clusters[name], err = score.Clusters(c.Context, st, name); err != nil {
			return environment(err)
		}
	}
	section, err := exchange.Section(cases, all, clusters, b.Config.Seed, c.Int("draws"))
	if err != nil {
		return environment(err)
	}
	sections := []results.Section{section}
	meta := report.Meta{Title: b.Config.Name, Figures: figures(c), Run: results.Run{Manifest: results.Manifest{Name: b.Config.Name, Seed: b.Config.Seed, Synthetic: b.Synthetic(), Version: version, Revision: revision}}}
	dir := strings.TrimSuffix(former, ".sqlite")
	if err := report.Write(dir, sections, meta); err != nil {
		return environment(err)
	}
	return s.Tables(c.Bool("json"), sections, meta, fmt.Sprintf("\nscores: %s\n", filepath.Join(dir, report.Page)))
}

// store reads a file and stores its numbers. known are all cases, each once.
func (s streams) store(c *cli.Context, into string, cases iter.Seq2[exchange.ScoredCase, error], known []results.Digest) error {
	path := c.Args().First()
	of, err := columnsOf(c, map[string]string{"case": "case", "score": c.String("metric")})
	if err != nil {
		return usage("import scores: %w", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return usage("import scores: %w", err)
	}
	var ids []byte
	if name := c.String("ids"); name != "" {
		if ids, err = os.ReadFile(name); err != nil {
			return usage("import scores: --ids: %w", err)
		}
	}
	rows, problems := exchange.ParseScores(path, content, of["case"], of["score"])
	joined, more := exchange.JoinScores(path, rows, c.String("ids"), ids, known)
	if problems = append(problems, more...); len(problems) == 0 && len(joined) == 0 {
		problems = append(problems, table.Problem{File: path, Want: "a row", Got: "none"})
	}
	if len(problems) > 0 {
		return usage("import scores: nothing was stored:\n%w", table.Listed(problems))
	}
	m := exchange.Metric{Name: c.String("metric"), Tool: c.String("tool"), Version: c.String("tool-version"), Higher: c.String("direction") == "higher",
		File: filepath.Base(path), Digest: results.Digest(fmt.Sprintf("sha256:%x", sha256.Sum256(content)))}
	st, err := store.Open(c.Context, into)
	if err != nil {
		return environment(err)
	}
	if err := errors.Join(exchange.PutScores(c.Context, st, cases, m, joined), st.Close()); err != nil {
		return environment(err)
	}
	none := 0
	for _, j := range joined {
		if j.Value == nil {
			none++
		}
	}
	fmt.Fprintf(s.Err, "stored %d scores of %s by %s %s, %d without a number\n", len(joined), m.Name, m.Tool, m.Version, none)
	return nil
}
