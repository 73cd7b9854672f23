package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"image"
	"strings"

	"assay/harness/dataset/table"
	"assay/perturb"
)

// imageOf checks an image file and digests its bytes. want and got are for a
// Problem; got is "" when all is well.
func imageOf(f table.Folder, name, path string, helper *helper) (im Image, sum [sha256.Size]byte, want, got string) {
	b, want, got := f.Read(path)
	if is(b) || namedDICOM(path) { // whose name may be a person's
		load, sum, made, err := helper.Picture(func() ([]byte, string) { b, _, got := f.Read(path); return b, got })
		if err != nil {
			return im, sum, wanted, err.Error()
		}
		return Image{Name: "a DICOM file", Load: load, Made: made}, sum, "", ""
	}
	if got != "" {
		return im, sum, want, got
	}
	_, w, h, err := perturb.Config(b)
	if err != nil {
		return im, sum, "a readable PNG, JPEG, WebP, GIF, BMP or TIFF image", fmt.Sprintf("%s: %v", path, err)
	}
	sum = sha256.Sum256(b)
	return Image{Name: name, Size: image.Pt(w, h), Load: func() ([]byte, error) {
		b, want, got := f.Read(path)
		if got != "" {
			return nil, fmt.Errorf("read image %s: expected %s, found %s", path, want, got)
		}
		if sha256.Sum256(b) != sum {
			return nil, fmt.Errorf("read image: %s has changed since the data set was opened: start again", path)
		}
		return b, nil
	}}, sum, "", ""
}

// digester digests items as they are accepted, in order.
type digester struct {
	h        hash.Hash
	pictures [][]string // of each item: the sums of its pictures
}

func newDigester() *digester { return &digester{h: sha256.New()} }

func (d *digester) add(it Item, images [][sha256.Size]byte) {
	sums := make([]string, len(images))
	for i, s := range images {
		sums[i] = hex.EncodeToString(s[:])
	}
	d.pictures = append(d.pictures, sums)
	var leaking *Leaking
	if it.Case != nil {
		leaking = &it.leaking
	}
	err := json.NewEncoder(d.h).Encode(struct {
		ID, Question, Type, Answer, Task, Modality, Finding string
		Options                                             []Option
		GoldPaths                                           [][]Step
		Images                                              []string
		Scale                                               []string                    `json:",omitempty"`
		Aliases                                             map[string]string           `json:",omitempty"`
		Regions                                             map[string][]perturb.Region `json:",omitempty"`
		Knowledge                                           *Knowledge                  `json:",omitempty"`
		Case                                                *Case                       `json:",omitempty"`
		Leaking                                             *Leaking                    `json:",omitempty"`
		Also                                                []string                    `json:",omitempty"`
	}{it.ID, it.Question, it.Type, it.Answer, it.Task, it.Modality, it.Finding, it.Options, it.GoldPaths, sums,
		it.Scale, it.Aliases, it.Regions, it.Knowledge, it.Case, leaking, it.Also})
	if err != nil {
		panic("dataset: internal error: an item does not marshal: " + err.Error())
	}
}

func (d *digester) String() string { return "sha256:" + hex.EncodeToString(d.h.Sum(nil)) }

// finish gives a set its digest, and items that share a picture, also by way of
// others, one name for it. Items are those that were added.
func (d *digester) finish(set *Dataset) {
	set.Digest = d.String()
	parent := map[string]string{} // of pictures, towards the one that names them all
	find := func(p string) string {
		for parent[p] != "" {
			p = parent[p]
		}
		return p
	}
	for _, sums := range d.pictures {
		for _, p := range sums[min(1, len(sums)):] {
			if a, b := find(sums[0]), find(p); a != b {
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	items := map[string]int{}
	d.sum(set)
	for _, sums := range d.pictures {
		if len(sums) > 0 {
			items[find(sums[0])]++
		}
	}
	for i, sums := range d.pictures {
		if len(sums) > 0 && items[find(sums[0])] > 1 {
			set.Items[i].Picture = find(sums[0])[:16]
		}
	}
}

// sum says of items what their pictures are.
func (d *digester) sum(set *Dataset) {
	for i, sums := range d.pictures {
		for _, s := range sums {
			set.Items[i].Sums = append(set.Items[i].Sums, strings.Clone(s[:16]))
		}
	}
}

// Damaged decodes every picture whole, each once, and reports those that break
// inside, which a look at headers and ends does not find. It takes seconds per
// thousand pictures, so only a check of the data set does it.
func Damaged(d *Dataset) []Problem {
	var out []Problem
	seen := map[[sha256.Size]byte]bool{} // several questions may be about one picture
	for _, it := range d.Items {
		for _, im := range it.Images {
			b, err := im.Load()
			if err == nil {
				sum := sha256.Sum256(b)
				if seen[sum] {
					continue
				}
				seen[sum] = true
				_, err = perturb.Decode(b)
			}
			if err != nil {
				out = append(out, Problem{File: im.Name, Want: "an image that decodes to its end (item " + it.ID + ")", Got: err.Error()})
			}
		}
	}
	return out
}
