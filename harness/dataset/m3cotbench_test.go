package dataset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/perturb"
)

// datasetFolder writes the synthetic data set and lets a test damage it.
func datasetFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := datasettest.WriteM3CoTBench(dir, 13); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string) *Dataset {
	t.Helper()
	d, err := M3CoTBench("m3", dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestM3CoTBench(t *testing.T) {
	dir := datasetFolder(t)
	d := open(t, dir)
	if len(d.Problems) > 0 {
		t.Fatalf("problems: %v", d.Problems)
	}
	rows := datasettest.Rows(13)
	if len(d.Items) != len(rows) {
		t.Fatalf("%d items, want %d", len(d.Items), len(rows))
	}
	formats := map[string]int{}
	for i, it := range d.Items {
		r := rows[i]
		if it.ID != fmt.Sprint(i+1) || it.Question != r.Question || it.Answer != r.Answer || it.Modality != r.Modality {
			t.Errorf("item %d is %+v", i, it)
		}
		if want := []string{"single", "multiple", "bool", "short"}[i%4]; it.Type != want {
			t.Errorf("item %s: type %s, want %s", it.ID, it.Type, want)
		}
		if want := []int{4, 4, 0, 0}[i%4]; len(it.Options) != want {
			t.Errorf("item %s: options %v", it.ID, it.Options)
		}
		want := []Step{{Kind: StepModality, Text: r.Modality}, {Kind: StepFeature, Text: r.Feature}, {Kind: StepConclusion, Text: r.KeyConclusion}}
		if r.AdditionalAnalysis != "" {
			want = append(want, Step{Kind: StepOther, Text: r.AdditionalAnalysis})
		}
		if len(it.GoldPaths) != 1 || !slices.Equal(it.GoldPaths[0], want) {
			t.Errorf("item %s: gold paths %v, want %v", it.ID, it.GoldPaths, want)
		}
		b, err := it.Images[0].Load()
		if err != nil {
			t.Fatal(err)
		}
		format, _, _, err := perturb.Config(b)
		if err != nil {
			t.Fatal(err)
		}
		formats[format]++
	}
	var tasks []string
	for _, it := range d.Items {
		tasks = append(tasks, it.Task)
	}
	want := []string{"Localization", "Counting", "Recognition", "Diagnosis", "Action", "Examination Type", "Referring Recognition",
		"Grading", "Image Quality", "Function", "Cause", "Prediction", "Symptom"}
	if !slices.Equal(tasks, want) {
		t.Errorf("tasks %v, want %v", tasks, want)
	}
	if formats["png"] == 0 || formats["jpeg"] == 0 || formats["webp"] == 0 {
		t.Errorf("formats %v: want all three", formats)
	}
	if d.Items[3].Images[0].Name != "4.jpg" {
		t.Errorf("item 4 is %s", d.Items[3].Images[0].Name)
	}
	if b, _ := d.Items[3].Images[0].Load(); !bytes.HasPrefix(b, []byte("\x89PNG")) {
		t.Error("4.jpg should be a PNG in truth: content is what counts")
	}
	if p := Damaged(d); len(p) > 0 {
		t.Errorf("damaged: %v", p)
	}
}

func TestDigestCoversItemsAndImages(t *testing.T) {
	a, b := open(t, datasetFolder(t)), open(t, datasetFolder(t))
	if a.Digest != b.Digest || !strings.HasPrefix(a.Digest, "sha256:") {
		t.Fatalf("digests %s and %s", a.Digest, b.Digest)
	}
	dir := datasetFolder(t)
	_, picture, err := datasettest.Picture(6) // item 7's, a PNG, for item 1
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "images", "1.png"), picture, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if open(t, dir).Digest == a.Digest {
		t.Error("another picture, the same digest")
	}
	rows := datasetCells(t, 13)
	rows[1][2] = "C"
	if err := datasettest.WriteWorkbook(filepath.Join(dir, "M3CoTBench.xlsx"), rows); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	rows[1][6] = "more"
	if err := datasettest.WriteWorkbook(filepath.Join(dir, "M3CoTBench.xlsx"), rows); err != nil {
		t.Fatal(err)
	}
	if open(t, dir).Digest == c.Digest {
		t.Error("another gold step, the same digest")
	}
}

func TestLoadNoticesAChangedFile(t *testing.T) {
	dir := datasetFolder(t)
	d := open(t, dir)
	_, b, err := datasettest.Picture(1)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "images", "1.png"), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Items[0].Images[0].Load(); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("got %v", err)
	}
}

// datasetCells are the rows of the questions' workbook, header first.
func datasetCells(t *testing.T, n int) [][]any {
	t.Helper()
	out := [][]any{{"index", "question", "answer", "modality", "feature", "key_conclusion", "additional_analysis"}}
	for _, r := range datasettest.Rows(n) {
		out = append(out, []any{r.Index, r.Question, r.Answer, r.Modality, r.Feature, r.KeyConclusion, r.AdditionalAnalysis})
	}
	return out
}

// Every kind of bad row at once: each is reported with its place, the others are read.
func TestM3CoTBenchReportsEveryBadRow(t *testing.T) {
	dir := datasetFolder(t)
	rows := datasetCells(t, 13)
	rows[0] = append(rows[0], "key_annotation_steps", "A", "B")
	set := func(row, col int, v any) {
		for len(rows[row]) <= col {
			rows[row] = append(rows[row], nil)
		}
		rows[row][col] = v
	}
	set(1, 0, "one")                                  // row 2: index
	set(2, 0, 1.5)                                    // row 3: index
	set(3, 0, 4)                                      // row 4: index 4 ...
	set(4, 0, 4)                                      // row 5: ... again
	set(5, 1, nil)                                    // row 6: question
	set(6, 2, "  ")                                   // row 7: answer
	set(7, 1, "Select one option.\nA. x\nB. y\nB. z") // row 8: labels
	set(8, 7, `{"solution1": 3}`)                     // row 9: gold steps
	set(9, 8, "not what the question says")           // row 10: option column
	set(13, 0, 99)                                    // row 14: no task, no image
	path := filepath.Join(dir, "M3CoTBench.xlsx")
	if err := datasettest.WriteWorkbook(path, rows); err != nil {
		t.Fatal(err)
	}
	types := [][]any{{"index", "analysis_type"}}
	for _, r := range datasettest.Rows(13) {
		types = append(types, []any{r.Index, r.AnalysisType})
	}
	types[10][1] = "Guessing" // item 10: row 11 of type.xlsx
	if err := datasettest.WriteWorkbook(filepath.Join(dir, "type.xlsx"), types); err != nil {
		t.Fatal(err)
	}
	images := filepath.Join(dir, "images")
	whole, err := os.ReadFile(filepath.Join(images, "11.png"))
	if err == nil {
		err = os.WriteFile(filepath.Join(images, "11.png"), whole[:len(whole)-20], 0o644) // row 12: cut short
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(images, "12.png"), []byte("a picture of nothing"), 0o644) // row 13: two files
	}
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	var got []string
	for _, p := range d.Problems {
		got = append(got, fmt.Sprintf("%s:%d %s", filepath.Base(p.File), p.Row, p.Column))
		if p.Want == "" || p.Got == "" {
			t.Errorf("%v says too little", p)
		}
	}
	want := []string{
		"M3CoTBench.xlsx:2 index", "M3CoTBench.xlsx:3 index", "M3CoTBench.xlsx:5 index", "M3CoTBench.xlsx:6 question",
		"M3CoTBench.xlsx:7 answer", "M3CoTBench.xlsx:8 question", "M3CoTBench.xlsx:9 key_annotation_steps",
		"M3CoTBench.xlsx:10 A", "type.xlsx:11 analysis_type", "M3CoTBench.xlsx:12 index", "M3CoTBench.xlsx:13 index",
		"M3CoTBench.xlsx:14 index", "M3CoTBench.xlsx:14 index",
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var ids []string
	for _, it := range d.Items {
		ids = append(ids, it.ID)
	}
	if !slices.Equal(ids, []string{"4"}) {
		t.Errorf("items %v, want only 4", ids)
	}
}

func TestOptionColumns(t *testing.T) {
	dir := datasetFolder(t)
	rows := datasetCells(t, 13)
	rows[0] = append(rows[0], "A", "B", "C", "D")
	rows[1] = append(rows[1], "Left half", "Right half", "Both halves", "Neither half") // the same as inside
	rows[4] = append(rows[4], "one", "two", nil, nil)                                   // only here
	if err := datasettest.WriteWorkbook(filepath.Join(dir, "M3CoTBench.xlsx"), rows); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	if len(d.Problems) > 0 {
		t.Fatalf("problems %v", d.Problems)
	}
	if it := d.Items[0]; len(it.Options) != 4 {
		t.Errorf("item 1: %v", it.Options)
	}
	want := []Option{{"A", "one"}, {"B", "two"}}
	if it := d.Items[3]; !slices.Equal(it.Options, want) {
		t.Errorf("item 4: %v", it.Options)
	}
}

// A spreadsheet keeps the answer True as a truth value, stored as 1.
func TestAnswersThatAreTruthValues(t *testing.T) {
	dir := datasetFolder(t)
	rows := datasetCells(t, 13)
	rows[3][2], rows[7][2], rows[4][2] = true, false, 1
	if err := datasettest.WriteWorkbook(filepath.Join(dir, "M3CoTBench.xlsx"), rows); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	if a, b, c := d.Items[2].Answer, d.Items[6].Answer, d.Items[3].Answer; a != "True" || b != "False" || c != "1" {
		t.Errorf("answers %q, %q, %q", a, b, c)
	}
}

func TestWorkbooksAreKnownByTheirColumns(t *testing.T) {
	dir := datasetFolder(t)
	for from, to := range map[string]string{"M3CoTBench.xlsx": "types (old).XLSX", "type.xlsx": "all questions.xlsx"} {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "~$types (old).xlsx"), []byte("lock"), 0o644); err != nil {
		t.Fatal(err)
	}
	if d := open(t, dir); len(d.Problems) > 0 || len(d.Items) != 13 || d.Items[4].Task != "Action" {
		t.Errorf("%d items, problems %v", len(d.Items), d.Problems)
	}
	if kind, err := sniff(dir); kind != KindM3CoTBench || err != nil {
		t.Errorf("sniffed %q, %v", kind, err)
	}
	if err := datasettest.WriteWorkbook(filepath.Join(dir, "second.xlsx"), datasetCells(t, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := M3CoTBench("m3", dir); err == nil || !strings.Contains(err.Error(), "leave one") {
		t.Errorf("two workbooks of questions: %v", err)
	}
}

func TestFoldersThatAreNot(t *testing.T) {
	empty := t.TempDir()
	if _, err := M3CoTBench("m3", empty); err == nil || !strings.Contains(err.Error(), "index, question and answer") {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := M3CoTBench("m3", filepath.Join(empty, "none")); err == nil {
		t.Error("no folder: no error")
	}
	if err := os.WriteFile(filepath.Join(empty, "M3CoTBench.xlsx"), []byte("PK\x03\x04 and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := M3CoTBench("m3", empty); err == nil || !strings.Contains(err.Error(), "M3CoTBench.xlsx") {
		t.Errorf("broken workbook: %v", err)
	}
	dir := datasetFolder(t)
	if err := os.Remove(filepath.Join(dir, "type.xlsx")); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	if len(d.Items) != 13 || len(d.Problems) != 1 || d.Items[0].Task != "" {
		t.Errorf("without task labels: %d items, problems %v", len(d.Items), d.Problems)
	}
	if err := os.RemoveAll(filepath.Join(dir, "images")); err != nil {
		t.Fatal(err)
	}
	if _, err := M3CoTBench("m3", dir); err == nil || !strings.Contains(err.Error(), "images") {
		t.Errorf("no images: %v", err)
	}
}

// The column repeats what the four columns say: still one path.
func TestKeyStepsOfTheColumnsAreNoSecondPath(t *testing.T) {
	dir := datasetFolder(t)
	rows := datasetCells(t, 13)
	rows[0] = append(rows[0], "key_annotation_steps")
	r := datasettest.Rows(1)[0]
	rows[1] = append(rows[1], fmt.Sprintf(`{"solution1": %q, "solution2": %q, "solution3": %q, "solution4": null}`, r.Modality, r.Feature, r.KeyConclusion))
	rows[2] = append(rows[2], `{"solution1": ["CT", "another way"]}`)
	if err := datasettest.WriteWorkbook(filepath.Join(dir, "M3CoTBench.xlsx"), rows); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	if len(d.Items[0].GoldPaths) != 1 || len(d.Items[1].GoldPaths) != 2 || len(d.Items[2].GoldPaths) != 1 {
		t.Errorf("%d, %d and %d gold paths", len(d.Items[0].GoldPaths), len(d.Items[1].GoldPaths), len(d.Items[2].GoldPaths))
	}
}

func TestParseOptions(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []Option
		err  bool
	}{
		{"Which? Select one option.\nA. Left\nB. Right", []Option{{"A", "Left"}, {"B", "Right"}}, false},
		{"Which?\r\n A) Left lung \r\n B)Right\r\nAnswer with a letter.", []Option{{"A", "Left lung"}, {"B", "Right"}}, false},
		{"(A) x\n(B) y\n(C) z", []Option{{"A", "x"}, {"B", "y"}, {"C", "z"}}, false},
		{"A.\nB.", []Option{{"A", ""}, {"B", ""}}, false},
		{"I. small\nV. large\nA. I only\nB. V only", []Option{{"A", "I only"}, {"B", "V only"}}, false},
		{"A. fumigatus is suspected. Where?", nil, false},
		{"What is seen? A. Left B. Right", nil, false},
		{"B. no first\nC. label", nil, false},
		{"True or False: AB is high.", nil, false},
		{"A. x\nB. y\nB. z", nil, true},
		{"A. x\nC. z", nil, true},
		{"A. x\nA. x", nil, true},
		{"", nil, false},
	} {
		got, err := ParseOptions(c.in)
		if (err != nil) != c.err || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.in, got, err)
		}
	}
}
