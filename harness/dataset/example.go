// Example writes a tiny data set of each kind that people make themselves:
// questions about drawn films, so that it can be read, changed and run.

package dataset

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// question is a row of an example.
type question struct {
	id, file, text, answer, category string
	picture                          []byte
	options                          []string
}

// ExampleKinds are those that there is an example of.
func ExampleKinds() []string {
	return []string{KindCSV, kindTSV, KindJSONL, KindVLMEvalKit, kindParquet}
}

// WriteExample writes an example of a kind into a folder, which it makes. It returns the path
// that bench.yaml names. Files that are there are not overwritten.
func WriteExample(kind, dir string) (path string, err error) {
	rows, err := asked()
	if err != nil {
		return "", err
	}
	var table []byte
	name := "questions." + kind
	switch kind {
	case KindCSV:
		table, err = cells(',', header(), rows, plain)
	case kindTSV:
		table, err = cells('\t', []string{"id", "image", "question", "options", "answer", "category"}, rows, func(_ int, q question) []string {
			return []string{q.id, q.file, q.text, strings.Join(q.options, " | "), q.answer, q.category}
		})
	case KindJSONL:
		table, err = lines(rows)
	case KindVLMEvalKit:
		name = "questions.tsv"
		table, err = cells('\t', []string{"index", "image", "question", "A", "B", "C", "D", "answer", "category", "split"}, rows, vlmEvalKit(rows))
	case kindParquet:
		name = filepath.Join("data", "test-00000-of-00001.parquet")
		table, err = columns(rows)
	default:
		return "", fmt.Errorf("there is no example of kind %s", kind)
	}
	if err != nil {
		return "", err
	}
	if err := write(dir, name, table); err != nil {
		return "", err
	}
	if kind == KindVLMEvalKit || kind == kindParquet { // the pictures are inside
		if kind == kindParquet {
			return dir, nil
		}
		return filepath.Join(dir, name), nil
	}
	var done []string
	for _, q := range rows {
		if slices.Contains(done, q.file) {
			continue
		}
		done = append(done, q.file)
		if err := write(dir, q.file, q.picture); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, name), nil
}

func write(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// asked are about drawn films: two of each sort of answer.
func asked() ([]question, error) {
	set, err := Open(Source{Kind: KindPhantom, Name: "example", Items: 24, Size: 256, Seed: 1})
	if err != nil {
		return nil, err
	}
	var out []question
	seen := map[string]int{}
	for _, it := range set.Items {
		if !slices.Contains([]string{TypeSingle, TypeBinary, typeShort}, it.Type) || seen[it.Type] == 2 {
			continue
		}
		seen[it.Type]++
		picture, err := it.Images[0].Load()
		if err != nil {
			return nil, err
		}
		q := question{id: strconv.Itoa(len(out) + 1), text: bare(it.Question), answer: it.Answer, category: strings.ToLower(it.Task), picture: picture}
		if q.file = "images/" + q.id + ".png"; it.Type == TypeSingle {
			for _, o := range it.Options {
				q.options = append(q.options, o.Text)
			}
		}
		if q.category == "" {
			q.category = "finding"
		}
		out = append(out, q)
	}
	slices.SortStableFunc(out, func(a, b question) int { return len(b.options) - len(a.options) })
	for i := range out {
		out[i].id = strconv.Itoa(i + 1)
		out[i].file = "images/" + out[i].id + ".png"
	}
	return out, nil
}

// bare is a question without the options that it lists.
func bare(text string) string {
	options, err := ParseOptions(text)
	if err != nil || len(options) == 0 {
		return text
	}
	before, _, _ := strings.Cut(text, "\nA")
	return strings.TrimSpace(before)
}

func header() []string {
	return []string{"id", "image", "question", "A", "B", "C", "D", "answer", "category"}
}

func plain(_ int, q question) []string {
	return append([]string{q.id, q.file, q.text}, append(four(q), q.answer, q.category)...)
}

// four are the options of a row in four columns.
func four(q question) []string {
	out := make([]string, 4)
	copy(out, q.options)
	return out
}

// vlmEvalKit has pictures inside; a row about the picture of another names its index.
func vlmEvalKit(rows []question) func(int, question) []string {
	return func(i int, q question) []string {
		picture := base64.StdEncoding.EncodeToString(q.picture)
		for _, other := range rows[:i] {
			if bytes.Equal(other.picture, q.picture) {
				picture = other.id
				break
			}
		}
		return append([]string{q.id, picture, q.text}, append(four(q), q.answer, q.category, "test")...)
	}
}

func cells(comma rune, header []string, rows []question, cells func(int, question) []string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = comma
	all := [][]string{header}
	for i, q := range rows {
		all = append(all, cells(i, q))
	}
	err := w.WriteAll(all)
	return b.Bytes(), err
}

func lines(rows []question) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, q := range rows {
		err := enc.Encode(struct {
			ID       string   `json:"id"`
			Image    string   `json:"image"`
			Question string   `json:"question"`
			Options  []string `json:"options,omitempty"`
			Answer   string   `json:"answer"`
			Category string   `json:"category"`
		}{q.id, q.file, q.text, q.options, q.answer, q.category})
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// shardRow is a row as Hugging Face keeps one.
type shardRow struct {
	ID    string `parquet:"id"`
	Image struct {
		Bytes []byte `parquet:"bytes"`
		Path  string `parquet:"path"`
	} `parquet:"image"`
	Question string   `parquet:"question"`
	Choices  []string `parquet:"choices,list"`
	Answer   string   `parquet:"answer"`
	Category string   `parquet:"category"`
}

func columns(rows []question) ([]byte, error) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[shardRow](&b)
	for _, q := range rows {
		r := shardRow{ID: q.id, Question: q.text, Choices: q.options, Answer: q.answer, Category: q.category}
		r.Image.Bytes, r.Image.Path = q.picture, filepath.Base(q.file)
		if _, err := w.Write([]shardRow{r}); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
