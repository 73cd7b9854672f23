package doctor

import (
	"context"
	"image"
	"strings"
	"testing"

	"assay/backends"
	"assay/harness/run"
	"assay/results"
	"assay/timing"
)

// cutter makes a token of each word, and two beside them. What goes beyond its context
// it leaves out without a word: pictures as a whole, then text; or it refuses it.
type cutter struct {
	context, picture int
	silent, refuses  bool // says no count; refuses what is too long
	asked            int
}

func (c *cutter) Identify(context.Context, string) (backends.Identity, error) {
	return backends.Identity{}, nil
}

func (c *cutter) Generate(_ context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	c.asked++
	text, pics := 2+len(strings.Fields(req.Messages[0].Text)), c.picture*len(req.Messages[0].Images)
	if text+pics > c.context {
		if c.refuses {
			return nil, &backends.Error{Kind: backends.ErrContextExceeded, Op: "generate"}
		}
		pics = 0
	}
	n := min(text+pics, c.context)
	r := &backends.Response{Answer: "x", Finish: backends.FinishStop, Usage: backends.Usage{PromptTokens: &n}}
	if c.silent {
		r.Usage.PromptTokens = nil
	}
	return r, nil
}

// TestLongestPromptsAreHeldAgainstTheContext: what is counted is sure, what is estimated
// is said to be, and answers need room as well.
func TestLongestPromptsAreHeldAgainstTheContext(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	prompt := func(id string, answers int, turns ...int) Prompt {
		p := Prompt{Key: results.Key{Study: "cot", Item: id, Arm: "direct", Condition: "clean"}, Answers: answers}
		for _, n := range turns {
			p.Texts = append(p.Texts, words(n))
		}
		return p
	}
	shown := func(p Prompt) Prompt {
		p.Sizes = []image.Point{{X: 20, Y: 20}}
		return p
	}
	const none = -1
	for name, c := range map[string]struct {
		server  cutter
		numCtx  int // in bench.yaml; 0: not given
		says    int // context that the server states; 0: none
		prompts []Prompt
		quick   bool
		level   level
		text    string
		do      string
		tokens  int // none: an estimate
		asked   bool
	}{
		"fits":                  {cutter{context: 4096}, 4096, 0, []Prompt{prompt("a", 512, 600)}, false, fine, "(cot/a/direct/clean) has 602 tokens (counted by the server), and with answers at most 1114: the context of 4096 tokens holds them", "", 602, true},
		"just fits":             {cutter{context: 1114}, 1114, 0, []Prompt{prompt("a", 512, 600)}, false, fine, "holds them", "", 602, true},
		"answers do not":        {cutter{context: 1113}, 1113, 0, []Prompt{prompt("a", 512, 600)}, false, warning, "answers may take 512 besides (max_tokens): together more than the context of 1113", "{num_ctx: 2048}", 602, true},
		"is cut":                {cutter{context: 512}, 512, 0, []Prompt{prompt("a", 512, 100), prompt("b", 512, 679)}, false, problem, "(cot/b/direct/clean) has 681 tokens (counted by the server), more than the context of 512 tokens", "{num_ctx: 2048}", 681, true},
		"a short one's answers": {cutter{context: 512}, 512, 0, []Prompt{prompt("a", 5000, 100), prompt("b", 512, 679)}, false, problem, "(cot/b/direct/clean) has 681", "num_ctx", 681, true},
		"turns add up":          {cutter{context: 512}, 512, 0, []Prompt{prompt("a", 10, 300, 300)}, false, problem, "has 604 tokens", "num_ctx", 604, true},
		"with a picture":        {cutter{context: 1024, picture: 900}, 1024, 0, []Prompt{shown(prompt("a", 10, 300))}, false, problem, "has 1202 tokens", "num_ctx", 1202, true},
		"the server's own":      {cutter{context: 512}, 0, 512, []Prompt{prompt("a", 10, 679)}, false, problem, "more than the context of 512", "serve it with a longer context", 681, true},
		"least of both":         {cutter{context: 512}, 4096, 512, []Prompt{prompt("a", 10, 679)}, false, problem, "more than the context of 512", "serve it with a longer context", 681, true},
		"a default":             {cutter{context: 4096}, 0, 0, []Prompt{prompt("a", 10, 2500)}, false, warning, "more than the 2048 tokens that every version takes without num_ctx: the server may cut", "{num_ctx: 3072}", 2502, true},
		"up to the model's own": {cutter{context: 4096}, 0, 4096, []Prompt{prompt("a", 3000, 2500)}, false, warning, "more than the 2048 tokens", "{num_ctx: 4096}", 2502, true},
		"nobody counts":         {cutter{context: 4096, silent: true}, 512, 0, []Prompt{prompt("a", 10, 679)}, false, warning, "at most about 1164 tokens, an estimate (a token for 3 ASCII characters or 1 other, and what pictures cost at most; the server does not count", "num_ctx", none, true},
		"nobody is asked":       {cutter{context: 4096}, 512, 0, []Prompt{prompt("a", 10, 679)}, true, warning, "an estimate", "num_ctx", none, false},
		"estimated and fits":    {cutter{context: 4096}, 4096, 0, []Prompt{prompt("a", 10, 679)}, true, fine, "an estimate (a token for 3", "", none, false},
		"the picture dropped":   {cutter{context: 512, picture: 900}, 512, 0, []Prompt{shown(prompt("a", 10, 300))}, false, warning, "counts no tokens for its pictures, or drops them", "num_ctx", none, true},
		"the picture refused":   {cutter{context: 512, picture: 900, refuses: true}, 512, 0, []Prompt{shown(prompt("a", 10, 300))}, false, problem, "a part of it was refused): the server refuses as much, and works with the context of 512", "num_ctx", none, true},
	} {
		b := backends.Server{Name: "b", Kind: "ollama", Options: map[string]any{}}
		end := run.Endpoint{Backend: &c.server, Model: "m", Context: 2048}
		if c.numCtx > 0 {
			b.Options["num_ctx"], end.Context = c.numCtx, c.numCtx
		}
		var id backends.Identity
		if c.says > 0 {
			id.Context = &c.says
		}
		d := &examination{Patient: Patient{Prompts: map[string][]Prompt{"m": c.prompts}, Endpoint: func(string) (run.Endpoint, error) { return end, nil }}}
		l := d.fits(t.Context(), b, "m", "model m", id, !c.quick)
		if l == nil || len(d.out.Findings) != 1 {
			t.Errorf("%s: %+v, %+v", name, l, d.out.Findings)
			continue
		}
		f := d.out.Findings[0]
		if f.Level != c.level || f.About != "model m" || !strings.Contains(f.Text, c.text) || !strings.Contains(f.Do, c.do) || (f.Do == "") != (c.do == "") {
			t.Errorf("%s: %+v", name, f)
		}
		if l.Estimated != (c.tokens == none) || c.tokens != none && (l.Tokens < c.tokens-2 || l.Tokens > c.tokens+slack) || (c.server.asked > 0) != c.asked {
			t.Errorf("%s: %+v, %d requests", name, l, c.server.asked)
		}
	}
}

// TestAContextThatNobodyStates is not compared with anything; the count is told.
func TestAContextThatNobodyStates(t *testing.T) {
	d := &examination{Patient: Patient{
		Prompts:  map[string][]Prompt{"m": {{Texts: []string{strings.Repeat("word ", 5000)}, Answers: 9}}},
		Endpoint: func(string) (run.Endpoint, error) { return run.Endpoint{Backend: &cutter{context: 9000}}, nil },
	}}
	l := d.fits(t.Context(), backends.Server{Name: "b", Kind: "openai"}, "m", "model m", backends.Identity{}, true)
	if l == nil || l.Context != nil || l.Tokens < 5000 || len(d.out.Findings) != 1 || d.out.Findings[0].Level != note || !strings.Contains(d.out.Findings[0].Text, "neither the server nor bench.yaml says") {
		t.Errorf("%+v, %+v", l, d.out.Findings)
	}
	if l := d.fits(t.Context(), backends.Server{Name: "b"}, "other", "model other", backends.Identity{}, true); l != nil || len(d.out.Findings) != 1 {
		t.Errorf("a model without trials: %+v, %+v", l, d.out.Findings)
	}
}
