package dataset

import (
	"fmt"
	"image"
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
