package probe

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
	frame    *int           // what a message costs beside its words
	pictures map[string]int // by sizes
}

// LeastContext is the context that a server which says nothing of it is taken to have
// at least; a picture costs at most so many tokens, or one for 196 of its pixels.
const (
	LeastContext  = 2048
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
		n += AtMost(s)
	}
	return n
}

// AtMost is how many tokens a picture costs at most.
func AtMost(s image.Point) int { return max(pictureTokens, s.X*s.Y/pixelsAToken) }

// filler is what a prompt says where only its length matters.
const filler = "This request only counts words. Reply with one word."

// errUncounted is a server that does not say how many tokens a prompt has.
var errUncounted = errors.New("the server does not count the tokens of prompts")

// Expect is how many tokens the server makes of a message, to about ten. room is
// how many it surely takes at once, or has taken.
func (c *Counter) Expect(ctx context.Context, text string, sizes []image.Point, room int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frame, err := c.beside(ctx)
	if err != nil {
		return 0, err
	}
	words, err := c.words(ctx, text, frame, room)
	if err != nil {
		return 0, err
	}
	pics, err := c.shown(ctx, sizes)
	return frame + words + pics, err
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

// beside is what a message costs beside its words: the filler once, less what it
// costs twice.
func (c *Counter) beside(ctx context.Context) (int, error) {
	if c.frame != nil {
		return *c.frame, nil
	}
	one, err := c.count(ctx, filler)
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

// words is the tokens of a text alone. What may not fit is counted in halves.
func (c *Counter) words(ctx context.Context, text string, frame, room int) (int, error) {
	const few = 200 // bytes that fit everywhere
	n, err := c.count(ctx, text)
	switch {
	case len(text) > few && errors.Is(err, backends.ErrContextExceeded), err == nil && len(text) > few && 4*n >= 3*room:
	case err != nil:
		return 0, err
	default:
		return max(0, n-frame), nil
	}
	at := len(text) / 2
	if i := strings.IndexFunc(text[at:], unicode.IsSpace); i >= 0 {
		at += i
	} else if at = strings.LastIndexFunc(text, unicode.IsSpace); at <= 0 {
		return max(0, n-frame), err // one word: it cannot be told
	}
	before, err := c.words(ctx, text[:at], frame, room)
	if err != nil {
		return 0, err
	}
	after, err := c.words(ctx, strings.TrimSpace(text[at:]), frame, room)
	return before + after, err
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
	var pics []backends.Image
	for _, s := range sizes {
		pic, err := StandIn(s, 1, "image/png")
		if err != nil {
			return 0, err
		}
		pics = append(pics, pic)
	}
	with, err := c.count(ctx, filler, pics...)
	if err != nil {
		return 0, err
	}
	without, err := c.count(ctx, filler)
	if err != nil {
		return 0, err
	}
	if c.pictures == nil {
		c.pictures = map[string]int{}
	}
	c.pictures[key] = with - without
	return with - without, nil
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
		most += AtMost(s)
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
