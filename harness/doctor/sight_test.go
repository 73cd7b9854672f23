package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/perturb"
	"assay/timing"
)

// seer reads the chart off what is left of its images: it looks for what differs from the backdrop,
// and says the right word of letters, whose form it does not look at, where enough is left.
type seer struct {
	side     int     // scales images down to it first; 0: as they are
	least    float64 // grey levels by which the darkest pixel has to differ
	swaps    bool    // red and blue
	mirrors  bool
	reverses bool
	only     int // sees the first so many; 0: all
	chats    bool
	blind    bool
	fails    int // from this request on; 0: never
	asked    int
	letters  map[string]string // by image
}

func (v *seer) Identify(context.Context, string) (backends.Identity, error) {
	return backends.Identity{Server: "ollama", Version: "1.2.3", Digest: "sha256:1"}, nil
}

func (v *seer) Generate(_ context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	if v.asked++; v.fails > 0 && v.asked >= v.fails {
		return nil, errors.New("the server is gone")
	}
	m := req.Messages[0]
	var shown []image.Image
	for _, file := range m.Images {
		img, err := png.Decode(bytes.NewReader(file.Bytes))
		if err != nil {
			return nil, err
		}
		if v.side > 0 {
			img = perturb.Shrink(img, v.side)
		}
		shown = append(shown, img)
	}
	if v.reverses {
		slices.Reverse(shown)
	}
	if v.only > 0 {
		shown = shown[:min(v.only, len(shown))]
	}
	said := v.say(m, shown)
	if v.chats {
		said = "I think the answer is " + said + "."
	}
	return &backends.Response{Answer: said, Finish: backends.FinishStop}, nil
}

func (v *seer) say(m backends.Message, shown []image.Image) string {
	if v.blind {
		return "left"
	}
	switch {
	case strings.Contains(m.Text, "letter"):
		if _, _, off := v.darkest(shown[0]); off < max(v.least, 110) {
			return "A"
		}
		return v.letters[string(m.Images[0].Bytes)]
	case strings.Contains(m.Text, "blob"):
		at, _, off := v.darkest(shown[0])
		left := at.X < shown[0].Bounds().Dx()/2
		if off < v.least {
			left = true
		}
		return map[bool]string{true: "Left", false: "right"}[left != v.mirrors]
	case strings.Contains(m.Text, "colour"):
		_, c, _ := v.darkest(shown[0])
		r, g, b, _ := c.RGBA()
		if v.swaps {
			r, b = b, r
		}
		switch {
		case r > 0x8000 && g > 0x8000:
			return "yellow"
		case r > g && r > b:
			return "red"
		case g > b:
			return "green"
		}
		return "blue"
	}
	for i, img := range shown {
		if _, c, _ := v.darkest(img); c.(color.RGBA).R < 20 && c.(color.RGBA).G < 20 && c.(color.RGBA).B < 20 {
			return fmt.Sprint(i + 1)
		}
	}
	return "none"
}

// darkest is the pixel that differs most from the backdrop.
func (v *seer) darkest(img image.Image) (at image.Point, c color.Color, off float64) {
	flat := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(flat, flat.Rect, img, img.Bounds().Min, draw.Src)
	most, found := -1, 0
	for i := 0; i < len(flat.Pix); i += 4 {
		for _, s := range flat.Pix[i : i+3] {
			if d := max(backdrop-int(s), int(s)-backdrop); d > most {
				most, found = d, i
			}
		}
	}
	p := flat.Pix[found:]
	return image.Pt(found/4%flat.Rect.Dx(), found/4/flat.Rect.Dx()), color.RGBA{p[0], p[1], p[2], 255}, float64(most)
}

// What a server does to images shows in what the model reads of the chart, and one that does
// nothing is not accused.
func TestSight(t *testing.T) {
	letters := map[string]string{}
	for _, task := range chart(chartSide)[:15] {
		file, err := files(task.images)
		if err != nil {
			t.Fatal(err)
		}
		letters[string(file[0].Bytes)] = task.want
	}
	for name, c := range map[string]struct {
		seer *seer
		want []string // of findings: level and a part of the text, in order
	}{
		"sound":       {&seer{}, []string{"ok: letters of 5 px, blobs of 2 px, large blobs 4 of 255"}},
		"talks":       {&seer{chats: true}, []string{"ok: letters of 5 px, blobs of 2 px, large blobs 4 of 255"}},
		"dull":        {&seer{least: 10}, []string{"ok: blobs of 2 px, large blobs 16 of 255"}},
		"scales down": {&seer{side: 56, least: 10}, []string{"ok: letters of 32 px, blobs of 4 px, large blobs 16 of 255"}},
		"swaps":       {&seer{swaps: true}, []string{"ok: letters of 5 px", "warning: it named 1 of 4 colours: channels may be swapped"}},
		"mirrors":     {&seer{mirrors: true}, []string{"ok: no small blobs, no faint blobs", "warning: it named 0 of 4 sides"}},
		"reorders":    {&seer{reverses: true}, []string{"ok: letters of 5 px", "warning: it named 2 of 5 positions"}},
		"drops":       {&seer{only: 1}, []string{"ok: letters of 5 px", "warning: it named 2 of 5 positions"}},
		"ignores":     {&seer{blind: true}, []string{"problem: it placed 2 of 4 large blobs and named 0 of 4 colours; 36 of 60 answers had one of the words asked for: it does not see"}},
		"ends":        {&seer{fails: 7}, []string{"problem: the chart was not read to its end: question 7 of 60: the server is gone"}},
	} {
		p := Patient{Config: &config.Config{Models: []backends.Model{{Name: "m"}}}, Endpoint: func(string) (run.Endpoint, error) { return run.Endpoint{Backend: c.seer, Model: "m"}, nil }}
		told := 0
		c.seer.letters = letters
		all, found := Look(t.Context(), p, func(_ string, done, of int) {
			if told++; done != told || of != 60 {
				t.Errorf("%s: told %d of %d", name, done, of)
			}
		})
		var got []string
		for i, f := range found.Findings {
			got = append(got, fmt.Sprintf("%v: %s", f.Level, f.Text))
			if i >= len(c.want) {
				continue
			}
			level, part, _ := strings.Cut(c.want[i], ": ")
			if !strings.HasPrefix(got[i], level) || !strings.Contains(got[i], part) {
				t.Errorf("%s: %s, want %s", name, got[i], c.want[i])
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", name, got)
		}
		if c.seer.fails == 0 && (len(all) != 1 || all[0].Asked != 60 || all[0].Side != chartSide || all[0].Server != "ollama 1.2.3") {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// The chart is the same each time, has 60 tasks whose answers are not all alike, and its images
// have the size that was asked for.
func TestChart(t *testing.T) {
	one, two := chart(448), chart(448)
	if len(one) != 60 {
		t.Fatalf("%d tasks", len(one))
	}
	n := map[string]int{}
	for i, task := range one {
		n[task.want]++
		for k, img := range task.images {
			if img.Bounds() != image.Rect(0, 0, 448, 448) || !bytes.Equal(img.(*image.RGBA).Pix, two[i].images[k].(*image.RGBA).Pix) {
				t.Errorf("task %d has another image each time, or of %v", i, img.Bounds())
			}
		}
	}
	if n["left"] != n["right"] || n["A"] == 0 || n["D"] == 0 || n["1"] != 2 || n["3"] != 1 {
		t.Errorf("answers are %v", n)
	}
}

// One word is read, whatever stands round it; two are none.
func TestChartAnswers(t *testing.T) {
	letter, side := chartTask{part: "letter", words: []string{"A", "B"}}, chartTask{words: []string{"left", "right"}}
	for _, c := range []struct {
		t          chartTask
		said, want string
	}{
		{letter, "B", "b"}, {letter, "The letter B.", "b"}, {letter, "a letter", ""}, {letter, "A or B", ""}, {letter, "", ""},
		{side, "On the LEFT side, left.", "left"}, {side, "left or right", ""}, {side, "upright", ""},
	} {
		if got := c.t.read(c.said); got != c.want {
			t.Errorf("%q is read as %q, want %q", c.said, got, c.want)
		}
	}
}

// What models saw is kept beside the store, the latest of each, and boxes that are thinner are
// named once for each condition.
func TestTooThin(t *testing.T) {
	db := filepath.Join(t.TempDir(), "runs", "x.sqlite")
	box := func(name string, px float64) *perturb.Condition {
		return &perturb.Condition{Name: name, Ops: []perturb.Op{{Name: "window"}, {Name: "box", Params: map[string]float64{"thickness_px": px}}}}
	}
	usual := &perturb.Condition{Name: "VH-BB", Ops: []perturb.Op{{Name: "box"}}} // of 4 px
	p := &plan.Plan{}
	for _, m := range []string{"sharp", "dull", "blind", "unknown"} {
		b := plan.Block{Model: m}
		for _, c := range []*perturb.Condition{box("thin", 1), box("thin", 1), usual, box("thick", 16), {Name: "VO-BB", Ops: []perturb.Op{{Name: "occlude"}}}, {Name: "baseline"}} {
			b.Trials = append(b.Trials, plan.Trial{Condition: c})
		}
		p.Blocks = append(p.Blocks, b)
	}
	if lines, err := TooThin(db, p); len(lines) > 0 || err != nil {
		t.Errorf("without a chart: %q, %v", lines, err)
	}
	day := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	one, two, eight := 1, 2, 8
	for _, list := range [][]Sight{{{Model: "sharp", Side: 448, Blob: &eight, At: day}}, {{Model: "sharp", Side: 448, Blob: &one, At: day}, {Model: "dull", Side: 448, Blob: &eight, At: day}}, {{Model: "blind", Side: 448, At: day}}} {
		if err := KeepSights(db, list); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := TooThin(db, p)
	want := []string{
		"model dull may not see boxes of 1 px (thin): the smallest blob that it saw had 8 px in images of 448 px (assay doctor --sight, 27 November 2026)",
		"model dull may not see boxes of 4 px (VH-BB): the smallest blob that it saw had 8 px in images of 448 px (assay doctor --sight, 27 November 2026)",
		"model blind may not see boxes of 1 px (thin): it saw no small blob in images of 448 px (assay doctor --sight, 27 November 2026)",
		"model blind may not see boxes of 4 px (VH-BB): it saw no small blob in images of 448 px (assay doctor --sight, 27 November 2026)",
		"model blind may not see boxes of 16 px (thick): it saw no small blob in images of 448 px (assay doctor --sight, 27 November 2026)",
	}
	if !slices.Equal(lines, want) || err != nil {
		t.Errorf("%q, %v\nwant %q", lines, err, want)
	}
	if err := KeepSights(db, []Sight{{Model: "dull", Side: 448, Blob: &two, At: day}}); err != nil {
		t.Fatal(err)
	}
	if lines, _ := TooThin(db, p); len(lines) != 4 {
		t.Errorf("the latest does not count: %q", lines)
	}
	if err := os.WriteFile(sightFile(db), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := TooThin(db, p); err == nil || !strings.Contains(err.Error(), "x-sight.json") {
		t.Errorf("a damaged file: %v", err)
	}
}
