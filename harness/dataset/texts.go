package dataset

import (
	"fmt"
	"slices"
	"strings"

	"assay/harness/dataset/table"
)

// Wording is a question in other words: a paraphrase, another language.
type Wording struct {
	Question string
	Options  []string // the texts, by place; nil: those of the item
	Golds    []string // nil: those of the item
}

// In is the item in these words. The labels of its options stay.
func (w Wording) In(it Item) Item {
	it.Question = w.Question
	if w.Options != nil {
		was, golds := it.Options, it.Golds()
		it.Options = slices.Clone(was)
		for i := range it.Options {
			it.Options[i].Text = w.Options[i]
			for k, gold := range golds {
				if foldText(gold) == foldText(was[i].Text) { // it is called by its text
					golds[k] = w.Options[i]
				}
			}
		}
		it.Answer = golds[0]
		if it.Also != nil {
			it.Also = golds[1:]
		}
	}
	if w.Golds != nil {
		it.Answer, it.Also = w.Golds[0], w.Golds[1:]
		if len(it.Also) == 0 {
			it.Also = nil
		}
	}
	return it
}

// Word gives items the words that a file has for them, by the name of the file's texts. It is CSV
// with the columns id and question, and where these are in other words too, A, B, C and so on for
// the options in their order and answer (several with | between them) for a gold answer in words;
// or the same as JSON lines, with options and answer as lists. Items that it does not have keep
// nothing. The error lists all that is wrong with it.
func Word(d *Dataset, name, file string, content []byte) error {
	items := map[string]*Item{}
	for i := range d.Items {
		items[d.Items[i].ID] = &d.Items[i]
	}
	var problems []Problem
	bad := func(line int, column, want, got string) {
		problems = append(problems, Problem{File: file, Row: line, Column: column, Want: want, Got: got})
	}
	first := map[string]int{}
	add := func(line int, id string, w Wording) {
		it := items[id]
		switch {
		case first[id] > 0:
			bad(line, "id", "each id once", fmt.Sprintf("%s, which line %d already has", table.Quote(id), first[id]))
		case strings.TrimSpace(w.Question) == "":
			bad(line, "question", "a question", table.None)
		case it == nil: // of another data set
		case w.Options != nil && (len(w.Options) != len(it.Options) || slices.Contains(w.Options, "")):
			bad(line, "options", fmt.Sprintf("%d options, as the question has, or none", len(it.Options)), table.Quote(strings.Join(w.Options, " | ")))
		case w.Golds != nil && len(it.Options) > 0:
			bad(line, "answer", "none: the gold option stays where it is", table.Quote(strings.Join(w.Golds, " | ")))
		default:
			if it.Texts == nil {
				it.Texts = map[string]Wording{}
			}
			it.Texts[name] = w
		}
		if first[id] == 0 {
			first[id] = line
		}
	}
	in := table.JSONRows{Bad: bad, Header: "a header row with the columns id and question (CSV), or JSON lines"}
	in.Names = func(header []string) ([]string, bool) {
		known := []string{"id", "question", "answer"}
		for i := range maxLetters {
			known = append(known, LabelAt("A", i))
		}
		ok := in.Known(header, known)
		for _, needed := range known[:2] {
			if !slices.Contains(header, needed) {
				bad(1, "", "a column "+needed, strings.Join(header, ", "))
				ok = false
			}
		}
		return header, ok
	}
	in.Row = func(line int, cells map[string]string) {
		w := Wording{Question: cells["question"]}
		for i := range maxLetters {
			if text := cells[LabelAt("A", i)]; text != "" {
				w.Options = append(w.Options, slices.Repeat([]string{""}, i-len(w.Options))...)
				w.Options = append(w.Options, text)
			}
		}
		if a := cells["answer"]; a != "" {
			w.Golds = separated(a)
		}
		add(line, cells["id"], w)
	}
	in.Object = func(line int, o map[string]any) {
		w := Wording{}
		id, _ := table.Plain(o["id"])
		w.Question, _ = o["question"].(string)
		for field, to := range map[string]*[]string{"options": &w.Options, "answer": &w.Golds} {
			v := o[field]
			if text, one := v.(string); one && field == "answer" {
				v = []any{text}
			}
			list, ok := v.([]any)
			if v != nil && !ok {
				bad(line, field, "a list of texts", table.Kind(v))
			}
			for _, each := range list {
				text, _ := each.(string)
				*to = append(*to, strings.TrimSpace(text))
			}
		}
		add(line, id, w)
	}
	if in.Read(content); len(problems) == 0 {
		return nil
	}
	return table.Listed(problems)
}

// maxLetters is as many options as have letters.
const maxLetters = 26

// separated are texts with | between them.
func separated(s string) (out []string) {
	for part := range strings.SplitSeq(s, "|") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
