package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/harness/config"
	"assay/harness/experiment"
)

// compiled is the schema, and the same for a part of a file: no key but kind has to be there.
func compiled(t *testing.T) (whole, part *jsonschema.Schema) {
	t.Helper()
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	compile := func(text []byte) *jsonschema.Schema {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("bench.schema.json", doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("bench.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	unasked(root)
	less, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return compile(text), compile(less)
}

func unasked(v any) {
	switch v := v.(type) {
	case map[string]any:
		if list, ok := v["required"].([]any); ok && !slices.Contains(list, any("kind")) {
			delete(v, "required")
		}
		for _, below := range v {
			unasked(below)
		}
	case []any:
		for _, below := range v {
			unasked(below)
		}
	}
}

// held says what the schema finds wrong with a YAML text.
func held(t *testing.T, s *jsonschema.Schema, yaml []byte) error {
	t.Helper()
	tr := config.Tree{File: "t"}
	root := tr.Parse(yaml)
	if root == nil || len(tr.Errs) > 0 {
		t.Fatalf("no YAML: %v\n%s", tr.Errs, yaml)
	}
	plain := root.Plain()
	if studies, ok := plain.(map[string]any)["studies"].(map[string]any); ok {
		for name := range studies { // the parser's own tests have made-up ones
			if name == "other" || name == "third" || name == "steps" {
				delete(studies, name)
			}
		}
		if len(studies) == 0 {
			return nil
		}
	}
	b, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// TestExamplesFollowTheSchema: every bench.yaml of the repository, the parser's good cases,
// and every piece of one that a page of docs shows.
func TestExamplesFollowTheSchema(t *testing.T) {
	t.Parallel()
	whole, part := compiled(t)
	root := filepath.Join("..", "..")
	files := []string{filepath.Join(root, "bench.yaml")}
	for _, pattern := range []string{"harness/config/testdata/good/*.yaml", "harness/cli/testdata/expected/*.yaml"} {
		more, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(more) < 2 {
			t.Fatalf("%s: %d files, %v", pattern, len(more), err)
		}
		files = append(files, more...)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := held(t, whole, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, doc := range bytes.Split(everyKey, []byte("\n---\n")) {
		if err := held(t, whole, doc); err != nil {
			t.Errorf("every-key.yaml: %v", err)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, name := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1) {
			if strings.Contains(string(m[1]), "...") || strings.HasPrefix(string(m[1]), "boxes:") {
				continue // with words for the reader, or of another file
			}
			shown++
			if err := held(t, part, m[1]); err != nil {
				t.Errorf("%s:\n%s\n%v", name, m[1], err)
			}
		}
	}
	if shown < 15 {
		t.Errorf("only %d pieces of bench.yaml are shown in docs", shown)
	}
}

// TestSchemaRefuses: what the parser refuses of a single value, the schema refuses.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	whole, _ := compiled(t)
	good := string(bytes.Split(everyKey, []byte("\n---\n"))[0])
	for _, c := range []struct{ from, to string }{
		{"name: mine", "nam: mine"},
		{"rules: paper", "rules: papers"},
		{"seed: 7 ", "seed: -7 "},
		{"kind: m3cotbench", "kind: m3cot"},
		{"    max_images: 12", "    max_images: 1"},
		{"    path: /data/TAIX-VQA\n", ""},
		{"kind: medthinkvqa", "kind: jsonl"}, // which has no experts
		{"start_timeout: 10m", "start_timeout: 10"},
		{"restarts: 3", "restarts: 3.5"},
		{"command: [ollama, serve]", "command: ollama serve"},
		{"place: local", "place: here"},
		{"think: false", "think: \"no\""},
		{"    backend: llama", "    backnd: llama"},
		{"provider: ollama", "provider: openrouter"},
		{"top_p: 1", "top_p: 1.5"},
		{"function: exact_match", "function: exact"},
		{"    rater: anna", "    reader: anna"},
		{"repeat_share: 0.05", "repeat_share: 5"},
		{"models: [gemma, other, third, fourth]", "models: gemma"},
		{"arms: [direct, cot]", "arms: [direct, [cot]]"},
		{"      per_type: 50", "      per_kind: 50"},
		{"cache: cold", "cache: tepid"},
		{"      seconds: 5", "      second: 5"},
		{"      accuracy: [lexical, same, large, often]", "      acuracy: [lexical]"},
		{"conditions: [all, VC-BB]", "conditions: [all, VC-BBB]"},
		{"thickness_px: [1, 4, 16]", "thickness_px: 4"},
		{"      columns: 8", "      columns: 1"},
		{"      steps: lexical", "      precision: lexical"},
		{"devices: [nvidia, rapl, host]", "devices: all"},
		{"  hz: 20", "  hz: 1000"},
		{"  kwh: 0.31", "  kwh: -1"},
		{"  diagnosis:", "  diagnosing:"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if text == good {
			t.Errorf("%q is not in every-key.yaml any more", c.from)
			continue
		}
		if err := held(t, whole, []byte(text)); err == nil {
			t.Errorf("%q in place of %q is not refused by the schema", c.to, c.from)
		}
		if _, errs := config.Parse("t", []byte(text), experiment.Known(), exampleFiles{}); len(errs) == 0 {
			t.Errorf("%q in place of %q is not refused by the parser", c.to, c.from)
		}
	}
}
