package doctor

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/harness/run"
	"assay/timing"
)

// pictures is what becomes of several pictures in one request.
type pictures struct {
	Count int `json:"count"` // the most that a planned trial shows
	// Together are the tokens of so many, Apart the sum of those of each alone, and
	// ButLast those of all but the last. nil: the server does not count.
	Together *int `json:"together_tokens,omitempty"`
	Apart    *int `json:"apart_tokens,omitempty"`
	ButLast  *int `json:"but_last_tokens,omitempty"`
	// Whole and Half are the tokens of one picture of the largest planned size, and of
	// half its sides.
	Whole *int `json:"whole_tokens,omitempty"`
	Half  *int `json:"half_tokens,omitempty"`
	// Large and Small say whether marks in known corners of some pictures were told, in
	// the order of the pictures: marks of a quarter of a side, and of 1/64. nil: not tried.
	Large *bool `json:"large_marks,omitempty"`
	Small *bool `json:"small_marks,omitempty"`
}

const (
	marked     = 6   // pictures with marks at most: more are hard to tell for small models
	markedSide = 448 // pixels, where trials show smaller pictures
	markTokens = 512 // leave room for a model that thinks first
	smallMark  = 64  // a small mark is a side by so much
)

// pictures finds out whether the server shows its model all pictures of a request, in
// their order and as large as they are sent: by tokens, which have to grow with them,
// and by marks, which the model has to find. nil: no trial shows several.
func (d *examination) pictures(ctx context.Context, name, about string, id backends.Identity) *pictures {
	var most Prompt
	for _, p := range d.Prompts[name] {
		if len(p.Sizes) > len(most.Sizes) {
			most = p
		}
	}
	if len(most.Sizes) < 2 {
		return nil
	}
	end, err := d.Endpoint(name)
	if err != nil {
		return nil // said of the backend
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	p := &pictures{Count: len(most.Sizes)}
	if err := p.weigh(ctx, end, most.Sizes); err != nil {
		d.say(warning, about, fmt.Sprintf("whether the server takes all of %d pictures could not be found out by its tokens: %v", p.Count, err), "")
	} else {
		d.weighed(about, p)
	}
	if !id.Synthetic { // phantoms read radiographs and nothing else
		d.marks(ctx, end, about, p, most.Sizes)
	}
	return p
}

// weigh counts tokens.
func (p *pictures) weigh(ctx context.Context, end run.Endpoint, sizes []image.Point) error {
	count := &run.Counter{Backend: end.Backend, Like: backends.Request{Model: end.Model, Think: end.Think, Options: end.Options, Timeouts: backends.Timeouts{Connect: identifyWithin}}}
	of := func(sizes ...image.Point) (*int, error) {
		n, err := count.Pictures(ctx, sizes)
		return &n, err
	}
	large := slices.MaxFunc(sizes, func(a, b image.Point) int { return a.X*a.Y - b.X*b.Y })
	apart := 0
	for _, s := range sizes { // equal sizes are asked once
		n, err := of(s)
		if err != nil {
			return err
		}
		apart += *n
	}
	var err error
	if p.Whole, err = of(large); err == nil {
		p.Half, err = of(image.Pt(max(large.X/2, 1), max(large.Y/2, 1)))
	}
	if err == nil {
		p.ButLast, err = of(sizes[:len(sizes)-1]...)
	}
	if err == nil {
		p.Together, err = of(sizes...)
	}
	if err != nil {
		p.Whole, p.Half, p.ButLast, p.Together = nil, nil, nil, nil
		return err
	}
	p.Apart = &apart
	return nil
}

// weighed says what tokens tell.
func (d *examination) weighed(about string, p *pictures) {
	together := fmt.Sprintf("%d pictures, as many as a trial shows, cost %d tokens together", p.Count, *p.Together)
	switch apart, last := *p.Apart, *p.Together-*p.ButLast; {
	case apart <= 0:
		d.say(warning, about, "the server counts no tokens for pictures: whether it takes all of several cannot be told by them", "")
		return
	case last <= 0:
		d.say(problem, about, fmt.Sprintf("%s, as many as without the last one: the server drops pictures, or all share the tokens of fewer", together),
			"raise the server's limit of pictures a request (such as --limit-mm-per-prompt) or its context, or show fewer (max_images)")
		return
	case 4**p.Together < 3*apart:
		d.say(warning, about, fmt.Sprintf("%s, one by one %d: the server scales pictures down, or drops some, where there are several", together, apart),
			"scale them down yourself (max_side, max_pixels), so that every picture is seen as it is described, or show fewer (max_images)")
	default:
		d.say(fine, about, fmt.Sprintf("%s, one by one %d", together, apart), "")
	}
	if *p.Whole > 0 && *p.Half >= *p.Whole {
		d.say(note, about, fmt.Sprintf("a picture of the largest size costs %d tokens, one of half its sides %d: the server or the model brings all to one size", *p.Whole, *p.Half), "")
	}
}

// marks shows pictures with a black square in a corner of each, large ones first.
func (d *examination) marks(ctx context.Context, end run.Endpoint, about string, p *pictures, sizes []image.Point) {
	side := markedSide
	for _, s := range sizes {
		side = max(side, min(s.X, s.Y))
	}
	n := min(p.Count, marked)
	try := func(part int) (*bool, string) {
		want := corners()[:n]
		said, err := where(ctx, end, side, side/part, want)
		if err != nil {
			d.say(warning, about, fmt.Sprintf("whether it sees several pictures could not be tried: %v", err), "")
			return nil, ""
		}
		ok := slices.Equal(said, want)
		if slices.Reverse(said); !ok && slices.Equal(said, want) {
			return &ok, "all of them, in reverse order"
		}
		slices.Reverse(said)
		right := 0
		for i := range min(len(said), n) {
			if said[i] == want[i] {
				right++
			}
		}
		return &ok, fmt.Sprintf("%d of them, naming %d (%s)", right, len(said), strings.Join(said, ", "))
	}
	var told string
	if p.Large, told = try(4); p.Large == nil {
		return
	}
	if !*p.Large {
		d.say(warning, about, fmt.Sprintf("of %d pictures with a large black square in a corner of each it placed %s: it is not shown all of them in their order, or cannot tell", n, told),
			"see that the server and its model take several pictures; accuracy over images means little otherwise")
		return
	}
	if p.Small, told = try(smallMark); p.Small == nil {
		return
	}
	if *p.Small {
		d.say(fine, about, fmt.Sprintf("finds a square of %d pixels in a corner of each of %d pictures of %d, in their order", side/smallMark, n, side), "")
		return
	}
	d.say(warning, about, fmt.Sprintf("of squares of %d pixels in %d pictures of %d it placed %s, of large ones all: pictures are scaled down on the way, or small things are lost to it", side/smallMark, n, side, told),
		"findings as small as that are lost as well: crop pictures, or raise the server's limit of tokens a picture")
}

// corners are those of the marks: neighbours differ, and no rule leads to the next.
func corners() []string {
	return []string{"bottom left", "top right", "bottom right", "top left", "top right", "bottom left"}
}

var corner = regexp.MustCompile(`(?i)\b(top|upper|bottom|lower)[ -]+(left|right)\b`)

// where asks in which corners the marks are.
func where(ctx context.Context, end run.Endpoint, side, mark int, at []string) ([]string, error) {
	m := backends.Message{Role: backends.User, Text: fmt.Sprintf("Each of these %d pictures is grey, with one black square in one of its four corners. "+
		"For each picture, in the order in which they are given, say which corner it is: top left, top right, bottom left or bottom right. "+
		"Write one line for each picture and nothing else.", len(at))}
	var marks []image.Image
	for _, c := range at {
		marks = append(marks, markedPicture(side, mark, c))
	}
	var err error
	if m.Images, err = files(marks); err != nil {
		return nil, err
	}
	seed := int64(1)
	r, err := end.Backend.Generate(ctx, &backends.Request{Model: end.Model, Messages: []backends.Message{m}, Sampling: backends.Sampling{MaxTokens: markTokens, Seed: &seed},
		Think: end.Think, Options: end.Options, Timeouts: backends.Timeouts{Connect: 10 * time.Second, Total: probeWithin}}, timing.NewRecorder(timing.NewClock()))
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.Answer) == "" {
		return nil, errors.New("its answer was empty")
	}
	said := []string{}
	for _, w := range corner.FindAllStringSubmatch(strings.ToLower(r.Answer), -1) {
		row := map[string]string{"top": "top", "upper": "top", "bottom": "bottom", "lower": "bottom"}[w[1]]
		said = append(said, row+" "+w[2])
	}
	return said[max(0, len(said)-len(at)):], nil
}

// markedPicture is grey, with a black square a mark's width off a corner.
func markedPicture(side, mark int, corner string) image.Image {
	img := image.NewGray(image.Rect(0, 0, side, side))
	draw.Draw(img, img.Rect, image.NewUniform(color.Gray{Y: 170}), image.Point{}, draw.Src)
	off := min(mark, side/16)
	at := image.Pt(off, off)
	if strings.HasSuffix(corner, "right") {
		at.X = side - off - mark
	}
	if strings.HasPrefix(corner, "bottom") {
		at.Y = side - off - mark
	}
	draw.Draw(img, image.Rectangle{Min: at, Max: at.Add(image.Pt(mark, mark))}, image.NewUniform(color.Gray{}), image.Point{}, draw.Src)
	return img
}
