package experiment_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/experiment"
	"assay/harness/score"
	"assay/harness/study"
)

var updateScores = flag.Bool("update-scores", false, "write the tables of docs/scores.md again")

// TestScoresAreDocumented: docs/scores.md has every score of every study, with its
// unit and its direction, as the rules declare them.
func TestScoresAreDocumented(t *testing.T) {
	var want strings.Builder
	list := func(title string, names []score.Name) {
		fmt.Fprintf(&want, "\n## %s\n\n| score | judged under | unit | better | what it is |\n|---|---|---|---|---|\n", title)
		for _, n := range names {
			rubric := n.Rubric
			if rubric != "" {
				rubric = "`" + rubric + "`"
			}
			fmt.Fprintf(&want, "| `%s` | %s | %s | %s | %s |\n", n.Name, rubric, n.Unit, n.Better, strings.ReplaceAll(n.Help, "|", `\|`))
			if n.Name == "" || n.Better == "" || n.Help == "" || n.Source == "" {
				t.Errorf("%s: a score lacks its name, direction, help or source: %+v", title, n)
			}
		}
	}
	list("Every study", score.Common())
	for _, d := range experiment.All() {
		s, err := experiment.NewStudy(d.Name, nil, study.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		list("Study "+d.Name, s.Scores.Names)
	}
	page := filepath.Join("..", "..", "docs", "scores.md")
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "\n## Every study\n"
	head, tables, ok := strings.Cut(string(b), mark)
	if !ok {
		t.Fatalf("%s has no heading %q", page, strings.TrimSpace(mark))
	}
	if *updateScores {
		if err := os.WriteFile(page, []byte(head+want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if mark+tables != want.String() {
		t.Errorf("%s is not what the studies declare; write it again with: go test ./harness/experiment -run TestScoresAreDocumented -update-scores", page)
	}
}
