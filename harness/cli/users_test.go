package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestUsersTasks: each task of docs/first-hour.md is a script that TestScripts runs from an
// empty folder to the result, with the page's own commands and as many commands and edits
// as its heading says. go test -v prints them.
func TestUsersTasks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-hour.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := userScripts(t)
	for name := range told {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, patch, _ := strings.Cut(string(text), "-- page.txt --\n")
		for line := range strings.Lines(patch) {
			if line[0] == '+' && !strings.Contains(string(page), "\n"+line[1:]) {
				t.Errorf("%s: the page does not show the edit %q", name, line[1:])
			}
		}
	}
	heading := regexp.MustCompile(`(?m)^## (.+): ([0-9]+) commands?, ([0-9]+) edits?$`)
	block := regexp.MustCompile("(?s)```sh\n(.*?)```")
	found := heading.FindAllStringSubmatchIndex(string(page), -1)
	if len(found) != len(told) || len(found) < 4 {
		t.Fatalf("%d tasks on the page, %d scripts", len(found), len(told))
	}
	for i, at := range found {
		end := len(page)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		title, body := string(page[at[2]:at[3]]), string(page[at[1]:end])
		says, err := strconv.Atoi(string(page[at[4]:at[5]]))
		if err != nil {
			t.Fatal(err)
		}
		saysEdits, err := strconv.Atoi(string(page[at[6]:at[7]]))
		if err != nil {
			t.Fatal(err)
		}
		m := block.FindStringSubmatch(body)
		if m == nil {
			t.Errorf("%s shows no commands", title)
			continue
		}
		var shown []string
		for line := range strings.Lines(m[1]) {
			line, _, _ = strings.Cut(line, "  #")
			if line = strings.TrimSpace(line); line != "" {
				shown = append(shown, line)
			}
		}
		is := ""
		for name, lines := range told {
			commands, edits := userSteps(lines)
			if !slices.Equal(commands, shown) {
				continue
			}
			is = name
			t.Logf("%s: %d commands, %d edits (%s)", title, len(commands), edits, filepath.Base(name))
			if len(commands) > 3 || edits > 0 {
				t.Errorf("%s: from what a user has to the result it is 3 commands and no edit, found %d and %d", title, len(commands), edits)
			}
			if len(commands) != says || edits != saysEdits {
				t.Errorf("%s: the heading says %d commands and %d edits", title, says, saysEdits)
			}
		}
		if is == "" {
			t.Errorf("no script does what %q shows:\n%s", title, strings.Join(shown, "\n"))
		}
	}
}

// userScripts are the scripts that stand for tasks of docs/first-hour.md, each with the
// lines in which its user does something.
func userScripts(t *testing.T) map[string][]string {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "user-*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, text2, begun := strings.Cut(string(text), "in these words")
		steps, _, ended := strings.Cut(text2, "# The result")
		if !begun || !ended {
			t.Fatalf("%s: what its user does stands between %q and %q", name, "in these words", "# The result")
		}
		told[name] = strings.Split(steps, "\n")
	}
	return told
}

// userSteps are the commands of a part of a script as a page shows them, and how many
// files are changed by hand. Beside these a script may look at what came out, and put
// there what the user has.
func userSteps(lines []string) (commands []string, edits int) {
	own := strings.NewReplacer("$PHANTOM", "http://127.0.0.1:11434", " --models honest,silent-sycophant", " --models gemma3:4b-it-q4_K_M,gemma3:4b-it-q8_0", " --models honest,blind", "", " --models honest", "", "--data TAIX-VQA", "--data /data/TAIX-VQA")
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "exec assay "):
			commands = append(commands, own.Replace(strings.TrimPrefix(line, "exec ")))
		case strings.HasPrefix(line, "cp "), strings.HasPrefix(line, "edit "), strings.HasPrefix(line, "exec "):
			edits++
		}
	}
	return commands, edits
}
