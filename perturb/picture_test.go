package perturb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"pgregory.net/rapid"
)

// encode is what is sent of a file under no condition.
func encode(src []byte, p Picture) ([]byte, string, error) { return Condition{}.Render(src, p, 0) }

// webPFile is a lossless WebP of one colour, w x h: the smallest there is (all
// five prefix codes have one symbol, so pixels cost no bits).
func webPFile(w, h int, grey uint8) []byte {
	var acc, n uint64
	var out []byte
	put := func(v uint64, bits uint64) {
		acc |= v << n
		for n += bits; n >= 8; n -= 8 {
			out = append(out, byte(acc))
			acc >>= 8
		}
	}
	put(0x2F, 8)
	put(uint64(w-1), 14)
	put(uint64(h-1), 14)
	put(0, 7)
	for _, sym := range []uint8{grey, grey, grey, 255, 0} {
		put(0b101, 3)
		put(uint64(sym), 8)
	}
	put(0, 8)
	body := append([]byte("WEBPVP8L"), binary.LittleEndian.AppendUint32(nil, uint32(len(out)))...)
	body = append(body, out...)
	if len(body)%2 == 1 {
		body = append(body, 0)
	}
	return append(append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(len(body)))...), body...)
}

// samples are the same 23x17 picture in every format.
func samples(t testing.TB) map[string][]byte {
	m := image.NewNRGBA(image.Rect(0, 0, 23, 17))
	for i := range m.Pix {
		m.Pix[i] = uint8(i * 5)
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	out := map[string][]byte{"webp": webPFile(23, 17, 90)}
	for name, enc := range map[string]func(*bytes.Buffer) error{
		"png":  func(b *bytes.Buffer) error { return png.Encode(b, m) },
		"jpeg": func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) },
		"gif":  func(b *bytes.Buffer) error { return gif.Encode(b, m, nil) },
		"bmp":  func(b *bytes.Buffer) error { return bmp.Encode(b, m) },
		"tiff": func(b *bytes.Buffer) error { return tiff.Encode(b, m, nil) },
	} {
		var b bytes.Buffer
		if err := enc(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	return out
}

func TestConfig(t *testing.T) {
	for want, b := range samples(t) {
		format, w, h, err := Config(b)
		if err != nil || format != want || w != 23 || h != 17 {
			t.Errorf("%s: %s %dx%d, %v", want, format, w, h, err)
		}
		// Nothing that lacks its end passes, wherever it was cut.
		needed := len(b)
		switch want { // what nobody reads
		case "tiff":
			needed -= 16 // two fractions of resolution
		case "gif":
			needed-- // the trailer
		}
		for n := range needed {
			if _, _, _, err := Config(b[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes pass", want, n, len(b))
				break
			}
		}
		if _, _, _, err := Config(append(bytes.Clone(b), "trailing"...)); err != nil {
			t.Errorf("%s with bytes behind its end: %v", want, err)
		}
	}
	for _, b := range []string{"", "x", "<svg/>", "%PDF-1.7", "RIFF\x00\x00\x00\x00WAVE"} {
		if _, _, _, err := Config([]byte(b)); !errors.Is(err, errFormat) || strings.Contains(err.Error(), "is empty") != (b == "") {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func TestConfigFindsDamageAndThumbnails(t *testing.T) {
	all := samples(t)
	p := bytes.Clone(all["png"])
	p[len(p)-30] ^= 1
	if _, _, _, err := Config(p); err == nil {
		t.Error("a PNG with a flipped bit passes")
	}
	// A JPEG whose only end marker is that of the thumbnail inside its header.
	j := all["jpeg"]
	app := append([]byte{0xff, 0xe1, 0, 0}, "Exif\x00\x00\xff\xd8\xff\xd9"...)
	binary.BigEndian.PutUint16(app[2:], uint16(len(app)-2))
	with := append(append(bytes.Clone(j[:2]), app...), j[2:]...)
	if _, _, _, err := Config(with); err != nil {
		t.Errorf("a JPEG with a thumbnail: %v", err)
	}
	if _, _, _, err := Config(with[:len(with)-2]); !errors.Is(err, errCutShort) {
		t.Errorf("a JPEG that lacks its own end: %v", err)
	}
}

// A header is believed before any pixel is asked for: 400 megapixels in 60 bytes.
func TestOversizedIsRefusedFromTheHeader(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, 20000)
	head = binary.BigEndian.AppendUint32(head, 20000)
	head = append(head, 8, 0, 0, 0, 0)
	b := []byte(pngSignature)
	for kind, data := range map[string][]byte{"IHDR": head} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		b = append(append(b, kind...), data...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(append([]byte(kind), data...)))
	}
	for name, f := range map[string]func() error{
		"Config": func() error { _, _, _, err := Config(b); return err },
		"Decode": func() error { _, err := Decode(b); return err },
		"Encode": func() error { _, _, err := encode(b, Picture{MaxSide: 100}); return err },
	} {
		if err := f(); !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if checkSize(10000, 10000) != nil || checkSize(10001, 10000) == nil || checkSize(math.MaxInt, math.MaxInt) == nil || checkSize(0, 5) == nil {
		t.Error("the limit is not at 100,000,000 pixels")
	}
	if _, err := EncodePNG(image.NewUniform(color.White)); err == nil {
		t.Error("an unbounded image was encoded")
	}
}

func TestEncode(t *testing.T) {
	all := samples(t)
	for format, b := range all {
		own := format == "png" || format == "jpeg"
		for _, p := range []Picture{{}, {WebP: true}, {MaxSide: 23}, {MaxSide: 500, WebP: true}} {
			out, mime, err := encode(b, p)
			if err != nil {
				t.Fatal(err)
			}
			keep := own || format == "webp" && p.WebP
			if keep != bytes.Equal(out, b) {
				t.Errorf("%s %+v: own bytes %v, want %v", format, p, !keep, keep)
			}
			want := "image/png"
			if keep {
				want = "image/" + format
			}
			if mime != want {
				t.Errorf("%s %+v: %s, want %s", format, p, mime, want)
			}
			if !keep {
				src, err := Decode(b)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Decode(out)
				if err != nil {
					t.Fatal(err)
				}
				samePixels(t, got, src)
			}
		}
		out, mime, err := encode(b, Picture{MaxSide: 10})
		if err != nil || mime != "image/png" {
			t.Fatalf("%s, %v", mime, err)
		}
		if f, w, h, err := Config(out); f != "png" || w != 10 || h != 7 || err != nil { // 17*10/23 = 7.4
			t.Errorf("%s scaled: %s %dx%d, %v", format, f, w, h, err)
		}
		again, _, _ := encode(b, Picture{MaxSide: 10})
		if !bytes.Equal(out, again) {
			t.Errorf("%s: other bytes the second time", format)
		}
	}
	if _, _, err := encode(all["png"], Picture{MaxSide: -1}); err == nil {
		t.Error("a negative side was accepted")
	}
	if _, _, err := encode(all["png"][:40], Picture{}); err == nil {
		t.Error("half a picture was accepted")
	}
}

// Orientation in EXIF changes nothing: neither what is kept nor what is scaled.
func TestOrientationIsNotApplied(t *testing.T) {
	j := samples(t)["jpeg"]
	tiffHead := "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00" // orientation 6
	app := append([]byte{0xff, 0xe1, 0, 0}, "Exif\x00\x00"+tiffHead...)
	binary.BigEndian.PutUint16(app[2:], uint16(len(app)-2))
	turned := append(append(bytes.Clone(j[:2]), app...), j[2:]...)
	a, _, errA := encode(j, Picture{MaxSide: 12})
	b, _, errB := encode(turned, Picture{MaxSide: 12})
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("orientation changed the pixels (%v, %v)", errA, errB)
	}
}

func TestShrink(t *testing.T) {
	grey := image.NewGray(image.Rect(3, 4, 103, 54))
	deep := image.NewGray16(image.Rect(0, 0, 100, 50))
	for i := range grey.Pix {
		grey.Pix[i] = uint8(i%100) * 2
	}
	for i := range 5000 {
		v := uint16(i%100) * 40 // 12 bits: all of it in the low part of 16
		deep.Pix[2*i], deep.Pix[2*i+1] = uint8(v>>8), uint8(v)
	}
	colour := PixelsOf(grey).rgb()
	clear := image.NewNRGBA(image.Rect(0, 0, 100, 50)) // transparent
	pal := image.NewPaletted(image.Rect(0, 0, 100, 50), color.Palette{color.Gray{7}, color.Gray{9}})
	wide := image.NewNRGBA64(image.Rect(0, 0, 100, 50))
	for i := range wide.Pix {
		wide.Pix[i] = 255
	}
	for _, c := range []struct {
		img  image.Image
		want string
	}{{grey, "*image.Gray"}, {deep, "*image.Gray16"}, {clear, "*image.NRGBA"}, {pal, "*image.RGBA"}} {
		small := Shrink(c.img, 20)
		if small.Bounds() != image.Rect(0, 0, 20, 10) {
			t.Errorf("%s: %v", c.want, small.Bounds())
		}
		b, err := EncodePNG(small)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(b))
		if err != nil || typeName(m) != c.want {
			t.Errorf("%s comes back as %s (%v)", c.want, typeName(m), err)
		}
	}
	if _, ok := Shrink(wide, 20).(*image.RGBA64); !ok {
		t.Error("16 bit colour lost bits")
	}
	// A ramp stays a ramp, in all depths alike.
	g, d, c := Shrink(grey, 20).(*image.Gray), Shrink(deep, 20).(*image.Gray16), PixelsOf(Shrink(colour, 20))
	for x := 2; x < 18; x++ {
		centre := (float64(x)+.5)*5 - .5
		if v := float64(g.GrayAt(x, 5).Y); math.Abs(v-2*centre) > 1 {
			t.Errorf("grey %d: %v, want %v", x, v, 2*centre)
		}
		if v := float64(d.Gray16At(x, 5).Y); math.Abs(v-40*centre) > 1 {
			t.Errorf("16 bit %d: %v, want %v", x, v, 40*centre)
		}
		if v := c.Pix[(5*20+x)*3]; v != g.GrayAt(x, 5).Y {
			t.Errorf("RGB %d: %d, grey %d", x, v, g.GrayAt(x, 5).Y)
		}
	}
	if Shrink(grey, 100) != image.Image(grey) {
		t.Error("an image that fits was changed")
	}
	if b := Shrink(image.NewGray(image.Rect(0, 0, 1000, 1)), 10).Bounds(); b != image.Rect(0, 0, 10, 1) {
		t.Errorf("a line became %v", b)
	}
}

func TestPixelsOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		img := drawImage(t)
		p := PixelsOf(img)
		b := img.Bounds()
		if p.W != b.Dx() || p.H != b.Dy() || len(p.Pix) != p.W*p.H*p.Channels {
			t.Fatalf("%dx%d with %d bytes of %v", p.W, p.H, len(p.Pix), b)
		}
		x, y := rapid.IntRange(0, p.W-1).Draw(t, "x"), rapid.IntRange(0, p.H-1).Draw(t, "y")
		r, g, bl, a := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
		white := 0xffff - a
		want := [3]int{int((r + white) >> 8), int((g + white) >> 8), int((bl + white) >> 8)}
		r, g, bl, _ = p.At(x, y).RGBA()
		for i, v := range [3]uint32{r, g, bl} {
			if d := int(v>>8) - want[i]; d < -1 || d > 1 { // YCbCr rounds one way or the other
				t.Fatalf("channel %d is %d, want %d (%T)", i, v>>8, want[i], img)
			}
		}
	})
	half := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	half.SetNRGBA(0, 0, color.NRGBA{0, 0, 0, 128})
	if p := PixelsOf(half); p.Pix[0] != 127 || p.Pix[3] != 255 {
		t.Errorf("black at half opacity over white, then nothing: %v", p.Pix)
	}
}

func TestFuzzSeeds(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "fuzz", "FuzzConfig"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d seeds, %v: want one per format at least", len(files), err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		format, w, h, err := Config(b)
		if err != nil {
			if format != "" || w != 0 || h != 0 {
				t.Fatalf("an error and %s %dx%d", format, w, h)
			}
			return
		}
		if w < 1 || h < 1 || w > MaxPixels/h {
			t.Fatalf("%dx%d passes", w, h)
		}
		if w*h > 1<<20 {
			return
		}
		img, err := Decode(b)
		if err != nil {
			return
		}
		if img.Bounds().Dx() != w || img.Bounds().Dy() != h {
			t.Fatalf("%s of %v, the header says %dx%d", format, img.Bounds(), w, h)
		}
		out, mime, err := encode(b, Picture{MaxSide: max(w, h)})
		if err != nil || mime == "" {
			t.Fatalf("%s decodes and is not sent: %v", format, err)
		}
		if _, w2, h2, err := Config(out); err != nil || w2 != w || h2 != h {
			t.Fatalf("sent as %dx%d, %v; was %dx%d", w2, h2, err, w, h)
		}
	})
}
