package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends/kinds"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/results/text"
)

func (s streams) initCommand() *cli.Command {
	var names, own []string
	for _, st := range experiment.All() {
		names = append(names, st.Name)
		if st.Draft.Any {
			own = append(own, st.Name)
		}
	}
	known := kinds.Names(false)
	return &cli.Command{
		Name: "init",
		Flags: []cli.Flag{
			studyFlag("the `STUDY`: "+strings.Join(names, ", "), "the one for this kind of data, else "+strings.Join(own, " or ")),
			&cli.StringFlag{Name: "backend", Value: known[0], Usage: "the `SERVER`: " + strings.Join(known, ", ") + ", or an address, which is asked what it is"},
			&cli.StringFlag{Name: "url", Usage: "the server's `ADDRESS`", DefaultText: "where this kind of server listens"},
			&cli.StringFlag{Name: "key-env", Usage: "the environment `VARIABLE` with the server's API key"},
			&cli.StringFlag{Name: "key-file", Usage: "the `FILE` with the server's API key; also for a server on this machine"},
			modelsFlag(),
			&cli.StringFlag{Name: "data", Required: true, Usage: "the `PATH` of the data set: a folder or a file", TakesFile: true},
			&cli.StringFlag{Name: "kind", Usage: "read it as this `KIND`: " + strings.Join(dataset.Kinds(), ", "), DefaultText: "its content decides"},
			columnFlag(datasetFields),
			repeatedFlag("sweep", "a parameter at several levels, `C@P=LEVELS`, such as VB-HM-@opacity=.1,.3,.6, instead of all conditions; again for others"),
			repeatedFlag("in-flight", "a load sweep over these numbers of requests in flight: `N,...` (study qa)"),
			&cli.StringFlag{Name: "gpu-hour", Usage: "the `PRICE` of a GPU hour, such as 0.40"},
			&cli.StringFlag{Name: "currency", Value: "EUR", Usage: "the `CURRENCY` of --gpu-hour"},
			&cli.StringFlag{Name: "out", Value: "bench.yaml", Usage: "the `FILE` to write"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			for _, f := range []struct {
				flag  string
				known []string
			}{{"study", names}, {"backend", known}, {"kind", dataset.Kinds()}} {
				if got := c.String(f.flag); got != "" && !slices.Contains(f.known, got) && !(f.flag == "backend" && strings.Contains(got, "://")) {
					return usage("init: --%s: expected %s, found %q%s", f.flag, strings.Join(f.known, ", "), got, text.DidYouMean(got, f.known))
				}
			}
			return s.init(c)
		},
	}
}

func (s streams) init(c *cli.Context) error {
	out := c.String("out")
	w := wanted{Study: c.String("study"), Kind: c.String("backend"), URL: c.String("url"), KeyEnv: c.String("key-env"), KeyFile: c.String("key-file"),
		Dataset: c.String("kind"), Path: c.String("data"), Models: listOf(c, "models"), Sweeps: c.StringSlice("sweep"),
		InFlight: listOf(c, "in-flight"), GPUHour: c.String("gpu-hour"), Currency: c.String("currency")}
	var err error
	if w.Columns, err = dataset.ParseMapping(c.StringSlice("column")); err != nil {
		return usage("init: --column: %w", err)
	}
	if w.Dataset == "" {
		if w.Dataset, err = dataset.SniffMapped(w.Path, w.Columns); err != nil {
			return usage("init: %w", err)
		}
	}
	for _, st := range experiment.All() {
		if !c.IsSet("study") && (st.Draft.Of == w.Dataset || st.Draft.Any && w.Study == "") {
			w.Study = st.Name
		}
	}
	if strings.Contains(w.Kind, "://") {
		if w.URL != "" {
			return usage("init: expected the server's address once, found it under --backend and --url")
		}
		w.Kind, w.URL = "", w.Kind
	}
	made, err := w.Create(c.Context, out, experiment.Known())
	var wrong wrongError
	switch {
	case errors.As(err, &wrong):
		return usage("init: %w", err)
	case err != nil:
		return environment(fmt.Errorf("init: %w", err))
	}
	fmt.Fprintf(s.Out, "%s: study %s, %s\n", out, w.Study, made.Share())
	for _, id := range made.Models {
		fmt.Fprintf(s.Out, "  %s: %s\n", id.Model, about(id))
	}
	if made.Unasked != "" {
		fmt.Fprintf(s.Err, "note: %s\n", text.Visible(made.Unasked))
	}
	for _, r := range made.Planned.Readings(made.plan) {
		printReading(s.Out, "", r.Guesses, r.Unused)
	}
	printProblems(s.Err, made.Planned)
	_, err = fmt.Fprintf(s.Out, "review it, then: assay plan -c %s\n", out)
	return err
}
