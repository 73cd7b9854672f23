package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"
	"assay/results/text"
)

// typeOf is a type of question by one of its names; "": it is none.
func typeOf(word string) string {
	switch fold(word) {
	case text.Single, "single_choice", "multiple_choice", "mcq", "mc", "multi_choice":
		return text.Single
	case text.Multiple, "multiple_answers", "multi_answer":
		return text.Multiple
	case text.Bool, "true_false":
		return text.Bool
	case binaryType, "yes_no", "yes/no", "yesno", "yn", "y/n":
		return binaryType
	case text.Short, "open", "open_ended", "free", "free_text", "vqa":
		return text.Short
	}
	return ""
}

// count finds out from what numbers of options count, where answers are numbers.
func (r *questionReader) count() {
	zero, top, any := false, false, false
	type answer struct{ n, options int }
	var all []answer
	r.numbers = true
	for _, x := range r.rows {
		n, options, isNumber, ok := r.number(x)
		if len(options) > 1 {
			r.numbers = r.numbers && isNumber
			all = append(all, answer{n, len(options)})
		}
		if !ok {
			continue
		}
		any = true
		zero, top = zero || n == 0, top || n == len(options)
	}
	r.counted = r.base()
	switch {
	case !any:
	case zero && !top:
		r.counted = 0
		r.guess("answers that are numbers count the options from 0")
	case top && !zero:
		r.counted = 1
		r.guess("answers that are numbers count the options from 1")
	}
	if r.counted >= 0 && zero == top && any {
		r.guess("answers that are numbers count the options from %d, as their columns do", r.counted)
	}
	for _, a := range all {
		r.numbers = r.numbers && r.counted >= 0 && a.n >= r.counted && a.n < r.counted+a.options
	}
}

// number is an answer as a number; ok: it is that of an option, and neither its letter
// nor its text.
func (r *questionReader) number(x questionRow) (n int, options []Option, isNumber, ok bool) {
	said, _ := r.get(x, fieldAnswer)
	options, _ = r.offered(x)
	n, err := strconv.Atoi(said)
	_, named := named(options, said)
	return n, options, err == nil, err == nil && len(options) > 1 && !named
}

// named is the option that an answer means, by its letter or its text; of options with
// one text it cannot be told.
func named(options []Option, answer string) (label string, ok bool) {
	for _, o := range options {
		if answer == o.Label {
			return o.Label, true
		}
	}
	for _, as := range []func(string) string{strings.TrimSpace, text.Fold} {
		var have []string
		for _, o := range options {
			if as(answer) == as(o.Text) {
				have = append(have, o.Label)
			}
		}
		if len(have) > 0 {
			return have[0], len(have) == 1
		}
	}
	trimmed := strings.ToUpper(strings.Trim(answer, "().: "))
	for _, word := range []string{"OPTION", "CHOICE"} {
		trimmed = strings.Trim(strings.TrimPrefix(trimmed, word), "().: ")
	}
	for _, o := range options {
		if trimmed == o.Label {
			return o.Label, true
		}
	}
	// "A. Left" and "(A) Left" name an option in both ways.
	for _, o := range options {
		if rest, ok := underLabel(answer, o.Label); ok && text.Fold(rest) == text.Fold(o.Text) {
			return o.Label, true
		}
	}
	return "", false
}

// several are the options that an answer names, where it names more than one: "A, C",
// "AC", ["A", "C"].
func several(options []Option, v value) (labels []string, ok bool) {
	parts := v.list
	if parts == nil {
		if parts = strings.FieldsFunc(v.text, func(c rune) bool { return strings.ContainsRune(",;/| ", c) }); len(parts) == 1 && strings.ToUpper(parts[0]) == parts[0] {
			parts = strings.Split(parts[0], "")
		}
	}
	for _, p := range parts {
		label, ok := named(options, strings.TrimSpace(p))
		if !ok || slices.Contains(labels, label) {
			return nil, false
		}
		labels = append(labels, label)
	}
	slices.Sort(labels)
	return labels, len(labels) > 1
}

// offered are the options of a row; wrong says what it has in place of some.
func (r *questionReader) offered(x questionRow) (out []Option, wrong string) {
	columns := r.fields[fieldOptions]
	if len(columns) > 1 {
		var texts []string
		for _, c := range columns {
			texts = append(texts, strings.TrimSpace(x.values[c].text))
		}
		for len(texts) > 0 && texts[len(texts)-1] == "" {
			texts = texts[:len(texts)-1]
		}
		if slices.Contains(texts, "") {
			return nil, fmt.Sprintf("none in column %s, and some after it", columns[slices.Index(texts, "")])
		}
		return labelled(texts)
	}
	if len(columns) == 0 {
		return nil, ""
	}
	v := x.values[columns[0]]
	if v.any == nil && v.list == nil && strings.HasPrefix(strings.TrimSpace(v.text), "{") {
		v.any, _ = table.ParseJSON([]byte(v.text))
	}
	switch of := v.any.(type) {
	case map[string]any:
		return lettersOf(of)
	case []any:
		return listed(of)
	}
	if v.list != nil {
		return labelled(v.list)
	}
	s := strings.TrimSpace(v.text)
	if s == "" {
		return nil, ""
	}
	if list, ok := list(s); ok {
		return labelled(list)
	}
	if inside, err := ParseOptions(s); err == nil && inside != nil {
		return inside, ""
	}
	if parts := strings.Split(s, "|"); len(parts) > 1 {
		return labelled(parts)
	}
	return nil, table.Quote(s)
}

// LabelAt is the label of the option at a place, from 0: a letter or, where the first one is
// "1", a number.
func LabelAt(first string, place int) string {
	if first == "1" {
		return strconv.Itoa(1 + place)
	}
	return string(rune('A' + place))
}

// underLabel is what stands behind a label and its point or bracket: "A. left", "(1) mild".
func underLabel(s, label string) (rest string, ok bool) {
	s, open := strings.CutPrefix(strings.TrimSpace(s), "(")
	if s, ok = strings.CutPrefix(s, label); !ok || label == "" {
		return "", false
	}
	if rest, ok = strings.CutPrefix(s, ")"); !ok && !open {
		rest, ok = strings.CutPrefix(s, ".")
	}
	if ok && label[0] <= '9' && strings.TrimLeft(rest, " \t") == rest { // "1.5 cm"
		return "", false
	}
	return strings.TrimSpace(rest), ok
}

// lettersOf are options by label: {"A": "left", "B": "right"}, {"1": "mild", "2": "severe"}.
func lettersOf(of map[string]any) (out []Option, wrong string) {
	first := "A"
	if _, numbered := of["1"]; numbered {
		first = "1"
	}
	for i := range len(of) {
		label := LabelAt(first, i)
		s, ok := of[label].(string)
		if !ok || i > 25 {
			b, _ := json.Marshal(of)
			return nil, table.Quote(string(b))
		}
		out = append(out, Option{Label: label, Text: strings.TrimSpace(s)})
	}
	return out, ""
}

// listed are options as a list: of texts, or of objects with a label and a text.
func listed(of []any) (out []Option, wrong string) {
	var texts []string
	first := ""
	for i, x := range of {
		s, ok := x.(string)
		if !ok {
			o, _ := x.(map[string]any)
			label, given := o["label"].(string)
			if i == 0 {
				first = label
			}
			if s, ok = o["text"].(string); !ok || given && label != LabelAt(first, i) {
				return nil, fmt.Sprintf("%s at place %d", table.Kind(x), i+1)
			}
		}
		texts = append(texts, s)
	}
	out, wrong = labelled(texts)
	for i := range out {
		if first != "" {
			out[i].Label = LabelAt(first, i)
		}
	}
	return out, wrong
}

// labelled gives labels to texts: letters or, where all of them say their number, numbers.
func labelled(texts []string) (out []Option, wrong string) {
	if len(texts) == 1 || len(texts) > 26 {
		return nil, strconv.Itoa(len(texts))
	}
	first := "1"
	for i, s := range texts {
		if _, numbered := underLabel(s, LabelAt("1", i)); !numbered {
			first = "A"
		}
	}
	for i, s := range texts {
		s = strings.TrimSpace(s)
		label := LabelAt(first, i)
		if rest, ok := underLabel(s, label); ok {
			s = rest
		}
		if s == "" {
			return nil, "an empty one for " + label
		}
		out = append(out, Option{Label: label, Text: s})
	}
	return out, ""
}

// answered reads options, type and answer of a row.
func (r *questionReader) answered(x questionRow, q *tableQuestion) {
	options, wrong := r.offered(x)
	columns := strings.Join(r.fields[fieldOptions], ", ")
	if wrong != "" {
		r.bad(x.file, x.at, columns, "2 to 26 options: a list, left | right, an object by letter or by number, or columns A, B, C in order", wrong)
		return
	}
	switch inside, err := ParseOptions(q.Text); {
	case err != nil:
		r.bad(x.file, x.at, r.fields[fieldQuestion][0], "options A, B, C, ... each once and in order", err.Error())
		return
	case len(inside) > 0 && len(options) == 0:
		options = inside
	case len(inside) > 0 && !slices.Equal(inside, options):
		r.bad(x.file, x.at, columns, "the options as they stand in the question, or none", fmt.Sprintf("%d others", len(options)))
		return
	}
	q.Options = options
	given, typeColumn := r.get(x, fieldType)
	if q.Type = typeOf(given); given != "" && q.Type == "" {
		r.bad(x.file, x.at, typeColumn, "single, multiple, bool, binary or short", table.Quote(given))
		return
	}
	set := len(q.Options) > 0 && (q.Type == "" || q.Type == text.Single || q.Type == text.Multiple)
	answers, anyOf := r.golds(x, fieldAnswer, !set), r.golds(x, fieldAny, true)
	said, column := r.get(x, fieldAnswer)
	if column == "" || len(anyOf) > 0 {
		said, column = r.get(x, fieldAny)
	}
	want := ""
	switch all := distinct(append(answers, anyOf...)); {
	case len(all) == 0:
		r.bad(x.file, x.at, column, "a gold answer", "none")
		return
	case len(anyOf) > 0 || len(all) > 1 && !set:
		want = r.readAny(q, all)
	case len(all) == 1:
		want = r.read(q, value{text: all[0]})
	default:
		want = r.read(q, value{text: said, list: all})
	}
	if want != "" {
		r.bad(x.file, x.at, column, want, table.Quote(said))
		return
	}
	if given == "" {
		r.types[q.Type]++
		q.letter = q.Type == text.Short && len(q.Also) == 0 && len(q.Answer) == 1 && strings.Contains("ABCDEFGHIJ", strings.ToUpper(q.Answer))
	}
}

// golds are the gold answers that a row has in the columns of a field: those of a list, of
// several columns, and where split is true those with | between them.
func (r *questionReader) golds(x questionRow, field string, split bool) (out []string) {
	for _, c := range r.fields[field] {
		v := x.values[c]
		parts := v.list
		if of, ok := v.any.([]any); ok && parts == nil {
			for _, one := range of {
				parts = append(parts, questionSaid(one))
			}
		} else if many, ok := list(v.text); ok && parts == nil {
			parts = many
		}
		switch {
		case parts != nil:
		case split:
			parts = strings.Split(v.text, "|")
		default:
			parts = []string{v.text}
		}
		for _, s := range parts {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// distinct leaves answers that read differently.
func distinct(all []string) (out []string) {
	for _, s := range all {
		if !slices.ContainsFunc(out, func(o string) bool { return text.Fold(o) == text.Fold(s) }) {
			out = append(out, s)
		}
	}
	return out
}

// readAny reads gold answers of which any is right. It says what it wants where it cannot.
func (r *questionReader) readAny(q *tableQuestion, golds []string) (want string) {
	switch {
	case len(q.Options) > 0 && q.Type == text.Multiple:
		return "no type multiple, because any one of these is right"
	case len(q.Options) > 0 && q.Type == "":
		q.Type = text.Single
	case q.Type == "" && len(golds) > 1:
		if q.Type = text.Short; !slices.ContainsFunc(golds, func(g string) bool { return !slices.Contains([]string{"yes", "no"}, text.Fold(g)) }) {
			q.Type = binaryType
		}
	}
	for i, g := range golds {
		one := *q
		if want := r.read(&one, value{text: g}); want != "" {
			return want
		}
		switch {
		case i == 0:
			*q = one
		case (q.Type == binaryType || q.Type == text.Bool) && one.Answer != q.Answer:
			return map[string]string{binaryType: "one of yes and no", text.Bool: "one of true and false"}[q.Type]
		case one.Answer != q.Answer && !slices.Contains(q.Also, one.Answer):
			q.Also = append(q.Also, one.Answer)
		}
	}
	return ""
}

// lettersAlone refuses answers that name options which are not there: questions asked without
// them would all be answered wrongly. Where the table has some, these rows are refused, else
// all of it where half of the answers or more are such.
func (r *questionReader) lettersAlone() {
	letters, optioned := 0, false
	for _, q := range r.Questions {
		optioned = optioned || len(q.Options) > 0 && q.Type != binaryType
		if q.letter {
			letters++
		}
	}
	column, short := slices.Concat(r.fields[fieldAnswer], r.fields[fieldAny])[0], r.types[text.Short]
	switch {
	case letters == 0:
	case optioned:
		r.Questions = slices.DeleteFunc(r.Questions, func(q tableQuestion) bool {
			if q.letter {
				r.types[text.Short]--
				r.bad(q.File, q.Row, column, "options, of which this letter names one; where it is a text, a column with the type says short", table.Quote(q.Answer))
			}
			return q.letter
		})
	case 2*letters >= short:
		names, none := r.Unused, "no column of options"
		if len(names) == 0 {
			names = []string{"A", "B"}
		} else {
			none += "; nothing is read of the columns " + strings.Join(names, ", ")
		}
		list := strings.Join(names, ", ")
		r.bad(r.of.Path, 0, column, fmt.Sprintf("options to choose from, because %d of %d answers are single letters; columns: {options: [%s]}, say, names their columns (dataset check --column options=%s tries it out); where letters are texts, a column with the type says short",
			letters, short, list, strings.ReplaceAll(list, ", ", ",")), none)
		r.Questions = nil
	}
}

// read reads the answer, and the type where there is none yet. It says what it wants
// where it cannot.
func (r *questionReader) read(q *tableQuestion, v value) (want string) {
	if len(q.Options) > 0 && (q.Type == "" || q.Type == text.Single || q.Type == text.Multiple) {
		return r.readChoice(q, v)
	}
	said := text.Fold(v.text)
	means, closed := map[string]string{"yes": binaryType, "no": binaryType, "true": text.Bool, "false": text.Bool}[said]
	if q.Type == "" {
		q.Type = cmp.Or(means, text.Short)
	}
	switch q.Type {
	case text.Single, text.Multiple:
		return "options, which a question of type " + q.Type + " has"
	case binaryType:
		if means != binaryType {
			return "yes or no"
		}
		q.Options, q.Answer = []Option{{Text: "yes"}, {Text: "no"}}, said
	case text.Bool:
		if !closed {
			return "true or false"
		}
		q.Answer = map[bool]string{true: "True", false: "False"}[said == "true" || said == "yes"]
	default:
		q.Answer = v.text
	}
	return ""
}

// readChoice is read of a question with options.
func (r *questionReader) readChoice(q *tableQuestion, v value) (want string) {
	label, ok := named(q.Options, v.text)
	if columns := r.fields[fieldOptions]; !ok && len(columns) > 1 {
		if at := slices.IndexFunc(columns, func(c string) bool { return fold(c) == fold(v.text) }); at >= 0 && at < len(q.Options) {
			label, ok = q.Options[at].Label, true
		}
	}
	if n, err := strconv.Atoi(v.text); err == nil && label != v.text {
		if label, ok, want = r.numbered(q, n, label, ok); want != "" {
			return want
		}
	}
	if labels, more := several(q.Options, v); more && !ok && q.Type != text.Single {
		q.Type, q.Answer = text.Multiple, strings.Join(labels, ", ")
		return ""
	}
	if !ok {
		return "the letter or the text of one of the options " + strings.Join(texts(q.Options), ", ")
	}
	if q.Answer = label; q.Type == "" {
		q.Type = text.Single
	}
	return ""
}

// numbered is the option that a number means: by its place, or by its text, whose label is given
// where there is one.
func (r *questionReader) numbered(q *tableQuestion, n int, label string, known bool) (of string, ok bool, want string) {
	at := n - r.counted
	inside := r.counted >= 0 && at >= 0 && at < len(q.Options)
	switch {
	case known && inside && q.Options[at].Label != label && !r.numbers:
		return "", false, fmt.Sprintf("the letter of an option (%d is the text of option %s and the number of option %s)", n, label, q.Options[at].Label)
	case known && !r.numbers:
		return label, true, ""
	case !known && r.counted < 0:
		return "", false, "the letter or the text of an option (it cannot be told whether numbers count from 0 or from 1)"
	case !known && !inside:
		return "", false, fmt.Sprintf("the number of one of %d options, from %d", len(q.Options), r.counted)
	}
	return q.Options[at].Label, true, ""
}

func texts(options []Option) []string {
	var out []string
	for _, o := range options {
		out = append(out, o.Text)
	}
	return out
}

// ParseOptions finds the options inside a question: lines that start with "A.",
// "A)" or "(A)", then B and so on, each label once and in order. What stands
// before the first A, Roman numbers say, is no option; fewer than two are none.
// The error says which label is out of place.
func ParseOptions(question string) ([]Option, error) {
	var out []Option
	for line := range strings.Lines(question) {
		label, text, ok := optionLine(line)
		if !ok || len(out) == 0 && label != "A" {
			continue
		}
		want := LabelAt("A", len(out))
		if label != want {
			return nil, fmt.Errorf("option %s after %s", label, out[len(out)-1].Label)
		}
		out = append(out, Option{Label: label, Text: text})
	}
	if len(out) < 2 {
		return nil, nil
	}
	return out, nil
}

func optionLine(line string) (label, text string, ok bool) {
	s := strings.TrimSpace(line)
	if rest, open := strings.CutPrefix(s, "("); open {
		if len(rest) < 2 || rest[1] != ')' {
			return "", "", false
		}
		s = rest
	}
	if len(s) < 2 || s[0] < 'A' || s[0] > 'Z' || s[1] != '.' && s[1] != ')' {
		return "", "", false
	}
	return s[:1], strings.TrimSpace(s[2:]), true
}

// list reads a list of texts as JSON or Python writes it: ["a", "b"], ['a', "b"].
func list(s string) (out []string, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil, false
	}
	var texts []string
	if json.Unmarshal([]byte(s), &texts) == nil && texts != nil {
		return texts, true
	}
	rest := strings.TrimSpace(s[1 : len(s)-1])
	for rest != "" {
		quote := rest[0]
		if quote != '\'' && quote != '"' {
			return nil, false
		}
		var b strings.Builder
		i := 1
		for ; i < len(rest) && rest[i] != quote; i++ {
			if rest[i] == '\\' && i+1 < len(rest) {
				i++
				if rest[i] == 'n' {
					b.WriteByte('\n')
					continue
				}
			}
			b.WriteByte(rest[i])
		}
		if i == len(rest) {
			return nil, false
		}
		out = append(out, b.String())
		if rest = strings.TrimSpace(rest[i+1:]); rest == "" {
			break
		}
		if rest[0] != ',' {
			return nil, false
		}
		rest = strings.TrimSpace(rest[1:])
	}
	return out, len(out) > 0
}
