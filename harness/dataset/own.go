package dataset

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"assay/harness/dataset/dicom"
	"assay/harness/dataset/questions"
	"assay/harness/dataset/root"
	"assay/harness/dataset/strict"
)

// own reads a table of questions that anybody made: package questions.
func own(s Source) (*Dataset, error) {
	more, err := s.extras()
	if err != nil {
		return nil, err
	}
	t, err := questions.Read(questions.Source{Format: s.Kind, Path: s.Path, Columns: s.Columns, Cluster: s.column(), Split: s.Split, Library: s.library})
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: s.Name, Kind: s.Kind, Problems: t.Problems, Guesses: t.Guesses, Unused: t.Unused}
	digest := newDigester()
	for _, q := range t.Questions {
		it := Item{ID: q.ID, Question: q.Text, Type: q.Type, Options: optionsOf(q.Options), Answer: q.Answer, Also: q.Also, Task: q.Task, Modality: q.Modality, cluster: q.Cluster}
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
		more.complete(&it)
		digest.add(it, sums)
		d.Items = append(d.Items, it)
	}
	questions.Sort(d.Problems)
	digest.finish(d)
	d.Gaps = more.gaps
	return d, nil
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
			return im, sum, "a path inside the folder of " + filepath.Base(s.Path) + " (allow_outside: true permits others)", strict.Quote(dicom.Shown(path))
		}
		file = filepath.Join(dir, path)
	}
	return imageOf(root.Folder{Path: dir, Outside: s.Outside}, path, file, e.helper)
}
