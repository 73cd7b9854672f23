package perturb

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"image"
	"os"
	"path/filepath"
	"testing"
)

func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestGoldenBoxes(t *testing.T) {
	var g struct {
		Cases []struct {
			ID   string
			Pct  [4]int
			W, H int
			Out  struct {
				Paper [4]int
				Trunc [4]int `json:"upstream_trunc"`
			}
		}
	}
	readGolden(t, "boxes.json", &g)
	if len(g.Cases) < 100 {
		t.Fatalf("%d golden boxes", len(g.Cases))
	}
	differ := 0
	for _, c := range g.Cases {
		got := Region{X0: c.Pct[0], Y0: c.Pct[1], X1: c.Pct[2], Y1: c.Pct[3]}.Pixels(c.W, c.H)
		if want := image.Rect(c.Out.Paper[0], c.Out.Paper[1], c.Out.Paper[2], c.Out.Paper[3]); got != want {
			t.Errorf("%s: got %v, want %v", c.ID, got, want)
		}
		got = Region{X0: c.Pct[0], Y0: c.Pct[1], X1: c.Pct[2], Y1: c.Pct[3], Truncate: true}.Pixels(c.W, c.H)
		want := image.Rect(c.Out.Trunc[0], c.Out.Trunc[1], c.Out.Trunc[2], c.Out.Trunc[3])
		if want.Empty() { // theirs draws nothing, or fails
			want.Max.X, want.Max.Y = max(want.Max.X, want.Min.X+1), max(want.Max.Y, want.Min.Y+1)
		}
		if got != want {
			t.Errorf("%s, truncated: got %v, want %v", c.ID, got, want)
		}
		if got != image.Rect(c.Out.Paper[0], c.Out.Paper[1], c.Out.Paper[2], c.Out.Paper[3]) {
			differ++
		}
	}
	if differ < 20 {
		t.Errorf("%d boxes differ when all bounds are rounded down", differ)
	}
}

// gradient16 is the golden file's own test picture.
func gradient16(w, h int) *image.Gray16 {
	m := image.NewGray16(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			v := uint16(531*x + 257*y + x*y%97)
			m.Pix[y*m.Stride+2*x], m.Pix[y*m.Stride+2*x+1] = uint8(v>>8), uint8(v)
		}
	}
	return m
}

func digest(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestGoldenPixels(t *testing.T) {
	var g struct {
		Cases []struct {
			ID, Op, Kind string
			W, H         int
			Box          [4]int
			Thickness    int
			Colour       [3]uint8
			Alpha        float64
			Out          struct {
				Gray8   string `json:"sha256_gray8"`
				RGB8    string `json:"sha256_rgb8"`
				Raw     string `json:"rgb8_base64"`
				Changed int    `json:"changed_pixels"`
				Side    int
				X       int      `json:"offset_x"`
				Y       int      `json:"offset_y"`
				Mean    [3]uint8 `json:"clip_mean_colour"`
			}
		}
	}
	readGolden(t, "image.json", &g)
	seen := map[string]int{}
	base := PixelsOf(window(gradient16(64, 48)))
	for _, c := range g.Cases {
		seen[c.Op]++
		box := image.Rect(c.Box[0], c.Box[1], c.Box[2], c.Box[3])
		switch c.Op {
		case "minmax":
			if got := digest(goldenWindow(t, c.Kind, c.W, c.H)); got != c.Out.Gray8 {
				t.Errorf("%s: %s, want %s", c.ID, got, c.Out.Gray8)
			}
		case "bbox", "occlude":
			p := base.clone()
			if c.Op == "bbox" {
				p = drawBox(p, box, c.Thickness, c.Colour)
			} else {
				occlude(p, area{Rectangle: box}, "black", 0, nil)
			}
			if got := digest(p.rgb().Pix); got != c.Out.RGB8 {
				t.Errorf("%s: %s, want %s", c.ID, got, c.Out.RGB8)
			}
			changed := 0
			for i, v := range p.Pix {
				if v != base.Pix[i] {
					changed++
				}
			}
			if changed > c.Out.Changed { // black stays black
				t.Errorf("%s: %d pixels changed, want %d", c.ID, changed, c.Out.Changed)
			}
		case "heatmap":
			want, err := base64.StdEncoding.DecodeString(c.Out.Raw)
			if err != nil {
				t.Fatal(err)
			}
			got := heatmap(base, []area{{Rectangle: box}}, c.Alpha, .25, [3]uint8{255, 0, 0}).Pix
			if len(got) != len(want) {
				t.Fatalf("%s: %d bytes, want %d", c.ID, len(got), len(want))
			}
			equal := 0
			for i := range got {
				d := int(got[i]) - int(want[i])
				if d < -1 || d > 1 {
					t.Fatalf("%s: byte %d: %d, want %d", c.ID, i, got[i], want[i])
				}
				if d == 0 {
					equal++
				}
			}
			t.Logf("%s: %d of %d bytes equal, the rest one level off", c.ID, equal, len(got))
		case "pad-square":
			src := NewPixels(c.W, c.H, 1)
			for i := range src.Pix {
				src.Pix[i] = uint8(i%200) + 1
			}
			p := padSquare(src, c.Out.Mean)
			if p.W != c.Out.Side || p.H != c.Out.Side {
				t.Errorf("%s: %dx%d, want side %d", c.ID, p.W, p.H, c.Out.Side)
			}
			for y := range p.H {
				for x := range p.W {
					r, gr, b, _ := p.At(x, y).RGBA()
					got := [3]uint8{uint8(r >> 8), uint8(gr >> 8), uint8(b >> 8)}
					want := c.Out.Mean
					if sx, sy := x-c.Out.X, y-c.Out.Y; image.Pt(sx, sy).In(src.Bounds()) {
						v := src.Pix[sy*c.W+sx]
						want = [3]uint8{v, v, v}
					}
					if got != want {
						t.Fatalf("%s: pixel %d,%d is %v, want %v", c.ID, x, y, got, want)
					}
				}
			}
		default:
			t.Errorf("%s: nothing checks op %q", c.ID, c.Op)
		}
	}
	for _, op := range []string{"minmax", "bbox", "occlude", "heatmap", "pad-square"} {
		if seen[op] == 0 {
			t.Errorf("no golden case of %s", op)
		}
	}
}

// goldenWindow draws the golden file's pictures and windows them.
func goldenWindow(t *testing.T, kind string, w, h int) []byte {
	t.Helper()
	u16 := func(f func(x, y int) uint16) []byte {
		m := image.NewGray16(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				v := f(x, y)
				m.Pix[y*m.Stride+2*x], m.Pix[y*m.Stride+2*x+1] = uint8(v>>8), uint8(v)
			}
		}
		return window(m).(*Pixels).Pix
	}
	switch kind {
	case "gradient16":
		return window(gradient16(w, h)).(*Pixels).Pix
	case "u8narrow":
		m := image.NewGray(image.Rect(0, 0, w, h))
		for i := range m.Pix {
			m.Pix[i] = uint8(40 + (3*(i%w)+5*(i/w))%120)
		}
		return window(m).(*Pixels).Pix
	case "constant":
		return u16(func(x, y int) uint16 { return 1234 })
	case "two-values":
		return u16(func(x, y int) uint16 { return 7 + uint16((x+y)%2)*4088 })
	case "negative":
		v := make([]int16, 0, w*h)
		for y := range h {
			for x := range w {
				v = append(v, int16(11*x-7*y-500))
			}
		}
		return minMax(v)
	}
	t.Fatalf("unknown golden picture %q", kind)
	return nil
}

// TestGoldenOps: pictures that Pillow and numpy made (testdata/ops.py). What only moves or
// paints pixels is equal; what is computed is one level off at most.
func TestGoldenOps(t *testing.T) {
	var g struct {
		Pictures [][3]int // width, height, channels
		Seed     uint64
		Cases    []struct {
			Picture, W, H int
			Ops           []Op
			SHA256        string
			Pix           []byte
		}
	}
	readGolden(t, "ops.json", &g)
	seen, largest, equal, samples, off := map[string]int{}, map[string]int{}, 0, 0, 0
	for _, c := range g.Cases {
		size := g.Pictures[c.Picture]
		p := NewPixels(size[0], size[1], size[2])
		for i := range p.Pix {
			x, y := i/p.Channels%p.W, i/p.Channels/p.W
			p.Pix[i] = uint8(37*x + 91*y + 59*(i%p.Channels) + 7*x*y + 20)
		}
		img, err := Condition{Ops: c.Ops}.Apply(p, g.Seed)
		if err != nil {
			t.Fatal(err)
		}
		got := PixelsOf(img)
		name := c.Ops[0].Name
		seen[name]++
		switch {
		case got.W != c.W || got.H != c.H || got.Channels != p.Channels:
			t.Errorf("%v of picture %v is %dx%d, want %dx%d", c.Ops, size, got.W, got.H, c.W, c.H)
		case c.SHA256 != "":
			if digest(got.Pix) != c.SHA256 {
				t.Errorf("%v of picture %v: other pixels", c.Ops, size)
			}
			equal++
		case len(c.Pix) != len(got.Pix):
			t.Errorf("%v of picture %v: %d bytes, want %d", c.Ops, size, len(got.Pix), len(c.Pix))
		default:
			samples += len(got.Pix)
			for i, want := range c.Pix {
				d := max(int(got.Pix[i])-int(want), int(want)-int(got.Pix[i]))
				off += min(d, 1)
				if largest[name] = max(largest[name], d); d > 1 {
					t.Errorf("%v of picture %v: byte %d is %d, want %d", c.Ops, size, i, got.Pix[i], want)
					break
				}
			}
		}
	}
	t.Logf("%d renders of %v; %d of them by digest, of the others %d of %d levels differ, by up to %v", len(g.Cases), seen, equal, off, samples, largest)
	if len(g.Cases) < 592 || len(seen) != 13 {
		t.Errorf("%d golden pictures of %d ops", len(g.Cases), len(seen))
	}
}

// The overlays on an image that is not grey give the same as on its grey twin.
func TestGreyAndRGBAgree(t *testing.T) {
	grey := PixelsOf(window(gradient16(64, 48)))
	colour := grey.rgb()
	reg := []Region{{X0: 30, Y0: 35, X1: 70, Y1: 65}}
	for _, op := range []Op{
		{Name: "box", Regions: reg}, {Name: "heatmap", Regions: reg}, {Name: "occlude", Regions: reg, Fill: "mean"},
		{Name: "occlude", Regions: reg, Fill: "blur"}, {Name: "occlude", Regions: reg, Fill: "noise"}, {Name: "blur"},
		{Name: "noise"}, {Name: "contrast"}, {Name: "resolution"}, {Name: "box", Regions: reg, Elsewhere: true},
		{Name: "rotate"}, {Name: "flip"}, {Name: "crop"}, {Name: "shift"}, {Name: "gamma"}, {Name: "saturation"}, {Name: "invert"}, {Name: "channels"},
		{Name: "blank"}, {Name: "static"}, {Name: "patches"},
		{Name: "keep", Regions: reg}, {Name: "keep", Regions: reg, Fill: "mean"}, {Name: "keep", Regions: reg, Fill: "blur"},
		{Name: "keep", Regions: reg, Fill: "noise"}, {Name: "occlude", Regions: reg, Params: map[string]float64{"opacity": .4}},
	} {
		a, errA := op.Apply(grey, 3)
		b, errB := op.Apply(colour, 3)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !bytes.Equal(a.(*Pixels).rgb().Pix, b.(*Pixels).rgb().Pix) {
			t.Errorf("%s %s differs between grey and RGB of the same picture", op.Name, op.Fill)
		}
	}
}
