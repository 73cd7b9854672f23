package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/urfave/cli/v2"

	"assay/results/viewer"
)

// viewCommand is the command view.
func viewCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "view",
		ArgsUsage: "[STORE.sqlite ...]",
		Flags: append([]cli.Flag{repeated{&cli.StringSliceFlag{Name: "config", Aliases: []string{"c"}, Value: cli.NewStringSlice("bench.yaml"), Usage: "the experiment `FILE`; again for others", TakesFile: true}},
			&cli.BoolFlag{Name: "insecure", Usage: "let others in without TLS: who is on the way can read the pages and the token"}},
			listenFlags()...),
		Action: func(c *cli.Context) error {
			o, err := listen(c, false)
			if err != nil {
				return err
			}
			paths, err := storesOf(c)
			if err != nil {
				return err
			}
			return s.view(c.Context, o, paths, c.StringSlice("config"))
		},
	}
}

// storesOf are the stores that the arguments name, or else the first bench.yaml.
func storesOf(c *cli.Context) ([]string, error) {
	if c.NArg() == 0 {
		path, err := storeIn(c.StringSlice("config")[0])
		return []string{path}, err
	}
	var out []string
	for _, arg := range c.Args().Slice() {
		if st, err := os.Stat(arg); err != nil || !st.IsDir() {
			out = append(out, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*.sqlite"))
		if err != nil || len(found) == 0 {
			return nil, usage("view: expected stores (*.sqlite) in the folder %s, found none", arg)
		}
		out = append(out, found...)
	}
	return out, nil
}

func (s streams) view(ctx context.Context, o viewer.Options, paths, configs []string) error {
	defer Sparing()()
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	var runs []*viewer.Run
	defer func() {
		cancel()
		tasks.Wait()
		for _, r := range runs {
			r.Store.Close()
		}
	}()
	taken := map[string]int{}
	for _, path := range paths {
		r, err := OpenView(ctx, path, configs)
		if err != nil {
			return environment(err)
		}
		name := r.Name
		if taken[name]++; taken[name] > 1 {
			r.Name = fmt.Sprintf("%s-%d", name, taken[name])
		}
		runs = append(runs, r)
	}
	v := viewer.New(runs)
	v.Comparer = Comparer{}
	tasks.Go(func() { v.Compare(ctx) })
	for _, r := range runs {
		tasks.Go(func() {
			if err := PrepareView(ctx, r.Path, s.Err); err != nil && ctx.Err() == nil {
				fmt.Fprintf(s.Err, "%s: %v\n", r.Path, err)
			}
			v.Watch(ctx, r)
		})
	}
	return environment(viewer.Serve(ctx, o, v.Handler(), func(address string) {
		fmt.Fprintf(s.Out, "pages at %s until Ctrl-C\n", address)
	}))
}
