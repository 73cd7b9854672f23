package dataset

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/perturb"
)

// TestBoxesOfOwnQuestions: one place of pictures of 96x96 pixels, said in every unit, form and
// format, is the same pixels of a question of any type; how the numbers are read is told, and
// bench.yaml can say it.
func TestBoxesOfOwnQuestions(t *testing.T) {
	dir := t.TempDir()
	_, a, _ := datasettest.Picture(0)
	if _, w, h, err := perturb.Config(a); err != nil || w != 96 || h != 96 {
		t.Fatal(w, h, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.png"), a, 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	open := func(name, text string, s Source) *Dataset {
		t.Helper()
		n++
		s.Path = filepath.Join(dir, fmt.Sprint(n, name))
		if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if s.Kind, err = sniff(s.Path); err != nil {
			t.Fatal(err)
		}
		s.Name = "mine"
		d, err := Open(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := image.Rect(24, 48, 72, 95) // 96 is clipped to the last pixel
	lines := func(boxes string) string {
		return `{"image": "a.png", "question": "q", "answer": "yes", "boxes": ` + boxes + `}
{"image": "a.png", "question": "q", "answer": "B", "options": ["left", "right"], "boxes": ` + boxes + `}
{"image": "a.png", "question": "q", "answer": "CT", "boxes": ` + boxes + `}
{"image": "a.png", "question": "q", "answer": ["A", "B"], "options": ["x", "y", "z"], "boxes": ` + boxes + `}
{"image": "a.png", "question": "q", "answer": "true", "boxes": ` + boxes + `}`
	}
	plain := func(boxes string) string {
		return `{"id": "1", "images": ["a.png"], "question": "q", "type": "single", "options": [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}], "answer": "A", "boxes": ` + boxes + `}`
	}
	cells := func(columns, numbers string) string {
		return "image,question,answer," + columns + "\na.png,q,yes," + numbers + "\na.png,q,CT," + numbers + "\n"
	}
	for _, c := range []struct {
		text, told string
		s          Source
		format     string
	}{
		{lines("[[25, 50, 75, 100]]"), "boxes: in per cents of width and height, x0 y0 x1 y1", Source{}, "q.jsonl"},
		{lines("[0.25, 0.5, 0.75, 1]"), "boxes: in fractions of width and height, x0 y0 x1 y1", Source{}, "q.jsonl"},
		{lines("[25, 50, 50, 50]"), "boxes: in per cents of width and height, x y w h", Source{BoxesForm: "xywh"}, "q.jsonl"},
		{lines("[24, 48, 72, 96]"), "boxes: in pixels, x0 y0 x1 y1", Source{Boxes: "px"}, "q.jsonl"},
		{lines(`{"x": 24, "y": 48, "w": 48, "h": 48}`), "boxes: in pixels", Source{Boxes: "px"}, "q.jsonl"},
		{lines("[24, 48, 48, 48]"), "", Source{Boxes: "px", BoxesForm: "xywh"}, "q.jsonl"},
		{plain("[[25, 50, 75, 100]]"), "boxes: in per cents", Source{}, "p.jsonl"},
		{plain("[0.25, 0.5, 0.75, 1]"), "boxes: in fractions", Source{}, "p.jsonl"},
		{plain("[[24, 48, 72, 96]]"), "boxes: in pixels", Source{Boxes: "px"}, "p.jsonl"},
		{cells("boxes", `"[24, 48, 72, 96]"`), "boxes: in pixels", Source{Boxes: "px"}, "q.csv"},
		{cells("bbox", "25 50 75 100"), "boxes: in per cents", Source{}, "q.csv"},
		{cells("x_min,y_min,x_max,y_max", "24,48,72,96"), "boxes: in pixels", Source{Boxes: "px"}, "q.csv"},
		{cells("x,y,w,h", "24,48,48,48"), "boxes: in pixels", Source{Boxes: "px"}, "q.csv"},
	} {
		d := open(c.format, c.text, c.s)
		if len(d.Problems) > 0 || len(d.Unused) > 0 || len(d.Items) == 0 {
			t.Errorf("%s: %v, unused %q", c.text, d.Problems, d.Unused)
		}
		for _, it := range d.Items {
			if r := it.Regions[""]; len(r) != 1 || r[0].Pixels(96, 96) != want {
				t.Errorf("%s: item of type %s has %v, want %v", c.text, it.Type, r, want)
			}
		}
		told := slices.ContainsFunc(d.Guesses, func(g string) bool { return c.told != "" && strings.HasPrefix(g, c.told) })
		if c.told == "" {
			told = !slices.ContainsFunc(d.Guesses, func(g string) bool { return strings.HasPrefix(g, "boxes: in") })
		}
		if !told {
			t.Errorf("%s: told %q, want %q", c.text, d.Guesses, c.told)
		}
	}
	// A box that is no place of its picture is a problem of its row; the others are read.
	d := open("q.jsonl", lines("[[24, 48, 72, 96]]")+`
{"image": "a.png", "question": "q", "answer": "CT", "boxes": [24, 48, 72, 97]}
{"image": "a.png", "question": "q", "answer": "CT", "boxes": "here"}
{"image": "a.png", "question": "q", "answer": "CT", "boxes": []}`, Source{Boxes: "px", BoxesForm: "xyxy"})
	if len(d.Items) != 6 || len(d.Problems) != 2 || d.Problems[0].Row != 6 || !strings.Contains(d.Problems[0].Want, "in a picture of 96x96 pixels (boxes: px") || d.Problems[1].Row != 7 || d.Items[5].Regions != nil {
		t.Errorf("%d items, %v", len(d.Items), d.Problems)
	}
}

// Polygons, masks in files and COCO's run lengths are the same pixels of a question as their box,
// by name; one that does not fit its picture is a problem of its row.
func TestRegionsOfOwnQuestions(t *testing.T) {
	dir := t.TempDir()
	_, a, _ := datasettest.Picture(0)
	mask := image.NewGray(image.Rect(0, 0, 96, 96))
	for i := range 48 * 40 {
		mask.Pix[(40+i/48)*96+24+i%48] = 1
	}
	var file bytes.Buffer
	if err := png.Encode(&file, mask); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"a.png": a, "m.png": file.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var counts []string // of 96 columns, 24 to 71 have 40 pixels from row 40 on
	for x := range 48 {
		counts = append(counts, map[bool]string{true: fmt.Sprint(24*96 + 40), false: "56"}[x == 0], "40")
	}
	counts = append(counts, fmt.Sprint(16+24*96))
	rle := `{"size": [96, 96], "counts": [` + strings.Join(counts, ", ") + `]}`
	rows := []string{`"m.png"`, `["m.png"]`, `{"implant": "m.png"}`, rle, `{"implant": [` + rle + `]}`,
		`[[24, 40], [72, 40], [72, 80], [24, 80]]`, `{"implant": [[24, 40, 72, 40, 72, 80, 24, 80]]}`,
		`{"size": [96, 95], "counts": [9120]}`, `{"size": [96, 96], "counts": [9216]}`, `"gone.png"`, `"a.jpg"`, `[[24, 40], [97, 40], [72, 80]]`, `[[1.1, 1.1], [1.2, 1.1], [1.2, 1.2]]`}
	text := ""
	for _, r := range rows {
		text += `{"image": "a.png", "question": "q", "answer": "yes", "boxes": ` + r + "}\n"
	}
	path := filepath.Join(dir, "q.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(Source{Name: "mine", Kind: formatJSONL, Path: path, Boxes: "px"})
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range d.Items {
		name := map[bool]string{true: "implant"}[strings.Contains(rows[i], "implant")]
		if list := it.Regions[name]; len(list) != 1 || list[0].Mask == nil || list[0].Pixels(96, 96) != image.Rect(24, 40, 72, 80) {
			t.Errorf("%s: %v", rows[i], it.Regions)
		}
	}
	var found []string
	for _, p := range d.Problems {
		found = append(found, fmt.Sprintf("%d %s: %s, found %s", p.Row, p.Column, p.Want, p.Got))
	}
	for i, want := range []string{"8 boxes: a mask of 96x96 pixels, as its picture is, found 95x96 pixels", "9 boxes: a mask that fits: no pixel of 96x96 is inside", "10 boxes: ", "11 boxes: boxes of four numbers", "12 boxes: x0 < x1", "13 boxes: a polygon that has the middle of a pixel"} {
		if i >= len(found) || !strings.HasPrefix(found[i], want) {
			t.Errorf("problem %d: %q, want %q", i+1, found, want)
		}
	}
	if len(d.Items) != 7 {
		t.Errorf("%d items", len(d.Items))
	}
}
