package run

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
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
		if c.req.Sampling.MaxTokens != warmTokens {
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
	in := input{Images: []backends.Image{{Bytes: []byte("one"), MIME: "image/png"}, {Bytes: []byte("two"), MIME: "image/jpeg"}}, Prompts: []string{"look", "so?"}}
	set := backends.Sampling{Temperature: 0.1, MaxTokens: 64, Seed: &seed}
	end := Endpoint{Model: "m", Think: &yes, Options: map[string]any{"num_ctx": 4096, "keep_alive": "30m"}}
	of := func(in input, s backends.Sampling, e Endpoint) results.Digest {
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
	vary := func(change func(*input, *backends.Sampling, *Endpoint)) {
		i, s, e := in, set, end
		i.Images, i.Prompts = slices.Clone(in.Images), slices.Clone(in.Prompts)
		change(&i, &s, &e)
		all = append(all, of(i, s, e))
	}
	vary(func(i *input, _ *backends.Sampling, _ *Endpoint) { i.Images[1].Bytes = []byte("2") })
	vary(func(i *input, _ *backends.Sampling, _ *Endpoint) { i.Images[1].MIME = "image/png" })
	vary(func(i *input, _ *backends.Sampling, _ *Endpoint) { slices.Reverse(i.Images) })
	vary(func(i *input, _ *backends.Sampling, _ *Endpoint) { i.Images = i.Images[:1] })
	vary(func(i *input, _ *backends.Sampling, _ *Endpoint) { i.Prompts[0] = "look!" })
	vary(func(i *input, _ *backends.Sampling, _ *Endpoint) { i.Prompts[1] = "so" })
	vary(func(i *input, _ *backends.Sampling, _ *Endpoint) { i.Prompts = []string{"look", "so?", ""} })
	vary(func(_ *input, s *backends.Sampling, _ *Endpoint) { s.Temperature = 0 })
	vary(func(_ *input, s *backends.Sampling, _ *Endpoint) { s.MaxTokens = 65 })
	vary(func(_ *input, s *backends.Sampling, _ *Endpoint) { s.Seed = nil })
	vary(func(_ *input, _ *backends.Sampling, e *Endpoint) { e.Think = nil })
	vary(func(_ *input, _ *backends.Sampling, e *Endpoint) {
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
