package dataset

import (
	"os"
	"sync"
)

// maxSpool is how much of a disk kept pictures may take.
const maxSpool = 2 << 30

// KeepDrawn keeps the pictures of a generated data set, each when it was first
// loaded, in a temporary file without a name, so that a run draws each once and
// not once a trial. Where there is no such file, or it is full, pictures are
// drawn anew. Data sets of files are left as they are.
func (d *Dataset) KeepDrawn() {
	if !d.Synthetic {
		return
	}
	s := &spool{}
	kept := map[string]*drawing{} // by name: questions about one case share its picture
	for i := range d.Items {
		for k := range d.Items[i].Images {
			img := &d.Items[i].Images[k]
			if kept[img.Name] == nil {
				kept[img.Name] = &drawing{draw: img.Load}
			}
			one := kept[img.Name]
			img.Load = func() ([]byte, error) { return one.load(s) }
		}
	}
}

// drawing is one picture; at is where it is kept.
type drawing struct {
	mu   sync.Mutex
	draw func() ([]byte, error)
	kept bool
	at   int64
	n    int
}

func (p *drawing) load(s *spool) ([]byte, error) {
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

// spool is a file that ends with the process.
type spool struct {
	mu   sync.Mutex
	file *os.File
	size int64
	full bool
}

// keep appends b; false: it is not kept.
func (s *spool) keep(b []byte) (at int64, ok bool) {
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
	if _, err := s.file.WriteAt(b, at); err != nil || at+int64(len(b)) > maxSpool {
		s.full = true
		return 0, false
	}
	s.size += int64(len(b))
	return at, true
}
