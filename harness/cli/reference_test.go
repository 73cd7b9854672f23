package cli

import (
	"bytes"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"assay/harness/experiment"
	"assay/perturb"
)

var updatePages = flag.Bool("update-pages", false, "write the pages of docs that the program makes again")

// TestPagesAreUpToDate: docs hold what the program says; with -update-pages they do afterwards.
// Pictures are compared by their pixels: other versions of Go compress otherwise.
func TestPagesAreUpToDate(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors fuse multiplication and addition: a heatmap's last level differs")
	}
	files, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, f := range files {
		made[f.Name] = true
		if *updatePages {
			writePage(t, f)
		}
		is, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(f.Name)))
		if err != nil {
			t.Errorf("%v: run go test ./harness/cli -run TestPagesAreUpToDate -update-pages", err)
			continue
		}
		same := bytes.Equal(is, f.Text)
		if f.Picture != nil {
			same = samePixels(t, is, f.Picture)
		}
		if !same {
			t.Errorf("docs/%s is not what the program says: run go test ./harness/cli -run TestPagesAreUpToDate -update-pages", f.Name)
		}
	}
	there, err := filepath.Glob(filepath.Join("..", "..", "docs", "images", "perturbations", "*"))
	if err != nil || len(there) != len(files)-2 {
		t.Errorf("%d pictures in docs, %d are made (%v): remove what no condition has", len(there), len(files)-2, err)
	}
	page := string(files[0].Text)
	for _, d := range experiment.All() {
		for _, c := range d.Changes {
			if !strings.Contains(page, "### `"+c.Name+"`\n") {
				t.Errorf("%s of %s is not on the page", c.Name, d.Name)
			}
			if len(c.Ops) > 0 && !strings.Contains(page, "](images/perturbations/"+fileName(c.Name)+".png)") {
				t.Errorf("%s of %s has no picture", c.Name, d.Name)
			}
		}
	}
	if !made["perturbations.md"] {
		t.Error("there is no page")
	}
}

func samePixels(t *testing.T, file []byte, want image.Image) bool {
	t.Helper()
	is, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Error(err)
		return false
	}
	var pix [2]*image.RGBA
	for i, img := range []image.Image{is, want} {
		pix[i] = image.NewRGBA(img.Bounds())
		draw.Draw(pix[i], pix[i].Rect, img, img.Bounds().Min, draw.Src)
	}
	return pix[0].Rect == pix[1].Rect && bytes.Equal(pix[0].Pix, pix[1].Pix)
}

// Levels that the page names to begin with are such as a bench.yaml may have.
func TestLevelsToBeginWith(t *testing.T) {
	t.Parallel()
	named := 0
	for _, spec := range perturb.Ops() {
		for _, p := range spec.Params {
			list := strings.Trim(p.Try, "[]")
			if list == "" {
				continue
			}
			named++
			last := -1.0
			for word := range strings.SplitSeq(list, ",") {
				v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
				if err != nil || v <= last {
					t.Errorf("%s of %s: %q: not rising numbers", p.Name, spec.Name, list)
				}
				last = v
				if err := (perturb.Op{Name: spec.Name, Fill: map[string]string{"occlude": "blur", "keep": "blur"}[spec.Name], Params: map[string]float64{p.Name: v}}).Check(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if named < 9 {
		t.Errorf("levels of %d parameters", named)
	}
}

func writePage(t *testing.T, f file) {
	b, err := f.Bytes()
	path := filepath.Join("..", "..", "docs", filepath.FromSlash(f.Name))
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
