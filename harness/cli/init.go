package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/wire"
	"assay/harness/config"
	"assay/harness/draft"
	"assay/harness/experiment"
	"assay/harness/process"
	"assay/harness/study/cot"
	"assay/results/text"
)

func (s streams) initCommand() *cli.Command {
	var studies []string
	for _, st := range experiment.Known().Studies {
		studies = append(studies, st.Name)
	}
	known := kinds.Names(false)
	return &cli.Command{
		Name:  "init",
		Usage: "write a bench.yaml for a running server and a data set of yours",
		Description: "Asks the server which models it has and what it knows of them, and writes a commented file.\n" +
			"An existing file is never overwritten. Look it over, then: assay plan -c FILE, assay run -c FILE.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "study", Value: cot.Name, Usage: strings.Join(studies, " or ")},
			&cli.StringFlag{Name: "backend", Value: known[0], Usage: strings.Join(known, ", ")},
			&cli.StringFlag{Name: "url", Usage: "of the server (default: where its kind listens by itself)"},
			&cli.StringFlag{Name: "key-env", Usage: "environment `VARIABLE` with the server's API key"},
			&cli.StringFlag{Name: "key-file", Usage: "`FILE` with the server's API key; also for a server on this machine"},
			&cli.StringFlag{Name: "models", Usage: "only these models of the server: `A,B`"},
			&cli.StringFlag{Name: "dataset", Value: "m3cotbench", Usage: "m3cotbench, taix-vqa or jsonl"},
			&cli.StringFlag{Name: "path", Usage: "of the data set: its folder, or the file of a jsonl", Required: true},
			&cli.StringFlag{Name: "out", Value: "bench.yaml", Usage: "`FILE` to write"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			for _, f := range []struct {
				flag  string
				known []string
			}{{"study", studies}, {"backend", known}, {"dataset", []string{"m3cotbench", "taix-vqa", "jsonl"}}} {
				if got := c.String(f.flag); !slices.Contains(f.known, got) {
					return usage("init: --%s: expected %s, found %q%s", f.flag, strings.Join(f.known, ", "), got, text.DidYouMean(got, f.known))
				}
			}
			return s.init(c)
		},
	}
}

func (s streams) init(c *cli.Context) error {
	out := c.String("out")
	if _, err := os.Lstat(out); err == nil {
		return usage("init: %s exists and is not overwritten; name another file with --out", out)
	}
	w := draft.Wanted{Study: c.String("study"), Kind: c.String("backend"), URL: strings.TrimSuffix(c.String("url"), "/"), KeyEnv: c.String("key-env"), KeyFile: c.String("key-file"),
		Dataset: c.String("dataset"), Path: c.String("path")}
	kind, _ := kinds.Of(w.Kind, "")
	w.URL = cmp.Or(w.URL, kind.URL)
	if w.KeyEnv != "" && w.KeyFile != "" {
		return usage("init: expected either --key-env or --key-file, found both")
	}
	// An address that cannot be read is named below.
	if _, here, err := process.ThisMachine().At(c.Context, w.URL); w.KeyEnv != "" && err == nil && here {
		return usage("init: --key-env: a key from the environment is never sent to a server on this machine; put it into a file and give that with --key-file")
	}
	key, err := config.Backend{Name: "server", KeyEnv: w.KeyEnv, KeyFile: w.KeyFile}.Key(os.Getenv)
	if err != nil {
		return usage("init: %w", err)
	}
	for _, path := range []*string{&w.Path, &w.KeyFile} {
		if *path, err = fromFolder(out, *path); err != nil {
			return environment(err)
		}
	}
	ids, total, err := ask(c.Context, kind, wire.Config{URL: w.URL, Key: key}, commaList(c.String("models")))
	if err != nil {
		return err
	}
	text := w.Write(ids)
	if _, errs := config.Parse(out, []byte(text), experiment.Known(), onDisk{}); len(errs) > 0 {
		return usage("init: what you asked for does not make an experiment:\n%w", errs)
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return environment(err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return environment(fmt.Errorf("write %s: %w", out, err))
	}
	fmt.Fprintf(s.out, "%s: study %s, %s\n", out, w.Study, draft.Share(draft.Seeing(ids), total))
	for _, id := range ids {
		fmt.Fprintf(s.out, "  %s: %s\n", id.Model, draft.About(id))
	}
	_, err = fmt.Fprintf(s.out, "look it over, then: assay plan -c %s\n", out)
	return err
}

// fromFolder is a path as it stands in a file at out: such paths count from the
// folder of the file.
func fromFolder(out, path string) (string, error) {
	if path == "" || filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := filepath.Abs(filepath.Dir(out))
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(dir, abs); err == nil {
		path = rel
	}
	return path, nil
}

// ask asks a server which models it has, and what it knows of those wanted. It
// says how many there are in all.
func ask(ctx context.Context, kind kinds.Kind, w wire.Config, only []string) (out []backends.Identity, total int, err error) {
	be, err := kind.Connect(w)
	if err != nil {
		return nil, 0, usage("init: %w", err)
	}
	names, err := kind.Models(ctx, w)
	if err != nil {
		return nil, 0, environment(fmt.Errorf("init: ask %s for its models: %w", w.URL, err))
	}
	total = len(names)
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, 0, usage("init: --models: the server has no %q%s; it has %s", name, text.DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
	if len(only) > 0 {
		names = only
	}
	if len(names) == 0 {
		var ways []string
		for _, k := range kinds.All() {
			if k.Get != "" {
				ways = append(ways, k.Get)
			}
		}
		return nil, 0, environment(fmt.Errorf("init: the server at %s has no models; give it one (%s) and try again", w.URL, strings.Join(ways, ", ")))
	}
	for _, name := range names {
		id, err := be.Identify(ctx, name)
		if err != nil {
			return nil, 0, environment(fmt.Errorf("init: ask %s about %s: %w", w.URL, name, err))
		}
		out = append(out, id)
	}
	if draft.Seeing(out) == 0 {
		return nil, 0, environment(fmt.Errorf("init: no model at %s sees pictures (%s); give it a vision-language model, for llama.cpp with --mmproj", w.URL, strings.Join(names, ", ")))
	}
	return out, total, nil
}

// onDisk is the file system of the machine.
type onDisk struct{}

func (onDisk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (onDisk) ReadFile(path string) ([]byte, error)  { return os.ReadFile(path) }
