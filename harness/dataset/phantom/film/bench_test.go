package film_test

import (
	"testing"

	"assay/harness/dataset/phantom/film"
)

func BenchmarkRender512(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		film.New(3, i%20).Render(512)
	}
}
