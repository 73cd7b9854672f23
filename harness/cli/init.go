package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"
	"github.com/urfave/cli/v2"

	"assay/backends"
	"assay/backends/openai"
	"assay/backends/wire"
	"assay/harness/bench"
	"assay/harness/config"
	"assay/harness/study/cot"
	"assay/harness/study/faithfulness"
)

func (s streams) initCommand() *cli.Command {
	var studies []string
	for _, st := range bench.Known().Studies {
		studies = append(studies, st.Name)
	}
	kinds := []string{"ollama", "llamacpp", "vllm", "openai"}
	return &cli.Command{
		Name:  "init",
		Usage: "write a bench.yaml for a running server and a data set of yours",
		Description: "Asks the server which models it has and what it knows of them, and writes a commented file.\n" +
			"An existing file is never overwritten. Look it over, then: assay plan -c FILE, assay run -c FILE.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "study", Value: cot.Name, Usage: strings.Join(studies, " or ")},
			&cli.StringFlag{Name: "backend", Value: "ollama", Usage: strings.Join(kinds, ", ")},
			&cli.StringFlag{Name: "url", Usage: "of the server (default: where its kind listens by itself)"},
			&cli.StringFlag{Name: "key-env", Usage: "environment `VARIABLE` with the server's API key"},
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
			}{{"study", studies}, {"backend", kinds}, {"dataset", []string{"m3cotbench", "taix-vqa", "jsonl"}}} {
				if got := c.String(f.flag); !slices.Contains(f.known, got) {
					return usage("init: --%s: expected %s, found %q%s", f.flag, strings.Join(f.known, ", "), got, didYouMean(got, f.known))
				}
			}
			return s.init(c)
		},
	}
}

// defaultURL is where a kind of server listens unless it is told otherwise.
func defaultURL(kind string) string {
	switch kind {
	case "ollama":
		return "http://127.0.0.1:11434"
	case "llamacpp":
		return "http://127.0.0.1:8080"
	}
	return "http://127.0.0.1:8000"
}

func (s streams) init(c *cli.Context) error {
	out := c.String("out")
	if _, err := os.Lstat(out); err == nil {
		return usage("init: %s exists and is not overwritten; name another file with --out", out)
	}
	w := wanted{study: c.String("study"), kind: c.String("backend"), url: strings.TrimSuffix(c.String("url"), "/"), keyEnv: c.String("key-env"),
		dataset: c.String("dataset"), path: c.String("path")}
	if w.url == "" {
		w.url = defaultURL(w.kind)
	}
	key := ""
	if w.keyEnv != "" {
		if key = os.Getenv(w.keyEnv); key == "" {
			return usage("init: --key-env: the environment variable %s is not set", w.keyEnv)
		}
	}
	// A path in bench.yaml counts from the folder of bench.yaml.
	if !filepath.IsAbs(w.path) {
		dir, err := filepath.Abs(filepath.Dir(out))
		if err != nil {
			return environment(err)
		}
		abs, err := filepath.Abs(w.path)
		if err != nil {
			return environment(err)
		}
		if rel, err := filepath.Rel(dir, abs); err == nil {
			w.path = rel
		}
	}
	ids, err := ask(c.Context, w.kind, wire.Config{URL: w.url, Key: key}, commaList(c.String("models")))
	if err != nil {
		return err
	}
	text := w.write(ids)
	if _, errs := config.Parse(out, []byte(text), bench.Known(), onDisk{}); len(errs) > 0 {
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
	fmt.Fprintf(s.out, "%s: study %s, %d of the server's %d models\n", out, w.study, seeing(ids), len(ids))
	for _, id := range ids {
		fmt.Fprintf(s.out, "  %s: %s\n", id.Model, about(id))
	}
	_, err = fmt.Fprintf(s.out, "look it over, then: assay plan -c %s\n", out)
	return err
}

// ask asks a server which models it has, and what it knows of those wanted.
func ask(ctx context.Context, kind string, w wire.Config, only []string) ([]backends.Identity, error) {
	be, err := newBackend(kind, w)
	if err != nil {
		return nil, usage("init: %w", err)
	}
	names, err := modelNames(ctx, kind, w)
	if err != nil {
		return nil, environment(fmt.Errorf("init: ask %s for its models: %w", w.URL, err))
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, usage("init: --models: the server has no %q%s; it has %s", name, didYouMean(name, names), strings.Join(names, ", "))
		}
	}
	if len(only) > 0 {
		names = only
	}
	if len(names) == 0 {
		return nil, environment(fmt.Errorf("init: the server at %s has no models; give it one (ollama pull, llama-server -m, vllm serve) and try again", w.URL))
	}
	var out []backends.Identity
	for _, name := range names {
		id, err := be.Identify(ctx, name)
		if err != nil {
			return nil, environment(fmt.Errorf("init: ask %s about %s: %w", w.URL, name, err))
		}
		out = append(out, id)
	}
	if seeing(out) == 0 {
		return nil, environment(fmt.Errorf("init: no model at %s sees pictures (%s); give it a vision-language model, for llama.cpp with --mmproj", w.URL, strings.Join(names, ", ")))
	}
	return out, nil
}

// modelNames lists a server's models by name.
func modelNames(ctx context.Context, kind string, w wire.Config) ([]string, error) {
	var names []string
	if kind == "ollama" {
		client, err := wire.New(w)
		if err != nil {
			return nil, err
		}
		reply, err := client.Get(ctx, "/api/tags")
		if err != nil {
			return nil, err
		}
		if reply.Status != 200 {
			return nil, reply.Fail(backends.ErrRefused, strings.TrimSpace(string(reply.Body)), "is this an Ollama server?")
		}
		names, err = readTags(reply.Body)
		return names, err
	}
	be, err := openai.New(w)
	if err != nil {
		return nil, err
	}
	models, _, err := be.Models(ctx)
	for _, m := range models {
		names = append(names, m.ID)
	}
	slices.Sort(names)
	return names, err
}

// readTags reads the names in Ollama's list of models.
func readTags(body []byte) ([]string, error) {
	var list api.ListResponse
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("the list of models is not JSON: %w; is this an Ollama server?", err)
	}
	var names []string
	for _, m := range list.Models {
		if m.Model != "" {
			names = append(names, strings.TrimSuffix(m.Model, ":latest")) // which the server takes as the same
		}
	}
	slices.Sort(names)
	return names, nil
}

func blind(id backends.Identity) bool { return id.Vision != nil && !*id.Vision }

func seeing(ids []backends.Identity) int {
	n := 0
	for _, id := range ids {
		if !blind(id) {
			n++
		}
	}
	return n
}

// about is what a server says of a model, on one line.
func about(id backends.Identity) string {
	parts := []string{"sees pictures"}
	switch {
	case blind(id):
		parts[0] = "sees no pictures"
	case id.Vision == nil:
		parts[0] = "does not say whether it sees pictures"
	}
	for _, f := range []string{id.Parameters, id.Quantisation} {
		if f != "" {
			parts = append(parts, f)
		}
	}
	if id.Context != nil {
		parts = append(parts, fmt.Sprintf("context %d", *id.Context))
	}
	if id.Synthetic {
		parts = append(parts, "a phantom")
	}
	return oneLine(strings.Join(parts, ", "))
}

// oneLine keeps a server's words from ending a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

// wanted is what a bench.yaml is to be for.
type wanted struct{ study, kind, url, keyEnv, dataset, path string }

// write writes the file. Words from outside stand in quotes or in comments.
func (w wanted) write(ids []backends.Identity) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# Written by assay init, which asked the server at %s.", oneLine(w.url))
	say("# Paths start from the folder of this file. assay plan -c FILE checks every line of")
	say("# it and says what will be run, without sending anything; assay run -c FILE runs it.")
	say("name: %s", w.study+"-"+w.dataset)
	say("seed: 1                # selection and order follow from it")
	say("store: %-15s # everything that is measured; the report stands beside it", quoted(".assay/"+w.study+"-"+w.dataset+".sqlite"))
	say("rules: paper")
	say("")
	say("datasets:")
	options := ""
	if w.dataset != "m3cotbench" && w.study == faithfulness.Name {
		// A knowledge base is the user's to name; without it the rubric CF is left out.
		options = ", knowledge_gaps: skip"
	}
	say("  data: {kind: %s, path: %s%s}   # max_side: 1024 scales larger pictures down first", w.dataset, quoted(w.path), options)
	if options != "" {
		say("  # knowledge: FILE.json names the knowledge base that rubric CF compares reasoning with")
	}
	say("")
	say("backends:")
	more := ""
	if w.keyEnv != "" {
		more = ", api_key_env: " + w.keyEnv
	}
	if w.kind == "ollama" {
		// Another value in the middle of a run would load the model anew.
		more += ", options: {num_ctx: 8192, keep_alive: 30m}"
	}
	say("  server: {kind: %s, url: %s%s}", w.kind, quoted(w.url), more)
	say("")
	say("models:                # one block each, in this order")
	used := map[string]bool{}
	for _, id := range ids {
		mark := "  "
		if blind(id) {
			mark = "  # "
		}
		say("%s%s: {backend: server, model: %s}   # %s", mark, modelKey(id.Model, used), quoted(id.Model), about(id))
	}
	if slices.ContainsFunc(ids, func(id backends.Identity) bool { return id.Thinking != nil && *id.Thinking }) {
		say("  # think: false on a model switches its own reasoning off, think: true on; left out, the model decides")
	}
	say("")
	say("judges:")
	say("  lexical: {kind: lexical}   # rules on words, offline: a first look. To publish, add a judge that reads:")
	say("  # large: {backend: server, model: MODEL, in_flight: 4, sampling: {temperature: 0, max_tokens: 800, seed: 1}}")
	say("")
	say("studies:")
	say("  %s:", w.study)
	say("    dataset: data")
	say("    # select: {per_type: 50}   # of each question type, drawn by seed; without it, all")
	for _, st := range bench.Known().Studies {
		if st.Name != w.study {
			continue
		}
		say("    arms: [%s]", strings.Join(st.Arms, ", "))
		if len(st.Conditions) > 0 {
			say("    conditions: all            # every change of picture and prompt, against the baseline")
		}
		if w.study == cot.Name {
			say("    sampling: {temperature: 0.1, max_tokens: 1024, seed: 1}")
			say("    timed: true                # one request in flight, warm-up, disturbed times taken again")
			say("    cache: cold                # every request is new to the server, and proven to be")
		} else {
			say("    sampling: {temperature: 0, max_tokens: 2048, seed: 1}")
			say("    in_flight: 4               # untimed: requests beside each other")
		}
		say("    retries: 2                 # only after what can heal")
		var rubrics []string
		for _, r := range st.Rubrics {
			rubrics = append(rubrics, r+": [lexical]")
		}
		say("    rubrics: {%s}", strings.Join(rubrics, ", "))
	}
	return b.String()
}

// quoted is s in YAML's double quotes.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("cli: internal error: " + err.Error()) // a string always marshals
	}
	return string(b)
}

// modelKey is a name for a model in bench.yaml and in tables.
func modelKey(model string, used map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return r
		}
		return '-'
	}, filepath.Base(model))
	if name = strings.Trim(name, "-._"); name == "" {
		name = "model"
	}
	for n, base := 2, name; used[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	used[name] = true
	return name
}

// onDisk is the file system of the machine.
type onDisk struct{}

func (onDisk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (onDisk) ReadFile(path string) ([]byte, error)  { return os.ReadFile(path) }
