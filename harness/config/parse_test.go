package config

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"testing/fstest"

	"assay/backends"
	"assay/harness/judge"
	"assay/perturb"
)

var update = flag.Bool("update", false, "write what Parse says now into testdata; read the difference before it is kept")

// memory is a file system for tests. A study runs without disk.
type memory fstest.MapFS

func (m memory) Stat(path string) (fs.FileInfo, error) { return fs.Stat(fstest.MapFS(m), clean(path)) }
func (m memory) ReadFile(path string) ([]byte, error) {
	if strings.HasPrefix(path, "locked") {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return fs.ReadFile(fstest.MapFS(m), clean(path))
}
func clean(path string) string {
	return strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/")
}
func testFiles() memory {
	return memory{
		"m3/type.xlsx":        {Data: []byte("x")},
		"rows.jsonl":          {Data: []byte("{}\n")},
		"pipe.jsonl":          {Mode: fs.ModeNamedPipe},
		"change.sh":           {Data: []byte("#!/bin/sh\ncat\n"), Mode: 0o755},
		"taix/data/x.parquet": {Data: []byte("PAR1")},
		"knowledge.json":      {Data: []byte("{}\n")},
		"regions.yaml":        {Data: []byte("boxes: {}\n")},
		"locked.csv":          {Data: []byte("id\n")},
		"locked.tmpl":         {Data: []byte("x\n")},
		"key.txt":             {Data: []byte("k\n")},
		"prompts/cot.tmpl":    {Data: []byte("Think: {{.Question}}\n")},
		"prompts/empty.tmpl":  {Data: []byte(" \n")},
		"prompts/latin1.tmpl": {Data: []byte("caf\xe9")},
	}
}

func testKnown() Known {
	arms := []string{"direct", "cot"}
	rubrics := []string{"accuracy", "precision", "recall", "order"}
	omits := []string{"temperature", "seed", "stream_options", "response_format", "chat_template_kwargs"}
	var judges []JudgeKind
	for _, k := range judge.Kinds() {
		known := JudgeKind{Name: k.Name, Asks: k.Make == nil}
		for _, key := range k.Keys {
			known.Keys = append(known.Keys, JudgeKey(key))
		}
		judges = append(judges, known)
	}
	return Known{
		Judges: judges,
		Studies: []StudyKind{
			{Name: "cot", Arms: arms, Rubrics: rubrics, Prompts: []string{"direct", "cot"}, Unread: "unread"},
			{Name: "other", Arms: arms, Rubrics: rubrics[:1], Loads: true, Unread: "unread"},
			{Name: "qa", Arms: arms[:1], Rubrics: rubrics[:1], Loads: true, FewShot: true},
			{Name: "steps", Arms: arms[:1], Rubrics: []string{"split", "errors", "order"}, Needs: map[string][]string{"errors": {"split"}}},
			{Name: "third", Arms: arms[:1], Rubrics: rubrics[:1], Knowing: rubrics[:1]},
			{Name: "faithfulness", Arms: []string{"structured"}, Rubrics: []string{"CF", "CA", "CT"}, Knowing: []string{"CF"}, Prompts: []string{"structured"}, Conditions: testConditions()},
		},
		Kinds:     []ServerKind{{Name: "ollama"}, {"llamacpp", omits}, {"vllm", omits}, {"openai", omits}, {Name: backends.KindPhantom}, {Name: backends.KindImported}},
		Phantoms:  []string{"honest", "silent-sycophant", "disclosing-sycophant", "blind"},
		Protocols: []string{"ollama", "llamacpp", "vllm"},
	}
}

func testConditions() []perturb.Condition {
	box, heat := []perturb.Op{{Name: "box"}}, []perturb.Op{{Name: "heatmap"}}
	return []perturb.Condition{{Name: "sham"}, {Name: "TB-LA+"}, {Name: "TB-LA-"}, {Name: "VB-BB+", Ops: box}, {Name: "VB-BB-", Ops: box}, {Name: "VB-HM-", Ops: heat}, {Name: "VO-BB"},
		{Name: "VC-BB", Kind: perturb.KindControl, Ops: box}}
}

// cases are the YAML files of a folder. An empty folder is a mistake.
func cases(t testing.TB, folder string, least int) []string {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) < least {
		t.Fatalf("%d cases in testdata/%s, want at least %d (%v)", len(files), folder, least, err)
	}
	return files
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestParseRefusesInWords(t *testing.T) {
	for _, file := range cases(t, "bad", 25) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, errs := Parse("bench.yaml", text, testKnown(), testFiles())
			if cfg != nil || len(errs) == 0 {
				t.Fatal("accepted")
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".want", errs.Error()+"\n")
		})
	}
}

func TestParseResolves(t *testing.T) {
	for _, file := range cases(t, "good", 2) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, errs := Parse("bench.yaml", text, testKnown(), testFiles())
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if string(cfg.Text) != string(text) {
				t.Error("Text is not what was read")
			}
			cfg.Text = nil
			resolved, err := json.MarshalIndent(map[string]any{"config": cfg, "settings": cfg.Settings()}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".json", string(resolved)+"\n")
		})
	}
}
