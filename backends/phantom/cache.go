// Cache is what a phantom server remembers of prompts and pictures.
//
//  1. A protocol writes down a request as caches see it, in a prompt.
//  2. take looks up what of it can be reused, and remembers it.
//  3. Log is the truth that a client has to find out.

package phantom

import (
	"crypto/sha256"
	"encoding/binary"
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
	pictures []uint64     // keys, the latest last
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

// prompt is a conversation as caches see it.
type prompt struct {
	salt     string   // vLLM
	fresh    bool     // llama-server: nothing is to be reused
	units    []uint64 // letters, and pictures by their keys
	pictures []picture
}

// picture is one by its file, or by the name that a request gives it.
type picture struct {
	key    uint64 // no letter
	pixels int64
}

type remembered struct {
	reader string
	prompt
}

func (p *prompt) say(text string) {
	for _, b := range []byte(text) {
		p.units = append(p.units, uint64(b))
	}
}

// show adds a picture; named is what the request calls it, "" for nothing.
func (p *prompt) show(film Film, named string) {
	id := film.File
	if named != "" {
		id = sha256.Sum256([]byte("named " + named))
	}
	one := picture{binary.LittleEndian.Uint64(id[:]) | 1<<63, film.pixels()}
	p.units, p.pictures = append(p.units, one.key), append(p.pictures, one)
}

// common is what two prompts share at their beginning: tokens, and the first
// pictures.
func (p prompt) common(o prompt) (tokens, pictures int) {
	if p.salt != o.salt {
		return 0, 0
	}
	letters := 0
	for i, u := range p.units[:min(len(p.units), len(o.units))] {
		if u != o.units[i] {
			break
		}
		if u < 1<<63 {
			letters++
			continue
		}
		tokens += int(p.pictures[pictures].pixels / 784)
		pictures++
	}
	return tokens + letters/4, pictures
}

// habits are what a kind of server keeps.
type habits struct {
	Block    int // tokens that its cache of prompts keeps together
	Pictures int // embeddings of pictures; 0: as part of prompts only
}

// allPictures is more than anybody sends.
const allPictures = math.MaxInt

// take looks up what a request to a reader can reuse, and remembers it. promptTokens
// are those of the whole prompt.
func (c *Caches) take(h habits, reader string, p prompt, promptTokens int) Reuse {
	if c == nil {
		return Reuse{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var r Reuse
	pictures := 0 // as part of the prompt
	for _, o := range c.prompts {
		if o.reader != reader || p.fresh {
			continue
		}
		if tokens, n := p.common(o.prompt); tokens > r.Tokens {
			r.Tokens, pictures = tokens, n
		}
	}
	r.Tokens -= r.Tokens % h.Block
	r.Tokens = min(r.Tokens, promptTokens-1) // the last one is always computed
	for i, pic := range p.pictures {
		known := slices.Contains(c.pictures, pic.key)
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
		c.pictures = append(slices.DeleteFunc(c.pictures, func(key uint64) bool { return key == pic.key }), pic.key)
	}
	c.pictures = c.pictures[max(0, len(c.pictures)-h.Pictures):]
	c.log = append(c.log, r)
	return r
}

// hits are all tokens and pictures that were reused, for vLLM's counters.
func (c *Caches) hits() (tokens, pictures int) {
	if c == nil {
		return 0, 0
	}
	for _, r := range c.Log() {
		tokens, pictures = tokens+r.Tokens, pictures+r.Pictures
	}
	return tokens, pictures
}
