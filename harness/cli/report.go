package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assay/harness/bench"
	"assay/harness/config"
	"assay/harness/study"
	"assay/results"
	"assay/results/report"
	"assay/results/text"
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
				cfg, err := config.Read(c.String("config"), bench.Known())
				if err != nil {
					return err
				}
				path = cfg.Store
			}
			st, err := results.OpenReader(c.Context, path)
			if err != nil {
				return s.whatIsLeft(c.Context, path, err)
			}
			defer st.Close()
			// Where the energies cannot be read, the rest may be.
			if err := s.measure(c.Context, st, path); err != nil && !errors.Is(err, results.FaultDamaged) {
				return err
			}
			return s.publish(c.Context, st, path, publication{json: c.Bool("json"), examples: c.Int("examples"), config: c.String("config")})
		},
	}
}

// sections computes every study's sections from the store.
func sections(ctx context.Context, st *results.Store) ([]results.Section, results.Manifest, error) {
	secs, man, damage, err := readable(ctx, st)
	if err == nil {
		err = damage
	}
	return secs, man, err
}

// readable computes the sections of what can be read. damage is why something
// cannot; a section stands in the place of each study that is damaged.
func readable(ctx context.Context, st *results.Store) (all []results.Section, man results.Manifest, damage, err error) {
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return nil, man, nil, environment(err)
	}
	if !ok {
		return nil, man, nil, environment(fmt.Errorf("the store holds no run; assay run makes one"))
	}
	// whole says whether err leaves anything in doubt; damage is kept for later.
	whole := func(name string, err error) (bool, error) {
		if err == nil || !errors.Is(err, results.FaultDamaged) {
			return err == nil, environment(err)
		}
		damage = cmp.Or(damage, environment(err))
		all = append(all, results.Section{Study: name, Name: name + "-damaged", Title: name + ": not to be read",
			Warnings: []string{fmt.Sprintf("%s cannot be read to its end, and nothing is computed from a part of it: %v", name, err)}})
		return false, nil
	}
	for _, name := range slices.Sorted(maps.Keys(man.Rubrics)) {
		proto, err := bench.Study(name, nil, study.Choice{})
		if err != nil {
			return nil, man, nil, usage("%w", err)
		}
		begun, err := hasTrials(ctx, st, name)
		if ok, err := whole(name, err); err != nil {
			return nil, man, nil, err
		} else if !ok || !begun {
			continue
		}
		secs, err := proto.Summarize(ctx, st, man.Rubrics[name])
		if err != nil {
			err = fmt.Errorf("study %s: %w", name, err)
		}
		if ok, err := whole(name, err); err != nil {
			return nil, man, nil, err
		} else if !ok {
			continue
		}
		for i := range secs {
			secs[i].Study = name
		}
		all = append(all, secs...)
	}
	sessions, err := st.Sessions(ctx)
	var events []results.Event
	if err == nil {
		events, err = st.Events(ctx)
	}
	var trace results.Figure
	var powered bool
	if err == nil {
		trace, powered, err = powerTrace(ctx, st, sessions)
	}
	ok, err = whole("machine", err)
	if err != nil {
		return nil, man, nil, err
	}
	if sec, has := study.MachineSection(sessions, events); ok && has {
		if powered {
			sec.Figures = append(sec.Figures, trace)
		}
		all = append(all, sec)
	}
	return all, man, damage, nil
}

// whatIsLeft says on stderr what can still be read of a store that err is about,
// and returns err.
func (s streams) whatIsLeft(ctx context.Context, path string, err error) error {
	err = environment(err)
	if !errors.Is(err, results.FaultDamaged) && !errors.Is(err, results.FaultNewer) {
		return err
	}
	left, lost := results.Look(ctx, path)
	if lost != nil {
		return err
	}
	unknown := "unknown"
	say := func(format string, args ...any) { fmt.Fprintln(s.err, text.VisibleLines(fmt.Sprintf(format, args...))) }
	if left.Name == "" && left.Items == nil && len(left.Blocks) == 0 {
		say("nothing can be read of %s", path)
		return err
	}
	say("what can still be read of %s:", path)
	created := unknown
	if !left.Created.IsZero() {
		created = left.Created.Format(time.RFC3339)
	}
	say("  run %s, made %s by assay %s", cmp.Or(left.Name, unknown), created, cmp.Or(left.Version, unknown))
	if left.Items != nil {
		say("  %d items", *left.Items)
	}
	for _, b := range left.Blocks {
		broken := ""
		if b.Broken {
			broken = ", and then it breaks off"
		}
		say("  study %s, model %s: %d answers, %d failures, %d judgments%s", b.Study, b.Model, b.Answers, b.Failures, b.Judgments, broken)
	}
	if len(left.Blocks) == 0 {
		say("  no trials")
	}
	return err
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
	secs, man, damage, err := readable(ctx, st)
	if err != nil {
		return s.whatIsLeft(ctx, store, err)
	}
	meta := report.Meta{Title: man.Name, Manifest: man}
	if how.examples > 0 {
		if how.pics == nil {
			how.pics = atHand(how.config, man)
		}
		meta.Examples, err = examples(ctx, st, man, how.examples, how.pics)
		if err != nil && !errors.Is(err, results.FaultDamaged) {
			return environment(err)
		}
		damage = cmp.Or(damage, environment(err))
	}
	dir := strings.TrimSuffix(store, filepath.Ext(store)) + "-report"
	unwritten := report.Write(dir, secs, meta)
	if unwritten != nil {
		unwritten = environment(fmt.Errorf("%w; the tables were printed all the same", unwritten))
	}
	if how.json {
		return cmp.Or(report.JSON(s.out, secs, meta), unwritten, s.ifDamaged(ctx, store, damage))
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
	return cmp.Or(err, s.ifDamaged(ctx, store, damage))
}

func (s streams) ifDamaged(ctx context.Context, path string, damage error) error {
	if damage == nil {
		return nil
	}
	return s.whatIsLeft(ctx, path, damage)
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
