package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/perturb"
)

// TestDecodingIsBounded: however many requests run beside each other, the pictures
// that are decoded at once have no more pixels than the largest single one may
// have; nothing waits that fits, a wait ends with its context, and a file that is
// no picture is not waited for.
func TestDecodingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const side = 6000 // 36 million pixels: two fit, three do not
		file := headerOf(t, side, side)
		d := New()
		var mu sync.Mutex
		now, most := 0, 0
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if err := d.whileOne(t.Context(), file, func() error {
					mu.Lock()
					now += side * side
					most = max(most, now)
					mu.Unlock()
					time.Sleep(time.Second) // in the bubble
					mu.Lock()
					now -= side * side
					mu.Unlock()
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		began := time.Now()
		wg.Wait()
		if most != 2*side*side || most > perturb.MaxPixels || time.Since(began) != 8*time.Second {
			t.Errorf("%d pixels at once, %v for 16 pictures", most, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wg.Go(func() {
			d.whileOne(t.Context(), headerOf(t, 10000, 10000), func() error { time.Sleep(time.Minute); return nil })
		})
		synctest.Wait()
		if err := d.whileOne(ctx, file, func() error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there was no room: %v", err)
		}
		if err := d.whileOne(ctx, []byte("no picture"), func() error { return io.EOF }); err != io.EOF {
			t.Errorf("no picture: %v", err)
		}
		wg.Wait()
	})
}

// headerOf is a whole PNG by its chunks, without the pixels that its header promises.
func headerOf(t *testing.T, w, h int) []byte {
	t.Helper()
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		kind string
		data []byte
	}{{"IHDR", append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h)), 8, 0, 0, 0, 0)}, {"IDAT", nil}, {"IEND", nil}} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.data)))
		body := append([]byte(c.kind), c.data...)
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	}
	return out
}

// What was rendered before is sent again only where it would come out the same.
func TestARenderedPictureIsTheOneThatIsAskedFor(t *testing.T) {
	box := func(x int, p map[string]float64) []perturb.Op {
		return []perturb.Op{{Name: "box", Params: p, Regions: []perturb.Region{{X0: x, Y0: 10, X1: 60, Y1: 60}}}}
	}
	files := [][]byte{}
	for i := range 2 {
		img := image.NewGray(image.Rect(0, 0, 64, 48))
		for k := range img.Pix {
			img.Pix[k] = uint8(k*3 + k/64*5 + i*40)
		}
		file, err := perturb.EncodePNG(img)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	conditions := []perturb.Condition{{}, {Name: "TB", Kind: perturb.KindText}, {Name: "sham", Kind: perturb.KindSham}, {Name: "b", Ops: box(10, nil)},
		{Name: "thick", Ops: box(10, map[string]float64{"thickness_px": 8})}, {Name: "right", Ops: box(20, nil)}, {Name: "noise", Ops: []perturb.Op{{Name: "noise"}}},
		{Name: "fill", Ops: []perturb.Op{{Name: "occlude", Fill: "blur", Regions: box(10, nil)[0].Regions}}}}
	room, distinct := New(), map[string]bool{}
	for range 2 { // the second time, all are known
		for _, c := range conditions {
			for i, file := range files {
				for _, side := range []int{0, 32} {
					for seed := range uint64(2) {
						how, of := perturb.Picture{MaxSide: side}, Seed(seed, "i", 0)
						got, _, err1 := room.Picture(t.Context(), file, c.On(0), how, of)
						want, _, err2 := New().Picture(t.Context(), file, c.On(0), how, of)
						if err1 != nil || err2 != nil || !bytes.Equal(got.Bytes, want.Bytes) || got.MIME != want.MIME {
							t.Errorf("%s, file %d, side %d, seed %d: another picture (%v, %v)", c.Name, i, side, seed, err1, err2)
						}
						distinct[string(got.Bytes)] = true
					}
				}
			}
		}
	}
	if len(distinct) < 12 || len(room.of) >= len(conditions)*2*2*2 {
		t.Errorf("%d pictures of %d conditions, %d kept", len(distinct), len(conditions), len(room.of))
	}
	room.bytes = keptBytes
	room.put([sha256.Size]byte{}, backends.Image{Bytes: []byte{1}})
	if _, ok := room.get([sha256.Size]byte{}); ok {
		t.Error("there is no end to what is kept")
	}
}

// A picture that is used under many conditions is decoded once, and each is the one that it is by
// itself; pictures that are not used any more make room.
func TestAPictureIsDecodedOnce(t *testing.T) {
	src := image.NewGray(image.Rect(0, 0, 90, 60))
	for i := range src.Pix {
		src.Pix[i] = uint8(i * i)
	}
	file, err := perturb.EncodePNG(src)
	if err != nil {
		t.Fatal(err)
	}
	r := New()
	var first image.Image
	var wg sync.WaitGroup
	for i := range 40 {
		c := perturb.Condition{Name: "x", Ops: []perturb.Op{{Name: "blur", Params: map[string]float64{"sigma_px": float64(1 + i)}}}}
		wg.Go(func() {
			got, _, err := r.Picture(t.Context(), file, c, perturb.Picture{}, 7)
			want, _, wrong := c.Render(file, perturb.Picture{}, 7)
			if err != nil || wrong != nil || !bytes.Equal(got.Bytes, want) {
				t.Errorf("%v, %v: like the picture by itself: %v", err, wrong, bytes.Equal(got.Bytes, want))
			}
		})
	}
	wg.Wait()
	if len(r.loaded) != 1 {
		t.Fatalf("%d pictures are kept", len(r.loaded))
	}
	first = r.loaded[0].img
	if _, _, err := r.Picture(t.Context(), file, perturb.Condition{Ops: []perturb.Op{{Name: "invert"}}}, perturb.Picture{}, 7); err != nil || r.loaded[0].img != first {
		t.Errorf("decoded again: %v", err)
	}
	// Another longest side is another picture, and so is another window.
	for _, how := range []perturb.Picture{{MaxSide: 30}, {MaxSide: 40}} {
		if _, _, err := r.Picture(t.Context(), file, perturb.Condition{Ops: []perturb.Op{{Name: "window"}, {Name: "invert"}}}, how, 7); err != nil {
			t.Error(err)
		}
	}
	if len(r.loaded) != 3 {
		t.Errorf("%d pictures are kept", len(r.loaded))
	}
	large, err := perturb.EncodePNG(image.NewGray(image.Rect(0, 0, 4096, 4095)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Picture(t.Context(), large, perturb.Condition{Ops: []perturb.Op{{Name: "crop", Params: map[string]float64{"share": .1}}}}, perturb.Picture{}, 7); err != nil || len(r.loaded) != 3 {
		t.Errorf("%v: %d pictures are kept beside a large one", err, len(r.loaded))
	}
}

// BenchmarkFortyConditions renders a picture of 1,024 pixels a side under 40 conditions.
func BenchmarkFortyConditions(b *testing.B) {
	src := image.NewGray(image.Rect(0, 0, 1024, 1024))
	for i := range src.Pix {
		src.Pix[i] = uint8(i * i >> 7)
	}
	file, err := perturb.EncodePNG(src)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r := New()
		for i := range 40 {
			c := perturb.Condition{Ops: []perturb.Op{{Name: "occlude", Regions: []perturb.Region{{X0: i, Y0: i, X1: i + 20, Y1: i + 20}}}}}
			if _, _, err := r.Picture(b.Context(), file, c, perturb.Picture{}, 7); err != nil {
				b.Fatal(err)
			}
		}
	}
}
