package questions

import (
	"fmt"
	"slices"
	"strings"

	"assay/harness/dataset/strict"
)

// Fields that a mapping can name.
const (
	FieldID       = "id"
	FieldImage    = "image"
	FieldQuestion = "question"
	FieldOptions  = "options"
	FieldAnswer   = "answer"
	FieldType     = "type"
	FieldTask     = "task"
	FieldHint     = "hint"
	FieldModality = "modality"
)

// Field is what a column can hold.
type Field struct {
	Name   string   `json:"name"`
	Needed bool     `json:"needed"`
	Names  []string `json:"guessed_from"` // of columns that are taken for it, the first that is there
	Is     string   `json:"is"`
}

// Fields are those that a mapping can name.
func Fields() []Field {
	return []Field{
		{FieldID, false, []string{"id", "index", "question_id", "qid", "item"}, "names the item, each once and without blanks; without it, row-1, row-2 and so on"},
		{FieldImage, true, []string{"image", "images", "image_path", "img", "img_path", "image_file", "image_name", "file_name", "filename", "picture"},
			"a picture's path from the table's folder, or a list of them; in Parquet files and VLMEvalKit's the picture itself"},
		{FieldQuestion, true, []string{"question", "prompt", "query", "text"}, "as it is to be asked; options may stand inside, on lines that start with A. or A)"},
		{FieldOptions, false, []string{"options", "choices", "candidates"}, `a list such as ["left", "right"], left | right, or an object by letter; or columns A, B, C and so on`},
		{FieldAnswer, true, []string{"answer", "gold", "label", "target", "ground_truth", "gt_answer", "correct_answer", "correct"},
			"the gold answer: an option's letter, text or number, several letters, yes, no, true, false, or a text"},
		{FieldType, false, []string{"type", "question_type", "answer_type"}, "single, multiple, bool, binary or short; without it, it follows from options and answer"},
		{FieldTask, false, []string{"task", "category", "l2-category", "topic"}, "what tables group items by"},
		{FieldHint, false, []string{"hint", "context"}, "stands before the question in the prompt"},
		{FieldModality, false, []string{"modality"}, "the examination type"},
	}
}

// fold is a column's name without what people write differently.
func fold(column string) string {
	return strings.NewReplacer(" ", "_", "-", "_", ".", "_").Replace(strings.ToLower(strings.TrimSpace(column)))
}

// resolve finds the columns of each field; false: one that is needed is not there.
func (r *reader) resolve() bool {
	r.fields, r.guessed = map[string][]string{}, map[string]bool{}
	used := map[string]bool{}
	ok := true
	missing := func(want, key string) {
		r.bad(r.of.Path, 0, "", fmt.Sprintf("the column %s (%s)", want, key), strict.Columns(r.columns, want))
		ok = false
	}
	if c := r.of.Cluster; c != "" && !slices.Contains(r.columns, c) {
		missing(c, "cluster: "+c)
	}
	for _, f := range Fields() {
		for _, want := range r.of.Columns[f.Name] {
			if !slices.Contains(r.columns, want) {
				missing(want, fmt.Sprintf("columns: {%s: ...}", f.Name))
				continue
			}
			r.fields[f.Name], used[want] = append(r.fields[f.Name], want), true
		}
	}
	for _, f := range Fields() {
		if r.of.Columns[f.Name] != nil {
			continue
		}
		for _, name := range f.Names {
			at := slices.IndexFunc(r.columns, func(c string) bool { return fold(c) == fold(name) && !used[c] })
			if at < 0 || f.Name == FieldType && !r.knownTypes(r.columns[at]) {
				continue
			}
			r.fields[f.Name] = []string{r.columns[at]}
			break
		}
		switch {
		case f.Name == FieldOptions && r.fields[f.Name] == nil:
			r.fields[f.Name] = r.lettered()
		case f.Name == FieldImage && r.fields[f.Name] == nil:
			r.fields[f.Name] = r.numbered()
		case f.Name == FieldImage && r.of.Format == VLMEvalKit && !slices.Contains(r.fields[f.Name], "image_path") && slices.Contains(r.columns, "image_path"):
			r.fields[f.Name] = append(r.fields[f.Name], "image_path") // where there is no image
		}
		found := r.fields[f.Name]
		for _, c := range found {
			used[c] = true
		}
		switch {
		case len(found) > 0:
			r.guessed[f.Name] = true
			if len(found) > 1 || fold(found[0]) != f.Name {
				r.guess("%s: column %s", f.Name, strings.Join(found, ", "))
			}
		case f.Needed:
			r.bad(r.of.Path, 0, "", fmt.Sprintf("a column with the %s, such as %s; columns: {%s: NAME} says which it is", f.Name, strings.Join(f.Names[:3], ", "), f.Name), "the columns "+strings.Join(r.columns, ", "))
			ok = false
		}
	}
	if r.fields[FieldID] == nil {
		r.guess("id: none; items are called row-1, row-2 and so on")
	}
	return ok
}

// knownTypes says whether a column holds types of questions and nothing else.
func (r *reader) knownTypes(column string) bool {
	for _, x := range r.rows {
		if s := x.values[column].text; s != "" && typeOf(s) == "" {
			r.guess("column %s has other words than types of questions, such as %q: it is not used", column, s)
			return false
		}
	}
	return true
}

// lettered are columns A, B, C and so on, at least two.
func (r *reader) lettered() []string {
	for _, form := range []string{"%s", "option_%s", "choice_%s"} {
		var out []string
		for c := 'A'; c <= 'Z'; c++ {
			name := fmt.Sprintf(form, string(c))
			at := slices.IndexFunc(r.columns, func(c string) bool { return c == name || form != "%s" && fold(c) == fold(name) })
			if at < 0 {
				break
			}
			out = append(out, r.columns[at])
		}
		if len(out) > 1 {
			return out
		}
	}
	return nil
}

// numbered are columns image_1, image_2 and so on.
func (r *reader) numbered() (out []string) {
	for n := 1; ; n++ {
		at := slices.IndexFunc(r.columns, func(c string) bool {
			return fold(c) == fmt.Sprintf("image_%d", n) || fold(c) == fmt.Sprintf("image%d", n)
		})
		if at < 0 {
			return out
		}
		out = append(out, r.columns[at])
	}
}
