package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/perturb"
)

func medCases(t testing.TB, n int) []datasettest.MedCase {
	t.Helper()
	cases, err := datasettest.MedCases(n)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// The four ways in which the data set is published give the same items.
func TestMedThinkVQA(t *testing.T) {
	cases := medCases(t, 24)
	var first *Dataset
	for _, way := range []struct {
		name   string
		write  func(string, string, []datasettest.MedCase, bool) error
		asText bool
	}{
		{"jsonl", datasettest.WriteMedThinkVQA, false}, {"jsonl, options as text", datasettest.WriteMedThinkVQA, true},
		{"parquet", datasettest.WriteMedThinkParquet, false}, {"parquet, options as text", datasettest.WriteMedThinkParquet, true},
	} {
		dir := t.TempDir()
		if err := way.write(dir, "test", cases, way.asText); err != nil {
			t.Fatal(err)
		}
		if kind, err := sniff(dir); err != nil || kind != KindMedThinkVQA {
			t.Errorf("%s: sniffed %q, %v", way.name, kind, err)
		}
		d, err := Open(Source{Kind: KindMedThinkVQA, Name: "cases", Path: dir, Split: "test"})
		if err != nil {
			t.Fatalf("%s: %v", way.name, err)
		}
		if len(d.Items) != len(cases) || len(d.Problems) > 0 {
			t.Fatalf("%s: %d items, problems %v", way.name, len(d.Items), d.Problems)
		}
		for i, it := range d.Items {
			c, leak := cases[i], it.AnswerLeaking()
			if it.ID != fmt.Sprintf("case%05d", 100+i) || it.Type != TypeDiagnosis || it.Answer != c.Answer || len(it.Options) != 5 || it.Options[2] != (Option{"C", "Ring atrophy"}) {
				t.Errorf("%s: %+v", way.name, it)
			}
			if k := it.Case; k.History != c.History || k.Chapter != c.Chapter || k.Block != c.Block || k.Category != c.Category || *k.Longitudinal != c.Longitudinal || *k.Timepoints != c.Timepoints || k.Rare != nil {
				t.Errorf("%s: case %+v", way.name, k)
			}
			if leak.Title != c.Title || leak.Findings != c.Findings || leak.Interval != c.Interval || (leak.Captions == nil) != (i%4 == 3) || leak.Key != 0 {
				t.Errorf("%s: leaking %+v", way.name, leak)
			}
			var names []string
			for _, s := range leak.Discussion {
				names = append(names, s.Name)
			}
			want := []string{"background", "clinical perspective", "imaging perspective", "outcome", "take-home"}
			switch {
			case c.Discussion == "":
				want = nil
			case !strings.HasPrefix(c.Discussion, "Background"):
				want = []string{""}
			case leak.Discussion[3].Text != "All went well." || leak.Discussion[0].Text != fmt.Sprintf("SECRET-DISCUSSION-%d begins.", i):
				t.Errorf("%s: discussion %q", way.name, leak.Discussion)
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s: item %d has the sections %q, want %q", way.name, i, names, want)
			}
			if len(it.Images) != len(c.Images) {
				t.Fatalf("%s: %d images", way.name, len(it.Images))
			}
			for k, im := range it.Images {
				b, err := im.Load()
				if err != nil || !bytes.Equal(b, c.Images[k].File) || im.Modality != c.Images[k].Modality || im.Submodality != "axial" {
					t.Errorf("%s: item %d, image %d: %d bytes, %v, %+v", way.name, i, k+1, len(b), err, im)
				}
				if leak.Captions != nil && leak.Captions[k] != c.Images[k].Caption {
					t.Errorf("%s: caption %q", way.name, leak.Captions[k])
				}
			}
			// Nothing that leaks is reached but through AnswerLeaking.
			text, err := json.Marshal(struct {
				Item
				Images []string
			}{it, nil})
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"SECRET", c.Title} {
				if strings.Contains(string(text), secret) {
					t.Errorf("%s: %s holds %q", way.name, text, secret)
				}
			}
		}
		if d.Items[6].Modality != "CT + MRI + Ultrasound + X-ray" || d.Items[0].Modality != "CT" {
			t.Errorf("%s: modalities %q, %q", way.name, d.Items[6].Modality, d.Items[0].Modality)
		}
		if damaged := Damaged(d); len(damaged) > 0 {
			t.Errorf("%s: %v", way.name, damaged)
		}
		if first == nil {
			first = d
		} else if d.Digest != first.Digest {
			t.Errorf("%s: another digest than that of jsonl", way.name)
		}
	}
	b, _ := first.Items[1].Images[1].Load()
	if img, err := perturb.Decode(b); err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) || !strings.HasSuffix(cases[1].Images[1].Path, ".jpg") {
		t.Errorf("the RGBA picture is a %T, %v", img, err)
	}
}

// Every bad row is left out and named, with all that is wrong with it.
func TestMedThinkVQAProblems(t *testing.T) {
	cases := medCases(t, 12)
	dir := t.TempDir()
	if err := datasettest.WriteMedThinkVQA(dir, "train", cases, false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "train.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	change := func(i int, f func(m map[string]any)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &m); err != nil {
			t.Fatal(err)
		}
		f(m)
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = string(b)
	}
	change(0, func(m map[string]any) { m["CLINICAL_HISTORY"], m["correct_answer"] = " ", "F" })
	change(1, func(m map[string]any) { m["options"] = map[string]any{"A": "x", "B": "X", "C": "z", "D": nil} })
	change(2, func(m map[string]any) { m["image_02_path"], m["image_02_id"], m["image_02_caption"] = nil, nil, nil })
	change(2, func(m map[string]any) { m["image_02_modality"], m["image_02_sub_modality"] = nil, nil })
	change(3, func(m map[string]any) { m["image_01_path"] = "../elsewhere.jpg" })
	change(4, func(m map[string]any) { m["image_01_path"] = "images/case00104/none.jpg" })
	change(5, func(m map[string]any) { m["image_count"], m["timepoint_count"] = 5, "several" })
	change(6, func(m map[string]any) { m["correct_answer_text"], m["image_count"] = "Something else", 9 })
	change(7, func(m map[string]any) { m["is_longitudinal"], m["options"] = "perhaps", "[1, 2]" })
	lines[8] = lines[9]
	change(10, func(m map[string]any) { m["title"] = []string{"a", "list"} })
	if err := os.WriteFile(filepath.Join(dir, "images/case00111/img1100.jpg"), []byte("no picture"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := Open(Source{Kind: KindMedThinkVQA, Name: "cases", Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Problems {
		got = append(got, strings.ReplaceAll(p.Error(), dir+string(filepath.Separator), ""))
	}
	want := []string{
		`train.jsonl:1: CLINICAL_HISTORY: expected a text, found none`,
		`train.jsonl:1: correct_answer: expected A, B, C, D or E, found "F"`,
		`train.jsonl:2: options.B: expected five different options, found "X" again`,
		`train.jsonl:2: options.D: expected a text, found none`,
		`train.jsonl:2: options.E: expected a text, found none`,
		`train.jsonl:2: correct_answer_text: expected the text of option B, "X", found "Disc effusion"`,
		`train.jsonl:3: image_02_path: expected an image: there is a later one, found none`,
		`train.jsonl:4: image_01_path: expected a path inside the folder of train.jsonl (allow_outside: true permits others), found "../elsewhere.jpg"`,
		`train.jsonl:5: image_01_path: expected an image file `,
		`train.jsonl:6: timepoint_count: expected a whole number from 0 on, found "several"`,
		`train.jsonl:6: image_count: expected 6, as many as there are, found 5`,
		`train.jsonl:7: correct_answer_text: expected the text of option B, "Disc effusion", found "Something else"`,
		`train.jsonl:7: image_count: expected 7, as many as there are, found 9`,
		`train.jsonl:8: is_longitudinal: expected true or false, found "perhaps"`,
		`train.jsonl:8: options: expected an object of A to E, or its JSON, found a list of 2`,
		`train.jsonl:10: image_01_path: expected a folder of images for each case, found that of `,
		`train.jsonl:11: title: expected a text, a number, true, false or null, found a list of 2`,
		`train.jsonl:12: image_01_path: expected a readable PNG, JPEG, WebP, GIF, BMP or TIFF image, found images/case00111/img1100.jpg: `,
	}
	if len(got) != len(want) {
		t.Fatalf("%d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d is\n%s, want\n%s", i, got[i], want[i])
		}
	}
	if len(d.Items) != 1 || d.Items[0].ID != "case00109" {
		t.Errorf("%d items", len(d.Items))
	}
	for name, err := range map[string]error{
		"two files": func() error {
			if err := os.WriteFile(filepath.Join(dir, "train.parquet"), nil, 0o644); err != nil {
				return err
			}
			_, err := Open(Source{Kind: KindMedThinkVQA, Name: "cases", Path: dir})
			return err
		}(),
		"no file": func() error {
			_, err := Open(Source{Kind: KindMedThinkVQA, Name: "c", Path: t.TempDir()})
			return err
		}(),
		"split": func() error {
			_, err := Open(Source{Kind: KindMedThinkVQA, Name: "c", Path: dir, Split: "val"})
			return err
		}(),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestExperts(t *testing.T) {
	cases := medCases(t, 3)
	dir := t.TempDir()
	if err := datasettest.WriteMedThinkVQA(dir, "test", cases, false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "experts.csv")
	rows := "title,clinical_history,step1,human_factual1,human_critical1,human_error_types1,step2,human_factual2,human_critical2,human_error_types2\n" +
		strings.ToUpper(cases[1].Title) + ",  " + cases[1].History + ",It is seen.,True,1,,It follows.,false,no,\"['Reasoning', \"\"image understanding\"\"]\"\n" +
		cases[1].Title + "," + cases[1].History + ",It is seen.,0,,Other,,,,\n" +
		"Nobody," + cases[1].History + ",x,1,1,,,,,\n" +
		cases[2].Title + "," + cases[2].History + ",x,perhaps,1,Typing,,1,,\n"
	if err := os.WriteFile(file, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := Open(Source{Kind: KindMedThinkVQA, Name: "cases", Path: dir, Experts: file})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := []expertStep{{Rater: "1", N: 1, Text: "It is seen.", Factual: &yes, Critical: &yes}, {Rater: "1", N: 2, Text: "It follows.", Factual: &no, Critical: &no, Types: []string{"Reasoning", "Image Understanding"}},
		{Rater: "2", N: 1, Text: "It is seen.", Factual: &no, Types: []string{"Other"}}}
	if got := d.Items[1].AnswerLeaking().Experts; !reflect.DeepEqual(got, want) {
		t.Errorf("experts said %+v", got)
	}
	if len(d.Items[0].AnswerLeaking().Experts)+len(d.Items[2].AnswerLeaking().Experts) > 0 {
		t.Error("experts of cases that nobody rated")
	}
	var got []string
	for _, p := range d.Problems {
		got = append(got, fmt.Sprintf("%d %s", p.Row, p.Column))
	}
	if want := []string{"5 human_factual1", "5 human_error_types1", "5 step2", "4 title, clinical_history"}; !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
	plain, err := Open(Source{Kind: KindMedThinkVQA, Name: "cases", Path: dir})
	if err != nil || plain.Digest != d.Digest {
		t.Errorf("what experts say makes another data set: %v", err)
	}
}

// What has too many images is left out, and that is told.
func TestMaxImages(t *testing.T) {
	dir := t.TempDir()
	if err := datasettest.WriteMedThinkVQA(dir, "test", medCases(t, 12), false); err != nil { // 1 to 12 images
		t.Fatal(err)
	}
	for most, want := range map[int]int{0: 12, 5: 5, 12: 12} {
		d, err := Open(Source{Kind: KindMedThinkVQA, Name: "cases", Path: dir, MaxImages: most})
		if err != nil || len(d.Items) != want {
			t.Fatalf("%d images at most: %d items, %v", most, len(d.Items), err)
		}
		if left := len(d.Problems) == 1 && d.Problems[0].Got == "7 items of up to 12, which are left out"; left != (want < 12) || !left && len(d.Problems) > 0 {
			t.Errorf("%d images at most: %v", most, d.Problems)
		}
	}
}
