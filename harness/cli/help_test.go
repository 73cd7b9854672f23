package cli_test

import (
	"bytes"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// help is what assay prints with --help after some words.
func help(t *testing.T, words ...string) string {
	t.Helper()
	code, out, errs := assayHere(t, append(slices.Clone(words), "--help")...)
	if code != 0 {
		t.Fatalf("assay %s --help: exit code %d: %s", strings.Join(words, " "), code, errs)
	}
	return out
}

// commands are all commands that do something, with their help.
func commands(t *testing.T, words ...string) map[string]string {
	t.Helper()
	text := help(t, words...)
	_, list, found := strings.Cut(text, "COMMANDS:\n")
	if !found {
		return map[string]string{strings.Join(words, " "): text}
	}
	all := map[string]string{}
	if strings.Contains(text, "Examples:\n") {
		all[strings.Join(words, " ")] = text
	}
	for line := range strings.Lines(list) {
		name := strings.Fields(line)
		if len(name) == 0 {
			break
		}
		for path, text := range commands(t, append(slices.Clone(words), strings.TrimSuffix(name[0], ","))...) {
			all[path] = text
		}
	}
	return all
}

// helpExamples are the commands that a --help shows as examples, those that only read
// first. What the sentences of the help name is looked up.
func helpExamples(t *testing.T) []string {
	t.Helper()
	all := commands(t)
	if len(all) < 12 {
		t.Fatalf("only %d commands are found in the help", len(all))
	}
	var examples []string
	named := regexp.MustCompile(`assay ([a-z]+(?: [a-z]+)?)`)
	for path, text := range all {
		_, list, _ := strings.Cut(text, "Examples:\n")
		for line := range strings.Lines(list) {
			example, ok := strings.CutPrefix(strings.TrimSpace(line), "assay ")
			if !ok {
				break
			}
			if !strings.HasPrefix(example, path) {
				t.Errorf("the help of %s shows assay %s", path, example)
			}
			examples = append(examples, example)
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			first, _, _ := strings.Cut(m[1], " ")
			exists := slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(p string) bool { return p == first || p == m[1] || strings.HasPrefix(p, first+" ") })
			if !exists {
				t.Errorf("the help of %s names %s, which does not exist", path, m[0])
			}
		}
	}
	if len(examples) < 80 {
		t.Errorf("only %d examples are shown", len(examples))
	}
	// Scripts run what needs a step before, a meter, or files of other tools.
	elsewhere := regexp.MustCompile(`^(people (serve|export)|store calibrate|config prompts check|phantom ledger|export reports|import predictions) `)
	examples = slices.DeleteFunc(examples, func(e string) bool { return elsewhere.MatchString(e + " ") })
	slices.Sort(examples)
	slices.SortStableFunc(examples, func(a, b string) int {
		first := func(s string) int {
			if reads, _ := effect(s); reads {
				return 0
			}
			return 1
		}
		return first(a) - first(b)
	})
	return examples
}

// TestPicturesOfTheDocs: every picture that README.md or a page of docs shows is
// there, can be read, is of a reasonable size and says what it shows.
func TestPicturesOfTheDocs(t *testing.T) {
	shown := regexp.MustCompile(`!\[([^\]]*)\]\(([^)]+)\)|<img [^>]*>`)
	attribute := func(tag, name string) string {
		m := regexp.MustCompile(name + `="([^"]*)"`).FindStringSubmatch(tag)
		if m == nil {
			return ""
		}
		return m[1]
	}
	count := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
			alt, src := m[1], m[2]
			if src == "" {
				alt, src = attribute(m[0], "alt"), attribute(m[0], "src")
			}
			count++
			if len(alt) < 20 {
				t.Errorf("%s: %s has the alternative text %q", page, src, alt)
			}
			data, err := os.ReadFile(filepath.Join(filepath.Dir(page), src))
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := png.Decode(bytes.NewReader(data)); err != nil || len(data) > 300_000 {
				t.Errorf("%s: %d bytes, %v", src, len(data), err)
			}
		}
	}
	if count < 4 {
		t.Errorf("only %d pictures are shown", count)
	}
}
