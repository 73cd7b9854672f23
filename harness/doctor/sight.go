package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"assay/backends"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/timing"
)

// Sight is what a model read of a chart: letters and blobs at falling size and contrast, colours,
// sides and the order of several images. A level counts where every answer at it and at all that are
// easier is right; nil: not even the easiest.
type Sight struct {
	Model    string    `json:"model"`
	Server   string    `json:"server"` // what it says it is, with its version
	Weights  string    `json:"weights,omitempty"`
	At       time.Time `json:"at"`
	Side     int       `json:"side_px"` // of the images as they were sent
	Letter   *int      `json:"letter_px"`
	Blob     *int      `json:"blob_px"`
	Contrast *int      `json:"contrast_levels"` // of 255, of a blob of an eighth of the side
	Colours  tally     `json:"colours"`
	Sides    tally     `json:"sides"`
	Order    tally     `json:"order"`
	Asked    int       `json:"asked"`
	Answered int       `json:"answered"` // with one of the words that were asked for
}

// tally is how many of some answers are right.
type tally struct {
	Right int `json:"right"`
	Of    int `json:"of"`
}

func (t tally) String() string { return fmt.Sprintf("%d of %d", t.Right, t.Of) }

// chartTask is what is asked of one place of the chart.
type chartTask struct {
	part     string // "letter", "blob", "contrast", "colour", "side", "order"
	level    int    // pixels, or grey levels; 0: it has none
	question string
	words    []string // of which one is the answer
	want     string
	images   []image.Image
}

const (
	chartSide = 448 // pixels, where trials show smaller images
	backdrop  = 190 // grey level behind all that is drawn
)

// chart are its 60 tasks for images of a side, the easiest of each part first.
func chart(side int) (out []chartTask) {
	r := rand.New(rand.NewPCG(60, uint64(side)))
	letters, sides, colours := []string{"A", "B", "C", "D"}, []string{"left", "right"}, []string{"red", "green", "blue", "yellow"}
	grey := func(v int) color.Color { return color.Gray{Y: uint8(v)} }
	for _, px := range []int{64, 32, 16, 8, 5} {
		for _, l := range shuffled(r, letters)[:3] {
			out = append(out, chartTask{"letter", px, "Which letter is drawn, A, B, C or D?", letters, l, []image.Image{lettered(side, px, l, grey(0), r)}})
		}
	}
	blob := func(part string, level, px int, c color.Color) {
		for _, s := range shuffled(r, []string{"left", "left", "right", "right"}) {
			out = append(out, chartTask{part, level, "Is the blob on the left or on the right?", sides, s, []image.Image{blobbed(side, px, s, c, r)}})
		}
	}
	for _, px := range []int{32, 16, 8, 4, 2} {
		blob("blob", px, px, grey(0))
	}
	for _, levels := range []int{64, 16, 4} {
		blob("contrast", levels, side/8, grey(backdrop-levels))
	}
	for _, c := range colours {
		ink := map[string]color.Color{"red": color.RGBA{220, 20, 20, 255}, "green": color.RGBA{20, 170, 20, 255}, "blue": color.RGBA{20, 40, 220, 255}, "yellow": color.RGBA{235, 220, 0, 255}}[c]
		out = append(out, chartTask{"colour", 0, "What colour is it, red, green, blue or yellow?", colours, c, []image.Image{blobbed(side, side/4, sides[r.IntN(2)], ink, r)}})
	}
	blob("side", 0, side/6, grey(0))
	for i, at := range shuffled(r, []int{0, 1, 2, 0, 1})[:5] {
		c := colours[i%len(colours)]
		t := chartTask{"order", 0, "Which image shows a black shape? Answer with its number.", []string{"1", "2", "3"}, fmt.Sprint(at + 1), nil}
		for k := range 3 {
			ink := map[string]color.Color{"red": color.RGBA{220, 20, 20, 255}, "green": color.RGBA{20, 170, 20, 255}, "blue": color.RGBA{20, 40, 220, 255}, "yellow": color.RGBA{235, 220, 0, 255}}[c]
			if k == at {
				ink = color.Black
			}
			t.images = append(t.images, blobbed(side, side/4, sides[r.IntN(2)], ink, r))
		}
		out = append(out, t)
	}
	return out
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	out := slices.Clone(list)
	r.Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	return out
}

func blank(side int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.Draw(img, img.Rect, image.NewUniform(color.Gray{Y: backdrop}), image.Point{}, draw.Src)
	return img
}

// blobbed has a disc of a diameter in pixels in one half.
func blobbed(side, diameter int, where string, c color.Color, r *rand.Rand) image.Image {
	img := blank(side)
	room := max(side/2-diameter-side/10, 1)
	x, y := side/20+r.IntN(room), side/20+r.IntN(max(side-diameter-side/10, 1))
	if where == "right" {
		x = side - x - diameter
	}
	radius := float64(diameter) / 2
	for dy := range diameter {
		for dx := range diameter {
			if math.Hypot(float64(dx)+.5-radius, float64(dy)+.5-radius) <= radius {
				img.Set(x+dx, y+dy, c)
			}
		}
	}
	return img
}

// lettered has a letter of a height in pixels near the middle.
func lettered(side, high int, letter string, c color.Color, r *rand.Rand) image.Image {
	img := blank(side)
	f, err := opentype.Parse(gobold.TTF)
	if err != nil {
		panic("doctor: internal error: " + err.Error())
	}
	const capital = 0.72 // of the size, Go Bold's capitals
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: float64(high) / capital, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		panic("doctor: internal error: " + err.Error())
	}
	d := font.Drawer{Dst: img, Src: image.NewUniform(c), Face: face}
	off := func() int { return r.IntN(side/8+1) - side/16 }
	d.Dot = fixed.P(side/2-high/3+off(), side/2+high/2+off())
	d.DrawString(letter)
	return img
}

// read is the one of words that an answer says; "": none, or several.
func (t chartTask) read(answer string) (said string) {
	list := make([]string, len(t.words))
	for i, w := range t.words {
		list[i] = regexp.QuoteMeta(w)
	}
	re := `(?i)\b(` + strings.Join(list, "|") + `)\b`
	if t.part == "letter" {
		re = re[len("(?i)"):]
	}
	for _, w := range regexp.MustCompile(re).FindAllString(answer, -1) {
		if w = strings.ToLower(w); said != "" && said != w {
			return ""
		}
		said = w
	}
	return said
}

// files are images as they are sent.
func files(images []image.Image) (out []backends.Image, err error) {
	for _, img := range images {
		var file bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&file, img); err != nil {
			return nil, err
		}
		out = append(out, backends.Image{Bytes: file.Bytes(), MIME: "image/png"})
	}
	return out, nil
}

// ask is the answer to a task.
func (t chartTask) ask(ctx context.Context, end run.Endpoint) (string, error) {
	m := backends.Message{Role: backends.User, Text: t.question + "\n\nGive the answer only: a few words, without any explanation."}
	var err error
	if m.Images, err = files(t.images); err != nil {
		return "", err
	}
	seed := int64(1)
	r, err := end.Backend.Generate(ctx, &backends.Request{Model: end.Model, Messages: []backends.Message{m}, Sampling: backends.Sampling{MaxTokens: markTokens, Seed: &seed},
		Think: end.Think, Options: end.Options, Timeouts: backends.Timeouts{Connect: identifyWithin, Total: probeWithin}}, timing.NewRecorder(timing.NewClock()))
	if err != nil {
		return "", err
	}
	return r.Answer, nil
}

// look asks a model all of the chart; tell is told how far it is.
func look(ctx context.Context, end run.Endpoint, side int, tell func(done, of int)) (s Sight, err error) {
	s.Side, s.At = side, time.Now()
	tasks := chart(side)
	right := map[string]map[int]tally{}
	for i, t := range tasks {
		answer, err := t.ask(ctx, end)
		if err != nil {
			return s, fmt.Errorf("question %d of %d: %w", i+1, len(tasks), err)
		}
		said := t.read(answer)
		if s.Asked++; said != "" {
			s.Answered++
		}
		if right[t.part] == nil {
			right[t.part] = map[int]tally{}
		}
		n := right[t.part][t.level]
		if n.Of++; said == strings.ToLower(t.want) {
			n.Right++
		}
		right[t.part][t.level] = n
		tell(i+1, len(tasks))
	}
	least := func(part string) (px *int) {
		for _, t := range tasks {
			if t.part != part {
				continue
			}
			if n := right[part][t.level]; n.Right < n.Of {
				break
			}
			px = &t.level
		}
		return px
	}
	s.Letter, s.Blob, s.Contrast = least("letter"), least("blob"), least("contrast")
	s.Colours, s.Sides, s.Order = right["colour"][0], right["side"][0], right["order"][0]
	return s, nil
}

// Look has every model of bench.yaml that takes images read the chart, in images as large as
// its largest planned ones, and says what it saw. tell is told how far a model is.
func Look(ctx context.Context, p Patient, tell func(model string, done, of int)) ([]Sight, Diagnosis) {
	d := &examination{Patient: p}
	var all []Sight
	for _, m := range d.Config.Models {
		about := "model " + m.Name
		end, err := d.Endpoint(m.Name)
		if err != nil {
			d.say(problem, about, err.Error(), "")
			continue
		}
		id, err := end.Backend.Identify(ctx, end.Model)
		if err == nil && id.Synthetic {
			d.say(note, about, "phantoms read radiographs and nothing else: it is shown no chart", "")
			continue
		}
		side := chartSide
		for _, prompt := range d.Prompts[m.Name] {
			for _, size := range prompt.Sizes {
				side = max(side, min(size.X, size.Y))
			}
		}
		s, err := look(ctx, end, side, func(done, of int) { tell(m.Name, done, of) })
		if err != nil {
			d.say(problem, about, fmt.Sprintf("the chart was not read to its end: %v", err), "")
			continue
		}
		s.Model, s.Server, s.Weights = m.Name, strings.TrimSpace(id.Server+" "+id.Version), id.Digest
		d.seen(about, s)
		all = append(all, s)
	}
	return all, d.out
}

// seen says what a model saw.
func (d *examination) seen(about string, s Sight) {
	in := fmt.Sprintf("in images of %d px as they are sent", s.Side)
	least := func(v *int, none, format string) string {
		if v == nil {
			return none
		}
		return fmt.Sprintf(format, *v)
	}
	const shown = "see that the server shows images to the model (assay doctor --with-known-model), and that this model takes them"
	if s.Sides.Right < s.Sides.Of && s.Colours.Right < s.Colours.Of {
		d.say(problem, about, fmt.Sprintf("it placed %v large blobs and named %v colours; %d of %d answers had one of the words asked for: it does not see what it is sent, or cannot answer such questions", s.Sides, s.Colours, s.Answered, s.Asked), shown)
		return
	}
	d.say(fine, about, fmt.Sprintf("the least that it told without a mistake %s: %s, %s, %s", in, least(s.Letter, "no letters", "letters of %d px"),
		least(s.Blob, "no small blobs", "blobs of %d px"), least(s.Contrast, "no faint blobs", "large blobs %d of 255 grey levels darker than the rest")), "")
	for _, x := range []struct {
		of          tally
		what, maybe string
	}{
		{s.Sides, "sides of large blobs", "left and right may be swapped on the way, or it cannot tell them"},
		{s.Colours, "colours", "channels may be swapped or dropped on the way, or it cannot name them"},
		{s.Order, "positions of an image among three", "images may be dropped or reordered on the way, or it cannot count them"},
	} {
		if x.of.Right < x.of.Of {
			d.say(warning, about, fmt.Sprintf("it named %v %s: %s", x.of, x.what, x.maybe), shown)
		}
	}
}

// sightFile is where what models saw is kept for the store of an experiment.
func sightFile(db string) string { return strings.TrimSuffix(db, filepath.Ext(db)) + "-sight.json" }

// KeepSights writes what models saw of the chart beside the store db, in place of what stood there of them.
func KeepSights(db string, seen []Sight) error {
	kept, err := sights(db)
	if err != nil {
		return err
	}
	for _, s := range seen {
		kept = append(slices.DeleteFunc(kept, func(k Sight) bool { return k.Model == s.Model }), s)
	}
	b, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		return err
	}
	return os.WriteFile(sightFile(db), append(b, '\n'), 0o600)
}

// sights are those that are kept beside the store db; none: no chart was shown.
func sights(db string) (all []Sight, err error) {
	b, err := os.ReadFile(sightFile(db))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read what assay doctor --sight wrote: %s: %w", sightFile(db), err)
	}
	return all, nil
}

// TooThin says which boxes of a plan are thinner than what models saw of the chart that is kept
// beside the store db: a line each. None: none is, or no chart was shown.
func TooThin(db string, p *plan.Plan) ([]string, error) {
	all, err := sights(db)
	if len(all) == 0 || err != nil {
		return nil, err
	}
	var lines []string
	said := map[[2]string]bool{}
	for _, b := range p.Blocks {
		at := slices.IndexFunc(all, func(s Sight) bool { return s.Model == b.Model })
		if at < 0 {
			continue
		}
		s := all[at]
		for _, t := range b.Trials {
			key := [2]string{b.Model, t.Condition.Name}
			thickness, drawn := t.Condition.Thickness()
			if !drawn || said[key] || s.Blob != nil && thickness >= float64(*s.Blob) {
				continue
			}
			said[key] = true
			saw := "it saw no small blob"
			if s.Blob != nil {
				saw = fmt.Sprintf("the smallest blob that it saw had %d px", *s.Blob)
			}
			lines = append(lines, fmt.Sprintf("model %s may not see boxes of %v px (%s): %s in images of %d px (assay doctor --sight, %s)",
				b.Model, thickness, t.Condition.Name, saw, s.Side, s.At.Format("2 January 2006")))
		}
	}
	return lines, nil
}
