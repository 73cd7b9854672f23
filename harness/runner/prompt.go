package runner

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strings"
	"sync"
	"unicode"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

// Counter finds out how many tokens a server makes of a prompt, also of one that
// it would cut: from requests for parts of it, each answered with one token.
type Counter struct {
	End      Endpoint
	Timeouts backends.Timeouts
	Nonce    func() backends.Nonce // of each request; nil: none

	mu       sync.Mutex
	frame    *int           // what a message costs beside its words
	pictures map[string]int // by sizes
}

// A server that says nothing of its context is taken to have this one at least;
// a picture costs at most so many tokens, or one for 196 of its pixels.
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
		n += pictureAtMost(s)
	}
	return n
}

func pictureAtMost(s image.Point) int { return max(pictureTokens, s.X*s.Y/pixelsAToken) }

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
	req := &backends.Request{Model: c.End.Model, Messages: []backends.Message{{Role: backends.User, Text: text, Images: pictures}},
		Sampling: backends.Sampling{MaxTokens: 1, Seed: new(int64)}, Think: c.End.Think, Timeouts: c.Timeouts, Options: c.End.Options}
	if c.Nonce != nil {
		req.Cold = c.Nonce()
	}
	resp, err := c.End.Backend.Generate(ctx, req, timing.NewRecorder(timing.NewClock()))
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
		pic, err := madeUp(s, 1, "image/png")
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

// Room is how many tokens a server with this identity surely works with at once;
// known: it or its settings say so.
func (e Endpoint) Room(id backends.Identity) (tokens int, known bool) {
	switch {
	case e.Context > 0 && id.Context != nil:
		return min(e.Context, *id.Context), true
	case e.Context > 0:
		return e.Context, true
	case id.Context != nil:
		return *id.Context, true
	}
	return leastContext, false
}

// room is how many tokens the server surely works with at once.
func (b *block) room() int {
	n, _ := b.end.Room(b.id)
	return n
}

// whole makes a failure of an answer to a prompt that the server has cut. Some
// do so without a word: only the count of the prompt's tokens shows it.
func (b *block) whole(ctx context.Context, in Input, set Settings, a *results.Attempt) error {
	text, before := in.Prompts[0], 0
	for i, turn := range a.Turns {
		n := turn.Usage.PromptTokens
		if n == nil {
			return nil
		}
		var expected int
		switch {
		case i > 0: // all that was said before, and more, stands in it
			if expected = before + wordCount(a.Turns[i-1].Answer)/2 + wordCount(in.Prompts[i])/2; *n >= expected {
				before = *n
				continue
			}
		default:
			before = *n
			ok, err := b.fits(ctx, text, in.Sizes, *n, set)
			if err != nil || ok {
				b.uncounted(err)
				continue
			}
			if expected, err = b.counter(set).Expect(ctx, text, in.Sizes, min(b.room(), *n)); err != nil {
				b.uncounted(err)
				continue
			}
			const about = 10 // halves of a text may make some tokens more
			if *n >= expected-about {
				continue
			}
		}
		longer := "give it a longer context"
		if o := b.end.ContextOption; o != "" {
			longer += " (" + o + " in the options of its backend)"
		}
		err := &backends.Error{Kind: backends.ErrPromptCut, Op: "turn " + fmt.Sprint(i+1),
			Message: fmt.Sprintf("the server counts %d tokens in a prompt of about %d: it left out the rest without a word", *n, expected),
			Hint:    longer + ", or send smaller pictures or shorter prompts"}
		a.Failure = failureOf(string(err.Kind), err)
		a.Failure.Partial = turn.Answer
		a.Output = nil
		if a.Cache != nil {
			a.Cache.Cache, a.Cache.Calibration = backends.Cache{}, nil
		}
		return err
	}
	return nil
}

// fits says whether n tokens are surely all of a prompt. What a server cuts may
// leave as much room as a picture takes, which it drops as a whole.
func (b *block) fits(ctx context.Context, text string, sizes []image.Point, n int, set Settings) (bool, error) {
	room, most := b.room(), 8
	if n < wordCount(text) {
		return false, nil
	}
	for _, s := range sizes {
		most += pictureAtMost(s)
	}
	if n+most < room {
		return true, nil
	}
	pics, err := b.counter(set).Pictures(ctx, sizes)
	switch {
	case err != nil:
		return false, err
	case pics <= 0 && len(sizes) > 0:
		return false, errors.New("the server counts no tokens for pictures")
	}
	return n+pics+8 < room, nil
}

// weigh counts the tokens of a trial's pictures where its prompt may not fit: between
// two trials the count would take the place of the first one's prompt in the server's
// cache. Pictures of other sizes in the class are counted when they come.
func (b *block) weigh(ctx context.Context, in Input, set Settings) {
	most := Estimate(in.Prompts[:1], in.Sizes)
	for _, s := range in.Sizes {
		most += pictureAtMost(s)
	}
	if len(in.Sizes) > 0 && most >= b.room() {
		_, _ = b.counter(set).Pictures(ctx, in.Sizes) // that it cannot be had is told of a trial that needs it
	}
}

// counter is the block's; its nonces keep the caches out of it.
func (b *block) counter(set Settings) *Counter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counters == nil {
		b.counters = map[bool]*Counter{}
	}
	if b.counters[set.Cold] == nil {
		c := &Counter{End: b.end, Timeouts: set.Timeouts}
		if set.Cold {
			c.Nonce = b.fresh
		}
		b.counters[set.Cold] = c
	}
	return b.counters[set.Cold]
}

// uncounted says once that it is not known whether prompts were cut.
func (b *block) uncounted(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	b.mu.Lock()
	told := b.told
	b.told = true
	b.mu.Unlock()
	if !told {
		b.run.warn(b.model, "whether the server cut prompts is not known: "+err.Error())
	}
}

func wordCount(text string) int { return len(strings.Fields(text)) }
