package dataset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/dataset/table"
	"assay/perturb"
)

// own reads a table of questions that anybody made: questions.go.
func own(s Source) (*Dataset, error) {
	more, err := s.extras()
	if err != nil {
		return nil, err
	}
	t, err := readQuestions(tableSource{Format: s.Kind, Path: s.Path, Columns: s.Columns, Cluster: s.column(), Split: s.Split})
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: s.Name, Kind: s.Kind, Problems: t.Problems, Guesses: t.Guesses, Unused: t.Unused}
	var rows []row
	for _, q := range t.Questions {
		it := Item{ID: q.ID, Question: q.Text, Type: q.Type, Options: q.Options, Answer: q.Answer, Also: q.Also, Task: q.Task, Modality: q.Modality, cluster: q.Cluster}
		sums := make([][sha256.Size]byte, len(q.Pictures))
		bad := false
		for i, p := range q.Pictures {
			im, sum, want, got := Image{Name: fmt.Sprintf("%s picture %d", q.ID, i+1), Load: p.Load}, p.Sum, "", ""
			if p.Path != "" {
				im, sum, want, got = more.picture(s, p.Path)
			}
			if got != "" {
				d.Problems = append(d.Problems, Problem{File: q.File, Row: q.Row, Column: p.Column, Want: want, Got: got})
				bad = true
			}
			it.Images, sums[i] = append(it.Images, im), sum
		}
		if bad {
			continue
		}
		rows = append(rows, row{it, sums, q.Boxes, q.File, q.Row, q.Boxed})
	}
	d.add(s, more, rows)
	return d, nil
}

// row is an item of a table or of JSON lines, whose boxes are as they stand.
type row struct {
	item  Item
	sums  [][sha256.Size]byte
	boxes sides
	file  string
	at    int
	where string // the boxes are
}

// add makes regions of the boxes and adds the rows, but for those whose boxes cannot be.
func (d *Dataset) add(s Source, more *extras, rows []row) {
	more.place(s, d, rows)
	digest := newDigester()
	for _, r := range rows {
		if r.item.ID == "" { // it has a problem
			continue
		}
		more.complete(&r.item)
		digest.add(r.item, r.sums)
		d.Items = append(d.Items, r.item)
	}
	sort(d.Problems)
	digest.finish(d)
	d.Gaps = more.gaps
}

// place finds out what the boxes of rows mean, says it, and makes regions of them. A row whose
// boxes make none loses its ID.
func (e *extras) place(s Source, d *Dataset, rows []row) {
	var all []placed
	var of []*row
	for i := range rows {
		if rows[i].boxes != nil {
			all, of = append(all, placed{Sides: rows[i].boxes}), append(of, &rows[i])
		}
	}
	if len(all) == 0 {
		return
	}
	bad := func(r *row, where, want, got string) {
		d.Problems = append(d.Problems, Problem{File: r.file, Row: r.at, Column: where, Want: want, Got: got})
		r.item.ID = ""
	}
	unit := cmp.Or(s.Boxes, unitOf(all))
	numbers := false // somewhere, that mean something
	for i, r := range of {
		sized := unit == pixels // by the picture
		for _, list := range all[i].Sides {
			for _, b := range list {
				numbers = numbers || !b.masked()
				sized = sized || b.masked() || b.Polygon != nil
			}
		}
		for n, im := range r.item.Images {
			if !sized {
				break
			}
			w, h, err := sizeOf(im)
			if err == nil && n > 0 && (w != all[i].W || h != all[i].H) {
				err = fmt.Errorf("pictures of %dx%d and %dx%d pixels", all[i].W, all[i].H, w, h)
			}
			if all[i].W, all[i].H = w, h; err != nil {
				bad(r, r.where, "pictures of one size where boxes are in pixels, polygons or masks (boxes in fractions are of any)", err.Error())
				all[i].Sides = nil
				break
			}
		}
	}
	m, both := tell(unit, s.BoxesForm, all)
	if numbers && (s.Boxes == "" || s.BoxesForm == "") {
		said := fmt.Sprintf("boxes: in %s, %s", map[string]string{pixels: "pixels", fractionUnit: "fractions of width and height", perCents: "per cents of width and height"}[m.Unit],
			map[string]string{corners: "x0 y0 x1 y1", sized: "x y w h"}[m.Form])
		if both {
			said += " (all would fit as x y w h, too)"
		}
		d.Guesses = append(d.Guesses, said+fmt.Sprintf("; boxes: %s and boxes_form: %s in bench.yaml say it instead", strings.Join(units(), "|"), strings.Join(forms(), "|")))
	}
	for i, r := range of {
		r.item.Regions = map[string][]perturb.Region{}
		for _, side := range slices.Sorted(maps.Keys(all[i].Sides)) {
			for n, b := range all[i].Sides[side] {
				var region perturb.Region
				var wrong, found string
				if b.File == "" {
					region, wrong = m.Region(b, all[i].W, all[i].H)
					found = fmt.Sprint(b.N)
					if b.Mask != nil {
						found = fmt.Sprintf("%dx%d pixels", b.Mask.Size[1], b.Mask.Size[0])
					}
				} else {
					region, wrong, found = e.mask(s, b.File, all[i].W, all[i].H)
				}
				if wrong != "" {
					where := r.where
					if strings.HasPrefix(where, "$") {
						where = fmt.Sprintf("%s[%d]", strings.TrimSuffix(where+"."+side, "."), n)
					}
					bad(r, where, wrong, found)
					continue
				}
				r.item.Regions[side] = append(r.item.Regions[side], region)
			}
		}
	}
}

// mask is what the mask in a file has of a picture of w x h pixels.
func (e *extras) mask(s Source, path string, w, h int) (r perturb.Region, want, got string) {
	im, _, want, got := e.picture(s, path)
	if got != "" {
		return r, want, got
	}
	b, err := im.Load()
	if err != nil {
		return r, "a readable PNG", err.Error()
	}
	img, err := perturb.Decode(b)
	if err != nil {
		return r, "a readable PNG", err.Error()
	}
	if r, err = perturb.RegionOfImage(img); err != nil {
		return r, "a mask with pixels that are not black", err.Error()
	}
	r, want = maskRegion(r.Mask, w, h)
	return r, want, fmt.Sprintf("%s of %dx%d pixels", path, img.Bounds().Dx(), img.Bounds().Dy())
}

func sizeOf(im Image) (w, h int, err error) {
	b, err := im.Load()
	if err != nil {
		return 0, 0, err
	}
	_, w, h, err = perturb.Config(b)
	return w, h, err
}

// picture is a picture file that a table names: its path starts at the table's folder.
func (e *extras) picture(s Source, path string) (im Image, sum [sha256.Size]byte, want, got string) {
	dir := s.Path
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	file := path
	if !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) && !s.Outside {
			return im, sum, "a path inside the folder of " + filepath.Base(s.Path) + " (allow_outside: true permits others)", table.Quote(shown(path))
		}
		file = filepath.Join(dir, path)
	}
	return imageOf(table.Folder{Path: dir, Outside: s.Outside}, path, file, e.helper)
}
