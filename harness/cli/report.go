package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/study"
	"assay/results"
	"assay/results/report"
)

func (s streams) reportCommand() *cli.Command {
	return &cli.Command{
		Name:  "report",
		Usage: "compute the scores of a store and write its report",
		Description: "Needs the store alone: neither the data set nor a server. The same store gives the same report.\n" +
			"Where the run's bench.yaml and its data are at hand, the page shows the pictures of its examples.",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.IntFlag{Name: "examples", Value: mostExamples, Usage: "show `N` trials of each study whole"}},
		Action: func(c *cli.Context) error {
			if c.Int("examples") < 0 {
				return usage("report: --examples: expected 0 or more, found %d", c.Int("examples"))
			}
			if c.NArg() > 1 {
				return usage("report: expected one store, found %d arguments", c.NArg())
			}
			path := c.Args().First()
			if path == "" {
				cfg, err := config.Read(c.String("config"), studyNames())
				if err != nil {
					return err
				}
				path = cfg.Store
			}
			st, err := results.OpenReader(c.Context, path)
			if err != nil {
				return environment(err)
			}
			defer st.Close()
			if err := s.measure(c.Context, st, path); err != nil {
				return err
			}
			return s.publish(c.Context, st, path, publication{json: c.Bool("json"), examples: c.Int("examples"), config: c.String("config")})
		},
	}
}

// sections computes every study's sections from the store.
func sections(ctx context.Context, st *results.Store) ([]results.Section, results.Manifest, error) {
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return nil, man, environment(err)
	}
	if !ok {
		return nil, man, environment(fmt.Errorf("the store holds no run; assay run makes one"))
	}
	var all []results.Section
	var names []string
	for name := range man.Rubrics {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		proto, err := newStudy(name, nil)
		if err != nil {
			return nil, man, err
		}
		begun, err := hasTrials(ctx, st, name)
		if err != nil {
			return nil, man, environment(err)
		}
		if !begun {
			continue
		}
		secs, err := proto.Summarize(ctx, st, man.Rubrics[name])
		if err != nil {
			return nil, man, environment(fmt.Errorf("study %s: %w", name, err))
		}
		for i := range secs {
			secs[i].Study = name
		}
		all = append(all, secs...)
	}
	sessions, err := st.Sessions(ctx)
	if err != nil {
		return nil, man, environment(err)
	}
	events, err := st.Events(ctx)
	if err != nil {
		return nil, man, environment(err)
	}
	if sec, ok := study.MachineSection(sessions, events); ok {
		all = append(all, sec)
	}
	return all, man, nil
}

// hasTrials says whether anything of a study is stored.
func hasTrials(ctx context.Context, st *results.Store, study string) (bool, error) {
	for _, err := range st.Rows(ctx, study) {
		return err == nil, err
	}
	return false, nil
}

// publication is how a report is published.
type publication struct {
	json     bool
	brief    bool     // print each study's overview alone
	examples int      // of each study
	pics     pictures // nil: look for them with config
	config   string   // the bench.yaml to look with
}

// publish computes the scores, prints them and writes the report's files beside
// the store. Where they cannot be written, the tables are printed all the same.
func (s streams) publish(ctx context.Context, st *results.Store, store string, how publication) error {
	secs, man, err := sections(ctx, st)
	if err != nil {
		return err
	}
	meta := report.Meta{Title: man.Name, Manifest: man}
	if how.examples > 0 {
		if how.pics == nil {
			how.pics = atHand(how.config, man)
		}
		if meta.Examples, err = examples(ctx, st, man, how.examples, how.pics); err != nil {
			return environment(err)
		}
	}
	dir := strings.TrimSuffix(store, filepath.Ext(store)) + "-report"
	unwritten := report.Write(dir, secs, meta)
	if unwritten != nil {
		unwritten = environment(fmt.Errorf("%w; the tables were printed all the same", unwritten))
	}
	if how.json {
		return cmp.Or(report.JSON(s.out, secs, meta), unwritten)
	}
	width, ok := interactive(s.out)
	if !ok {
		width = 120
	}
	more := ""
	if how.brief {
		secs, more = overview(secs), "; assay report prints every table"
	}
	if err := report.Terminal(s.out, secs, meta, width); err != nil || unwritten != nil {
		return cmp.Or(err, unwritten)
	}
	_, err = fmt.Fprintf(s.out, "\nreport: %s%s\n", filepath.Join(dir, "report.html"), more)
	return err
}

// overview is each study's first section, which sums it up, with the findings
// and warnings of its others.
func overview(secs []results.Section) []results.Section {
	var out []results.Section
	for _, s := range secs {
		if n := len(out); n > 0 && out[n-1].Study == s.Study {
			out[n-1].Notes = append(out[n-1].Notes, s.Notes...)
			out[n-1].Warnings = append(out[n-1].Warnings, s.Warnings...)
			continue
		}
		s.Notes, s.Warnings = slices.Clone(s.Notes), slices.Clone(s.Warnings)
		out = append(out, s)
	}
	return out
}
