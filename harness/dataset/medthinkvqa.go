package dataset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/dataset/table"
)

// CaseSplits are those of MedThinkVQA.
func CaseSplits() []string { return []string{"train", "test"} }

// caseQuestion is what is asked of a case that has no question of its own.
const caseQuestion = "Which of these diagnoses is the most likely one?"

// medthinkvqa reads MedThinkVQA: {train,test}.{jsonl,parquet}, a row a case, with its
// images as files or embedded. Images are looked at one after another, never kept. What
// gives the answer away goes where only Item.AnswerLeaking leads.
func medthinkvqa(s Source) (*Dataset, error) {
	files, err := caseFiles(s.Path, s.Split)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: s.Name, Kind: KindMedThinkVQA}
	digest, first, keys := newDigester(), map[string]string{}, map[string][]int{}
	for _, file := range files {
		records, problems, err := caseRecords(file, s.column())
		if err != nil {
			return nil, err
		}
		before := len(d.Problems)
		d.Problems = append(d.Problems, problems...)
		for _, r := range records {
			it, sums, bad := caseItem(r, file, table.Folder{Path: filepath.Dir(file), Outside: s.Outside})
			if where := first[it.ID]; where != "" && bad == nil {
				bad = []Problem{{File: file, Row: r.Row, Column: "image_01_path", Want: "a folder of images for each case", Got: "that of " + where}}
			}
			if d.Problems = append(d.Problems, bad...); bad != nil {
				continue
			}
			first[it.ID] = fmt.Sprintf("%s:%d", file, r.Row)
			keys[caseKey(r.Title, r.History)] = append(keys[caseKey(r.Title, r.History)], len(d.Items))
			digest.add(it, sums)
			d.Items = append(d.Items, it)
		}
		slices.SortStableFunc(d.Problems[before:], func(a, b Problem) int { return cmp.Compare(a.Row, b.Row) })
	}
	if s.Experts != "" {
		if err := rated(d, s.Experts, keys); err != nil {
			return nil, err
		}
	}
	digest.finish(d)
	return d, nil
}

// caseFiles are the files of a split, of all splits for "". A file is itself.
func caseFiles(path, split string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	splits := CaseSplits()
	if split != "" {
		splits = []string{split}
	}
	var files []string
	for _, name := range splits {
		var found []string
		for _, ext := range []string{".jsonl", ".parquet"} {
			if _, err := os.Stat(filepath.Join(path, name+ext)); err == nil {
				found = append(found, filepath.Join(path, name+ext))
			}
		}
		if len(found) > 1 {
			return nil, fmt.Errorf("%s and %s are both there: leave one", found[0], found[1])
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file %s.jsonl or .parquet: expected a folder in MedThinkVQA's format", path, strings.Join(splits, ".jsonl, .parquet, "))
	}
	return files, nil
}

// caseRecords reads a file of either kind, whatever its name says.
func caseRecords(file, cluster string) ([]record, []Problem, error) {
	f, err := table.OpenRoot(file, 1<<40) // embedded images are not read at once
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var head [4]byte
	if n, _ := f.ReadAt(head[:], 0); string(head[:n]) == "PAR1" {
		return caseParquet(file, cluster)
	}
	return caseJSONL(file, f, cluster)
}

// caseItem makes an item of a record, or says what is wrong with its images.
func caseItem(r record, file string, in table.Folder) (it Item, sums [][sha256.Size]byte, bad []Problem) {
	it = Item{ID: r.ID, Question: caseQuestion, Type: TypeDiagnosis, Answer: r.Answer,
		Case: &Case{History: r.History, Chapter: r.Chapter, Block: r.Block, Category: r.Category, Longitudinal: r.Longitudinal, Timepoints: r.Timepoints, Rare: r.Rare}}
	it.cluster = r.Cluster
	it.leaking = Leaking{Title: r.Title, Findings: r.Findings, Interval: r.Interval}
	for i, text := range r.Options {
		it.Options = append(it.Options, Option{Label: string(rune('A' + i)), Text: text})
	}
	for _, s := range r.Discussion {
		it.leaking.Discussion = append(it.leaking.Discussion, section(s))
	}
	captions, any := make([]string, len(r.Images)), false
	var modalities []string
	for n, im := range r.Images {
		// The file's own name may say what it shows.
		image, sum := Image{Name: fmt.Sprintf("%s-%d", r.ID, n+1)}, [sha256.Size]byte{}
		if im.Embedded != nil {
			image.Load, sum = im.Embedded.Image.Load, im.Embedded.Image.Sum()
		} else {
			want, got := "a path inside the folder of "+filepath.Base(file)+" (allow_outside: true permits others)", ""
			path := im.Path
			if !filepath.IsAbs(path) {
				if !filepath.IsLocal(path) && !in.Outside {
					got = table.Quote(path)
				}
				path = filepath.Join(in.Path, path)
			}
			if got == "" {
				image, sum, want, got = imageOf(in, image.Name, path, nil)
			}
			if got != "" {
				bad = append(bad, Problem{File: file, Row: r.Row, Column: im.Column + "_path", Want: want, Got: got})
				continue
			}
		}
		image.Modality, image.Submodality = im.Modality, im.Submodality
		if im.Modality != "" && !slices.Contains(modalities, im.Modality) {
			modalities = append(modalities, im.Modality)
		}
		captions[n], any = im.Caption, any || im.Caption != ""
		it.Images, sums = append(it.Images, image), append(sums, sum)
	}
	if any {
		it.leaking.Captions = captions
	}
	slices.Sort(modalities)
	it.Modality = strings.Join(modalities, " + ")
	return it, sums, bad
}

// rated gives cases what experts said of steps. A rating of no case, or of one that
// several rows have, is a problem.
func rated(d *Dataset, file string, cases map[string][]int) error {
	f, err := table.OpenRoot(file, table.MaxTable)
	if err != nil {
		return err
	}
	defer f.Close()
	ratings, problems, err := ratings(file, f)
	if err != nil {
		return err
	}
	d.Problems = append(d.Problems, problems...)
	raters := map[int]int{}
	for _, r := range ratings {
		of := cases[r.Case]
		if len(of) != 1 {
			d.Problems = append(d.Problems, Problem{File: file, Row: r.Row, Column: "title, clinical_history", Want: "those of one case", Got: fmt.Sprintf("%d cases that have them", len(of))})
			continue
		}
		raters[of[0]]++
		name := cmp.Or(r.Rater, fmt.Sprint(raters[of[0]]))
		leak := &d.Items[of[0]].leaking
		for _, s := range r.Steps {
			leak.Experts = append(leak.Experts, expertStep{Rater: name, N: s.N, Text: s.Text, Factual: s.Factual, Critical: s.Critical, Types: s.Types})
		}
	}
	return nil
}
