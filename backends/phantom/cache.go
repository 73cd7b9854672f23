// Cache is what a phantom server remembers of prompts and pictures.
//
//  1. A protocol writes down a request as caches see it, in a Prompt.
//  2. Take looks up what of it can be reused, and remembers it.
//  3. Log is the truth that a client has to find out.

package phantom

import (
	"crypto/sha256"
	"image"
	"math"
	"slices"
	"sync"
)

// Caches are what a phantom server remembers of prompts and pictures, as real
// ones do: a prompt that begins like an earlier one to the same reader, and a
// picture file seen before, cost no time again. It is safe from several
// goroutines; a nil Caches remembers nothing.
type Caches struct {
	mu       sync.Mutex
	prompts  []remembered // the latest last
	pictures []id         // the latest last
	log      []Reuse
}

// Reuse is what one request reused: the truth that is to be found out.
type Reuse struct {
	Tokens   int   // of the prompt, pictures included
	Pictures int   // whose files were known
	Pixels   int64 // of these, and of pictures in the reused part of the prompt
}

// Hit says whether anything was reused.
func (r Reuse) Hit() bool { return r.Tokens > 0 || r.Pictures > 0 }

// Log is what each request reused, in the order of their coming.
func (c *Caches) Log() []Reuse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

const rememberedPrompts = 64

// id is a picture's file by its digest, or the name that a request gives it.
type id [sha256.Size]byte

// Prompt is a conversation as caches see it.
type Prompt struct {
	Salt     string // vLLM
	Fresh    bool   // llama-server: nothing is to be reused
	text     []byte // of all messages; a picture is its id
	pictures []picture
}

type picture struct {
	id     id
	end    int // in prompt.text
	tokens int
	pixels int64
}

type remembered struct {
	reader string
	Prompt
}

// Say adds text.
func (p *Prompt) Say(text string) { p.text = append(p.text, text...) }

// Show adds a picture of a size; named is what the request calls it, "" for
// nothing.
func (p *Prompt) Show(id id, size image.Point, named string) {
	if named != "" {
		id = sha256.Sum256([]byte("named " + named))
	}
	p.text = append(p.text, id[:]...)
	pixels := int64(size.X) * int64(size.Y)
	p.pictures = append(p.pictures, picture{id: id, end: len(p.text), tokens: int(pixels / 784), pixels: pixels})
}

// common is what two prompts share at their beginning: tokens, and the first
// pictures.
func (p Prompt) common(o Prompt) (tokens, pictures int) {
	if p.Salt != o.Salt {
		return 0, 0
	}
	n := 0
	for n < len(p.text) && n < len(o.text) && p.text[n] == o.text[n] {
		n++
	}
	text := n
	for _, pic := range p.pictures {
		start := pic.end - len(pic.id)
		if n < pic.end { // another picture stands there, or none
			text -= max(0, n-start)
			break
		}
		text -= len(pic.id)
		tokens += pic.tokens
		pictures++
	}
	return tokens + text/4, pictures
}

// habits are what a kind of server keeps.
type habits struct {
	Block    int // tokens that its cache of prompts keeps together
	Pictures int // embeddings of pictures; 0: as part of prompts only
}

// allPictures is more than anybody sends.
const allPictures = math.MaxInt

// Take looks up what a request to a reader can reuse, and remembers it. promptTokens
// are those of the whole prompt.
func (c *Caches) Take(h habits, reader string, p Prompt, promptTokens int) Reuse {
	if c == nil {
		return Reuse{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var r Reuse
	pictures := 0 // as part of the prompt
	for _, o := range c.prompts {
		if o.reader != reader || p.Fresh {
			continue
		}
		if tokens, n := p.common(o.Prompt); tokens > r.Tokens {
			r.Tokens, pictures = tokens, n
		}
	}
	r.Tokens -= r.Tokens % h.Block
	r.Tokens = min(r.Tokens, promptTokens-1) // the last one is always computed
	for i, pic := range p.pictures {
		known := slices.Contains(c.pictures, pic.id)
		if known {
			r.Pictures++
		}
		if known || i < pictures && r.Tokens > 0 {
			r.Pixels += pic.pixels
		}
	}
	c.prompts = append(c.prompts, remembered{reader, p})
	c.prompts = c.prompts[max(0, len(c.prompts)-rememberedPrompts):]
	for _, pic := range p.pictures {
		c.pictures = append(slices.DeleteFunc(c.pictures, func(id id) bool { return id == pic.id }), pic.id)
	}
	c.pictures = c.pictures[max(0, len(c.pictures)-h.Pictures):]
	c.log = append(c.log, r)
	return r
}

// Hits are all tokens and pictures that were reused, for vLLM's counters.
func (c *Caches) Hits() (tokens, pictures int) {
	if c == nil {
		return 0, 0
	}
	for _, r := range c.Log() {
		tokens, pictures = tokens+r.Tokens, pictures+r.Pictures
	}
	return tokens, pictures
}
