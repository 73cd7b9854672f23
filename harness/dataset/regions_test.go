package dataset

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/table"
)

func taixTable(t *testing.T) *regions {
	t.Helper()
	r, err := ReadRegions("taix")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The boxes of metrics.md section 2.2.
func TestTAIXBoxes(t *testing.T) {
	want := map[string][4]int{
		"HeartSize": {30, 35, 70, 65}, "PulmonaryCongestion": {20, 25, 80, 55},
		"PleuralEffusion left": {65, 70, 95, 95}, "PleuralEffusion right": {5, 70, 35, 95},
		"PulmonaryOpacities left": {60, 20, 95, 80}, "PulmonaryOpacities right": {5, 20, 40, 80},
		"Atelectasis left": {60, 30, 90, 70}, "Atelectasis right": {10, 30, 40, 70},
		"CentralVenousCatheter": {40, 5, 60, 30}, "GastricTube": {40, 65, 60, 95},
		"Pneumothorax left": {65, 10, 95, 40}, "Pneumothorax right": {5, 10, 35, 40}, "EndotrachealTube": {40, 10, 60, 30},
		"CostodiaphragmaticAngle left": {65, 85, 95, 95}, "CostodiaphragmaticAngle right": {5, 85, 35, 95}, "CardiacPacemaker": {40, 5, 60, 30},
		"LungNodule left": {60, 20, 95, 80}, "LungNodule right": {5, 20, 40, 80}, "ChestTube left": {55, 40, 85, 70}, "ChestTube right": {15, 40, 45, 70},
	}
	got := map[string][4]int{}
	for finding, sides := range taixTable(t).boxes {
		for side, list := range sides {
			if len(list) != 1 || list[0].Of != 0 {
				t.Errorf("%s %s: %v", finding, side, list)
				continue
			}
			got[strings.TrimSpace(finding+" "+side)] = [4]int{list[0].X0, list[0].Y0, list[0].X1, list[0].Y1}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestWhatQuestionsAskAbout(t *testing.T) {
	r := taixTable(t)
	for question, want := range map[string]string{
		"Is there a pleural effusion on the right? (yes or no)":            "PleuralEffusion right",
		"Which lung has more effusion? (right, left, same severity, none)": "PleuralEffusion",
		"ATELECTASIS, left side: how much? (none, mild)":                   "Atelectasis left",
		"Are opacities there?":                           "PulmonaryOpacities",
		"Is it a brightly coloured heart?":               "HeartSize",
		"Does it lie right of the chest tube?":           "ChestTube",
		"Has the heartbeat effusions? (heart, effusion)": "",
		"Is the film malrotated? (yes or no)":            "",
		"":                                               "",
	} {
		finding, side := r.About(question)
		if got := strings.TrimSpace(finding + " " + side); got != want {
			t.Errorf("%q asks about %q, want %q", question, got, want)
		}
	}
}

func TestScalesAndAliases(t *testing.T) {
	r := taixTable(t)
	if got := r.Scale([]string{"Borderline", "normal"}); !slices.Equal(got, []string{"normal", "Borderline"}) {
		t.Errorf("scale %v", got)
	}
	if r.Scale([]string{"normal", "odd"}) != nil || r.Scale([]string{"mild"}) != nil {
		t.Error("a scale of what is none")
	}
	if a := r.Aliases([]string{"correctly positioned", "none", "not present"}); a["absent"] != "not present" || a["correct"] != "correctly positioned" || len(a) != 2 {
		t.Errorf("aliases %v", a)
	}
	// What is an answer is no alias.
	if a := r.Aliases([]string{"correct", "correctly positioned"}); a != nil {
		t.Errorf("aliases %v", a)
	}
}

func TestRegionFilesAreRefusedInWords(t *testing.T) {
	const box = "boxes: {A: [0, 0, 10, 10], B: {right: [1, 1, 2, 2]}}\n"
	for _, c := range []struct{ text, want string }{
		{"", "boxes: expected at least one finding"},
		{"boxes: {A: [0, 0, 10]}", "boxes.A[0]: expected four whole numbers"},
		{"boxes: {A: [[0, 0, 10, 10], [9, 0, 3, 4]]}", "boxes.A[1]: expected four whole numbers"},
		{"boxes: {A: [0, 0, 10, 101]}", "boxes.A[0]"}, {"boxes: {A: [0, 0, 1.5, 2]}", "boxes.A[0]"},
		{"boxes: {A: left}", "boxes.A: expected a box"}, {"boxes: {A: []}", "boxes.A: expected a box"}, {"boxes: {A: {}}", "boxes.A: expected right or left"},
		{"boxes: {A: {lower: [0, 0, 1, 1]}}", `boxes.A.lower: expected the side right or left`},
		{box + "questions: [{words: '', finding: A}]", "questions[0].words"},
		{box + "questions: [{words: x, finding: C}]", `questions[0].finding: expected one of the findings under boxes, found "C"`},
		{box + "questions: [{words: x, finding: A, side: left}]", "questions[0].side"},
		{box + "questions: [{words: x, finding: B, side: left}]", "questions[0].side"},
		{box + "questions: [{word: x, finding: B}]", "f:2: expected YAML with the keys"},
		{box + "aliases: {same: []}", "aliases.same"}, {box + "scales: [[one]]", "scales[0]"}, {box + "scales: [[one, One]]", "scales[0]"},
		{box + "colours: red", "f:2: expected YAML"}, {box + "boxes: {}", "f:2: expected YAML"}, {box + " x: [", "f:2: expected YAML"},
		{"boxes: &a {A: [0, 0, 1, 1]}", "f:1: expected mappings, lists, text and numbers"},
		{"boxes: " + strings.Repeat("[", 30), "at most 16 levels"},
		{"boxes: \xff", "UTF-8"}, {"#" + strings.Repeat(" ", maxRegions), "at most"},
	} {
		r, problems := parseRegions("f", []byte(c.text))
		if r != nil || len(problems) == 0 || !slices.ContainsFunc(problems, func(p table.Problem) bool { return strings.Contains(p.Error(), c.want) }) {
			t.Errorf("%.60q: %v, want %s", c.text, problems, c.want)
		}
	}
	file := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(file, []byte(box), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadRegions(file); err != nil || len(r.boxes) != 2 {
		t.Errorf("a file of one's own: %v", err)
	}
	if _, err := ReadRegions(file + "x"); err == nil || !strings.Contains(err.Error(), "built-in tables (taix)") {
		t.Errorf("no file: %v", err)
	}
}

func TestBracketOptions(t *testing.T) {
	for question, want := range map[string]string{
		"Is it? (yes or no)": "yes|no", "Is it? (yes/no) ": "yes|no", "Which? (right, left, same severity, none)": "right|left|same severity|none",
		"Which? (a, b, or c)": "a|b|c", "Which? (a, b or c)": "a|b|c", "Which (of two)? (A,B)": "A|B",
		"Which?": "", "Which? (one)": "", "Which? (a, a)": "", "Which? (a, , b)": "", "(a, b) which?": "", "Which? ((a, b), c)": "",
	} {
		if got := strings.Join(bracketOptions(question), "|"); got != want {
			t.Errorf("%q offers %q, want %q", question, got, want)
		}
	}
}
