package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/run"
)

// longest is the longest prompt that is planned for a model, beside what the server
// works with.
type longest struct {
	Trial string `json:"trial"` // study/item/arm/condition
	// Tokens are the prompt's, without the answers that it quotes or follows; Answers
	// what those and its own may take besides, max_tokens each.
	Tokens  int  `json:"tokens"`
	Answers int  `json:"answer_tokens_at_most"`
	Context *int `json:"context_tokens,omitempty"` // nil: neither server nor bench.yaml says
	// Estimated says that the server did not count the tokens, and How who did.
	Estimated bool   `json:"estimated"`
	How       string `json:"how"`
}

// slack is by how much a count of a prompt in parts may be too high.
const slack = 10

// fits compares the longest planned prompt of a model with the server's context. id is
// empty of a server that does not run.
func (d *examination) fits(ctx context.Context, b backends.Server, name, about string, id backends.Identity, ask bool) *longest {
	prompts := d.Prompts[name]
	if len(prompts) == 0 {
		return nil
	}
	end, err := d.Endpoint(name)
	if err != nil {
		return nil // said of the backend
	}
	room, known := end.Room(id)
	l, refused := d.longest(ctx, end, prompts, room, ask)
	do := "serve it with a longer context, or send smaller pictures (max_side) or shorter prompts"
	want := roundUp(l.Tokens + l.Answers)
	if id.Context != nil {
		want = min(want, *id.Context)
	}
	option := kinds.Server(b.Kind, b.Protocol).ContextOption
	if option != "" && want > room && want >= l.Tokens {
		do = fmt.Sprintf("give options: {%s: %d} to backend %s, or send smaller pictures (max_side) or shorter prompts", option, want, b.Name)
	}
	_, set := b.Options[option]
	given := "the context of %d tokens"
	if !set && end.Context == room {
		given = "the %d tokens that every version takes without " + option
	}
	given = fmt.Sprintf(given, room)
	text := fmt.Sprintf("the longest planned prompt (%s) has %d tokens (%s)", l.Trial, l.Tokens, l.How)
	if l.Estimated {
		text = fmt.Sprintf("the longest planned prompt (%s) has at most about %d tokens, an estimate (%s)", l.Trial, l.Tokens, l.How)
	}
	if !known {
		d.say(note, about, text+"; neither the server nor bench.yaml says how many it takes", "")
		return &l
	}
	l.Context = &room
	switch {
	case refused:
		d.say(problem, about, text+": the server refuses as much, and works with "+given, do)
	case l.Tokens > room+slack && !l.Estimated && (set || end.Context != room):
		d.say(problem, about, text+", more than "+given+": the server cuts or refuses it", do)
	case l.Tokens > room:
		d.say(warning, about, text+", more than "+given+": the server may cut or refuse it", do)
	case l.Tokens+l.Answers > room:
		d.say(warning, about, fmt.Sprintf("%s, and answers may take %d besides (max_tokens): together more than %s", text, l.Answers, given), do)
	default:
		d.say(fine, about, fmt.Sprintf("%s, and with answers at most %d: %s holds them", text, l.Tokens+l.Answers, given), "")
	}
	return &l
}

// longest counts the prompts, by the server where it is to be asked and can, and is
// the one that needs the most room. refused: a part of one exceeds the context.
func (d *examination) longest(ctx context.Context, end run.Endpoint, prompts []Prompt, room int, ask bool) (l longest, refused bool) {
	why := "the model was not asked"
	var all []longest
	if ask {
		ctx, cancel := context.WithTimeout(ctx, probeWithin)
		defer cancel()
		count := &run.Counter{Backend: end.Backend, Like: backends.Request{Model: end.Model, Think: end.Think, Options: end.Options, Timeouts: backends.Timeouts{Connect: identifyWithin}}}
		for _, p := range prompts {
			n, err := counted(ctx, count, p, room)
			if err != nil {
				all, why = nil, err.Error()
				if refused = errors.Is(err, backends.ErrContextExceeded); refused {
					why = "a part of it was refused"
				}
				break
			}
			all = append(all, longest{Trial: trial(p), Tokens: n, Answers: p.Answers, How: "counted by the server"})
		}
	}
	if all == nil {
		how := fmt.Sprintf("a token for %d ASCII characters or 1 other, and what pictures cost at most; %s", run.CharactersAToken, why)
		for _, p := range prompts {
			all = append(all, longest{Trial: trial(p), Tokens: run.Estimate(p.Texts, p.Sizes), Answers: p.Answers, Estimated: true, How: how})
		}
	}
	return slices.MaxFunc(all, func(a, b longest) int {
		// One that does not fit by itself says more than one that answers make too long.
		return cmp.Or(cmp.Compare(max(a.Tokens, room), max(b.Tokens, room)), cmp.Compare(a.Tokens+a.Answers, b.Tokens+b.Answers))
	}), refused
}

func trial(p Prompt) string {
	return fmt.Sprintf("%s/%s/%s/%s", p.Key.Study, p.Key.Item, p.Key.Arm, p.Key.Condition)
}

// counted is the server's count of a prompt, up to slack above it.
func counted(ctx context.Context, count *run.Counter, p Prompt, room int) (int, error) {
	n, err := count.Pictures(ctx, p.Sizes)
	if err != nil {
		return 0, err
	}
	if n <= 0 && len(p.Sizes) > 0 {
		return 0, errors.New("the server counts no tokens for its pictures, or drops them")
	}
	for _, text := range p.Texts {
		words, _, err := count.Expect(ctx, text, nil, room)
		if err != nil {
			return 0, err
		}
		n += words
	}
	return n, nil
}

// roundUp is the next multiple of 1,024 tokens.
func roundUp(n int) int { return (n + 1023) / 1024 * 1024 }
