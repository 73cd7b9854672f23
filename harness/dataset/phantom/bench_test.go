package phantom_test

import (
	"testing"

	"assay/harness/dataset/phantom"
)

func BenchmarkRender512(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		phantom.NewScene(3, i%20).Render(512)
	}
}
