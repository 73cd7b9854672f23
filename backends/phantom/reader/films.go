package reader

import (
	"bytes"
	"crypto/sha256"
	"image"
	_ "image/jpeg" // what cameras and viewers export
	_ "image/png"
	"sync"

	"assay/backends/phantom/eyes"
)

// Film is a picture file as a reader's eyes find it.
type Film struct {
	File [sha256.Size]byte // its digest
	Size image.Point
	view eyes.View
}

// maxFilms is how many files a Films remembers: some megabytes.
const maxFilms = 8192

// Films opens picture files, each once: a study shows the same ones again and
// again, to several readers. It remembers what eyes find and no pixels. Use a
// pointer; it is safe from several goroutines.
type Films struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]Film
}

// Open decodes a file and measures it.
func (f *Films) Open(file []byte) (Film, error) {
	key := sha256.Sum256(file)
	f.mu.Lock()
	one, ok := f.of[key]
	f.mu.Unlock()
	if ok {
		return one, nil
	}
	img, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return Film{}, err
	}
	one = Film{key, img.Bounds().Size(), eyes.Measure(img)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= maxFilms {
		f.of = map[[sha256.Size]byte]Film{}
	}
	f.of[key] = one
	return one, nil
}

// films is what the reader is shown, measured where that was not done before.
func (a Ask) films(looks bool) []Film {
	list := a.Films
	for _, img := range a.Pictures {
		one := Film{Size: img.Bounds().Size()}
		if looks {
			one.view = eyes.Measure(img)
		}
		list = append(list[:len(list):len(list)], one)
	}
	return list
}
