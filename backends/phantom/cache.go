package phantom

import (
	"bytes"
	"crypto/sha256"
	"image"
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
	pictures []pictureID  // the latest last
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

const (
	rememberedPrompts = 64
	ollamaPictures    = 4  // image embeddings that Ollama keeps
	vllmBlock         = 16 // tokens that vLLM's prefix cache keeps together
)

// pictureID is a picture's file by its digest, or the name that a request gives it.
type pictureID [sha256.Size]byte

// prompt is a conversation as caches see it.
type prompt struct {
	salt     string // vLLM
	fresh    bool   // llama-server: nothing is to be reused
	text     []byte // of all messages; a picture is its id
	pictures []seenPicture
}

type seenPicture struct {
	id     pictureID
	end    int // in prompt.text
	tokens int
	pixels int64
}

type remembered struct {
	reader string
	prompt
}

func (p *prompt) say(text string) { p.text = append(p.text, text...) }

// show adds a picture; named is what the request calls it, "" for nothing.
func (p *prompt) show(file []byte, named string) {
	pic := seenPicture{id: sha256.Sum256(file)}
	if named != "" {
		pic.id = sha256.Sum256([]byte("named " + named))
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(file)); err == nil {
		pic.pixels = int64(c.Width) * int64(c.Height)
		pic.tokens = int(pic.pixels / 784)
	}
	p.text = append(p.text, pic.id[:]...)
	pic.end = len(p.text)
	p.pictures = append(p.pictures, pic)
}

// common is what two prompts share at their beginning: tokens, and the first
// pictures.
func (p prompt) common(o prompt) (tokens, pictures int) {
	if p.salt != o.salt {
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

// take looks up what a request can reuse, and remembers it.
func (c *Caches) take(protocol string, j *job, promptTokens int) Reuse {
	if c == nil {
		return Reuse{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var r Reuse
	pictures := 0 // as part of the prompt
	for _, o := range c.prompts {
		if o.reader != j.reader.Name || j.prompt.fresh {
			continue
		}
		if tokens, n := j.prompt.common(o.prompt); tokens > r.Tokens {
			r.Tokens, pictures = tokens, n
		}
	}
	if protocol == "vllm" {
		r.Tokens -= r.Tokens % vllmBlock
	}
	r.Tokens = min(r.Tokens, promptTokens-1) // the last one is always computed
	for i, pic := range j.prompt.pictures {
		// llama-server keeps pictures as part of prompts only.
		known := protocol != "llamacpp" && slices.Contains(c.pictures, pic.id)
		if known {
			r.Pictures++
		}
		if known || i < pictures && r.Tokens > 0 {
			r.Pixels += pic.pixels
		}
	}
	c.prompts = append(c.prompts, remembered{j.reader.Name, j.prompt})
	c.prompts = c.prompts[max(0, len(c.prompts)-rememberedPrompts):]
	for _, pic := range j.prompt.pictures {
		c.pictures = append(slices.DeleteFunc(c.pictures, func(id pictureID) bool { return id == pic.id }), pic.id)
	}
	if protocol == "ollama" {
		c.pictures = c.pictures[max(0, len(c.pictures)-ollamaPictures):]
	}
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
