package phantom

import (
	"testing"
)

func BenchmarkRender512(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		NewScene(3, i%20).Render(512)
	}
}
