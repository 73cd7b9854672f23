package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"assay/harness/dataset/table"
)

// Fields that a mapping can name.
const (
	fieldID       = "id"
	fieldImage    = "image"
	fieldQuestion = "question"
	fieldOptions  = "options"
	fieldAnswer   = "answer"
	fieldAny      = "answer_any"
	fieldType     = "type"
	fieldTask     = "task"
	fieldHint     = "hint"
	fieldModality = "modality"
	fieldBoxes    = "boxes"
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
		{fieldID, false, []string{"id", "index", "question_id", "qid", "item"}, "names the item, each once and without blanks; without it, row-1, row-2 and so on"},
		{fieldImage, true, []string{"image", "images", "image_path", "img", "img_path", "image_file", "image_name", "file_name", "filename", "picture"},
			"a picture's path from the table's folder, or a list of them; in Parquet files and VLMEvalKit's the picture itself"},
		{fieldQuestion, true, []string{"question", "prompt", "query", "text"}, "as it is to be asked; options may stand inside, on lines that start with A. or A)"},
		{fieldOptions, false, []string{"options", "choices", "candidates"}, `a list such as ["left", "right"], left | right, or an object by letter; or columns A, B, C and so on`},
		{fieldAnswer, true, []string{"answer", "gold", "label", "target", "ground_truth", "gt_answer", "gold_answer", "correct_answer", "correct", "answers"},
			"the gold answer: an option's letter, text or number, several letters, yes, no, true, false, or a text; of several texts (a list, a | b, several columns) any is right"},
		{fieldAny, false, []string{"answer_any", "any_answer", "accepted_answers", "acceptable_answers", "answer_aliases"}, "gold answers of which any is right, also with options: a list, or a | b"},
		{fieldType, false, []string{"type", "question_type", "answer_type"}, "single, multiple, bool, binary or short; without it, it follows from options and answer"},
		{fieldTask, false, []string{"task", "category", "l2-category", "topic"}, "what tables group items by"},
		{fieldHint, false, []string{"hint", "context"}, "stands before the question in the prompt"},
		{fieldModality, false, []string{"modality"}, "the examination type"},
		{fieldBoxes, false, []string{"boxes", "box", "bboxes", "bbox", "bounding_boxes", "bounding_box", "regions", "region", "mask", "masks", "mask_path", "polygon", "polygons", "segmentation"},
			"where in the picture it is: [x0, y0, x1, y1] or [x, y, w, h], a polygon [[x, y], ...], a mask (FILE.png, or COCO's run lengths), a list of these, or these by side (right, left) or name; or four columns x, y, w, h or x0, y0, x1, y1 (x_min and so on); boxes: px|fraction|percent and boxes_form: xyxy|xywh say what the numbers mean"},
	}
}

// ParseMapping reads FIELD=COLUMN; a field may have several columns, with commas between them.
func ParseMapping(list []string) (Mapping, error) {
	var out Mapping
	for _, one := range list {
		field, columns, ok := strings.Cut(one, "=")
		if !ok || columns == "" || !slices.ContainsFunc(Fields(), func(f Field) bool { return f.Name == field }) {
			return nil, fmt.Errorf("expected FIELD=COLUMN or FIELD=COLUMN,COLUMN with a field that dataset schema csv names, found %q", one)
		}
		if out == nil {
			out = Mapping{}
		}
		out[field] = append(out[field], strings.Split(columns, ",")...)
	}
	return out, nil
}

// fold is a column's name without what people write differently.
func fold(column string) string {
	return strings.NewReplacer(" ", "_", "-", "_", ".", "_").Replace(strings.ToLower(strings.TrimSpace(column)))
}

// resolve finds the columns of each field; false: one that is needed is not there.
func (r *questionReader) resolve() bool {
	r.fields, r.guessed = map[string][]string{}, map[string]bool{}
	used := map[string]bool{}
	ok := true
	is := func(column, key string) bool {
		there := slices.Contains(r.columns, column)
		if !there {
			r.bad(r.of.Path, 0, "", fmt.Sprintf("the column %s (%s)", column, key), table.JSONColumns(r.columns, column))
		}
		ok = ok && there
		return there
	}
	if c := r.of.Cluster; c != "" {
		is(c, "cluster: "+c)
	}
	for _, f := range Fields() {
		for _, c := range r.of.Columns[f.Name] {
			if is(c, fmt.Sprintf("columns: {%s: ...}", f.Name)) {
				r.fields[f.Name], used[c] = append(r.fields[f.Name], c), true
			}
		}
	}
	for _, f := range Fields() {
		if r.of.Columns[f.Name] != nil {
			continue
		}
		switch found := r.find(f, used); {
		case len(found) > 0:
			r.take(f.Name, found, used)
		case f.Needed && !(f.Name == fieldAnswer && r.has(fieldAny)):
			r.bad(r.of.Path, 0, "", fmt.Sprintf("a column with the %s, such as %s; columns: {%s: NAME} says which it is", f.Name, strings.Join(f.Names[:3], ", "), f.Name), "the columns "+strings.Join(r.columns, ", "))
			ok = false
		}
	}
	if r.fields[fieldID] == nil {
		r.guess("id: none; items are called row-1, row-2 and so on")
	}
	r.unused()
	return ok
}

// take has a field's columns guessed.
func (r *questionReader) take(field string, columns []string, used map[string]bool) {
	r.fields[field], r.guessed[field] = columns, true
	for _, c := range columns {
		used[c] = true
	}
	if len(columns) > 1 || fold(columns[0]) != field {
		r.guess("%s: column %s", field, strings.Join(columns, ", "))
	}
}

// find are the columns that a field's names tell, none of which another field has; nil: none does.
func (r *questionReader) find(f Field, used map[string]bool) (found []string) {
	for _, name := range f.Names {
		at := slices.IndexFunc(r.columns, func(c string) bool { return fold(c) == fold(name) && !used[c] })
		if at >= 0 && (f.Name != fieldType || r.knownTypes(r.columns[at])) {
			found = []string{r.columns[at]}
			break
		}
	}
	if f.Name == fieldImage && found != nil && r.of.Format == KindVLMEvalKit && !slices.Contains(found, "image_path") && slices.Contains(r.columns, "image_path") {
		return append(found, "image_path") // where there is no image
	}
	if found == nil {
		return r.numberedColumns(f.Name, used)
	}
	return found
}

// numberedColumns are a field's columns that one word and letters or numbers name; nil: there are none.
func (r *questionReader) numberedColumns(field string, used map[string]bool) []string {
	letters, numbers := []string{"a", "0", "1"}, []string{"0", "1"}
	switch field {
	case fieldOptions:
		if found := r.series(2, letters, "", "option", "opt", "choice", "candidate", "alternative"); found != nil {
			return found
		}
		if !r.has(fieldAnswer) { // else answer1 is no gold answer
			letters = letters[:1]
		}
		return r.series(2, letters, "answer", "ans")
	case fieldImage:
		return r.series(1, numbers, "image", "img", "picture")
	case fieldBoxes:
		return ofColumns(slices.DeleteFunc(slices.Clone(r.columns), func(c string) bool { return used[c] }))
	case fieldAnswer:
		return r.series(1, numbers, "answer", "gold", "label", "target")
	}
	return nil
}

// has says whether there is a column of a field, by its names alone.
func (r *questionReader) has(field string) bool {
	at := slices.IndexFunc(Fields(), func(f Field) bool { return f.Name == field })
	return r.of.Columns[field] != nil || slices.ContainsFunc(r.columns, func(c string) bool { return slices.Contains(Fields()[at].Names, fold(c)) })
}

// mayRepeat says whether several columns may have a name: those of gold answers.
func (r *questionReader) mayRepeat(column string) bool {
	for _, f := range Fields() {
		if (f.Name == fieldAnswer || f.Name == fieldAny) && (slices.Contains(f.Names, fold(column)) || slices.Contains(r.of.Columns[f.Name], column)) {
			return true
		}
	}
	return false
}

// knownTypes says whether a column holds types of questions and nothing else.
func (r *questionReader) knownTypes(column string) bool {
	for _, x := range r.rows {
		if s := x.values[column].text; s != "" && typeOf(s) == "" {
			r.guess("column %s has other words than types of questions, such as %q: it is not used", column, s)
			return false
		}
	}
	return true
}

// series are columns that one word and a letter or a number name, in order, at least so many:
// A, B, C; opt_a, opt_b; optionA; Choice 1; image_01. Of several series the first word's.
func (r *questionReader) series(least int, first []string, words ...string) []string {
	bare := func(column, word string) string { // its letter or number; "": it is of another word
		s := strings.Map(func(c rune) rune {
			if unicode.IsLetter(c) || unicode.IsDigit(c) {
				return unicode.ToLower(c)
			}
			return -1
		}, column)
		s, ok := strings.CutPrefix(strings.TrimSuffix(s, "text"), word)
		if word != "" && len(s) > 1 {
			s = strings.TrimPrefix(s, "s")
		}
		if n, err := strconv.Atoi(s); ok && err == nil {
			return strconv.Itoa(n)
		}
		if !ok || len(s) != 1 {
			return ""
		}
		return s
	}
	for _, word := range words {
		for _, from := range first {
			var out []string
			for i := range 26 {
				want := string(rune('a' + i))
				if n, err := strconv.Atoi(from); err == nil {
					want = strconv.Itoa(n + i)
				}
				at := slices.IndexFunc(r.columns, func(c string) bool { return bare(c, word) == want })
				if at < 0 || word == "" && from != "a" {
					break
				}
				out = append(out, r.columns[at])
			}
			if len(out) >= least {
				return out
			}
		}
	}
	return nil
}

// base is from what number the columns of options count; -1: they have letters, or there is one.
func (r *questionReader) base() int {
	columns := r.fields[fieldOptions]
	if len(columns) < 2 {
		return -1
	}
	at := strings.LastIndexFunc(columns[0], func(c rune) bool { return !unicode.IsDigit(c) })
	n, err := strconv.Atoi(columns[0][at+1:])
	if err != nil {
		return -1
	}
	return n
}

// unused tells which columns nothing is read of. One without a name is most often a number of rows.
func (r *questionReader) unused() {
	for _, c := range r.columns {
		read := c == "" || c == r.of.Cluster || fold(c) == "split"
		for _, columns := range r.fields {
			read = read || slices.Contains(columns, c)
		}
		if !read {
			r.Unused = append(r.Unused, c)
		}
	}
}
