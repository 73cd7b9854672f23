package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"assay/backends/phantom"
	"assay/harness/dataset/datasettest"
	films "assay/harness/dataset/phantom"
	"assay/perturb"
)

// shownCommands are the commands of assay that a Markdown file shows, in order
// and without "go run .": lines of code blocks, and code within the text, where a
// command's name alone is not a command.
func shownCommands(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	name := regexp.MustCompile(`^((dataset|people|fleet|store|config|phantom|import|export) )?[a-z]+$`)
	add := func(code string, names bool) {
		code, _, _ = strings.Cut(code, "#")
		code = strings.Join(strings.Fields(code), " ")
		for _, start := range []string{"go run . ", "assay "} {
			if rest, ok := strings.CutPrefix(code, start); ok && !slices.Contains(out, rest) && (names || !name.MatchString(rest)) {
				out = append(out, rest)
			}
		}
	}
	span := regexp.MustCompile("`([^`]+)`")
	for i, part := range strings.Split(string(text), "```") {
		if i%2 == 1 {
			for line := range strings.Lines(part) {
				add(strings.TrimSpace(line), true)
			}
			continue
		}
		for _, m := range span.FindAllStringSubmatch(part, -1) {
			add(m[1], false)
		}
	}
	return out
}

// pages are all that show commands.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(docs) < 5 {
		t.Fatalf("docs: %d pages, %v", len(docs), err)
	}
	return append([]string{filepath.Join("..", "..", "README.md")}, docs...)
}

// TestCommandsOfTheDocsWork runs every command of assay that README.md, a page of docs
// or, as an example, a --help shows, in order, each page in a folder of its own. What
// stands for the reader's own is there: servers, played by phantoms; data; a mine.yaml,
// unless the page makes one. Runs are short: fewer cases, one model, one item; the README's
// begins with nothing, the other pages have a run of the default experiment from the start.
// What another page ran in an equal folder, and what a script does, is run there alone.
func TestCommandsOfTheDocsWork(t *testing.T) {
	t.Parallel()
	shown := map[string][]string{"--help": helpExamples(t)}
	if underRace { // the scripts call the same code
		return
	}
	all := 0
	for _, page := range pages(t) {
		shown[filepath.Base(page)] = shownCommands(t, page)
		all += len(shown[filepath.Base(page)])
	}
	for _, lines := range userScripts(t) {
		told, _ := userSteps(lines)
		shown["first-hour.md"] = slices.DeleteFunc(shown["first-hour.md"], func(c string) bool { return slices.Contains(told, "assay "+c) })
	}
	folder := t.TempDir()
	put(t, filepath.Join(folder, "bench.yaml"), twoModels(t))
	assay(t, folder, 0, "run", "--limit", "1")
	store := filepath.Join(".assay", "phantom-tour.sqlite")
	begun, err := os.ReadFile(filepath.Join(folder, store))
	if err != nil {
		t.Fatal(err)
	}
	data := readersData(t)
	var ran sync.Map // what only reads, behind all that was changed before
	for page, commands := range shown {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if len(commands) == 0 {
				return
			}
			w := newWorkplace(t, data, commands)
			state := page // of the default experiment
			if page != "README.md" {
				w.short, state = true, ""
				for _, name := range []string{store, "before.sqlite", "after.sqlite", "run.sqlite"} {
					put(t, filepath.Join(w.dir, name), begun)
				}
			}
			for _, line := range commands {
				reads, changes := effect(line)
				if _, again := ran.LoadOrStore(state+line, true); !again || !reads {
					w.run(t, line)
				}
				if changes {
					state += line + "\n"
				}
			}
		})
	}
	if all < 25 {
		t.Errorf("only %d commands are shown", all)
	}
	if !slices.Contains(shown["README.md"], "run") {
		t.Error("README.md does not show go run . run")
	}
}

// effect says whether a command only reads the default experiment, and whether it changes it.
func effect(line string) (reads, changes bool) {
	word, rest, _ := strings.Cut(line, " ")
	if strings.Contains(rest, "-c ") || strings.Contains(rest, "--out ") { // another, or a file
		return false, false
	}
	if strings.HasPrefix(line, "store check") {
		return true, false
	}
	if strings.HasPrefix(line, "dataset contamination") {
		return true, false
	}
	reads = slices.Contains(strings.Fields("compare config cost doctor perturb plan report show version"), word)
	return reads, slices.Contains(strings.Fields("import init judge people run store"), word)
}

// TestDocsAreAllLinked: whoever begins at the README finds each page.
func TestDocsAreAllLinked(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t)[1:] {
		if link := "](docs/" + filepath.Base(page) + ")"; !strings.Contains(string(readme), link) {
			t.Errorf("README.md has no link %s", link)
		}
	}
}

// TestLinksOfTheDocs: what README.md, CHANGELOG.md and the pages link to is there, and so is the
// heading that a link names.
func TestLinksOfTheDocs(t *testing.T) {
	t.Parallel()
	root, link := filepath.Join("..", ".."), regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading, fence := regexp.MustCompile(`(?m)^#+ (.*)$`), regexp.MustCompile("(?s)```.*?```")
	links := 0
	for _, page := range append(pages(t), filepath.Join(root, "CHANGELOG.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			links++
			to := page
			if file != "" {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			is, err := os.ReadFile(to)
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			found := anchor == ""
			for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(is), ""), -1) {
				found = found || anchorOf(h[1]) == anchor
			}
			if !found {
				t.Errorf("%s: %s has no heading #%s", page, to, anchor)
			}
		}
	}
	if links < 150 {
		t.Errorf("only %d links", links)
	}
}

// anchorOf is how GitHub names a heading.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// TestGlossaryWordsAreUsed: one word for one thing, in code and in what people read.
func TestGlossaryWordsAreUsed(t *testing.T) {
	t.Parallel()
	words := map[string]*regexp.Regexp{ // docs/glossary.md, and what is not to stand in place of its word
		"LLM judge":         regexp.MustCompile(`(?i)\bmodel[- ]judges?\b|\bjudge[- ]models? (say|gave|wrote)`),
		"per-judge results": regexp.MustCompile(`(?i)\beach judge apart\b`),
		"no-op condition":   regexp.MustCompile(`(?i)\b(conditions?|trials?) with nothing to draw\b|\b(identity|idle|void) conditions?\b|\bnoop\b`),
		"retried":           regexp.MustCompile(`(?i)\bre-tr(y|ied|ies|ying)\b`),
		"chunk":             regexp.MustCompile(`(?i)\bin one piece: when\b|\bpieces? of (the|an|a) (answer|reply|stream|text)\b`),
		"dry run":           regexp.MustCompile(`(?i)\brehears`),
		"response buffer":   regexp.MustCompile(`(?i)\b(tape|reel)s?\b`),
		"worker slot":       regexp.MustCompile(`(?i)\bseats?\b`),
		"unattributed":      regexp.MustCompile(`(?i)\buntold\b`),
		"concurrency":       regexp.MustCompile(`(?i)\bcrowd`),
	}
	can := map[string]string{"LLM judge": "a model judge", "per-judge results": "Each judge apart", "no-op condition": "Conditions with nothing to draw", "retried": "was re-tried", "chunk": "a piece of an answer", "dry run": "rehearsal",
		"response buffer": "a tape", "worker slot": "two seats", "unattributed": "untold", "concurrency": "a crowd of requests"}
	// Without one of these no pattern matches: most files are spared the slow search for them all.
	parts := map[string][]string{"LLM judge": {"model judge", "model-judge", "judge model", "judge-model"}, "per-judge results": {"judge apart"}, "no-op condition": {"nothing to draw", " condition", "noop"}, "retried": {"re-tr"},
		"chunk": {"in one piece", "piece of", "pieces of"}, "dry run": {"rehears"}, "response buffer": {"tape", "reel"}, "worker slot": {"seat"}, "unattributed": {"untold"}, "concurrency": {"crowd"}}
	find := func(word string, b, lower []byte) []int {
		if !slices.ContainsFunc(parts[word], func(s string) bool { return bytes.Contains(lower, []byte(s)) }) {
			return nil
		}
		return words[word].FindIndex(b)
	}
	for word, wrong := range can {
		if find(word, []byte(wrong), bytes.ToLower([]byte(wrong))) == nil {
			t.Errorf("%q is not found", wrong)
		}
	}
	read := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && name != ".."):
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".md", ".html", ".yaml"}, filepath.Ext(name)) || strings.HasSuffix(name, "_test.go") || name == "CHANGELOG.md": // of former versions
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		lower := bytes.ToLower(b)
		for word := range words {
			if at := find(word, b, lower); at != nil {
				t.Errorf("%s:%d: %q: the word is %s", path, 1+bytes.Count(b[:at[0]], []byte("\n")), b[at[0]:at[1]], word)
			}
		}
		return nil
	})
	if err != nil || read < 500 {
		t.Fatalf("%d files, %v", read, err)
	}
}

// workplace is a folder with what a page's reader has.
type workplace struct {
	dir   string
	short bool              // what takes its time is done on another page
	stand *strings.Replacer // for the words that stand for the reader's own
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// twoModels is the default experiment with a few small cases, two of its models, behind two
// protocols, and few conditions.
func twoModels(t *testing.T) []byte {
	t.Helper()
	tour, err := os.ReadFile(filepath.Join("..", "..", "bench.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for edit, n := range map[[2]string]int{
		{`items: \d+, size: 512`, "items: 2, size: 256"}:                   1,
		{`items: \d+, images: \d+`, "items: 2, images: 2"}:                 1,
		{`models: \[honest, [a-z, ]+\]`, "models: [honest, silent]"}:       3,
		{`(?m)^  (as-vllm|disclosing|blind|hasty): .*\n`, ""}:              4,
		{`conditions: \[sham, .*\]`, "conditions: [sham, TB-LA-, VB-BB-]"}: 1,
		{`(?m)^    sweeps: .*\n(^      - .*\n)+`, ""}:                      1,
	} {
		what := regexp.MustCompile(edit[0])
		if found := len(what.FindAll(tour, -1)); found != n {
			t.Fatalf("bench.yaml has %d times %s, want %d", found, what, n)
		}
		tour = what.ReplaceAll(tour, []byte(edit[1]))
	}
	return tour
}

// readersData is a folder with the reader's own data sets, for all pages.
func readersData(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := datasettest.WriteM3CoTBench(in("M3CoTBench"), 12); err != nil {
		t.Fatal(err)
	}
	put(t, in("FILE"), datasettest.TAIXKnowledge(false))
	if err := datasettest.WriteTAIX(in("TAIX-VQA"), "test", 2, 64); err != nil {
		t.Fatal(err)
	}
	assay(t, dir, 0, "dataset", "example", "csv", "example")
	for _, name := range []string{"questions.csv", "images"} {
		if err := os.Rename(in(filepath.Join("example", name)), in(name)); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := datasettest.MedCases(6)
	if err == nil {
		err = datasettest.WriteMedThinkVQA(in("MedThinkVQA"), "test", cases, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newWorkplace(t *testing.T, data string, commands []string) *workplace {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.CopyFS(dir, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	put(t, in("bench.yaml"), twoModels(t))
	url := map[string]string{}
	for _, protocol := range []string{"ollama", "llamacpp", "vllm"} {
		p, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: protocol, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		url[protocol] = p.URL
	}
	w := &workplace{dir: dir, stand: strings.NewReplacer("http://127.0.0.1:11434", url["ollama"], "http://127.0.0.1:8080", url["llamacpp"], "http://127.0.0.1:8000", url["vllm"],
		"/data/M3CoTBench", in("M3CoTBench"), "/data/TAIX-VQA", in("TAIX-VQA"), "/data/MedThinkVQA", in("MedThinkVQA"), "PATH", "M3CoTBench", "STORE", ".assay/phantom-tour.sqlite", "ITEM", "case-00001", "IMAGE", "picture.png", "http://OLLAMA", url["ollama"])}
	for i, name := range []string{"anna.csv", "ben.csv"} {
		put(t, in(name), fmt.Appendf(nil, "case,axis,score\naaaaaaaaaaaa,CF,%d\nbbbbbbbbbbbb,CF,2\ncccccccccccc,CF,3\n", 1+i))
	}
	for _, name := range []string{"mine.yaml"} {
		if !slices.ContainsFunc(commands, func(c string) bool { return strings.Contains(c, "--out "+name) }) {
			put(t, in(name), fmt.Appendf(nil, "name: mine\nstore: mine.sqlite\ndatasets:\n  data: {kind: m3cotbench, path: M3CoTBench}\nbackends:\n  server: {kind: ollama, url: %q}\nmodels:\n  honest: {backend: server, model: honest}\njudges:\n  lexical: {kind: lexical}\nstudies:\n  cot: {dataset: data}\n", url["ollama"]))
		}
	}
	return w
}

// run runs one command as a reader would.
func (w *workplace) run(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if i := slices.Index(words, ">"); i > 0 { // into a file; that it prints is looked at below
		words = words[:i]
	}
	has := func(s string) bool { return slices.Contains(words, s) }
	flag := func(more ...string) { words = slices.Insert(words, 1, more...) }
	off := 0 // the exit code
	switch words[0] {
	case "init":
		if !has("--url") && !slices.ContainsFunc(words, func(s string) bool { return strings.Contains(s, "://") }) { // where this machine's own server would be
			flag("--url", "http://OLLAMA")
		}
		flag("--models", "honest") // the phantom server has readers that fail on purpose
	case "run":
		if has("mine.yaml") {
			flag("--models", "honest", "--limit", "1")
		}
	case "doctor":
		if has("--fleet") { // of machines that each had it print
			var said bytes.Buffer
			w.do(t, []string{"doctor", "-c", "mine.yaml", "--quick", "--json"}, &said)
			for _, name := range words[2:] {
				put(t, filepath.Join(w.dir, name), said.Bytes())
			}
		} else if w.short { // no seconds of measuring
			flag("--quick")
		}
	case "dataset":
		if has("--knowledge") { // which belongs to another data set
			words[len(words)-1] = "TAIX-VQA"
		}
	case "perturb":
		if has("IMAGE") {
			file, err := perturb.EncodePNG(films.NewScene(7, 0).Render(256))
			if err == nil {
				err = os.WriteFile(filepath.Join(w.dir, "picture.png"), file, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	case "import": // of a file that another tool wrote; the scripts have one
		words = words[:2]
	case "people":
		if has("agree") {
			words = append(words, "--draws", "200")
			if has("ratings.csv") { // in which nobody rated yet
				put(t, filepath.Join(w.dir, "ratings.csv"), []byte("case,axis,score\naaaaaaaaaaaa,CF,1\nbbbbbbbbbbbb,CF,2\n"))
			}
		}
		if !has("sample") { // of more than the one item that was run
			break
		}
		w.do(t, []string{"run", "--limit", "2"}, nil)
		for i := range words {
			if words[i] == "--items" {
				words[i+1] = "2"
			}
		}
		words = slices.Insert(words, 2, "--by", "none")
	case "phantom":
		if has("serve") {
			words = append(words, "--listen", "127.0.0.1:0")
		}
		if line == "phantom check" && w.short {
			return // README.md's does the same
		}
		if has("check") { // TestInstrumentIsRight has more
			words = append(words, "--items", "4")
		}
	case "fleet":
		if words[1] != "slurm" { // with a database: .ci/fleet
			return
		}
	case "config", "report", "cost", "judge", "completion", "show", "plan", "version", "view", "compare", "export", "store":
	default:
		t.Errorf("%s: no such command is known to this test", line)
	}
	var out bytes.Buffer
	w.end(t, off, words, &out)
	if out.Len() == 0 {
		t.Errorf("assay %s prints nothing", line)
	}
}

func (w *workplace) do(t *testing.T, words []string, out *bytes.Buffer) {
	t.Helper()
	w.end(t, 0, words, out)
}

// end runs a command that ends with an exit code.
func (w *workplace) end(t *testing.T, code int, words []string, out *bytes.Buffer) {
	t.Helper()
	if out == nil {
		out = &bytes.Buffer{}
	}
	for i := range words {
		words[i] = w.stand.Replace(strings.Trim(words[i], `'"`))
	}
	cmd := exec.CommandContext(t.Context(), "assay", words...)
	cmd.Dir = w.dir
	var errs bytes.Buffer
	// What serves pages or phantoms is up: its reader ends it with Ctrl-C.
	cmd.Stdout = both{out, &stopper{at: " at http", stop: func() { cmd.Process.Signal(os.Interrupt) }}}
	cmd.Stderr = &errs
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != code {
		t.Errorf("assay %s: %v, want exit code %d\n%s", strings.Join(words, " "), err, code, errs.String())
	}
}

// both writes to two writers.
type both struct{ a, b io.Writer }

func (w both) Write(p []byte) (int, error) {
	if n, err := w.a.Write(p); err != nil {
		return n, err
	}
	return w.b.Write(p)
}
