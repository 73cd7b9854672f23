package phantom

import (
	"bytes"
	"crypto/sha256"
	"image"
	_ "image/jpeg" // what cameras and viewers export
	_ "image/png"
	"sync"

	"assay/backends/phantom"
)

// maxFilms is how many files a Films remembers, maxClean how many pixels of clean films:
// some megabytes.
const maxFilms, maxClean = 8192, 32 << 20

// Films opens picture files, each once: a study shows the same ones again and
// again, to several readers. It remembers what they show, and the clean films that they
// are compared with. Use a pointer; it is safe from several goroutines.
type Films struct {
	mu    sync.Mutex
	of    map[[sha256.Size]byte]phantom.Film
	clean map[drawn]func() *image.Gray
	drawn int // pixels of them

	learning sync.Mutex
	learnt   map[phantom.Memory][]string // texts known by heart
}

// drawn is a clean film of a size.
type drawn struct {
	Scene
	size int
}

// draw draws a clean film, unless it has.
func (f *Films) draw(s Scene, size int) *image.Gray {
	f.mu.Lock()
	draw, ok := f.clean[drawn{s, size}]
	if !ok {
		if f.drawn += size * size; f.clean == nil || f.drawn > maxClean {
			f.clean, f.drawn = map[drawn]func() *image.Gray{}, size*size
		}
		draw = sync.OnceValue(func() *image.Gray { return s.Render(size) })
		f.clean[drawn{s, size}] = draw
	}
	f.mu.Unlock()
	return draw()
}

// Open decodes a file and looks at it.
func (f *Films) Open(file []byte) (phantom.Film, error) {
	key := sha256.Sum256(file)
	f.mu.Lock()
	one, ok := f.of[key]
	f.mu.Unlock()
	if ok {
		return one, nil
	}
	img, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return phantom.Film{}, err
	}
	one = phantom.Film{File: key, Size: img.Bounds().Size(), View: Look(img, f.draw)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= maxFilms {
		f.of = map[[sha256.Size]byte]phantom.Film{}
	}
	f.of[key] = one
	return one, nil
}

// Read answers as a profile says, and puts the findings into words.
func (f *Films) Read(p phantom.Profile, seed uint64, a phantom.Ask) (phantom.Reply, error) {
	r, err := mind{p, f.known}.read(seed, a)
	if r.Understood {
		r.Reply.Seen, r.Reply.Believed = map[string]string{}, map[string]string{}
		for s := range NumSites {
			if r.Seen[s].Sure {
				r.Reply.Seen[s.String()] = s.Grades()[r.Seen[s].Grade]
			}
			r.Reply.Believed[s.String()] = s.Grades()[r.Believed[s].Grade]
		}
	}
	return r.Reply, err
}

// Knows says of which type the question in a prompt is.
func (f *Films) Knows(prompt string) (typ string, ok bool) {
	q, ok := Understand(prompt)
	return q.Type, ok
}

// known are the texts of a memory, which are gone through once.
func (f *Films) known(m phantom.Memory) []string {
	if m.Cases == 0 {
		return nil
	}
	f.learning.Lock()
	defer f.learning.Unlock()
	texts, ok := f.learnt[m]
	if !ok {
		texts = learnt(m)
		if f.learnt == nil {
			f.learnt = map[phantom.Memory][]string{}
		}
		f.learnt[m] = texts
	}
	return texts
}
