package run

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strings"
	"sync"
	"unicode"

	"assay/backends"
	"assay/timing"
)

// Counter finds out how many tokens a server makes of a prompt, also of one that
// it would cut: from requests for parts of it, each answered with one token.
type Counter struct {
	Backend backends.Backend
	Like    backends.Request      // its model, options and timeouts are used
	Nonce   func() backends.Nonce // of each request; nil: none

	mu       sync.Mutex
	filled   *int           // what the filler costs
	frame    *int           // what a message costs beside its words
	seam     *int           // how far two halves of a text differ from the whole
	pictures map[string]int // by sizes
}

// leastContext is the context that a server which says nothing of it is taken to have
// at least; a picture costs at most so many tokens, or one for 196 of its pixels.
const (
	leastContext  = 2048
	pictureTokens = 3500
	pixelsAToken  = 196
)

// What text is taken to cost at most where nobody counts its tokens. English has 4 to 5
// characters a token, terms of medicine 3; other scripts a token for each character.
const (
	CharactersAToken = 3 // of ASCII; of others 1
	frameTokens      = 32
)

// Estimate is how many tokens a prompt of some turns and pictures has at most, as far
// as can be said without the server. It is no count.
func Estimate(texts []string, sizes []image.Point) int {
	n := 0
	for _, text := range texts {
		ascii := 0
		for _, r := range text {
			if r <= unicode.MaxASCII {
				ascii++
			} else {
				n++
			}
		}
		n += frameTokens + (ascii+CharactersAToken-1)/CharactersAToken
	}
	for _, s := range sizes {
		n += atMost(s)
	}
	return n
}

// atMost is how many tokens a picture costs at most.
func atMost(s image.Point) int { return max(pictureTokens, s.X*s.Y/pixelsAToken) }

// filler is what a prompt says where only its length matters.
const filler = "This request only counts words. Reply with one word."

// errUncounted is a server that does not say how many tokens a prompt has.
var errUncounted = errors.New("the server does not count the tokens of prompts")

// Expect is how many tokens the server makes of a message, and how far that may be off:
// what does not fit at once is counted in parts, which may cost more than the whole. room
// is how many it surely takes at once, or has taken.
func (c *Counter) Expect(ctx context.Context, text string, sizes []image.Point, room int) (n, about int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frame, err := c.beside(ctx)
	if err != nil {
		return 0, 0, err
	}
	words, seams, err := c.words(ctx, text, frame, room)
	if err != nil {
		return 0, 0, err
	}
	if seams > 0 {
		one, err := c.differs(ctx, text, frame)
		if err != nil {
			return 0, 0, err
		}
		about = seams * one
	}
	pics, err := c.shown(ctx, sizes)
	return frame + words + pics, leastAbout + about, err
}

// leastAbout is how far a count may be off in any case.
const leastAbout = 4

// few is how many bytes of a text fit everywhere.
const few = 200

// differs measures on the beginning of a text how far the count of two halves is off.
// Twice as much is believed of another place.
func (c *Counter) differs(ctx context.Context, text string, frame int) (int, error) {
	if c.seam != nil {
		return *c.seam, nil
	}
	start := text[:max(0, strings.LastIndexFunc(text[:min(few, len(text))], unicode.IsSpace))]
	at := splitAt(start, len(start)/2)
	if at == 0 {
		return 2, nil // no words to measure with
	}
	var n [3]int
	for i, part := range []string{start, start[:at], strings.TrimSpace(start[at:])} {
		var err error
		if n[i], err = c.count(ctx, part); err != nil {
			return 0, err
		}
	}
	off := n[1] + n[2] - frame - n[0]
	seam := 2 * max(1, off, -off)
	c.seam = &seam
	return seam, nil
}

// splitAt is where a text is cut in two: at the first space from a byte on, or before it;
// 0: it has none.
func splitAt(text string, at int) int {
	if i := strings.IndexFunc(text[at:], unicode.IsSpace); i >= 0 {
		return at + i
	}
	return max(0, strings.LastIndexFunc(text, unicode.IsSpace))
}

// longer is what Grows adds to a text.
const longer = 4

// Grows says whether the server counts more tokens of a prompt that is longer than one of
// which it counted n. false: it has no more room, or hardly any, so that it may have cut
// the other. A server that refuses the longer one cuts nothing.
func (c *Counter) Grows(ctx context.Context, text string, sizes []image.Point, n int) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frame, err := c.beside(ctx)
	if err != nil {
		return false, err
	}
	one, err := c.fills(ctx)
	if err != nil {
		return false, err
	}
	pics, err := standIns(sizes)
	if err != nil {
		return false, err
	}
	with, err := c.count(ctx, text+strings.Repeat("\n"+filler, longer), pics...)
	if errors.Is(err, backends.ErrContextExceeded) {
		return true, nil
	}
	return with-n >= longer*(one-frame)/2, err
}

// Pictures is how many tokens the server makes of pictures of these sizes.
func (c *Counter) Pictures(ctx context.Context, sizes []image.Point) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown(ctx, sizes)
}

// count is the prompt tokens of one request.
func (c *Counter) count(ctx context.Context, text string, pictures ...backends.Image) (int, error) {
	req := &backends.Request{Model: c.Like.Model, Messages: []backends.Message{{Role: backends.User, Text: text, Images: pictures}},
		Sampling: backends.Sampling{MaxTokens: 1, Seed: new(int64)}, Think: c.Like.Think, Timeouts: c.Like.Timeouts, Options: c.Like.Options}
	if c.Nonce != nil {
		req.Cold = c.Nonce()
	}
	resp, err := c.Backend.Generate(ctx, req, timing.NewRecorder(timing.NewClock()))
	if err != nil {
		return 0, err
	}
	if resp.Usage.PromptTokens == nil {
		return 0, errUncounted
	}
	return *resp.Usage.PromptTokens, nil
}

// fills is what the filler costs as a message.
func (c *Counter) fills(ctx context.Context) (int, error) {
	if c.filled == nil {
		n, err := c.count(ctx, filler)
		if err != nil {
			return 0, err
		}
		c.filled = &n
	}
	return *c.filled, nil
}

// beside is what a message costs beside its words: the filler once, less what it
// costs twice.
func (c *Counter) beside(ctx context.Context) (int, error) {
	if c.frame != nil {
		return *c.frame, nil
	}
	one, err := c.fills(ctx)
	if err != nil {
		return 0, err
	}
	two, err := c.count(ctx, filler+"\n"+filler)
	if err != nil {
		return 0, err
	}
	frame := max(0, 2*one-two)
	c.frame = &frame
	return frame, nil
}

// words is the tokens of a text alone. What may not fit is counted in halves, seams apart.
func (c *Counter) words(ctx context.Context, text string, frame, room int) (tokens, seams int, err error) {
	n, err := c.count(ctx, text)
	switch {
	case len(text) > few && errors.Is(err, backends.ErrContextExceeded), err == nil && len(text) > few && 4*n >= 3*room:
	case err != nil:
		return 0, 0, err
	default:
		return max(0, n-frame), 0, nil
	}
	at := splitAt(text, len(text)/2)
	if at == 0 {
		return max(0, n-frame), 0, err // one word: it cannot be told
	}
	before, one, err := c.words(ctx, text[:at], frame, room)
	if err != nil {
		return 0, 0, err
	}
	after, two, err := c.words(ctx, strings.TrimSpace(text[at:]), frame, room)
	return before + after, one + two + 1, err
}

// shown is the tokens of pictures.
func (c *Counter) shown(ctx context.Context, sizes []image.Point) (int, error) {
	if len(sizes) == 0 {
		return 0, nil
	}
	key := fmt.Sprint(sizes)
	if n, ok := c.pictures[key]; ok {
		return n, nil
	}
	pics, err := standIns(sizes)
	if err != nil {
		return 0, err
	}
	with, err := c.count(ctx, filler, pics...)
	if err != nil {
		return 0, err
	}
	without, err := c.fills(ctx)
	if err != nil {
		return 0, err
	}
	if c.pictures == nil {
		c.pictures = map[string]int{}
	}
	c.pictures[key] = with - without
	return with - without, nil
}

func standIns(sizes []image.Point) (pics []backends.Image, err error) {
	for _, s := range sizes {
		pic, err := standIn(s, 1, "image/png")
		if err != nil {
			return nil, err
		}
		pics = append(pics, pic)
	}
	return pics, nil
}

// Fits says whether n tokens are surely all of a prompt for which the server has room
// tokens. What it cuts may leave as much room as a picture takes, which it drops as a
// whole.
func (c *Counter) Fits(ctx context.Context, text string, sizes []image.Point, n, room int) (bool, error) {
	most := 8
	if n < len(strings.Fields(text)) {
		return false, nil
	}
	for _, s := range sizes {
		most += atMost(s)
	}
	if n+most < room {
		return true, nil
	}
	pics, err := c.Pictures(ctx, sizes)
	switch {
	case err != nil:
		return false, err
	case pics <= 0 && len(sizes) > 0:
		return false, errors.New("the server counts no tokens for pictures")
	}
	return n+pics+8 < room, nil
}
