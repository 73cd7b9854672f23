// Tempfile keeps what is made at some cost in a file that ends with the
// process, so that it is made once.

package dataset

import (
	"os"
	"sync"
)

// maxSize is how much of a disk such a file may take, in bytes.
const maxSize = 2 << 30

// tempFile is such a file; the zero tempFile is empty. Where there can be no file, or it
// is full, nothing is kept.
type tempFile struct {
	mu   sync.Mutex
	file *os.File
	size int64
	full bool
}

// Once makes with draw what is not kept yet, and gives everybody a copy of their own.
func (s *tempFile) Once(draw func() ([]byte, error)) func() ([]byte, error) {
	p := &drawing{draw: draw}
	return func() ([]byte, error) { return p.load(s) }
}

// drawing is one picture; at is where it is kept.
type drawing struct {
	mu   sync.Mutex
	draw func() ([]byte, error)
	kept bool
	at   int64
	n    int
}

func (p *drawing) load(s *tempFile) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept {
		b := make([]byte, p.n)
		if _, err := s.file.ReadAt(b, p.at); err == nil {
			return b, nil
		}
	}
	b, err := p.draw()
	if err == nil {
		p.at, p.kept = s.keep(b)
		p.n = len(b)
	}
	return b, err
}

// keep appends b; false: it is not kept.
func (s *tempFile) keep(b []byte) (at int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return 0, false
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "assay-pictures-")
		if err != nil {
			s.full = true
			return 0, false
		}
		os.Remove(f.Name()) // where that works, nothing is left behind
		s.file = f
	}
	at = s.size
	if _, err := s.file.WriteAt(b, at); err != nil || at+int64(len(b)) > maxSize {
		s.full = true
		return 0, false
	}
	s.size += int64(len(b))
	return at, true
}
