package phantom

import (
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

func TestSameSceneSamePixels(t *testing.T) {
	for _, c := range []struct {
		seed        uint64
		index, size int
		want        string
	}{
		{7, 0, 256, "470a49da651deeb9"},
		{7, 1, 512, "13b5d6bb367461dc"},
		{11, 42, 300, "948b97be12e6df90"},
	} {
		img := NewScene(c.seed, c.index).Render(c.size)
		sum := sha256.Sum256(img.Pix)
		if got := hex.EncodeToString(sum[:8]); got != c.want {
			t.Errorf("seed %d, case %d, %d px: pixels are %s, pinned %s", c.seed, c.index, c.size, got, c.want)
		}
	}
}

// Floating point may be fused differently on another processor.
func TestNoFloatingPoint(t *testing.T) {
	for _, file := range []string{"draw.go", "film.go", "render.go", "paint.go", "code.go", "look.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if n.Name == "float64" || n.Name == "float32" || n.Name == "math" {
					t.Errorf("%s uses %s", file, n.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.FLOAT {
					t.Errorf("%s has the floating-point number %s", file, n.Value)
				}
			}
			return true
		})
	}
}

func TestEveryGradeOccurs(t *testing.T) {
	var seen [NumSites]map[int]int
	for i := range 600 {
		for site, r := range NewScene(5, i).Truth() {
			if seen[site] == nil {
				seen[site] = map[int]int{}
			}
			seen[site][r.Grade]++
		}
	}
	for site := range NumSites {
		for g, word := range site.Grades() {
			if seen[site][g] < 20 {
				t.Errorf("%s %s occurs in %d of 600 scenes", site, word, seen[site][g])
			}
		}
	}
}
