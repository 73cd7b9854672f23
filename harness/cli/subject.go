package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/render"
	"assay/perturb"
	"assay/results/text"
)

// previewSubject is a picture and the question it belongs to.
type previewSubject struct {
	Name    string
	Item    dataset.Item // of an image file, made up to have its regions
	Made    bool         // it was
	File    []byte
	Picture perturb.Picture
	Seed    uint64 // of what conditions draw
	Pixels  uint64 // of what is random in the picture
	Prompts map[string]string
}

// unreadError is a picture of a data set that cannot be read.
type unreadError struct{ error }

// ofItem is the nth picture of an item, from 1, as a run shows it.
func ofItem(b *experiment.Bench, id string, n int) (previewSubject, error) {
	var ids []string
	for _, d := range b.Config.Datasets {
		set := b.Sets[d.Name]
		if set == nil {
			continue
		}
		for _, it := range set.Items {
			if it.ID != id {
				ids = append(ids, it.ID)
				continue
			}
			if n < 1 || n > len(it.Images) {
				return previewSubject{}, fmt.Errorf("item %s has %d images, expected --image from 1 on, found %d", id, len(it.Images), n)
			}
			file, err := it.Images[n-1].Load()
			if err != nil {
				return previewSubject{}, unreadError{err}
			}
			sides, err := render.Sides(&it, render.Frame{MaxSide: d.MaxSide, MaxPixels: d.MaxPixels})
			if err != nil {
				return previewSubject{}, unreadError{err}
			}
			return previewSubject{Name: id, Item: it, File: file, Picture: perturb.Picture{MaxSide: sides[n-1], Metadata: d.Metadata}, Seed: b.Config.Seed,
				Pixels: render.Seed(b.Config.Seed, id, n-1), Prompts: b.Config.Prompts}, nil
		}
	}
	return previewSubject{}, fmt.Errorf("no item %q in the data sets%s; assay show lists them", id, text.DidYouMean(id, ids))
}

// previewMade is what is asked of an image file.
type previewMade struct {
	MaxSide int      // longest side to scale it down to; 0: as it is
	Finding string   // whose boxes stand in the table of regions; "": none
	Table   string   // of regions
	Regions []string // "X0,Y0,X1,Y1" in per cent
	Seed    uint64
}

// ofFile makes an image file an item that has its regions.
func ofFile(path string, m previewMade) (previewSubject, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return previewSubject{}, err
	}
	if _, _, _, err := perturb.Config(file); err != nil {
		return previewSubject{}, fmt.Errorf("%s: %w", path, err)
	}
	it := dataset.Item{ID: filepath.Base(path), Type: dataset.TypeSpatial, Answer: "here", Options: []dataset.Option{{Text: "here"}, {Text: "elsewhere"}}}
	if finding := m.Finding; finding != "" {
		r, err := dataset.ReadRegions(m.Table)
		if err != nil {
			return previewSubject{}, err
		}
		if it.Regions = r.Boxes(finding); it.Regions == nil {
			return previewSubject{}, fmt.Errorf("no finding %q in the table of regions%s; it has %s", finding, text.DidYouMean(finding, r.Findings()), strings.Join(r.Findings(), ", "))
		}
		if len(it.Regions["right"]) > 0 && len(it.Regions["left"]) > 0 { // so that sides can be suggested
			it.Type, it.Answer, it.Options = dataset.TypeComparative, "right", []dataset.Option{{Text: "right"}, {Text: "left"}, {Text: "same severity"}, {Text: "none"}}
		}
	}
	for _, text := range m.Regions {
		r, err := regionOf(text)
		if err != nil {
			return previewSubject{}, fmt.Errorf("--region: %w", err)
		}
		if it.Regions == nil || it.Finding == "" && len(it.Regions[""]) == 0 {
			it.Regions = map[string][]perturb.Region{"right": it.Regions["right"], "left": it.Regions["left"]}
		}
		it.Regions[""] = append(it.Regions[""], r)
	}
	return previewSubject{Name: it.ID, Item: it, Made: true, File: file, Picture: perturb.Picture{MaxSide: m.MaxSide}, Seed: m.Seed, Pixels: m.Seed}, nil
}

// regionOf reads "30,35,70,65".
func regionOf(text string) (perturb.Region, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	var n []int
	for _, w := range words {
		v, err := strconv.Atoi(w)
		if err != nil {
			n = nil
			break
		}
		n = append(n, v)
	}
	if len(n) != 4 {
		return perturb.Region{}, fmt.Errorf("expected X0,Y0,X1,Y1 in per cent, such as 30,35,70,65, found %q", text)
	}
	r := perturb.Region{X0: n[0], Y0: n[1], X1: n[2], Y1: n[3]}
	return r, r.Check()
}
