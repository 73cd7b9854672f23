package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/harness/caches"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/perturb"
	"assay/results"
)

func TestWarmUpPerSizeClassOfTimedStudies(t *testing.T) {
	small, near, large := picture(64, 64, 1), picture(66, 62, 2), picture(256, 128, 3)
	list := []*dataset.Item{item("i0", small), item("i1", near), item("i2", large), item("i3", small), item("i4", large), item("i5"), item("i6")}
	s, m := &server{}, newMemory()
	timed := planned("s", "a", list, direct())
	untimed := planned("free", "a", list, direct())
	other := planned("s", "b", list[:1], direct())
	j := job(s, m, plan.Block{Model: "a", Trials: append(untimed.Trials, timed.Trials...)}, other).set("free", func(*Settings) {})
	j = j.set("s", func(s *Settings) { s.Timed = true })
	sum := must(t, j)
	if sum.Done != 15 || len(m.trials) != 15 || len(sum.Warnings) != 0 {
		t.Fatalf("%+v, %d stored", sum, len(m.trials))
	}
	var got []string
	sent := map[string]bool{}
	for _, c := range s.calls {
		if !c.warm() {
			got = append(got, c.last()[len("question "):len("question i0")])
			for _, i := range c.req.Messages[0].Images {
				sent[string(i.Bytes)] = true
			}
			continue
		}
		size := "none"
		if imgs := c.req.Messages[0].Images; len(imgs) > 0 {
			cfg, err := png.DecodeConfig(bytes.NewReader(imgs[0].Bytes))
			if err != nil {
				t.Fatal(err)
			}
			size = image.Pt(cfg.Width, cfg.Height).String()
			if sent[string(imgs[0].Bytes)] {
				t.Error("the warm-up showed a picture of a trial")
			}
		}
		got = append(got, c.req.Model+" "+size)
		if c.req.Sampling.MaxTokens != caches.WarmTokens {
			t.Errorf("warm-up of up to %d tokens", c.req.Sampling.MaxTokens)
		}
	}
	want := "i0,i1,i2,i3,i4,i5,i6,a:latest (64,64),i0,i1,a:latest (256,128),i2,i3,i4,a:latest none,i5,i6,b:latest (64,64),i0"
	if strings.Join(got, ",") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ","), want)
	}
}

// A warm-up shows what a server has as much work with as with the trial's picture:
// its size and format, in colour, with content; and pixels of its own.
func TestAWarmUpShowsARealPicture(t *testing.T) {
	photo := dataset.Image{Name: "a.jpg", Load: func() ([]byte, error) {
		var b bytes.Buffer
		err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 130, 70)), nil)
		return b.Bytes(), err
	}}
	s, m := &server{}, newMemory()
	clocked(s, true)
	inner, rounds := s.takes, 0
	s.takes = func(c call) time.Duration { rounds++; return inner(c) }
	synctest.Test(t, func(t *testing.T) {
		must(t, job(s, m, planned("s", "a", items(1, photo, picture(64, 64, 1)), direct())).set("s", timed))
	})
	warm, trial := s.calls[0].req.Messages[0].Images, s.calls[len(s.calls)-1].req.Messages[0].Images
	if !s.calls[0].warm() || len(warm) != 2 || rounds != len(s.calls) {
		t.Fatalf("%d pictures in the warm-up", len(warm))
	}
	for i, of := range trial {
		if warm[i].MIME != of.MIME || bytes.Equal(warm[i].Bytes, of.Bytes) {
			t.Errorf("picture %d is %s for %s, the same file: %t", i, warm[i].MIME, of.MIME, bytes.Equal(warm[i].Bytes, of.Bytes))
		}
		got, _, err := image.Decode(bytes.NewReader(warm[i].Bytes))
		if err != nil {
			t.Fatal(err)
		}
		want, _, _ := image.DecodeConfig(bytes.NewReader(of.Bytes))
		colours, edges := map[color.Color]bool{}, 0
		for y := range got.Bounds().Dy() {
			for x := range got.Bounds().Dx() {
				c := color.RGBAModel.Convert(got.At(x, y)).(color.RGBA)
				colours[c] = true
				if x > 0 && c.R != c.B && int(c.R)-int(color.RGBAModel.Convert(got.At(x-1, y)).(color.RGBA).R) > 4 {
					edges++
				}
			}
		}
		if got.Bounds().Dx() != want.Width || got.Bounds().Dy() != want.Height || len(colours) < 200 || edges < want.Width*want.Height/50 {
			t.Errorf("picture %d: %v for %dx%d, %d colours, %d edges", i, got.Bounds(), want.Width, want.Height, len(colours), edges)
		}
	}
}

func TestAFailingWarmUpIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := &server{}, newMemory()
		s.reply = func(c call) (*backends.Response, error) {
			if c.warm() {
				return nil, fail(backends.ErrServer, "out of memory")
			}
			return nil, nil
		}
		j := job(s, m, planned("s", "a", items(3, picture(8, 8, 1)), direct())).set("s", func(s *Settings) { s.Timed = true })
		sum := must(t, j)
		if sum.Done != 3 || len(s.calls) != 3+3 || len(sum.Warnings) != 1 || !strings.Contains(sum.Warnings[0], "out of memory") {
			t.Errorf("%d requests, %+v", len(s.calls), sum)
		}
	})
}

// A trial whose warm-up finds no server is not sent: it would be the model's
// first request.
func TestAWarmUpThatFindsNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := dies(0, 0), newMemory()
		j := job(s, m, planned("s", "a", items(9, picture(8, 8, 1)), direct())).set("s", func(s *Settings) { s.Timed = true })
		sum := must(t, j)
		if len(s.trials()) != 0 || len(s.calls) != 3*giveUpAfter || len(m.trials) != 0 || len(sum.Stopped) != 1 || sum.Left != 9 {
			t.Errorf("%d trials sent, %d requests, %+v", len(s.trials()), len(s.calls), sum)
		}
	})
}

func TestPicturesAreSentAsTheyAreUnlessTheyCannotBe(t *testing.T) {
	// A picture of one pixel.
	webp, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	own, _ := picture(300, 100, 9).Load()
	for _, c := range []struct {
		name  string
		file  []byte
		webP  bool
		side  int
		mime  string
		same  bool
		width int
	}{
		{"png", own, false, 0, "image/png", true, 300},
		{"png within the limit", own, false, 300, "image/png", true, 300},
		{"png scaled down", own, false, 30, "image/png", false, 30},
		{"webp for a server that reads it", webp, true, 0, "image/webp", true, 0},
		{"webp for one that does not", webp, false, 0, "image/png", false, 1},
	} {
		s := &server{}
		img := dataset.Image{Name: c.name, Load: func() ([]byte, error) { return c.file, nil }}
		j := job(s, newMemory(), planned("s", "a", items(1, img), direct())).set("s", func(s *Settings) { s.MaxSide = c.side })
		j.Endpoints["a"] = Endpoint{Backend: s, Model: "a", ReadsWebP: c.webP}
		if sum := must(t, j); sum.Done != 1 {
			t.Errorf("%s: %+v", c.name, sum)
			continue
		}
		got := s.calls[0].req.Messages[0].Images[0]
		if got.MIME != c.mime || bytes.Equal(got.Bytes, c.file) != c.same {
			t.Errorf("%s: sent %s, own bytes %t", c.name, got.MIME, bytes.Equal(got.Bytes, c.file))
		}
		if c.width > 0 {
			if cfg, err := png.DecodeConfig(bytes.NewReader(got.Bytes)); err != nil || cfg.Width != c.width {
				t.Errorf("%s: %d pixels wide, error %v, want %d", c.name, cfg.Width, err, c.width)
			}
		}
	}
}

// All that see an item under a condition see the same picture; another seed or
// item draws another one.
func TestTheRandomnessOfAPictureBelongsToSeedAndItem(t *testing.T) {
	noise := perturb.Condition{Name: "noise", Family: "degrade", Ops: []perturb.Op{{Name: "noise"}}}
	pic := picture(32, 32, 1)
	sent := func(seed uint64, image int) map[string]string {
		s := &server{}
		j := job(s, newMemory(), planned("s", "a", []*dataset.Item{item("i0", pic, pic), item("i1", pic, pic)}, direct(), arm("cot", nil, "{{.Question}} cot")),
			planned("s", "b", []*dataset.Item{item("i0", pic, pic)}, direct()))
		j.Seed = seed
		for _, b := range j.Plan.Blocks {
			for i := range b.Trials {
				b.Trials[i].Condition, b.Trials[i].Key.Condition = &noise, noise.Name
			}
		}
		must(t, j)
		out := map[string]string{}
		for _, c := range s.calls {
			out[c.req.Model+" "+c.last()] = string(c.req.Messages[0].Images[image].Bytes)
		}
		return out
	}
	one := sent(7, 0)
	base := one["a:latest question i0 direct"]
	if base == "" || len(one) != 5 || one["a:latest question i0 cot"] != base || one["b:latest question i0 direct"] != base {
		t.Error("arms or models see other pictures of the same item")
	}
	if sent(7, 0)["a:latest question i0 direct"] != base {
		t.Error("same seed, other picture")
	}
	if one["a:latest question i1 direct"] == base || sent(7, 1)["a:latest question i0 direct"] == base || sent(8, 0)["a:latest question i0 direct"] == base {
		t.Error("another item, image or seed draws the same noise")
	}
}

// The digest of a trial's inputs must not change between versions: stored
// failures could no longer be tried again.
func TestInputsDigestIsStableAndCoversWhatIsSent(t *testing.T) {
	yes, seed := true, int64(3)
	in := Input{Images: []backends.Image{{Bytes: []byte("one"), MIME: "image/png"}, {Bytes: []byte("two"), MIME: "image/jpeg"}}, Prompts: []string{"look", "so?"}}
	set := backends.Sampling{Temperature: 0.1, MaxTokens: 64, Seed: &seed}
	end := Endpoint{Model: "m", Think: &yes, Options: map[string]any{"num_ctx": 4096, "keep_alive": "30m"}}
	of := func(in Input, s backends.Sampling, e Endpoint) results.Digest {
		t.Helper()
		d, err := digest(in, s, e)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := of(in, set, end)
	if want := results.Digest("sha256:b8c8002c998d1b80f845b069aa975faba385bb4862ad5a26c54f74ebbb8ec97f"); base != want {
		t.Errorf("digest %s, want %s", base, want)
	}
	all := []results.Digest{base}
	vary := func(change func(*Input, *backends.Sampling, *Endpoint)) {
		i, s, e := in, set, end
		i.Images, i.Prompts = slices.Clone(in.Images), slices.Clone(in.Prompts)
		change(&i, &s, &e)
		all = append(all, of(i, s, e))
	}
	vary(func(i *Input, _ *backends.Sampling, _ *Endpoint) { i.Images[1].Bytes = []byte("2") })
	vary(func(i *Input, _ *backends.Sampling, _ *Endpoint) { i.Images[1].MIME = "image/png" })
	vary(func(i *Input, _ *backends.Sampling, _ *Endpoint) { slices.Reverse(i.Images) })
	vary(func(i *Input, _ *backends.Sampling, _ *Endpoint) { i.Images = i.Images[:1] })
	vary(func(i *Input, _ *backends.Sampling, _ *Endpoint) { i.Prompts[0] = "look!" })
	vary(func(i *Input, _ *backends.Sampling, _ *Endpoint) { i.Prompts[1] = "so" })
	vary(func(i *Input, _ *backends.Sampling, _ *Endpoint) { i.Prompts = []string{"look", "so?", ""} })
	vary(func(_ *Input, s *backends.Sampling, _ *Endpoint) { s.Temperature = 0 })
	vary(func(_ *Input, s *backends.Sampling, _ *Endpoint) { s.MaxTokens = 65 })
	vary(func(_ *Input, s *backends.Sampling, _ *Endpoint) { s.Seed = nil })
	vary(func(_ *Input, _ *backends.Sampling, e *Endpoint) { e.Think = nil })
	vary(func(_ *Input, _ *backends.Sampling, e *Endpoint) {
		e.Options = map[string]any{"num_ctx": 8192, "keep_alive": "30m"}
	})
	for i, d := range all {
		if n := slices.Index(all, d); n != i {
			t.Errorf("changes %d and %d give the same digest", n, i)
		}
	}
	if _, err := digest(in, set, Endpoint{Options: map[string]any{"f": func() {}}}); err == nil {
		t.Error("options that are not JSON passed")
	}
}

// TestDecodingIsBounded: however many requests run beside each other, the pictures
// that are decoded at once have no more pixels than the largest single one may
// have; nothing waits that fits, a wait ends with its context, and a file that is
// no picture is not waited for.
func TestDecodingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const side = 6000 // 36 million pixels: two fit, three do not
		file := headerOf(t, side, side)
		d := newDecoding()
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
		file, err := picture(64, 48, byte(i)).Load()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	conditions := []perturb.Condition{{}, {Name: "TB", Kind: perturb.KindText}, {Name: "sham", Kind: perturb.KindSham}, {Name: "b", Ops: box(10, nil)},
		{Name: "thick", Ops: box(10, map[string]float64{"thickness_px": 8})}, {Name: "right", Ops: box(20, nil)}, {Name: "noise", Ops: []perturb.Op{{Name: "noise"}}},
		{Name: "fill", Ops: []perturb.Op{{Name: "occlude", Fill: "blur", Regions: box(10, nil)[0].Regions}}}}
	room, distinct := newDecoding(), map[string]bool{}
	for range 2 { // the second time, all are known
		for _, c := range conditions {
			for i, file := range files {
				for _, side := range []int{0, 32} {
					for seed := range uint64(2) {
						tr := plan.Trial{Condition: &c, Key: results.Key{Item: "i"}}
						got, _, err1 := render(t.Context(), tr, 0, file, Settings{MaxSide: side}, Endpoint{}, seed, room)
						want, _, err2 := render(t.Context(), tr, 0, file, Settings{MaxSide: side}, Endpoint{}, seed, newDecoding())
						if err1 != nil || err2 != nil || !bytes.Equal(got.Bytes, want.Bytes) || got.MIME != want.MIME {
							t.Errorf("%s, file %d, side %d, seed %d: another picture (%v, %v)", c.Name, i, side, seed, err1, err2)
						}
						distinct[string(got.Bytes)] = true
					}
				}
			}
		}
	}
	if len(distinct) < 12 || len(room.kept.of) >= len(conditions)*2*2*2 {
		t.Errorf("%d pictures of %d conditions, %d kept", len(distinct), len(conditions), len(room.kept.of))
	}
	room.kept.bytes = keptBytes
	room.kept.put([sha256.Size]byte{}, backends.Image{Bytes: []byte{1}})
	if _, ok := room.kept.get([sha256.Size]byte{}); ok {
		t.Error("there is no end to what is kept")
	}
}
