package predictions

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/harness/dataset"
	"assay/harness/export"
	"assay/harness/score"
	"assay/results"
)

// Source is what is written for other programs.
type Source struct {
	Table   export.Table            // of trials, with their questions
	Sets    map[string]Set          // by study
	Names   map[string]string       // of models, as their servers call them, by name in bench.yaml
	Better  map[string]score.Better // of scores
	Created time.Time               // of the run
	Seed    uint64
}

// Set is a study's data set.
type Set struct {
	Name  string
	Items []dataset.Item
}

// File is one that was written.
type File struct {
	Path     string `json:"path"`
	Answers  int    `json:"answers"`
	Failures int    `json:"failures"` // in the file, or left out of it where the format has no word for them
	Means    bool   `json:"means"`    // it holds means over answers, not answers
}

// group is the trials of a model that make one file: one answer to each item.
type group struct {
	study, model, arm, condition string
	repeat                       int64
	name                         string // of the model, as files and folders have it: no other model's
	task                         string // the data set, and what tells the group from others of the model
	trials                       []trial
}

// trial is a row of the table.
type trial struct {
	item, answer, failure string
	metrics               map[string]float64
}

// groups reads the table, the trials of each group in the order of its data set.
func (s Source) groups() ([]*group, error) {
	at := map[string]int{}
	for i, c := range s.Table.Columns {
		at[c.Name] = i
	}
	scores := at[score.Answered] + 1
	var all []*group
	word := func(row []any, name string) string { v, _ := row[at[name]].(string); return v }
	err := s.Table.Rows(func(row []any) error {
		n, _ := row[at["repeat"]].(int64)
		id := group{study: word(row, "study"), model: word(row, "model"), arm: word(row, "arm"), condition: word(row, "condition"), repeat: n}
		g := find(all, id)
		if g == nil {
			g = &id
			all = append(all, g)
		}
		t := trial{item: word(row, "item"), answer: word(row, "answer"), failure: word(row, "failure"), metrics: map[string]float64{}}
		if answered, ok := row[at[score.Answered]].(float64); ok && answered == 0 && t.failure == "" {
			t.failure = "failure"
		}
		for i := scores; i < len(row); i++ {
			if v, ok := row[i].(float64); ok && s.Table.Columns[i].Kind == results.NumberColumn {
				t.metrics[s.Table.Columns[i].Name] = v
			}
		}
		g.trials = append(g.trials, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		set, ok := s.Sets[g.study]
		if !ok {
			return nil, fmt.Errorf("the data of study %s is not at hand, and its questions are part of the files; name its bench.yaml with -c", g.study)
		}
		place := map[string]int{}
		for i, it := range set.Items {
			place[it.ID] = i
		}
		slices.SortStableFunc(g.trials, func(a, b trial) int { return cmp.Compare(place[a.item], place[b.item]) })
		g.task = set.Name
		for _, part := range []struct {
			text   string
			differ bool
		}{{g.study, slices.ContainsFunc(all, func(o *group) bool { return o.study != g.study })}, {g.arm, slices.ContainsFunc(all, func(o *group) bool { return o.arm != g.arm })},
			{g.condition, slices.ContainsFunc(all, func(o *group) bool { return o.condition != g.condition })},
			{fmt.Sprintf("repeat%d", g.repeat), slices.ContainsFunc(all, func(o *group) bool { return o.repeat != g.repeat })}} {
			if part.differ {
				g.task += "-" + part.text
			}
		}
		g.task = plain(g.task)
		g.name = plain(g.model)
		// Names that differ in case alone are one on some systems.
		if slices.ContainsFunc(all, func(o *group) bool { return o.model != g.model && strings.EqualFold(plain(o.model), g.name) }) {
			g.name += fmt.Sprintf("-%.4x", sha256.Sum256([]byte(g.model)))
		}
	}
	return all, nil
}

func find(all []*group, id group) *group {
	i := slices.IndexFunc(all, func(g *group) bool {
		return g.study == id.study && g.model == id.model && g.arm == id.arm && g.condition == id.condition && g.repeat == id.repeat
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// plain is a name that can be a file's, as lmms-eval makes it.
func plain(name string) string {
	return regexp.MustCompile(`["<>:/|\\?*\[\]]+`).ReplaceAllString(name, "__")
}

// create makes a file of what write writes, in a folder that is made with it.
func create(path string, write func(f *os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part*")
	if err != nil {
		return err
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// options are an item's, by label; those without one are A, B and so on. gold is the
// label of the right one, or the gold answer where no option is it.
func options(it dataset.Item) (labels, texts []string, gold string) {
	gold = it.Answer
	for i, o := range it.Options {
		label := cmp.Or(o.Label, letter(i))
		labels, texts = append(labels, label), append(texts, o.Text)
		if o.Label == "" && strings.EqualFold(o.Text, it.Answer) {
			gold = label
		}
	}
	return labels, texts, gold
}
