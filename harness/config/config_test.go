package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/backends"
	"assay/harness/dataset"
	"assay/perturb"
)

func good(t testing.TB) string {
	text, err := os.ReadFile("testdata/good/tour.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parsed(t testing.TB, text string) *Config {
	t.Helper()
	cfg, errs := Parse("bench.yaml", []byte(text), testKnown(), testFiles())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return cfg
}

// A mistake is reported where it stands, whatever stands around it, and nothing else is.
func TestErrorsStandWhereTheMistakeIs(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(good(t), "\n"), "\n")
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(1, len(lines)-1).Draw(t, "line")
		indent := len(lines[at]) - len(strings.TrimLeft(lines[at], " "))
		wrong := strings.Repeat(" ", indent) + "zzz9: 1"
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		var text strings.Builder
		line, want := 0, 0
		write := func(s string) {
			text.WriteString(s + end)
			line++
		}
		for i, l := range lines {
			for range rapid.IntRange(0, 2).Draw(t, "noise") {
				write(rapid.SampledFrom([]string{"", "# a note", "    # ünïcödé: {", "  "}).Draw(t, "what"))
			}
			if i == at {
				write(wrong)
				want = line
			}
			write(l)
		}
		_, errs := Parse("bench.yaml", []byte(text.String()), testKnown(), testFiles())
		if len(errs) == 0 {
			t.Fatalf("accepted %q before line %d", wrong, at+1)
		}
		for _, e := range errs {
			if e.Line != want || e.Column != indent+1 && e.Column != indent+len("zzz9: 1") {
				t.Errorf("%v, want it on line %d\n%s", e, want, text.String())
			}
		}
	})
}

func TestEveryFeatureOfLaterIsRefused(t *testing.T) {
	for _, f := range coming() {
		text := good(t)
		path, value, isValue := strings.Cut(f[0], "=")
		keys := strings.Split(strings.Replace(path, "studies.*", "studies.cot", 1), ".")
		switch section := keys[0]; {
		case len(keys) == 1 && isValue:
			text = strings.Replace(text, keys[0]+": paper", keys[0]+": "+value, 1)
		case len(keys) == 1:
			text += keys[0] + ": {a: 1}\n"
		case len(keys) == 2:
			text = strings.Replace(text, "\n"+section+":\n", "\n"+section+":\n  "+keys[1]+": {a: 1}\n", 1)
		case isValue:
			text = strings.Replace(text, "\n"+section+":\n", "\n"+section+":\n  thing: {"+keys[2]+": "+value+"}\n", 1)
		case keys[1] == "cot":
			text = strings.Replace(text, "  cot:\n", "  cot:\n    "+keys[2]+": 1\n", 1)
		case section == "datasets":
			text = strings.Replace(text, "items: 48", "items: 48, "+keys[2]+": 1", 1)
		default:
			text = strings.Replace(text, "    kind: ollama\n", "    kind: ollama\n    "+keys[2]+": 1\n", 1)
		}
		_, errs := Parse("bench.yaml", []byte(text), testKnown(), testFiles())
		// A thing of a kind to come is not used in this text.
		errs = slices.DeleteFunc(errs, func(e readError) bool { return strings.HasSuffix(e.Path, ".thing") })
		if len(errs) != 1 || !strings.Contains(errs[0].Msg, "this version does not have "+f[1]) {
			t.Errorf("%s: %v", f[0], errs)
		}
	}
}

func TestDiffFindsWhatWouldMixResults(t *testing.T) {
	before := parsed(t, good(t)).Settings()
	for _, c := range []struct{ name, old, new, want string }{
		{"the same", "seed", "seed", ""},
		{"a new model", "  near: {backend: near, model: small}\n", "  near: {backend: near, model: small}\n  more: {backend: as-ollama, model: blind}\n", ""},
		{"a model gone", "  near: {backend: near, model: small}\n", "  other: {backend: near, model: small}\n", "-"}, // the study still lists it
		{"timeouts", "total: 4h", "total: 5h", ""},
		{"retries", "retries: 1", "retries: 7", ""},
		{"repeats", "repeats: 2", "repeats: 3", ""},
		{"another address", "http://127.0.0.1:11434/", "http://10.0.0.7:11434", ""},
		{"the default written out", "as-ollama}", "as-ollama, model: honest}", ""},
		{"temperature", "temperature: 0.7", "temperature: 0.8", "studies.cot.sampling.temperature: the store has 0.7, bench.yaml has 0.8"},
		{"seed of the sampling", "seed: 5", "seed: none", "studies.cot.sampling.seed: the store has 5, bench.yaml has none"},
		{"seed", "seed: 18446744073709551615", "seed: 1", "seed: the store has 18446744073709551615, bench.yaml has 1"},
		{"think given", "honest: {backend: as-ollama}", "honest: {backend: as-ollama, think: false}", "models.honest.think: the store has the model's own, bench.yaml has false"},
		{"another tag", "model: big", "model: bigger", "models.far.model: the store has big, bench.yaml has bigger"},
		{"another protocol", "protocol: ollama", "protocol: vllm", "models.honest.backend.kind: the store has phantom ollama, bench.yaml has phantom vllm"},
		{"a phantom that remembers", "protocol: ollama}", "protocol: ollama, caches: true}", "models.honest.backend.kind: the store has phantom ollama, bench.yaml has phantom ollama with caches"},
		{"items", "items: 48", "items: 49", "datasets.chest.items: the store has 48, bench.yaml has 49"},
		{"the default of cache written out", "timed: true", "timed: true\n    cache: cold", ""},
		{"warm caches", "timed: true", "timed: true\n    cache: warm", "studies.cot.cache: the store has cold, bench.yaml has warm"},
		{"how often an invalid time is taken again", "timed: true", "timed: true\n    repeats_of_invalid: 0", ""},
		{"no longer timed", "timed: true", "timed: false", "studies.cot.timed: the store has true, bench.yaml has false"},
		{"selection gone", "    select: {per_type: 6}\n", "", "studies.cot.select.per_type: the store has 6, bench.yaml has all"},
		{"a judge's tag", "model: judge", "model: judge2", "judges.local.model: the store has judge, bench.yaml has judge2"},
		{"a judge's sampling", "max_tokens: 700", "max_tokens: 701", "judges.local.sampling.max_tokens: the store has 700, bench.yaml has 701"},
		{"the order of options", "num_ctx: 8192, keep_alive: 30m", "keep_alive: 30m, num_ctx: 8192", ""},
	} {
		text := strings.Replace(good(t), c.old, c.new, 1)
		if text == good(t) && c.old != c.new {
			t.Fatalf("%s: nothing to replace", c.name)
		}
		cfg, errs := Parse("bench.yaml", []byte(text), testKnown(), testFiles())
		if c.want == "-" {
			if len(errs) == 0 {
				t.Errorf("%s: accepted", c.name)
			}
			continue
		}
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.name, errs)
			continue
		}
		var got []string
		for _, ch := range Diff(before, cfg.Settings()) {
			got = append(got, ch.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	options := strings.Replace(good(t), "num_ctx: 8192", "num_ctx: 4096", 1)
	var paths []string
	for _, ch := range Diff(before, parsed(t, options).Settings()) {
		paths = append(paths, ch.Path)
	}
	if want := "judges.local.backend.options models.gemma3:4b.backend.options"; strings.Join(paths, " ") != want {
		t.Errorf("options: got %q, want %q", paths, want)
	}
}

func TestPathsStartFromTheFolderOfTheFile(t *testing.T) {
	files := memory{}
	for name, f := range testFiles() {
		files["a/b/"+name] = f
	}
	cfg, errs := Parse("/a/b/bench.yaml", []byte(good(t)), testKnown(), files)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := []string{cfg.Store, cfg.Datasets[1].Path, cfg.Backends[3].KeyFile, cfg.Settings()["datasets.m3.path"]}
	want := []string{"/a/b/out/tour.sqlite", "/a/b/m3", "/a/b/key.txt", "m3"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bench.yaml")
	if _, err := Read(file, testKnown()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(file, []byte("name: n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs Errors
	if _, err := Read(file, testKnown()); !errors.As(err, &errs) || len(errs) != 4 || errs[0].File != file {
		t.Errorf("a bad file: %v", err)
	}
	text, err := os.ReadFile("testdata/good/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Read(file, testKnown())
	if err != nil || cfg.Store != filepath.Join(dir, ".assay", "least.sqlite") {
		t.Errorf("a good file: %+v, %v", cfg, err)
	}
}

func TestParseRefusesWhatIsTooLong(t *testing.T) {
	_, errs := Parse("bench.yaml", make([]byte, maxText+1), testKnown(), testFiles())
	if len(errs) != 1 || !strings.Contains(errs[0].Msg, "found 65537") {
		t.Errorf("got %v", errs)
	}
}

func TestNoErrorShowsASecret(t *testing.T) {
	for _, name := range []string{"secrets", "aliases"} {
		text, err := os.ReadFile("testdata/bad/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		secrets := strings.Count(string(text), "SECRET")
		_, errs := Parse("bench.yaml", text, testKnown(), testFiles())
		if secrets < 4 || len(errs) < secrets || strings.Contains(errs.Error(), "SECRET") {
			t.Errorf("%d secrets in the file, errors:\n%v", secrets, errs)
		}
	}
}

// The experiment that everybody runs first, and the one in its comments.
func TestDefaultExperiment(t *testing.T) {
	text, err := os.ReadFile("../../bench.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := testKnown()
	known.Phantoms = append(known.Phantoms, "overconfident")
	at := slices.IndexFunc(known.Studies, func(d StudyKind) bool { return d.Name == "faithfulness" })
	known.Studies[at].Conditions = append(known.Studies[at].Conditions, perturb.Condition{Name: "TB-RAD-"}, perturb.Condition{Name: "VH-BB"})
	known.Studies = append(known.Studies, StudyKind{Name: "diagnosis", Arms: []string{"direct", "cot"}, Rubrics: []string{"accuracy", "steps", "step_errors", "sentences", "criteria"},
		Needs: map[string][]string{"step_errors": {"steps"}}, Conditions: []perturb.Condition{{Name: "expert-hint"}, {Name: "self-hint"}, {Name: "LOO"}}})
	cfg, errs := Parse("bench.yaml", text, known, testFiles())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if cfg.Name != "phantom-tour" || len(cfg.Models) != 5 || len(cfg.Studies) != 3 || cfg.Datasets[0].Items != 48 || !cfg.Studies[0].Timed || len(cfg.Studies[0].Rubrics) != 4 {
		t.Errorf("got %+v", cfg)
	}
	_, commented, found := strings.Cut(string(text), "\n# name: mine\n")
	if !found {
		t.Fatal("no second experiment in the comments")
	}
	var mine strings.Builder
	mine.WriteString("name: mine\n")
	for line := range strings.Lines(commented) {
		mine.WriteString(strings.TrimPrefix(line, "# "))
	}
	files := testFiles()
	files["M3CoTBench/M3CoTBench.xlsx"] = files["rows.jsonl"]
	cfg, errs = Parse("mine.yaml", []byte(mine.String()), testKnown(), files)
	if len(errs) > 0 || cfg.Studies[0].PerType != 50 || cfg.Judges[1].InFlight != 4 {
		t.Errorf("the experiment in the comments: %+v\n%v", cfg, errs)
	}
}

// A server on this machine gets no key from the environment; one that is only
// reached through it may.
func TestWhatALocalAddressIs(t *testing.T) {
	for _, c := range []struct {
		backend string
		local   bool
	}{
		{`url: "http://127.0.0.1:8000"`, true},
		{`url: "http://LOCALHOST:8000"`, true},
		{`url: "http://0.0.0.0:8000"`, true},
		{`url: "http://[::]:8000"`, true},
		{`url: "http://10.0.0.7:8000"`, false},
		{`url: "http://10.0.0.7:8000", place: local`, true},
		{`url: "http://127.0.0.1:8000", place: remote`, false},
	} {
		text := func(more string) string {
			return strings.Replace(good(t), "  near: {kind: vllm, url: \"http://LOCALHOST:8000\", place: local, api_key_file: key.txt, command: [vllm, serve, small, --port, \"8000\"], start_timeout: 20m, restarts: 1, shares_gpu: false}",
				"  near: {kind: vllm, "+c.backend+", "+more+"}", 1)
		}
		if text("x") == good(t) {
			t.Fatal("nothing to replace")
		}
		_, errs := Parse("bench.yaml", []byte(text("api_key_env: KEY")), testKnown(), testFiles())
		if (len(errs) == 1) != c.local || len(errs) > 1 {
			t.Errorf("%s: a key from the environment: %v", c.backend, errs)
		}
		_, errs = Parse("bench.yaml", []byte(text("command: [vllm]")), testKnown(), testFiles())
		if (len(errs) == 0) != c.local {
			t.Errorf("%s: a command: %v", c.backend, errs)
		}
	}
}

// What a loader refuses of a number, bench.yaml refuses where it stands.
func TestLimitsOfDataSetsAreThoseOfTheirLoaders(t *testing.T) {
	seen := 0
	for _, kind := range append(dataset.Kinds(), dataset.KindPhantom) {
		for _, k := range dataset.Keys(kind) {
			if k.Whole == nil {
				continue
			}
			for _, v := range []int{k.Least - 1, k.Most + 1} {
				seen++
				from := dataset.Source{Name: "d", Kind: kind, Items: 1, Size: 256, Path: "none"}
				*k.Whole(&from) = v
				want := fmt.Sprintf("expected a whole number from %d to %d, found %d", k.Least, k.Most, v)
				if _, err := dataset.Open(from); err == nil || !strings.Contains(err.Error(), k.Name+": "+want) {
					t.Errorf("%s: the loader says %v, want %s", kind, err, want)
				}
				_, errs := Parse("bench.yaml", fmt.Appendf(nil, "datasets:\n  d: {kind: %s, %s: %d}\n", kind, k.Name, v), testKnown(), testFiles())
				column := len("  d: {kind: , : ") + len(kind) + len(k.Name) + 1
				if !slices.ContainsFunc(errs, func(e readError) bool {
					return e.Line == 2 && e.Column == column && e.Path == "datasets.d."+k.Name && e.Msg == want
				}) {
					t.Errorf("%s: bench.yaml:2:%d: want %s, got\n%v", kind, column, want, errs)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d limits were tried", seen)
	}
}

// TestGroupsOfModels: one name or several, and parameters in numbers.
func TestGroupsOfModels(t *testing.T) {
	const line = "  honest: {backend: as-ollama}"
	text := good(t)
	if !strings.Contains(text, line) {
		t.Fatalf("the example has no line %q", line)
	}
	with := func(more string) string {
		return strings.Replace(text, line, strings.TrimSuffix(line, "}")+", "+more+"}", 1)
	}
	for more, want := range map[string]struct {
		groups     []string
		parameters float64
	}{"group: open": {groups: []string{"open"}}, "group: [open, medical], parameters: 4.3e9": {[]string{"open", "medical"}, 4.3e9}, "parameters: 27000000000": {parameters: 27e9}} {
		models := parsed(t, with(more)).Models
		m := models[slices.IndexFunc(models, func(m backends.Model) bool { return m.Name == "honest" })]
		if !slices.Equal(m.Groups, want.groups) || (m.Parameters != nil) != (want.parameters > 0) || m.Parameters != nil && *m.Parameters != want.parameters {
			t.Errorf("%s: %v, %v", more, m.Groups, m.Parameters)
		}
		if asked := parsed(t, with(more)).Asked(m); !slices.Equal(asked.Groups, want.groups) || asked.Parameters != m.Parameters && *asked.Parameters != *m.Parameters {
			t.Errorf("%s is kept as %+v", more, asked)
		}
	}
	for more, want := range map[string]string{
		"group: 3": "models.honest.group", "group: {a: b}": "expected a name or a list of names", "group: [a, a]": "expected each name once",
		"group: []": "expected at least one name", "parameters: big": "models.honest.parameters", "parameters: 4.3": "models.honest.parameters", "parameters: -1": "models.honest.parameters",
	} {
		if _, errs := Parse("bench.yaml", []byte(with(more)), testKnown(), testFiles()); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v, want %s", more, errs, want)
		}
	}
}

// TestAJudgeOfUnreadAnswersIsAskedByEveryStudy: and under no other rubric, also where it is the only one of its kind.
func TestAJudgeOfUnreadAnswersIsAskedByEveryStudy(t *testing.T) {
	cfg, errs := Parse("bench.yaml", []byte(`
name: n
datasets: {chest: {kind: phantom, items: 4}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {honest: {backend: p}}
judges:
  lexical: {kind: lexical}
  reader: {backend: p, model: honest, reads: unread}
studies:
  cot: {dataset: chest}
  other: {dataset: chest, rubrics: {accuracy: [lexical]}}
`), testKnown(), testFiles())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, s := range cfg.Studies {
		last := s.Rubrics[len(s.Rubrics)-1]
		if last.Name != "unread" || !slices.Equal(last.Judges, []string{"reader"}) {
			t.Errorf("study %s asks %+v", s.Name, s.Rubrics)
		}
		for _, r := range s.Rubrics[:len(s.Rubrics)-1] {
			if !slices.Equal(r.Judges, []string{"lexical"}) {
				t.Errorf("study %s, rubric %s asks %v", s.Name, r.Name, r.Judges)
			}
		}
	}
}
