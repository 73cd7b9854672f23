package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assay/backends"
	"assay/results"
)

// Room is how many tokens a server with this identity surely works with at once;
// known: it or its settings say so.
func (e Endpoint) Room(id backends.Identity) (n int, known bool) {
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
func (b *block) whole(ctx context.Context, in input, set Settings, a *results.Attempt) error {
	before := 0
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
			var err error
			if expected, err = b.missing(ctx, in, set, *n); err != nil || expected == 0 {
				b.uncounted(err)
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

// missing is about how many tokens a first turn has of which the server counted n and
// left out some; 0: it left out none. Where longer prompts count more, the text is whole,
// and what is missing can only be pictures, which servers leave out as a whole.
func (b *block) missing(ctx context.Context, in input, set Settings, n int) (int, error) {
	c, text := b.counter(set), in.First().Text
	if ok, err := c.Fits(ctx, text, in.Sizes, n, b.room()); err != nil || ok {
		return 0, err
	}
	grows := false
	var err error
	if len(in.Before) == 0 { // else earlier messages may be missing, and there would be room for more
		grows, err = c.Grows(ctx, text, in.Sizes, n)
	}
	if err != nil || grows && len(in.Sizes) == 0 {
		return 0, err
	}
	expected, about, err := c.Expect(ctx, text, in.Sizes, min(b.room(), n))
	if err != nil || n >= expected-about {
		return 0, err
	}
	if grows {
		if pics, err := c.Pictures(ctx, in.Sizes); err != nil || 2*(expected-n) < pics {
			return 0, err
		}
	}
	return expected, nil
}

// weigh counts the tokens of a trial's pictures where its prompt may not fit: between
// two trials the count would take the place of the first one's prompt in the server's
// cache. Pictures of other sizes in the class are counted when they come.
func (b *block) weigh(ctx context.Context, in input, set Settings) {
	most := Estimate([]string{in.First().Text}, in.Sizes)
	for _, s := range in.Sizes {
		most += atMost(s)
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
	if b.counters[set.Cold()] == nil {
		c := &Counter{Backend: b.end.Backend, Like: *request(nil, set, b.end)}
		if set.Cold() {
			c.Nonce = b.fresh
		}
		b.counters[set.Cold()] = c
	}
	return b.counters[set.Cold()]
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
