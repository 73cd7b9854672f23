package curate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/draw"

	"assay/harness/dataset"
	"assay/harness/dataset/datasettest"
	"assay/results"
	"assay/results/stats"
)

// TestGoldenFilters: the longest option, how many have to go, the text-solvable rule,
// runs, letters.
func TestGoldenFilters(t *testing.T) {
	b, err := os.ReadFile("testdata/filters.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID      string
			Options json.RawMessage // a list, or labels
			Answer  int
			N       int
			Longest int `json:"longest_correct"`
			Target  float64
			Runs    [][]*int
			Correct []int
			Total   int
			Raw     *string
			Out     struct {
				Lengths  []int
				Strictly bool `json:"strictly_longest"`
				Tied     bool `json:"tied_longest"`
				Remove   int
				Left     int
				Share    *float64
				All      bool `json:"remove_all_runs"`
				Pct      []string
				Mean     string
				SD       string `json:"sd_ddof1"`
				Letter   *string
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil || len(file.Cases) != 18 {
		t.Fatal(len(file.Cases), err)
	}
	seen := map[string]int{}
	for _, c := range file.Cases {
		kind, _, _ := strings.Cut(c.ID, "-")
		seen[kind]++
		switch kind {
		case "longest":
			var options []string
			if err := json.Unmarshal(c.Options, &options); err != nil {
				t.Fatal(err)
			}
			strictly, tied := longest(options, c.Answer)
			if !slices.Equal(lengths(options), c.Out.Lengths) || strictly != c.Out.Strictly || tied != c.Out.Tied {
				t.Errorf("%s: %v, %v, %v", c.ID, lengths(options), strictly, tied)
			}
		case "balance":
			n := toRemove(c.N, c.Longest, c.Target)
			if n != c.Out.Remove || c.N-n != c.Out.Left {
				t.Errorf("%s: %d go, want %d", c.ID, n, c.Out.Remove)
			}
		case "text":
			a := &Answers{runs: map[string][]reply{}}
			for m, runs := range c.Runs {
				a.Probes, a.Repeats = append(a.Probes, fmt.Sprint(m)), len(runs)
				for _, r := range runs {
					one := reply{option: -1}
					if r != nil {
						right := *r == 1
						one.right = &right
					}
					a.runs["x"] = append(a.runs["x"], one)
				}
			}
			if gone, _ := solvable([]dataset.Item{{ID: "x"}}, a); (len(gone) == 1) != c.Out.All {
				t.Errorf("%s: removed %v", c.ID, gone)
			}
		case "runs":
			var shares []float64
			for i, k := range c.Correct {
				if got, _ := stats.Percent(float64(k), float64(c.Total), 2); got != c.Out.Pct[i] {
					t.Errorf("%s: %s %%", c.ID, got)
				}
				shares = append(shares, 100*float64(k)/float64(c.Total))
			}
			mean, _ := stats.Mean(shares)
			sd, _ := stats.SD(shares)
			if stats.Fixed(mean, 2) != c.Out.Mean || stats.Fixed(sd, 2) != c.Out.SD {
				t.Errorf("%s: %v, %v", c.ID, mean, sd)
			}
		case "letter":
			want := ""
			if c.Out.Letter != nil {
				want = *c.Out.Letter
			}
			var options []dataset.Option
			for l := range strings.SplitSeq("ABCDE", "") {
				options = append(options, dataset.Option{Label: l})
			}
			got := ""
			if at := tookOption(*c.Raw, options); at >= 0 {
				got = options[at].Label
			}
			if got != want {
				t.Errorf("%s: %q, want %q", c.ID, got, want)
			}
		}
	}
	if strictly, tied := longest([]string{"ab", "cd ", "e"}, 0); strictly || !tied {
		t.Errorf("as long as another: %v, %v", strictly, tied)
	}
	if want := map[string]int{"longest": 4, "balance": 4, "text": 3, "runs": 2, "letter": 5}; !reflect.DeepEqual(seen, want) {
		t.Errorf("%v", seen)
	}
}

func item(id, history, answer string, options ...string) dataset.Item {
	it := dataset.Item{ID: id, Question: "Which?", Type: dataset.TypeDiagnosis, Case: &dataset.Case{History: history}, Answer: answer}
	for i, o := range options {
		it.Options = append(it.Options, dataset.Option{Label: string(rune('A' + i)), Text: o})
	}
	return it
}

// TestLeakLevels: what names the answer, has its words, or words of it alone; where; and
// what does not leak.
func TestLeakLevels(t *testing.T) {
	options := []string{"Pulmonary embolism", "Sarcoidosis", "Lung abscess", "Pulmonary infarction", "Pneumonia"}
	for _, c := range []struct {
		history, answer, level string
		says                   []string
	}{
		{"A man with known sarcoidosis coughs.", "B", "L1", []string{"sarcoidosis"}},
		{"SARCOIDOSIS? Sarcoidosis!", "B", "L1", []string{"SARCOIDOSIS", "Sarcoidosis"}},
		{"A man without sarcoidosis coughs.", "B", "", nil},
		{"No fever, known sarcoidosis.", "B", "L1", []string{"sarcoidosis"}},
		{"Sarcoidosis or pneumonia?", "B", "", nil}, // names another option as well
		{"Neurosarcoidosist coughs.", "B", "", nil}, // no word of its own
		{"Embolisms of the pulmonary arteries were suspected.", "A", "L2", []string{"Embolisms", "pulmonary"}},
		{"An embolism of the leg. Pulmonary function is good.", "A", "L3", []string{"embolism"}}, // two sentences; pulmonary is another option's, too
		{"The pulmonary function is good.", "A", "", nil},
		{"The abscess was drained.", "C", "L3", []string{"abscess"}},
		{"He has been short of breath for a week.", "A", "", nil},
		{"He had pain in the lung. Abscess of a tooth was drained.", "C", "L3", []string{"lung", "Abscess"}}, // next to each other, and not together
		{"Größe 180 cm; bekannte Sarcoidosis.", "B", "L1", []string{"Sarcoidosis"}},
	} {
		it := item("x", c.history, c.answer, options...)
		leak := leakOf(it)
		var says []string
		for _, s := range leak.Spans {
			says = append(says, s.Says)
			if got := string([]rune(c.history)[s.From:s.To]); got != s.Says || s.Text != "history" {
				t.Errorf("%q: %+v is %q", c.history, s, got)
			}
		}
		if leak.Level != c.level || !slices.Equal(says, c.says) {
			t.Errorf("%q: %s %q, want %s %q", c.history, leak.Level, says, c.level, c.says)
		}
	}
	// A question's own options are no leak.
	q := dataset.Item{ID: "q", Type: dataset.TypeSingle, Question: "What is seen?\nA. Fracture\nB. Effusion", Answer: "A", Options: []dataset.Option{{Label: "A", Text: "Fracture"}, {Label: "B", Text: "Effusion"}}}
	if l := leakOf(q); l.Level != "" {
		t.Errorf("options in the question: %+v", l)
	}
	if q.Question = "What is seen beside the fracture?\nA. Fracture\nB. Effusion"; leakOf(q).Level != "L1" {
		t.Errorf("%+v", leakOf(q))
	}
	items := []dataset.Item{item("1", "known sarcoidosis", "B", options...), item("2", "the abscess was drained", "C", options...), item("3", "nothing", "C", options...)}
	for level, want := range map[string]int{"L1": 1, "L2": 1, "L3": 2} {
		if gone := leaking(items, level); len(gone) != want {
			t.Errorf("up to %s: %v", level, gone)
		}
	}
}

// picture is a made one: a disc at a place on a ramp.
func picture(x, y int) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, 200, 160))
	for v := range 160 {
		for u := range 200 {
			c := uint8(40 + u/2 + (v*v/300)%60)
			if (u-x)*(u-x)+(v-y)*(v-y) < 900 {
				c = 220
			}
			img.SetGray(u, v, color.Gray{Y: c})
		}
	}
	return img
}

func shown(img image.Image, as string) dataset.Image {
	var b bytes.Buffer
	if as == "jpeg" {
		jpeg.Encode(&b, img, &jpeg.Options{Quality: 80})
	} else {
		png.Encode(&b, img)
	}
	return dataset.Image{Name: as, Load: func() ([]byte, error) { return b.Bytes(), nil }}
}

// TestNearDuplicates: by text, by image, by both; the earlier stays, and chains do not
// take more than they must.
func TestNearDuplicates(t *testing.T) {
	small := image.NewGray(image.Rect(0, 0, 100, 80))
	big := picture(60, 60)
	draw.CatmullRom.Scale(small, small.Bounds(), big, big.Bounds(), draw.Src, nil)
	brighter := image.NewGray(big.Bounds())
	for i, v := range big.Pix {
		brighter.Pix[i] = v/2 + 60
	}
	long := strings.Repeat("a man of forty coughs since three weeks and has lost weight but no fever at all ", 2)
	items := []dataset.Item{
		item("first", long+"today", "A", "x", "y"), item("second", long+"now", "A", "x", "y"),
		item("third", "a woman fell from a ladder and her wrist hurts", "A", "x", "y"),
		item("fourth", "A woman fell from a ladder, and her wrist hurts!", "A", "x", "y"),
		item("fifth", "", "A", "x", "y"), item("sixth", "", "A", "x", "y"),
	}
	items[0].Images = []dataset.Image{shown(big, "png"), shown(picture(20, 20), "png")}
	items[1].Images = []dataset.Image{shown(picture(150, 100), "png")}
	items[2].Images = []dataset.Image{shown(small, "jpeg"), shown(picture(100, 30), "png")}
	items[3].Images = []dataset.Image{shown(brighter, "png"), shown(picture(10, 140), "png"), shown(picture(190, 20), "png")}
	items[4].Images = []dataset.Image{shown(image.NewGray(image.Rect(0, 0, 50, 50)), "png")}
	items[5].Images = items[4].Images // flat: like any other
	for kind, want := range map[string][]string{
		"text": {"second first", "fourth third"}, "images": {"third first", "fourth first"}, "both": {"fourth third"},
	} {
		gone, problems := duplicates(items, kind)
		var got []string
		for _, g := range gone {
			got = append(got, g.Item+" "+g.Twin)
		}
		if !slices.Equal(got, want) || len(problems) > 0 {
			t.Errorf("by %s: %q, %v", kind, got, problems)
		}
	}
	// What is near to one that goes, and not to what stays, stays.
	words := strings.Fields("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")
	chain := []dataset.Item{item("a", strings.Join(words[:18], " "), "A"), item("b", strings.Join(words[1:19], " "), "A"), item("c", strings.Join(words[2:], " "), "A")}
	if gone, _ := duplicates(chain, "text"); len(gone) != 1 || gone[0].Item != "b" {
		t.Errorf("a chain: %+v", gone)
	}
	for _, c := range []struct {
		img  image.Image
		near bool
	}{{small, true}, {brighter, true}, {picture(60, 60), true}, {picture(75, 60), false}, {picture(140, 100), false}} {
		if d := hashOf(big).distance(hashOf(c.img)); (d <= nearBits) != c.near {
			t.Errorf("%d bits differ, near %v", d, c.near)
		}
	}
	// Pictures with something in the lower half alone, one of them brighter.
	low, also := image.NewGray(image.Rect(0, 0, 200, 160)), image.NewGray(image.Rect(0, 0, 200, 160))
	for i, v := range picture(60, 120).Pix {
		low.Pix[i], also.Pix[i] = 40, 60
		if i >= 200*90 {
			low.Pix[i], also.Pix[i] = v, v/2+60
		}
	}
	half := []dataset.Item{item("one", "a", "A"), item("two", "b", "A")}
	half[0].Images, half[1].Images = []dataset.Image{shown(low, "png")}, []dataset.Image{shown(also, "jpeg")}
	if gone, _ := duplicates(half, "images"); len(gone) != 1 || gone[0].Item != "two" || gone[0].Twin != "one" {
		t.Errorf("alike in the lower half: %+v", gone)
	}
	items[0].Images[0].Load = func() ([]byte, error) { return nil, os.ErrNotExist }
	if _, problems := duplicates(items, "images"); len(problems) != 1 || !strings.Contains(problems[0], "first, image 1") {
		t.Errorf("%q", problems)
	}
}

// TestPruneKeepsWhatProbesConfuse and the right option, with labels in order.
func TestPruneKeepsWhatProbesConfuse(t *testing.T) {
	make := func() []dataset.Item {
		return []dataset.Item{item("a", "", "G", "a0", "b1", "c2", "d3", "e4", "f5", "right"), item("few", "", "A", "x", "y")}
	}
	items := make()
	answers := &Answers{runs: map[string][]reply{"a": {{option: 3}, {option: 3}, {option: 5}, {option: 6}, {option: -1}}}}
	list := prune(items, 3, answers, 1)
	if got := fmt.Sprint(items[0].Options, items[0].Answer); got != "[{A d3} {B f5} {C right}]C" || len(list) != 1 || len(list[0].Gone) != 4 {
		t.Errorf("%s, %+v", got, list)
	}
	if len(items[1].Options) != 2 {
		t.Errorf("%+v", items[1])
	}
	// What is equally confusing is drawn: the same by the same seed, others by others.
	kept := map[string]int{}
	for seed := range uint64(40) {
		one, two := make(), make()
		prune(one, 3, nil, seed)
		prune(two, 3, nil, seed)
		if !reflect.DeepEqual(one, two) || one[0].Options[2].Text != "right" || one[0].Answer != "C" {
			t.Fatalf("seed %d: %v, %v", seed, one[0].Options, two[0].Options)
		}
		kept[one[0].Options[0].Text]++
	}
	if len(kept) < 4 {
		t.Errorf("40 seeds keep %v", kept)
	}
}

// TestLengthBias: as many go as must, by chance of a seed.
func TestLengthBias(t *testing.T) {
	var items []dataset.Item
	for i := range 100 {
		it := item(fmt.Sprint(i), "", "A", "aaaa", "b", "c")
		if i >= 57 {
			it = item(fmt.Sprint(i), "", "A", "a", "bbbb", "c")
		}
		items = append(items, it)
	}
	gone, note := unbiased(items, .2, 1)
	again, _ := unbiased(items, .2, 1)
	other, _ := unbiased(items, .2, 2)
	if len(gone) != 47 || !reflect.DeepEqual(gone, again) || reflect.DeepEqual(gone, other) || !strings.Contains(note, "57 of 100 items, in 10 of 53 after") {
		t.Errorf("%d go, %s", len(gone), note)
	}
	for _, g := range gone {
		if n := 0; len(g.Item) == 2 && g.Item >= "57" {
			t.Errorf("%s has a longer wrong option (%d)", g.Item, n)
		}
	}
}

// TestWhatAnswersTake: letters, texts, the last final answer.
func TestWhatAnswersTake(t *testing.T) {
	options := item("", "", "", "Lung abscess", "Sarcoidosis", "Pneumonia").Options
	for answer, want := range map[string]int{
		"B": 1, "b.": 1, "(C)": 2, "Final answer: A. Lung abscess": 0, "A\nFinal answer: C": 2, "Final answer: A\nno, final answer: **B**": 1,
		"<think>A</think>Sarcoidosis.": 1, "pneumonia": 2, "It may be pneumonia": 2, "A or B": -1, "A.\nB.": -1, "E": -1, "": -1, "<answer>B</answer>": 1,
	} {
		if got := tookOption(answer, options); got != want {
			t.Errorf("%q takes %d, want %d", answer, got, want)
		}
	}
}

// TestKeptSetsCanBeReadAgain: what is written of each format is read as it was.
func TestKeptSetsCanBeReadAgain(t *testing.T) {
	dir := t.TempDir()
	cases, err := datasettest.MedCases(5)
	if err == nil {
		err = datasettest.WriteMedThinkVQA(filepath.Join(dir, "med"), "test", cases, false)
	}
	if err == nil {
		err = datasettest.WriteM3CoTBench(filepath.Join(dir, "m3"), 12)
	}
	if err == nil {
		err = datasettest.WriteTAIX(filepath.Join(dir, "taix"), "test", 2, 64)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []dataset.Source{
		{Kind: dataset.KindMedThinkVQA, Path: filepath.Join(dir, "med"), Split: "test"},
		{Kind: dataset.KindM3CoTBench, Path: filepath.Join(dir, "m3")},
		{Kind: dataset.KindTAIX, Path: filepath.Join(dir, "taix"), Split: "test"},
		{Kind: dataset.KindPhantom, Items: 4, Size: 256, Seed: 3},
		{Kind: dataset.KindPhantom, Items: 4, Size: 256, Seed: 3, Images: 3},
	} {
		name := fmt.Sprint(from.Kind, from.Images)
		from.Name = "d"
		set, err := dataset.Open(from)
		if err != nil || len(set.Items) < 4 {
			t.Fatalf("%s: %d items, %v", name, len(set.Items), err)
		}
		r, err := Filter(set, Settings{Duplicates: "both"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Kept = slices.Clone(set.Items[1:])
		out := filepath.Join(dir, "out-"+name)
		files, err := r.Write(out, from.Split)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		written := dataset.Source{Name: "d", Kind: files.Kind, Path: files.Path}
		if written.Has("split") {
			written.Split = from.Split
		}
		again, err := dataset.Open(written)
		if err != nil || len(again.Problems) > 0 || len(again.Items) != len(r.Kept) {
			t.Fatalf("%s: %d items of %d, %v %v", name, len(again.Items), len(r.Kept), again.Problems, err)
		}
		for i, it := range r.Kept {
			back := again.Items[i]
			for n := range it.Images {
				a, _ := it.Images[n].Load()
				b, err := back.Images[n].Load()
				if err != nil || !bytes.Equal(a, b) {
					t.Errorf("%s %s: image %d is another, %v", name, it.ID, n+1, err)
				}
				if it.Images[n].Modality != back.Images[n].Modality && set.Kind == dataset.KindMedThinkVQA {
					t.Errorf("%s %s: image %d is of %q", name, it.ID, n+1, back.Images[n].Modality)
				}
			}
			if told, has := back.AnswerLeaking(), it.AnswerLeaking(); told.Findings != has.Findings || !slices.Equal(told.Captions, has.Captions) ||
				set.Kind == dataset.KindMedThinkVQA && !reflect.DeepEqual(told, has) {
				t.Errorf("%s %s: %+v, was %+v", name, it.ID, told, has)
			}
			if set.Kind == dataset.KindMedThinkVQA && !reflect.DeepEqual(it.Case, back.Case) || it.Case != nil && it.Case.History != back.Case.History {
				t.Errorf("%s %s: %+v, was %+v", name, it.ID, back.Case, it.Case)
			}
			a, b := bare(it), bare(back)
			if a != b {
				t.Errorf("%s:\n%s\nwas\n%s", name, b, a)
			}
		}
		if _, err := r.Write(out, from.Split); err == nil {
			t.Errorf("%s: a set that is there is written over", name)
		}
	}
}

// bare is an item without pictures and what belongs to cases.
func bare(it dataset.Item) string {
	return fmt.Sprintf("%q", []any{it.ID, it.Question, it.Type, it.Options, it.Answer, it.Task, it.GoldPaths, it.Scale, it.Aliases, it.Regions, len(it.Images)})
}

// TestFiltersApplyInOrder: each sees what the one before has left, and the table says so.
func TestFiltersApplyInOrder(t *testing.T) {
	options := []string{"Sarcoidosis of the lung", "Abscess", "Asthma"}
	d := &dataset.Dataset{Name: "d", Items: []dataset.Item{
		item("1", "known sarcoidosis of the lung for years and years", "A", options...), item("2", "known sarcoidosis of the lung for years and years", "A", options...),
		item("3", "he coughs", "A", options...), item("4", "she coughs too", "B", options...), item("5", "they cough", "A", options...), item("6", "we all do cough", "C", options...),
	}}
	yes, no := true, false
	answers := &Answers{Probes: []string{"p"}, Repeats: 1, runs: map[string][]reply{"1": {{right: &yes}}, "3": {{right: &yes}}, "4": {{right: &no}}, "5": {{right: nil}}}}
	r, err := Filter(d, Settings{Duplicates: "text", Leaks: "L1", Solvable: true, Length: .5, Seed: 1}, answers)
	if err != nil {
		t.Fatal(err)
	}
	var gone []string
	for _, x := range r.Removed {
		gone = append(gone, x.Filter+" "+x.Item)
	}
	if want := []string{"duplicate 2", "leak 1", "text-solvable 3"}; !slices.Equal(gone, want) || len(r.Kept) != 3 || len(d.Items) != 6 {
		t.Errorf("%q, %d kept", gone, len(r.Kept))
	}
	if got := fmt.Sprint(r.Steps); !strings.Contains(got, "{duplicate 6 5 by text} {leak 5 4") || !strings.Contains(got, "2 items that some run is missing of stay") {
		t.Errorf("%s", got)
	}
	var b bytes.Buffer
	if err := r.WriteRemoved(&b); err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(&b).ReadAll(); err != nil || len(rows) != 4 || rows[2][5] != "history[6:29] sarcoidosis of the lung" || rows[1][4] != "1" {
		t.Errorf("%q, %v", rows, err)
	}
	if _, err := Filter(d, Settings{Solvable: true}, nil); err == nil {
		t.Error("text-solvable without probes")
	}
	x := func(item string, repeat int, v float64) right {
		return right{Key: results.Key{Study: "s", Model: "m", Arm: "mcq", Item: item, Repeat: repeat}, Right: &v}
	}
	rights := []right{{Key: results.Key{Study: "s", Model: "m", Arm: "mcq", Item: "4", Repeat: 1}}, x("1", 0, 1), x("3", 0, 1), x("3", 1, 0), x("4", 0, 1), x("5", 0, 0), {Key: results.Key{Study: "s", Model: "m", Arm: "mcq", Item: "6"}}}
	s := CurationSection(r, []Scored{{Where: "pictures", Rights: rights}})
	if said := strings.Join(s.Notes, "\n"); !strings.Contains(said, "The filter leak removed 1 of 5 items (up to level L1).") || strings.Contains(said, "length-bias") {
		t.Errorf("%s", said)
	}
	want := map[string][3]float64{"kept": {50, 2, 1}, "leak": {100, 1, 0}, "text-solvable": {50, 1, 0}}
	for _, row := range s.Tables[2].Rows {
		e := row[4].Estimate
		if w, ok := want[row[3].Text]; !ok || *e.Value != w[0] || float64(e.N) != w[1] || float64(e.Invalid) != w[2] {
			t.Errorf("%s: %v of %d, %d left out", row[3].Text, *e.Value, e.N, e.Invalid)
		}
		delete(want, row[3].Text)
	}
	if len(want) > 0 {
		t.Errorf("no rows of %v", want)
	}
}

// TestStatistics: of cases whose numbers are known.
func TestStatistics(t *testing.T) {
	d := &dataset.Dataset{Items: []dataset.Item{item("1", "äöü", "A", "long option", "b"), item("2", "12345", "B", "aaa", "b"), {ID: "3", Question: "Why?"}}}
	d.Items[0].Images, d.Items[1].Images = make([]dataset.Image, 3), make([]dataset.Image, 1)
	yes := true
	d.Items[0].Case.Rare, d.Items[0].Case.Chapter = &yes, "X"
	got := map[string]*results.Estimate{}
	for _, row := range Statistics(d).Rows {
		got[row[0].Text] = row[1].Estimate
	}
	for what, want := range map[string]float64{"items": 3, "images": 4, "images per item": 4. / 3, "most images of an item": 3, "history": 4, "options": 4, "options per item": 2, "place of the right option": 1.5,
		"right option longer than all others": .5, "rare disease": 1, "ICD chapters": 1} {
		if e := got[what]; e == nil || e.Value == nil || *e.Value != want {
			t.Errorf("%s: %+v, want %v", what, e, want)
		}
	}
	for _, what := range []string{"findings", "discussion", "longitudinal", "digits", "modalities per item"} {
		if e := got[what]; e.Value != nil || e.Why == "" {
			t.Errorf("%s is not stated, and is %v", what, *e.Value)
		}
	}
}

// TestStatisticsOfCases: of cases with captions, findings and a discussion, which are all texts whose
// digits are counted.
func TestStatisticsOfCases(t *testing.T) {
	dir := t.TempDir()
	cases, err := datasettest.MedCases(5)
	if err == nil {
		err = datasettest.WriteMedThinkVQA(dir, "test", cases, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(dataset.Source{Name: "d", Kind: dataset.KindMedThinkVQA, Path: dir, Split: "test"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*results.Estimate{}
	for _, row := range Statistics(d).Rows {
		got[row[0].Text] = row[1].Estimate
	}
	var captions, findings, discussion strings.Builder
	for _, it := range d.Items {
		l := it.AnswerLeaking()
		captions.WriteString(strings.Join(l.Captions, ""))
		findings.WriteString(l.Findings)
		for i, s := range l.Discussion {
			if i > 0 {
				discussion.WriteString("\n")
			}
			discussion.WriteString(s.Text)
		}
	}
	all := captions.String() + findings.String() + discussion.String()
	digits := regexp.MustCompile(`[0-9]`).FindAllString(all, -1)
	runes := func(s string) float64 { return float64(len([]rune(s))) }
	for what, want := range map[string]float64{"captions": runes(captions.String()), "findings": runes(findings.String()), "discussion": runes(discussion.String())} {
		if e := got[what]; e.Value == nil || math.Abs(*e.Value*float64(e.N)-want) > 1e-6 || e.N < 4 { // one case has neither captions nor a discussion
			t.Errorf("%s: %+v, want %v in all", what, e, want)
		}
	}
	if e := got["digits"]; e.Value == nil || math.Abs(*e.Value-float64(len(digits))/runes(all)) > 1e-9 || len(digits) == 0 {
		t.Errorf("digits: %+v, want %d of %v", e, len(digits), runes(all))
	}
}

// TestAccuracyDrawsImages: 20 items about 4 images, two of which a model is right about.
func TestAccuracyDrawsImages(t *testing.T) {
	d, rights := &dataset.Dataset{Name: "d"}, []right{}
	for i := range 20 {
		it := item(fmt.Sprint(i), fmt.Sprintf("history %d of a man who %d coughs", i, i*i), "A", "one", "two")
		it.Picture = fmt.Sprint("image ", i/5)
		d.Items = append(d.Items, it)
		rights = append(rights, right{Key: results.Key{Study: "s", Model: "m", Arm: "mcq", Item: it.ID}, Right: new(float64(i / 5 % 2))})
	}
	r, err := Filter(d, Settings{Duplicates: "text", Seed: 1}, nil)
	if err != nil || len(r.Kept) != 20 {
		t.Fatal(err, len(r.Kept))
	}
	e := CurationSection(r, []Scored{{Where: "images", Rights: rights}}).Tables[2].Rows[0][4].Estimate
	single := CurationSection(r, []Scored{{Where: "images", Rights: rights, OneByOne: true}}).Tables[2].Rows[0][4].Estimate
	if single.Clusters != 20 || *single.Low <= *e.Low+10 {
		t.Errorf("by the released rules: [%v, %v] of %d clusters", *single.Low, *single.High, single.Clusters)
	}
	want := stats.ShareOf([]float64{0, 5, 0, 5}, []float64{5, 5, 5, 5})
	if e.N != 20 || e.Clusters != 4 || math.Abs(*e.Low-100**want.Low) > 1e-9 {
		t.Errorf("[%v, %v] of %d items, %d images, want from %v", *e.Low, *e.High, e.N, e.Clusters, 100**want.Low)
	}
}
