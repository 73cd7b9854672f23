package run

import (
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/results"
)

// cutter is a server that makes a token of each word, two beside them, and a few
// hundred of a picture. What goes beyond its context it leaves out without a word:
// earlier turns first, pictures as a whole, then the beginning.
func cutter(context, picture int, says bool) *server { return seamed(context, picture, 0, says) }

// seamed is a cutter whose tokeniser makes some tokens more of a text that begins inside
// a longer one, without its space.
func seamed(context, picture, seam int, says bool) *server {
	s := &server{}
	s.reply = func(c call) (*backends.Response, error) {
		talk := c.req.Messages
		count := func() (n, pics int) {
			for _, m := range talk {
				n += 2 + wordCount(m.Text)
				if strings.HasPrefix(m.Text, "word") && !strings.HasPrefix(m.Text, "word 0") {
					n += seam
				}
				pics += len(m.Images)
			}
			return n, pics
		}
		text, pics := count()
		if text+pics*picture > context && len(talk) > 1 {
			talk = talk[len(talk)-1:]
			text, pics = count()
		}
		if text+pics*picture > context {
			pics = 0
		}
		n := min(text+pics*picture, context)
		r := &backends.Response{Answer: "one two three", Finish: backends.FinishStop, Sent: []byte("x")}
		r.Usage.PromptTokens = &n
		if !says {
			r.Usage.PromptTokens = nil
		}
		return r, nil
	}
	return s
}

// TestPromptsThatTheServerCut are failures, however it cuts, and others are not:
// not even such as fill the context nearly, or whose context is not known.
func TestPromptsThatTheServerCut(t *testing.T) {
	long := func(words int) string { return strings.TrimSpace("word 0 " + strings.Repeat("word ", words-2)) }
	asks := func(turns ...int) []string {
		var list []string
		for _, n := range turns {
			list = append(list, long(n))
		}
		return list
	}
	for _, c := range []struct {
		name     string
		context  int // that it works with
		known    int // of which the run knows; 0: of none
		turns    []string
		picture  int // tokens of the one shown; 0: none is
		cut      bool
		requests int // beside the trial's, at most
		seam     int // tokens that a part of a text costs more
	}{
		{name: "whole, where parts cost more", context: 2048, known: 512, turns: asks(1000), requests: 4, seam: 6},
		{name: "whole and nearly full, where parts cost more", context: 2048, known: 512, turns: asks(2040), requests: 24, seam: 6},
		{name: "whole with a picture, where parts cost more", context: 2048, known: 512, turns: asks(1000), picture: 300, requests: 24, seam: 6},
		{name: "cut, where parts cost more", context: 2048, known: 512, turns: asks(2300), cut: true, requests: 40, seam: 6},
		{name: "the picture left out, where parts cost more", context: 2048, known: 512, turns: asks(1800), picture: 300, cut: true, requests: 40, seam: 6},
		{name: "short", context: 512, known: 512, turns: asks(100), requests: 0},
		{name: "nearly full", context: 512, known: 512, turns: asks(505), requests: 10},
		{name: "the beginning left out", context: 512, known: 512, turns: asks(679), cut: true, requests: 10},
		{name: "the beginning left out, a little", context: 512, known: 512, turns: asks(540), cut: true, requests: 10},
		{name: "much left out", context: 512, known: 512, turns: asks(3000), cut: true, requests: 34},
		{name: "short, with a picture", context: 2048, known: 2048, turns: asks(100), picture: 300, requests: 2},
		{name: "the picture left out", context: 512, known: 512, turns: asks(300), picture: 300, cut: true, requests: 11},
		{name: "the picture is small beside the context", context: 8192, known: 8192, turns: asks(300), picture: 300, requests: 0},
		{name: "an earlier turn left out", context: 512, known: 512, turns: asks(400, 200), cut: true, requests: 0},
		{name: "turns that fit", context: 2048, known: 2048, turns: asks(400, 200, 300), requests: 0},
		{name: "of unknown context", context: 4096, turns: asks(3000), requests: 16},
		{name: "of unknown context, cut", context: 4096, turns: asks(5000), cut: true, requests: 24},
		{name: "less context than is thought", context: 512, known: 2048, turns: asks(600), cut: true, requests: 10},
	} {
		for _, how := range []func(*Settings){func(s *Settings) { s.InFlight = 3 }, timed} {
			s, m := seamed(c.context, c.picture, c.seam, true), newMemory()
			it := items(1)
			if c.picture > 0 {
				it = items(1, picture(64, 64, 1))
			}
			b := planned("s", "a", it, arm("direct", nil, c.turns...))
			j := job(s, m, b).set("s", how)
			j.Endpoints["a"] = Endpoint{Backend: s, Model: "a", Context: c.known, ContextOption: "num_ctx"}
			sum := must(t, j)
			last, _ := m.trials[b.Trials[0].Key].Last()
			if (last.Failure != nil) != c.cut || len(m.trials) != 1 || len(sum.Warnings) > 0 {
				t.Errorf("%s: %+v, %+v", c.name, last, sum)
				continue
			}
			if c.cut && (last.Failure.Kind != string(backends.ErrPromptCut) || last.Failure.Partial == "" || sum.ByKind["prompt_cut"] != 1 || !strings.Contains(last.Failure.Message, "num_ctx")) {
				t.Errorf("%s: %+v", c.name, last.Failure)
			}
			if n := len(s.trials()) - len(c.turns); n > c.requests {
				t.Errorf("%s: %d requests beside the trial's, want at most %d", c.name, n, c.requests)
			}
		}
	}
}

// Repeats of a warm study follow each other: between two of them nothing is asked that
// would take the first one's place in the server's cache.
func TestNothingIsCountedBetweenRepeats(t *testing.T) {
	s, m := cutter(2048, 300, true), newMemory()
	b := planned("s", "a", items(1, picture(64, 64, 1)), arm("direct", nil, strings.Repeat("word ", 100)))
	again := b.Trials[0]
	for again.Key.Repeat = 1; again.Key.Repeat < 4; again.Key.Repeat++ {
		b.Trials = append(b.Trials, again)
	}
	j := job(s, m, b).set("s", func(s *Settings) { timed(s); s.Cache = "" })
	j.Endpoints["a"] = Endpoint{Backend: s, Model: "a", Context: 2048}
	must(t, j)
	var asked []string
	for _, c := range s.calls {
		text := c.req.Messages[0].Text
		asked = append(asked, text[:4])
	}
	if n := len(asked); n < 5 || !slices.Equal(asked[n-4:], []string{"word", "word", "word", "word"}) || !slices.Contains(asked[:n-4], "This") {
		t.Errorf("asked %q", asked)
	}
}

// A server that does not count prompts cannot be checked; of one that counts no
// tokens for pictures it is said that it cannot be.
func TestPromptsThatNobodyCounts(t *testing.T) {
	for _, says := range []bool{true, false} {
		s, m := cutter(512, 0, says), newMemory()
		it := items(2, dataset.Image(picture(64, 64, 1)))
		sum := must(t, job(s, m, planned("s", "a", it, arm("direct", nil, strings.Repeat("word ", 400)))))
		if sum.Done != 2 || (len(sum.Warnings) == 1) != says {
			t.Errorf("counts %t: %+v", says, sum)
		}
	}
}

// The count of a long text's parts is that of the text, within what parts may add.
func TestCounterCountsWhatWouldBeCut(t *testing.T) {
	for _, words := range []int{1, 50, 400, 1000, 5000} {
		s := cutter(512, 200, true)
		c := &Counter{Backend: s, Like: backends.Request{Model: "a"}}
		text := strings.TrimSpace(strings.Repeat("lengthy ", words))
		got, _, err := c.Expect(t.Context(), text, []image.Point{{X: 9, Y: 9}}, 512)
		if want := words + 2 + 200; err != nil || got < want-2 || got > want+2 {
			t.Errorf("%d words and a picture: %d tokens, want %d; %v", words, got, want, err)
		}
	}
	one := cutter(512, 200, false)
	if _, _, err := (&Counter{Backend: one}).Expect(t.Context(), "x", nil, 512); err == nil {
		t.Error("a server that does not count gave a count")
	}
}

// An answer that ended before the limit of tokens was not ended by it.
func TestAContextThatEndsIsNotTheTokenLimit(t *testing.T) {
	for n, want := range map[int]results.Flag{63: results.FlagContextEnd, 64: results.FlagTruncated, -1: results.FlagTruncated} {
		r := &backends.Response{Finish: backends.FinishLength}
		if n >= 0 {
			r.Usage.CompletionTokens = &n
		}
		got := flags(r, Settings{Study: config.Study{Sampling: backends.Sampling{MaxTokens: 64}}})
		if fmt.Sprint(got) != fmt.Sprint([]results.Flag{want}) {
			t.Errorf("%d of 64 tokens: %v, want %v", n, got, want)
		}
	}
}

// A server that goes on beyond its context has dropped what it read first.
func TestAContextThatOverranIsFlagged(t *testing.T) {
	for _, c := range []struct {
		context, prompt, answer int
		want                    int
	}{{4096, 4000, 96, 0}, {4096, 4000, 97, 1}, {0, 9000, 9000, 0}, {512, 500, 500, 0}} {
		b := &block{end: Endpoint{Context: c.context}}
		r := &backends.Response{Usage: backends.Usage{PromptTokens: &c.prompt, CompletionTokens: &c.answer}}
		if got := b.overran(r); len(got) != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
