// Package dataset reads items from where users have them: M3CoTBench, TAIX-VQA,
// MedThinkVQA, tables of questions, plain JSONL, and generated phantom cases. A loader
// reports every bad row with its position and goes on; it never invents a value or a
// picture.
//
//  1. Sniff tells the kind of a path by its content; Open reads it.
//  2. A loader parses every row, checks every picture from its header to its end, and
//     gives Items and Problems, both in the order of the file: m3cotbench.go, taix.go,
//     medthinkvqa.go (over cases.go), own.go (over questions.go), jsonl.go, phantom.go.
//  3. What stands beside a data set's own files is read by base.go and regions.go;
//     pictures in DICOM files are made by a program that the user names (helper.go).
//  4. Digest covers what was read and the bytes of the pictures; Image.Load reads
//     them again and refuses a file that has changed since.
//  5. Summarize counts, Damaged decodes every picture: what a check prints.
package dataset

import (
	"image"
	"strings"

	"assay/harness/dataset/table"
	"assay/perturb"
)

// Dataset is a loaded set of items.
type Dataset struct {
	Name      string // in bench.yaml
	Kind      string // one of Kinds, or KindPhantom
	Items     []Item
	Problems  []Problem // rows that were left out, and what is wrong with them
	Guesses   []string  // of a table of questions, what nobody said of its columns
	Unused    []string  // of own questions, columns or keys that nothing is read of
	Gaps      []gap     // what its knowledge base does not know; none without one
	Digest    string    // "sha256:...", of items and image bytes
	Synthetic bool      // phantom cases
}

// Item is one question with its image(s), gold answer and gold reasoning.
type Item struct {
	ID        string
	Images    []Image
	Picture   string   // the same for items that show the same pictures; "": no other item does
	Sums      []string // short digests of its pictures' contents, which are the same in every data set
	Question  string   // as the data set words it; options may be inside
	Type      string   // one of Types or ClosedTypes, or TypeDiagnosis
	Options   []Option // as parsed; empty: none
	Answer    string   // gold; of ClosedTypes the text of one of Options
	Also      []string // other gold answers, of which any is right; none: there is one
	Task      string   // one of Tasks, of a table of questions its own; or ""
	Modality  string   // examination type, or ""
	GoldPaths [][]Step // each in order; several are allowed
	Finding   string   // what is asked about, or ""

	Scale     []string                    // ordinal answers from least to most; nil: answers have no order
	Aliases   map[string]string           // other spellings, in lower case, of an option's text
	Regions   map[string][]perturb.Region // where the finding is, by side: "left", "right", or "" for both or none
	Knowledge *Knowledge                  // what must, may and must not be said of question and answer; nil: no entry

	Texts   map[string]Wording `json:"-"` // itself in other words, by the name of a file of texts (Word)
	Another *Item              `json:"-"` // whose images may be shown instead (Pair); nil: none was looked for, or there is none
	Case    *Case              // of TypeDiagnosis; else nil
	leaking Leaking
	cluster string // what it has in the column that cluster: names, which may be a patient's name
}

// Made says of each image how it was made of a DICOM file; none: none was.
func (it Item) Made() (out []string) {
	for _, im := range it.Images {
		if im.Made != "" {
			out = append(out, im.Made)
		}
	}
	return out
}

// Golds are the gold answers, of which any is right.
func (it Item) Golds() []string { return append([]string{it.Answer}, it.Also...) }

// Gold is what is right, as people read it.
func (it Item) Gold() string {
	if it.Also == nil {
		return it.Answer
	}
	return "any of: " + strings.Join(it.Golds(), "; ")
}

func (it Item) optionTexts() []string {
	out := make([]string, len(it.Options))
	for i, o := range it.Options {
		out[i] = o.Text
	}
	return out
}

// resolve finds the option that an answer means: by its text, its label, or an
// alias of either; case and space do not count.
func (it Item) resolve(answer string) (option string, ok bool) {
	a := foldText(answer)
	for range 2 {
		for _, o := range it.Options {
			if a != "" && (a == foldText(o.Text) || a == foldText(o.Label)) {
				return o.Text, true
			}
		}
		a = foldText(it.Aliases[a])
	}
	return "", false
}

// Option is one choice: Label "A", Text "Left". Of ClosedTypes the label may be "".
type Option struct {
	Label string `json:"label,omitempty"`
	Text  string `json:"text"`
}

// Image is a picture of an item. Load returns the file's own bytes.
type Image struct {
	Name string // file name or phantom id, for messages
	Load func() ([]byte, error)

	Size                  image.Point // in pixels; zero: not known
	Modality, Submodality string      // as the data set words them; "": not stated
	Made                  string      // how it was made of a DICOM file; "": it was not
}

// Problem is one bad place in a data set.
type Problem = table.Problem
