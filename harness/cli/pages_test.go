// These files make the pages of docs that say what there is: from the tables and
// the parser that the program itself uses, so that they cannot say something else.
//
//  1. This one draws every condition: docs/perturbations.md.
//  2. bench_page_test.go reads bench.yaml's reference out of the parser: docs/bench.md.
//  3. schema.go is the same as a JSON Schema, for editors (assay config schema).
//
// `go test ./harness/cli -run TestPagesAreUpToDate -update-pages` writes all files; a test compares them.

package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"slices"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/render"
	"assay/harness/study"
	"assay/perturb"
)

// What is drawn, and how large.
const (
	seed   = 7
	drawn  = 256 // pixels per side of a generated radiograph
	side   = 144 // in the docs
	images = "images/perturbations/"
)

//go:embed perturbations.tmpl
var perturbationsPage string

// file is one of docs: a text, or a picture.
type file struct {
	Name    string // within docs
	Text    []byte
	Picture image.Image // nil: a text
}

// Bytes are what stands in the file.
func (f file) Bytes() ([]byte, error) {
	if f.Picture == nil {
		return f.Text, nil
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, f.Picture)
	return b.Bytes(), err
}

// pages are all files of docs that are made.
func pages() ([]file, error) {
	files, err := perturbationPages()
	if err != nil {
		return nil, err
	}
	keys, err := bench()
	return append(files, keys), err
}

// condition is a condition on the page.
type condition struct {
	Code, Does, Picture, Words, Target, Cue string
	Sweeps                                  []string // lines of bench.yaml
}

// family is conditions of one kind.
type family struct {
	Title, Text string
	Conditions  []condition
}

// cases are the conditions of a study of cases of several images.
type cases struct {
	Study      string
	Conditions []condition
}

// perturbationPages are docs/perturbations.md and its pictures.
func perturbationPages() ([]file, error) {
	sub, err := subject()
	if err != nil {
		return nil, err
	}
	var files []file
	add := func(name string, img image.Image) string {
		files = append(files, file{Name: images + name + ".png", Picture: few(img)})
		return images + name + ".png"
	}
	base, err := sub.Base(side)
	if err != nil {
		return nil, err
	}
	page := struct {
		Base, Item, Question string
		Families             []family
		Several              []cases
		Ops                  []perturb.Spec
	}{Item: sub.Item.ID, Question: sub.Item.Question, Ops: perturb.Ops()}
	page.Base = add("baseline", base)
	page.Families = families()
	// assay perturb draws the conditions of the first; those of the others need several images.
	changing := slices.DeleteFunc(experiment.All(), func(d study.Study) bool { return !changesPictures(d.Changes) })
	for i, d := range changing {
		others := cases{Study: d.Name}
		list := d.Changes
		if i == 0 { // and those of other studies that show no other picture, or the words with it
			for _, c := range study.AnyConditions() {
				if !lists(list, c.Name) {
					list = append(slices.Clip(list), c)
				}
			}
		}
		for _, known := range list {
			c := condition{Code: known.Name, Does: sentence(known.Does)}
			for _, p := range known.Params() {
				if p.Try != "" {
					c.Sweeps = append(c.Sweeps, fmt.Sprintf("{condition: %s, %s: %s}", known.Name, p.Name, p.Try))
				}
			}
			if i > 0 {
				if err := several(&c, add); err != nil {
					return nil, err
				}
				others.Conditions = append(others.Conditions, c)
				continue
			}
			if lists(d.Changes, known.Name) && (len(known.Ops) > 0 || known.Kind == perturb.KindText || known.Kind == perturb.KindSham) {
				if err := pictured(&c, known.Name, sub, add); err != nil {
					return nil, err
				}
			}
			i := slices.IndexFunc(page.Families, func(f family) bool { return strings.HasPrefix(known.Name, f.Title) })
			if i < 0 {
				return nil, fmt.Errorf("condition %s belongs to no family of the page", known.Name)
			}
			page.Families[i].Conditions = append(page.Families[i].Conditions, c)
		}
		if i > 0 {
			page.Several = append(page.Several, others)
		}
	}
	cell, img, err := sub.Pair("VO-GRID@8x8:r3c5", side)
	if err != nil {
		return nil, err
	}
	grid := condition{Code: "VO-GRID", Does: sentence(cell.Does) + ", a trial for each", Words: "cell r3c5 of 8 x 8"}
	grid.Picture = add("VO-GRID", img)
	i := slices.IndexFunc(page.Families, func(f family) bool { return f.Title == "VO" })
	page.Families[i].Conditions = append(page.Families[i].Conditions, grid)
	t, err := template.New("perturbations").Parse(perturbationsPage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return nil, err
	}
	return append([]file{{Name: "perturbations.md", Text: b.Bytes()}}, files...), nil
}

// pictured fills in what a condition says or draws.
func pictured(c *condition, name string, sub previewSubject, add func(string, image.Image) string) error {
	got, img, err := sub.Pair(name, side)
	if err != nil {
		return err
	}
	c.Target, c.Cue = got.Target, got.Cue
	if got.Cue == "" {
		c.Words = "no pixel differs"
		if got.Max > 0 {
			c.Words = fmt.Sprintf("%.1f %% of the pixels differ, by up to %d of 255", 100*got.Changed, got.Max)
		}
		c.Picture = add(fileName(name), img)
	}
	return nil
}

func lists(list []perturb.Condition, name string) bool {
	return slices.ContainsFunc(list, func(c perturb.Condition) bool { return c.Name == name })
}

// sentence begins with a capital.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func changesPictures(list []perturb.Condition) bool {
	return slices.ContainsFunc(list, func(c perturb.Condition) bool { return len(c.Ops) > 0 })
}

// families are what the first letters of a code mean, in the order of the page.
func families() []family {
	return []family{
		{Title: "sham", Text: "Nothing that a model sees changes. Flips here are noise, which every other condition must exceed."},
		{Title: "TB", Text: "**Said in the prompt** (text bias). The image is unchanged."},
		{Title: "VB", Text: "**Drawn on one side** (visual bias), for questions that compare sides: the mark points to an answer."},
		{Title: "VH", Text: "**The finding marked** (highlight): a reader that looks should not get worse."},
		{Title: "VO", Text: "**The finding covered** (occlusion): an answer that stays without its evidence did not come from the image."},
		{Title: "VC", Text: "**Controls**: the same mark at a random place of equal size. Flips here come from any mark."},
		{Title: "VD", Text: "**The whole image degraded**: how much image quality an answer needs."},
		{Title: "VK", Text: "**The finding alone** (keep): the rest is covered. An answer that stays rests on the region."},
		{Title: "VG", Text: "**Geometry**: the whole image rotated, mirrored, cropped or shifted."},
		{Title: "VX", Text: "**Without the image**: right answers come from the words, or by chance. If accuracy does not fall, the model may ignore the images."},
		{Title: "OPT", Text: "**The options changed**, of questions whose options the prompt lists; the gold answer moves with its option."},
		{Title: "TX", Text: "**The question in other words.** The image is unchanged."},
	}
}

// fileName is a condition's name without what stands badly in addresses.
func fileName(condition string) string {
	return strings.NewReplacer("+", "-plus", "-@", "-minus@").Replace(strings.TrimSuffix(condition, "-")) + map[bool]string{true: "-minus"}[strings.HasSuffix(condition, "-")]
}

// subject is the first generated question that can have every condition.
func subject() (previewSubject, error) {
	set, err := dataset.Phantom("chest", seed, 48, drawn)
	if err != nil {
		return previewSubject{}, err
	}
	for _, it := range set.Items {
		if it.Type != dataset.TypeComparative || len(it.Regions["left"]) == 0 || len(it.Regions["right"]) == 0 {
			continue
		}
		file, err := it.Images[0].Load()
		if err != nil {
			return previewSubject{}, err
		}
		s := previewSubject{Name: it.ID, Item: it, File: file, Seed: seed, Pixels: render.Seed(seed, it.ID, 0)}
		complete := true
		for _, code := range []string{"VB-BB+", "VB-BB-", "VC-BO"} {
			c, _, err := s.Pair(code, side)
			complete = complete && err == nil && c.Max > 0
		}
		if complete {
			return s, nil
		}
	}
	return previewSubject{}, fmt.Errorf("no generated question can have every condition")
}

// several draws what a condition of cases of several images shows.
func several(c *condition, add func(string, image.Image) string) error {
	set, err := dataset.Open(dataset.Source{Kind: dataset.KindPhantom, Name: "cases", Seed: seed, Items: 1, Images: 3, Size: drawn})
	if err != nil {
		return err
	}
	var films []image.Image
	for _, f := range set.Items[0].Images {
		file, err := f.Load()
		if err != nil {
			return err
		}
		img, err := perturb.Decode(file)
		if err != nil {
			return err
		}
		films = append(films, img)
	}
	var as perturb.Condition
	switch c.Code {
	case "LOO":
		as, c.Words = perturb.LeaveOut(2), "`LOO@2` of a case of three images"
	case "ORDER":
		as, c.Words = perturb.Reorder(1), "another order of the same three"
	case "DS":
		as, c.Words = perturb.Downscaled(32), "`max_side_px` 32, shown enlarged"
	default:
		return nil
	}
	out := image.NewRGBA(image.Rect(0, 0, len(films)*(side+6)-6, side))
	for i, n := range as.Shown(len(films), seed) {
		img, err := as.Apply(films[n], seed)
		if err != nil {
			return err
		}
		enlarge(out, image.Rect(i*(side+6), 0, i*(side+6)+side, side), img)
	}
	c.Picture = add(c.Code, out)
	return nil
}

// enlarge draws img into a rectangle without smoothing it.
func enlarge(out draw.Image, to image.Rectangle, img image.Image) {
	b := img.Bounds()
	for y := range to.Dy() {
		for x := range to.Dx() {
			out.Set(to.Min.X+x, to.Min.Y+y, img.At(b.Min.X+x*b.Dx()/to.Dx(), b.Min.Y+y*b.Dy()/to.Dy()))
		}
	}
}

// few is a picture in few levels: pictures of docs are to be small.
func few(img image.Image) image.Image {
	b := img.Bounds()
	out := image.NewRGBA(b)
	draw.Draw(out, b, img, b.Min, draw.Src)
	for i := range out.Pix {
		if i%4 != 3 {
			out.Pix[i] = uint8((int(out.Pix[i])*15 + 127) / 255 * 17)
		}
	}
	return out
}

// Pair draws one condition beside its difference to the baseline, without words.
func (s previewSubject) Pair(name string, side int) (previewCondition, image.Image, error) {
	choice, err := choiceOf(name)
	if err != nil {
		return previewCondition{}, nil, err
	}
	list, missing, err := s.conditions(choice)
	if err != nil || len(list) < 2 {
		return previewCondition{}, nil, fmt.Errorf("%s has no condition %s: %v %w", s.Name, name, missing, err)
	}
	base, err := s.render(list[0])
	if err != nil {
		return previewCondition{}, nil, err
	}
	d, err := s.render(list[1])
	if err != nil {
		return previewCondition{}, nil, err
	}
	d.compare(base.pixels)
	return d, beside(small(d.pixels, side), small(differences(base.pixels, d.pixels), side)), nil
}

// Base draws the baseline beside itself with the regions of the question.
func (s previewSubject) Base(side int) (image.Image, error) {
	list, _, err := s.conditions(study.Choice{})
	if err != nil {
		return nil, err
	}
	base, err := s.render(list[0])
	if err != nil {
		return nil, err
	}
	marked := small(base.pixels, side)
	s.outline(marked)
	return beside(small(base.pixels, side), marked), nil
}

func beside(pictures ...image.Image) image.Image {
	w, h := -gap, 0
	for _, p := range pictures {
		w, h = w+p.Bounds().Dx()+gap, max(h, p.Bounds().Dy())
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	x := 0
	for _, p := range pictures {
		draw.Draw(out, image.Rectangle{Max: p.Bounds().Size()}.Add(image.Pt(x, 0)), p, p.Bounds().Min, draw.Src)
		x += p.Bounds().Dx() + gap
	}
	return out
}
