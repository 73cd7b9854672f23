package dataset

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"

	"assay/results/text"
)

// m3cotbench reads a folder in M3CoTBench's format: a workbook with the questions
// (columns index, question, answer, the four gold steps; optional option columns
// A to Z and key_annotation_steps), a workbook with the task labels (index,
// analysis_type), and images/{index}.{png,jpg,jpeg,webp}. Workbooks are known by
// their columns, images by their bytes. Without task labels items have no task,
// which is one Problem of the folder.
func m3cotbench(s Source) (*Dataset, error) {
	books, err := find(s.Path)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: s.Name, Kind: KindM3CoTBench}
	images, err := listImages(filepath.Join(s.Path, "images"))
	if err != nil {
		return nil, err
	}
	q := books.Questions
	cluster := s.column()
	if cluster != "" && !q.Has(cluster) {
		if cluster = strings.ToLower(cluster); !q.Has(cluster) {
			return nil, fmt.Errorf("%s: expected the column %s (cluster: %s), found %s", q.File, s.Cluster, s.Cluster, table.JSONColumns(slices.Sorted(maps.Keys(q.Header)), cluster))
		}
	}
	tasks := readTasks(d, s.Path, books.Types)
	for _, c := range stepColumns() {
		if !q.Has(c) && !q.Has("key_annotation_steps") {
			d.Problems = append(d.Problems, Problem{File: q.File, Row: 1, Column: c, Want: "a column of gold steps", Got: "no such column"})
		}
	}
	digest := newDigester()
	first := map[int]int{} // sheet row by index
	for i := range q.Rows {
		if q.Blank(i) {
			continue
		}
		r := m3Row{Sheet: q, i: i}
		it, index := r.item(first)
		if cluster != "" {
			if it.cluster = r.Cell(i, cluster); it.cluster == "" {
				r.bad(cluster, table.Together(s.Cluster), "")
			}
		}
		if index > 0 {
			r.task(&it, index, tasks)
		}
		var sums [][sha256.Size]byte
		if index > 0 {
			if im, sum, ok := r.image(table.Folder{Path: s.Path, Outside: s.Outside}, images, index); ok {
				it.Images, sums = []Image{im}, [][sha256.Size]byte{sum}
			}
		}
		d.Problems = append(d.Problems, r.problems...)
		if len(r.problems) > 0 {
			continue
		}
		digest.add(it, sums)
		d.Items = append(d.Items, it)
	}
	digest.finish(d)
	return d, nil
}

// m3Row is one row on its way to an item, with all that is wrong with it.
type m3Row struct {
	table.Sheet
	i        int
	problems []Problem
}

func (r *m3Row) bad(column, want, got string) {
	r.problems = append(r.problems, r.Problem(r.i, column, want, got))
}

// item reads everything but task and image. index is 0 where it cannot be read.
func (r *m3Row) item(first map[int]int) (it Item, index int) {
	said := r.Cell(r.i, "index")
	index, err := strconv.Atoi(said)
	switch {
	case err != nil || index < 1:
		r.bad("index", "a whole number from 1 on", foundText(said))
		index = 0
	case first[index] > 0:
		r.bad("index", "each index once", fmt.Sprintf("%d, which row %d already has", index, first[index]))
		index = 0
	default:
		first[index] = r.i + 2
	}
	it = Item{ID: strconv.Itoa(index), Question: r.Cell(r.i, "question"), Answer: r.Cell(r.i, "answer"), Modality: r.Cell(r.i, "modality")}
	if it.Question == "" {
		r.bad("question", "a question", "")
	}
	if it.Answer == "" {
		r.bad("answer", "a gold answer", "")
	}
	it.Type = text.QuestionType(it.Question)
	it.Options = r.options(it.Question)
	var texts []string
	for _, c := range stepColumns() {
		texts = append(texts, r.Cell(r.i, c))
	}
	if p := path(texts); len(p) > 0 {
		it.GoldPaths = append(it.GoldPaths, p)
	}
	more, err := paths(r.Cell(r.i, "key_annotation_steps"))
	if err != nil {
		r.bad("key_annotation_steps", `JSON {"solution1": ...}`, err.Error())
	}
	for _, p := range more {
		if !slices.ContainsFunc(it.GoldPaths, func(have []Step) bool { return slices.Equal(have, p) }) {
			it.GoldPaths = append(it.GoldPaths, p)
		}
	}
	return it, index
}

func foundText(s string) string {
	if s == "" {
		return ""
	}
	return table.Quote(s)
}

// options are those inside the question and those of the columns A to Z; where
// both are there they must be the same.
func (r *m3Row) options(question string) []Option {
	inside, err := ParseOptions(question)
	if err != nil {
		r.bad("question", "options A, B, C, ... each once and in order", err.Error())
		return nil
	}
	var columns []Option
	for c := 'A'; c <= 'Z'; c++ {
		if text := r.Cell(r.i, string(c)); text != "" {
			columns = append(columns, Option{Label: string(c), Text: text})
		}
	}
	if len(inside) == 0 {
		return columns
	}
	for i, o := range columns {
		if i >= len(inside) || inside[i] != o {
			r.bad(o.Label, "the option as it stands in the question", table.Quote(o.Text))
		}
	}
	return inside
}

func (r *m3Row) task(it *Item, index int, tasks map[int]taskLabel) {
	if tasks == nil {
		return
	}
	l, ok := tasks[index]
	switch {
	case !ok:
		r.bad("index", "a task label for it in type.xlsx", fmt.Sprintf("none for %d", index))
	case l.task == "":
		r.problems = append(r.problems, l.problem)
	default:
		it.Task = l.task
	}
}

// imageExtensions are what the data set uses; they say nothing of the content.
func imageExtensions() []string { return []string{".png", ".jpg", ".jpeg", ".webp"} }

// listImages are the files of the folder by lower-case name.
func listImages(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the images: %w", err)
	}
	files := map[string]string{}
	for _, e := range entries {
		files[strings.ToLower(e.Name())] = filepath.Join(dir, e.Name())
	}
	return files, nil
}

func (r *m3Row) image(in table.Folder, files map[string]string, index int) (im Image, sum [sha256.Size]byte, ok bool) {
	var found []string
	for _, ext := range imageExtensions() {
		if f, ok := files[strconv.Itoa(index)+ext]; ok {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		got := strings.Join(found, " and ")
		if got == "" {
			got = "none"
		}
		r.bad("index", fmt.Sprintf("one image images/%d.{png,jpg,jpeg,webp}", index), got)
		return im, sum, false
	}
	im, sum, want, got := imageOf(in, filepath.Base(found[0]), found[0], nil)
	if got != "" {
		r.bad("index", want, got)
		return im, sum, false
	}
	return im, sum, true
}

// taskLabel is a row of the type workbook: a task, or what is wrong with it.
type taskLabel struct {
	task    string
	problem Problem
}

// readTasks reads the task labels. nil: there is no workbook of them.
func readTasks(d *Dataset, dir string, s *table.Sheet) map[int]taskLabel {
	if s == nil {
		d.Problems = append(d.Problems, Problem{File: filepath.Join(dir, "type.xlsx"), Want: "a workbook with the columns index and analysis_type", Got: "none: items have no task"})
		return nil
	}
	tasks := map[int]taskLabel{}
	for i := range s.Rows {
		if s.Blank(i) {
			continue
		}
		text, word := s.Cell(i, "index"), s.Cell(i, "analysis_type")
		index, err := strconv.Atoi(text)
		if err != nil || index < 1 {
			d.Problems = append(d.Problems, s.Problem(i, "index", "a whole number from 1 on", foundText(text)))
			continue
		}
		if _, twice := tasks[index]; twice {
			d.Problems = append(d.Problems, s.Problem(i, "index", "each index once", fmt.Sprintf("%d again", index)))
			continue
		}
		task, ok := taskOf(word)
		tasks[index] = taskLabel{task: task}
		if !ok {
			tasks[index] = taskLabel{problem: s.Problem(i, "analysis_type", "one of "+strings.Join(Tasks(), ", ")+" or the data set's own words for them", foundText(word))}
		}
	}
	return tasks
}
