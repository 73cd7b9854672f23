package doctor

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/run"
	"assay/perturb"
	"assay/timing"
)

// viewer looks for the marks in the pictures of a request, and counts a token for each
// 28 x 28 pixels of what it looks at.
type viewer struct {
	keep     int  // looks at the first so many; 0: all
	side     int  // scales them down to it first; 0: as they are
	reversed bool // takes them the other way round
	fixed    int  // tokens of any picture; 0: by its size
	uncounts bool // says no tokens
	shares   bool // all pictures share the tokens of one
	fewer    bool // each picture costs less where there are several
	blind    bool // says nothing of use
}

// open decodes a picture; stand-ins that are only weighed are asked for their size.
func (v *viewer) open(file []byte) (image.Image, error) {
	if c, err := png.DecodeConfig(bytes.NewReader(file)); err != nil || c.ColorModel != color.GrayModel {
		side := float64(max(c.Width, c.Height, 1))
		f := min(1, cmp.Or(float64(v.side), side)/side)
		return image.NewRGBA(image.Rect(0, 0, int(f*float64(c.Width)), int(f*float64(c.Height)))), err
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err == nil && v.side > 0 {
		img = perturb.Shrink(img, v.side)
	}
	return img, err
}

func (v *viewer) Identify(context.Context, string) (backends.Identity, error) {
	return backends.Identity{}, nil
}

func (v *viewer) Generate(_ context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	var said []string
	n := len(strings.Fields(req.Messages[0].Text))
	for i, file := range req.Messages[0].Images {
		if v.keep > 0 && i >= v.keep {
			break
		}
		img, err := v.open(file.Bytes)
		if err != nil {
			return nil, err
		}
		b := img.Bounds()
		switch {
		case v.fixed > 0:
			n += v.fixed
		case v.shares:
			n += b.Dx() * b.Dy() / 784 / len(req.Messages[0].Images)
		case v.fewer && len(req.Messages[0].Images) > 1:
			n += 5
		default:
			n += b.Dx() * b.Dy() / 784
		}
		said = append(said, markIn(img))
	}
	if v.reversed {
		slices.Reverse(said)
	}
	r := &backends.Response{Answer: "Here they are:\n" + strings.Join(said, "\n"), Finish: backends.FinishStop, Usage: backends.Usage{PromptTokens: &n}}
	if v.blind {
		r.Answer = "There are some pictures."
	}
	if v.uncounts {
		r.Usage.PromptTokens = nil
	}
	return r, nil
}

// markIn is the corner with the black square; a faint one is lost.
func markIn(img image.Image) string {
	grey, ok := img.(*image.Gray)
	if !ok {
		return "in colour"
	}
	at := slices.IndexFunc(grey.Pix, func(v uint8) bool { return v < 0x30 })
	if at < 0 {
		return "none"
	}
	x, y := at%grey.Stride, at/grey.Stride
	return []string{"Upper", "Lower"}[2*y/grey.Rect.Dy()] + "-" + []string{"left", "right"}[2*x/grey.Rect.Dx()]
}

// A server that drops pictures, scales them down or turns them round is exposed, by
// its tokens or by the marks; one that does not is not.
func TestSeveralPictures(t *testing.T) {
	for name, c := range map[string]struct {
		server viewer
		want   []string // of findings: level and a part of the text
	}{
		"sound":                        {viewer{}, []string{"ok: 4 pictures, as many as a trial shows, cost 45 tokens together, one by one 45", "ok: finds a square of 7 pixels in a corner of each of 4 pictures of 448"}},
		"drops the last":               {viewer{keep: 3}, []string{"problem: without the last one: the server drops pictures, or all share the tokens of fewer", "warning: it placed 3 of them, naming 3"}},
		"keeps the first":              {viewer{keep: 1}, []string{"problem: the server drops pictures", "warning: it placed 1 of them, naming 1"}},
		"scales down":                  {viewer{side: 56}, []string{"ok: cost", "note: half its sides 3: the server or the model brings all to one size", "warning: of squares of 7 pixels in 4 pictures of 448 it placed 0 of them"}},
		"one size":                     {viewer{fixed: 256}, []string{"ok: cost 1024 tokens together, one by one 1024", "note: costs 256 tokens, one of half its sides 256", "ok: finds"}},
		"scales down where several":    {viewer{shares: true}, []string{"problem: without the last one: the server drops pictures, or all share the tokens of fewer", "ok: finds"}},
		"smaller where several":        {viewer{fewer: true}, []string{"warning: one by one 45: the server scales pictures down, or drops some", "ok: finds"}},
		"turns round":                  {viewer{reversed: true}, []string{"ok: cost", "warning: it placed all of them, in reverse order"}},
		"cannot tell":                  {viewer{blind: true}, []string{"ok: cost", "warning: it placed 0 of them, naming 0 ()"}},
		"does not count":               {viewer{uncounts: true}, []string{"warning: could not be found out by its tokens: the server does not count", "ok: finds"}},
		"drops and does not count":     {viewer{uncounts: true, keep: 2}, []string{"warning: the server does not count", "warning: it placed 2 of them, naming 2"}},
		"scales and does not say what": {viewer{fixed: 256, side: 56}, []string{"ok: cost", "note: brings all to one size", "warning: scaled down on the way"}},
	} {
		end := run.Endpoint{Backend: &c.server, Model: "m"}
		few := Prompt{Sizes: []image.Point{{X: 112, Y: 112}}}
		many := Prompt{Sizes: []image.Point{{X: 112, Y: 84}, {X: 112, Y: 84}, {X: 84, Y: 84}, {X: 112, Y: 84}}}
		d := &examination{Patient: Patient{Prompts: map[string][]Prompt{"m": {few, many}, "one": {few}}, Endpoint: func(string) (run.Endpoint, error) { return end, nil }}}
		p := d.pictures(t.Context(), "m", "model m", backends.Identity{})
		if p == nil || p.Count != 4 || len(d.out.Findings) != len(c.want) {
			t.Errorf("%s: %+v, %+v", name, p, d.out.Findings)
			continue
		}
		for i, f := range d.out.Findings {
			level, text, _ := strings.Cut(c.want[i], ": ")
			if string(f.Level) != level || f.About != "model m" || !strings.Contains(f.Text, text) || (f.Level == problem || f.Level == warning && i > 0) && f.Do == "" {
				t.Errorf("%s: %+v, want %s", name, f, c.want[i])
			}
		}
		if sound := name == "sound" || name == "one size" || name == "does not count" || name == "scales down where several" || name == "smaller where several"; sound != (p.Small != nil && *p.Small) {
			t.Errorf("%s: %+v", name, p)
		}
		d.out.Findings = nil
		if p := d.pictures(t.Context(), "one", "model one", backends.Identity{}); p != nil || d.out.Findings != nil {
			t.Errorf("%s: a model that is shown one picture a trial: %+v, %+v", name, p, d.out.Findings)
		}
	}
}
