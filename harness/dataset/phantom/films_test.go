package phantom

import (
	"bytes"
	"image"
	"image/png"
	"reflect"
	"sync"
	"testing"

	"assay/backends/phantom"
)

// A file that was opened before is read as its pixels are.
func TestFilms(t *testing.T) {
	var films Films
	p := phantom.Profiles()[0]
	for i := range 6 {
		s := NewScene(4, i%3)
		img := s.Render(256)
		var file bytes.Buffer
		if err := png.Encode(&file, img); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				one, err := films.Open(file.Bytes())
				if err != nil || one.Size != image.Pt(256, 256) {
					t.Errorf("%+v, %v", one, err)
				}
				for _, q := range Questions(s)[:4] {
					prompt := q.Text + " Reason step by step."
					got, err1 := Read(p, 1, phantom.Ask{Prompt: prompt, Films: []phantom.Film{one}})
					want, err2 := Read(p, 1, phantom.Ask{Prompt: prompt, Films: []phantom.Film{{Size: one.Size, View: Look(img, Scene.Render)}}})
					if err1 != nil || err2 != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%q: %+v, %v; from pixels %+v, %v", q.Text, got, err1, want, err2)
					}
				}
			})
		}
		wg.Wait()
	}
	if len(films.of) != 3 {
		t.Errorf("%d films of 3 files", len(films.of))
	}
	if _, err := films.Open([]byte("no picture")); err == nil {
		t.Error("a file that is no picture is opened")
	}
}
