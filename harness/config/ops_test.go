package config

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// A program that changed is another setting: its words, a file of the folder that one of them names,
// what its parameters are where nothing is said; so are other texts. Where such a file lies elsewhere is not looked at.
func TestAChangedProgramWouldMixResults(t *testing.T) {
	text, err := os.ReadFile("testdata/good/ops.yaml")
	if err != nil {
		t.Fatal(err)
	}
	settings := func(from, to, file, content string) map[string]string {
		files := testFiles()
		if file != "" {
			files[file] = &fstest.MapFile{Data: []byte(content), Mode: 0o755}
		}
		cfg, errs := Parse("bench.yaml", []byte(strings.Replace(string(text), from, to, 1)), testKnown(), files)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return cfg.Settings()
	}
	was := settings("", "", "", "")
	for _, c := range []struct{ from, to, file, content, want string }{
		{"", "", "", "", ""},
		{"", "", "change.sh", "#!/bin/sh\nexit 1\n", "ops.mine.program ops.plain.program texts.shorter.program"},
		{"", "", "rows.jsonl", "{}", "ops.mine.program texts.german.content"},
		{"--fast", "/elsewhere.txt", "elsewhere.txt", "x", "ops.mine.program"}, // the word alone, as below
		{"--fast", "--slow", "", "", "ops.mine.program"},
		{"default: 0.5", "default: 0.7", "", "", "ops.mine.params"},
		{"90s", "80s", "", "", ""},
		{"min: 0,", "min: 0.1,", "", "", ""},
	} {
		var got []string
		for _, ch := range Diff(was, settings(c.from, c.to, c.file, c.content)) {
			got = append(got, ch.Path)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	one, two := settings("--fast", "/elsewhere.txt", "elsewhere.txt", "x"), settings("--fast", "/elsewhere.txt", "elsewhere.txt", "y")
	if changes := Diff(one, two); len(changes) > 0 {
		t.Errorf("a file of another folder: %v", changes)
	}
}
