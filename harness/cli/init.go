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
		Name:  "init",
		Usage: "write a bench.yaml for a running server and a data set of yours",
		Description: "Asks the server which models it has and what it knows of them, and writes a commented file.\n" +
			"An existing file is never overwritten. Look it over, then: assay plan -c FILE, assay run -c FILE.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "study", Value: names[0], Usage: strings.Join(names, " or ")},
			&cli.StringFlag{Name: "backend", Value: known[0], Usage: strings.Join(known, ", ") + "; or the server's address, which is asked what it is"},
			&cli.StringFlag{Name: "url", Usage: "of the server (default: where its kind listens by itself)"},
			&cli.StringFlag{Name: "key-env", Usage: "environment `VARIABLE` with the server's API key"},
			&cli.StringFlag{Name: "key-file", Usage: "`FILE` with the server's API key; also for a server on this machine"},
			&cli.StringFlag{Name: "models", Usage: "only these models of the server: `A,B`"},
			&cli.StringFlag{Name: "dataset", Value: "m3cotbench", Usage: strings.Join(dataset.Kinds(), ", ")},
			&cli.StringFlag{Name: "path", Usage: "of the data set: its folder or its file"},
			&cli.StringFlag{Name: "data", Usage: "`PATH` of questions of your own, instead of --dataset and --path: its content says what it is; the study is then " + strings.Join(own, " or ") + ", unless --study names one", TakesFile: true},
			&cli.StringSliceFlag{Name: "column", Usage: "of a table: `FIELD=COLUMN`, options=a,b,c,d (dataset schema names the fields)"},
			&cli.StringSliceFlag{Name: "sweep", Usage: "a condition at several levels, `C@P=LEVELS`, such as VB-HM-@opacity=.1,.3,.6, instead of all conditions; several are allowed"},
			&cli.StringFlag{Name: "in-flight", Usage: "a load sweep over these numbers of requests on the wire, `1,2,4` (study qa)"},
			&cli.StringFlag{Name: "gpu-hour", Usage: "what an hour of a GPU costs, such as 0.40"},
			&cli.StringFlag{Name: "currency", Value: "EUR", Usage: "of --gpu-hour"},
			&cli.StringFlag{Name: "out", Value: "bench.yaml", Usage: "`FILE` to write"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if (c.String("path") == "") == (c.String("data") == "") {
				return usage("init: expected --data PATH, or --path with --dataset, found %s", map[bool]string{true: "neither", false: "both"}[c.String("path") == ""])
			}
			for _, f := range []struct {
				flag  string
				known []string
			}{{"study", names}, {"backend", known}, {"dataset", dataset.Kinds()}} {
				if got := c.String(f.flag); !slices.Contains(f.known, got) && !(f.flag == "backend" && strings.Contains(got, "://")) {
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
		Dataset: c.String("dataset"), Path: c.String("path"), Models: commaList(c.String("models")), Sweeps: c.StringSlice("sweep"),
		InFlight: commaList(c.String("in-flight")), GPUHour: c.String("gpu-hour"), Currency: c.String("currency")}
	var err error
	if w.Columns, err = dataset.ParseMapping(c.StringSlice("column")); err != nil {
		return usage("init: --column: %w", err)
	}
	if data := c.String("data"); data != "" {
		w.Dataset, w.Path = "", data
		for _, st := range experiment.All() {
			if st.Draft.Any && !c.IsSet("study") {
				w.Study = st.Name
			}
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
	_, err = fmt.Fprintf(s.Out, "look it over, then: assay plan -c %s\n", out)
	return err
}
