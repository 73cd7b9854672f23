// Package draft writes a bench.yaml for a server and a data set.
package draft

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/dataset"
	"assay/harness/studies"
	"assay/harness/study"
)

func blind(id backends.Identity) bool { return id.Vision != nil && !*id.Vision }

// usualContext is enough for the prompts and pictures of all studies.
const usualContext = 8192

// workingContext is the num_ctx to write: no more than any model was made for.
func workingContext(ids []backends.Identity) int {
	n := usualContext
	for _, id := range ids {
		if !blind(id) && id.Context != nil && *id.Context > 0 {
			n = min(n, *id.Context)
		}
	}
	return n
}

// About is what a server says of a model, on one line.
func About(id backends.Identity) string {
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

// Wanted is what a bench.yaml is to be for.
type Wanted struct {
	Name          string // of the experiment and its store; "": that of the file
	Study         string
	Kind          string // of the server
	URL           string
	KeyEnv        string   // variable with the server's key; "": none
	KeyFile       string   // file with it, from bench.yaml's folder; "": none
	Dataset, Path string   // kind of the data set ("": its content says), and where it is from bench.yaml's folder
	Models        []string // of the server; none: all
	Sweeps        []string // "VB-HM-@opacity=.1,.3,.6": conditions at several levels, instead of all conditions
}

// Write makes the file's text. Words from outside stand in quotes or in comments.
func (w Wanted) Write(ids []backends.Identity) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# Written by assay init, which asked the server at %s.", oneLine(w.URL))
	say("# Paths start from the folder of this file. assay plan -c FILE checks every line of")
	say("# it and says what will be run, without sending anything; assay run -c FILE runs it.")
	say("name: %s", quoted(w.Name))
	say("seed: 1                # selection and order follow from it")
	say("store: %-15s # everything that is measured; the report stands beside it", quoted(".assay/"+w.Name+".sqlite"))
	say("rules: paper")
	say("")
	say("datasets:")
	options := ""
	var st study.Definition
	for _, d := range studies.All() {
		if d.Name == w.Study {
			st = d
		}
	}
	source := dataset.Source{Kind: w.Dataset}
	if source.Has("knowledge_gaps") && len(st.Knowing) > 0 {
		// A knowledge base is the user's to name; without it nothing is compared with one.
		options = ", knowledge_gaps: skip"
	}
	say("  data: {kind: %s, path: %s%s}   # max_side: 1024 scales larger pictures down first", w.Dataset, quoted(w.Path), options)
	if options != "" {
		say("  # knowledge: FILE.json names the knowledge base that rubric CF compares reasoning with")
	}
	say("")
	say("backends:")
	more := ""
	if w.KeyEnv != "" {
		more = ", api_key_env: " + w.KeyEnv
	}
	if w.KeyFile != "" {
		more = ", api_key_file: " + quoted(w.KeyFile)
	}
	if k, _ := kinds.Of(w.Kind, ""); k.Options != nil {
		more += ", options: {" + k.Options(workingContext(ids)) + "}"
	}
	say("  server: {kind: %s, url: %s%s}", w.Kind, quoted(w.URL), more)
	say("")
	say("models:                # one block each, in this order")
	used := map[string]bool{}
	for _, id := range ids {
		mark := "  "
		if blind(id) {
			mark = "  # "
		}
		say("%s%s: {backend: server, model: %s}   # %s", mark, modelKey(id.Model, used), quoted(id.Model), About(id))
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
	say("  %s:", w.Study)
	say("    dataset: data")
	say("    # select: {per_type: 50}   # of each question type, drawn by seed; without it, all")
	if first := st.First; len(first) > 0 && len(first) < len(st.Arms) {
		say("    arms: [%s]   # there are %s", strings.Join(first, ", "), strings.Join(st.Arms, ", "))
	} else {
		say("    arms: [%s]", strings.Join(st.Arms, ", "))
	}
	switch {
	case len(w.Sweeps) > 0:
		say("    conditions: [sham]         # what moves by itself; beside it the doses, each level a condition of its own")
		say("    sweeps:")
		for _, sw := range w.Sweeps {
			condition, levels, _ := strings.Cut(sw, "@")
			param, list, _ := strings.Cut(levels, "=")
			say("      - {condition: %s, %s: [%s]}", quoted(condition), quoted(param), list)
		}
	case len(st.Conditions) > 0:
		say("    conditions: all            # every change of picture and prompt, against the baseline")
	}
	for _, line := range st.Usual {
		say("    %s", line)
	}
	say("    retries: 2                 # only after what can heal")
	var rubrics []string
	for _, r := range st.Rubrics {
		if slices.Contains(st.Measured, r) || slices.Contains(st.Knowing, r) && !source.Has("knowledge") {
			continue
		}
		rubrics = append(rubrics, r+": [lexical]")
	}
	say("    rubrics: {%s}", strings.Join(rubrics, ", "))
	return b.String()
}

// quoted is s in YAML's double quotes.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("draft: internal error: " + err.Error()) // a string always marshals
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
