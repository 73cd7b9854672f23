package dataset

import (
	"bytes"
	"sync"
	"testing"
)

func TestDrawnOnce(t *testing.T) {
	d := &Dataset{Synthetic: true}
	drawn := map[string]int{}
	var mu sync.Mutex
	for _, name := range []string{"a", "b", "a", "c"} {
		d.Items = append(d.Items, Item{Images: []Image{{Name: name, Load: func() ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			drawn[name]++
			return bytes.Repeat([]byte(name), 1000), nil
		}}}})
	}
	d.KeepDrawn()
	var wg sync.WaitGroup
	for range 20 {
		for _, it := range d.Items {
			wg.Go(func() {
				b, err := it.Images[0].Load()
				if err != nil || !bytes.Equal(b, bytes.Repeat([]byte(it.Images[0].Name), 1000)) {
					t.Errorf("%s: %d bytes %.3q, %v", it.Images[0].Name, len(b), b, err)
				}
				b[0] = '!' // what is given is the caller's own
			})
		}
	}
	wg.Wait()
	for _, name := range []string{"a", "b", "c"} {
		if drawn[name] != 1 {
			t.Errorf("%s was drawn %d times", name, drawn[name])
		}
	}
}

// Without room for them, pictures are drawn anew.
func TestSpoolThatCannotKeep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/gone")
	d := &Dataset{Synthetic: true}
	n := 0
	d.Items = []Item{{Images: []Image{{Name: "a", Load: func() ([]byte, error) { n++; return []byte("picture"), nil }}}}}
	d.KeepDrawn()
	for range 3 {
		if b, err := d.Items[0].Images[0].Load(); err != nil || string(b) != "picture" {
			t.Errorf("%q, %v", b, err)
		}
	}
	if n != 3 {
		t.Errorf("drawn %d times", n)
	}
	files := &Dataset{Items: []Item{{Images: []Image{{Name: "a", Load: func() ([]byte, error) { n++; return nil, nil }}}}}}
	files.KeepDrawn()
	for range 2 {
		files.Items[0].Images[0].Load()
	}
	if n != 5 {
		t.Error("a file is kept")
	}
}
