package report

import (
	"cmp"
	"slices"
	"strings"

	"assay/results"
	"assay/results/text"
)

// Example is one item shown whole, in one or two views: two arms, or the
// baseline beside a condition.
type Example struct {
	Study    string `json:"study"`
	Model    string `json:"model"`
	Item     string `json:"item"`
	Question string `json:"question,omitempty"` // "": the data set is not at hand
	Gold     string `json:"gold,omitempty"`
	Why      string `json:"why"` // how it was chosen
	Views    []View `json:"views"`
}

// View is one trial of an example.
type View struct {
	Key       results.Key      `json:"key"`
	Pictures  []Picture        `json:"-"`
	Prompt    string           `json:"-"` // all that was said to the model; "": the data set is not at hand
	NoPicture string           `json:"-"` // why there are none
	Output    *results.Output  `json:"output,omitempty"`
	Failure   *results.Failure `json:"failure,omitempty"`
	Judgments []Judged         `json:"judgments,omitempty"`
	Right     *bool            `json:"-"` // the answer is the gold one, as it is read; nil: that is not known
}

// Judged is a judgment and what its verdict says, as its rubric reads it. The
// reading is in the page alone.
type Judged struct {
	results.Judgment
	Reading results.Reading `json:"-"`
}

// Picture is a small copy of what the model was shown. It is in the page alone:
// the other formats follow from the store.
type Picture struct {
	MIME          string // "image/jpeg" or "image/png"
	Bytes         []byte
	Width, Height int    // of the copy
	Sent          string // what was sent: "512 x 512 pixels, image/png"
}

// Quoted is what a judge says of a stretch of a text.
type Quoted struct {
	results.Quote
	Judge int // index of the judgment
}

// summary is a verdict's values in words, and all of it where there is more to it.
func (j Judged) summary() (says, whole string) {
	var parts []string
	for _, f := range j.Reading.Fields {
		if f.Text != "" {
			parts = append(parts, f.Name+": "+f.Text)
		}
	}
	if j.Reading.More {
		whole = string(j.Verdict)
	}
	return strings.Join(parts, ", "), whole
}

// Span is a stretch of a text; Marks are what was said of it.
type Span struct {
	Text  string
	Marks []mention
}

// mention is a judgment that quotes a stretch.
type mention struct {
	Number int    // of the judgment, from 1
	Words  string // what it says of the quote
	End    bool   // the quote ends with the stretch
}

// Marked cuts a text at the quotes in it. Each quote is marked once, where it
// occurs first.
func Marked(whole string, list []Quoted) []Span {
	type edge struct{ from, to, of int }
	var edges []edge
	cuts := []int{0, len(whole)}
	for i, s := range list {
		if at := strings.Index(whole, s.Text); at >= 0 {
			edges = append(edges, edge{at, at + len(s.Text), i})
			cuts = append(cuts, at, at+len(s.Text))
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []Span
	for i := 1; i < len(cuts); i++ {
		sp := Span{Text: text.VisibleLines(whole[cuts[i-1]:cuts[i]])}
		for _, e := range edges {
			if e.from <= cuts[i-1] && e.to >= cuts[i] {
				sp.Marks = append(sp.Marks, mention{list[e.of].Judge + 1, visible(list[e.of].Says), e.to == cuts[i]})
			}
		}
		out = append(out, sp)
	}
	return out
}

// outcome is what became of one view, in one line.
type outcome struct {
	Answer, Verdict string
	Tick, Class     string // of an answer that is the gold one, or is not; "": that is not known
}

// outcomeOf reads the final answer out of a view, and what verdicts decide.
func outcomeOf(v View) *outcome {
	o := &outcome{Answer: "no answer"}
	switch {
	case v.Failure != nil:
		o.Answer = visible(v.Failure.Kind)
	case v.Output != nil:
		if said := text.Said(v.Output.Answer); said != "" {
			o.Answer = shortened(visible(said))
		}
		if v.Right != nil {
			o.Tick, o.Class = " ✗", "wrong"
			if *v.Right {
				o.Tick, o.Class = " ✓", "right"
			}
		}
	}
	var verdicts []string
	for _, j := range v.Judgments {
		for _, f := range j.Reading.Fields {
			if f.Decides && f.Text != "" && len(f.Text) <= longVerdict {
				verdicts = append(verdicts, j.Rubric+" "+f.Text)
			}
		}
	}
	verdicts = slices.Compact(verdicts)
	if len(verdicts) > 0 {
		o.Verdict = "(" + visible(strings.Join(verdicts[:min(mostVerdicts, len(verdicts))], ", ")) + ")"
	}
	return o
}

// What has room in one line.
const (
	mostVerdicts = 3
	longVerdict  = 24 // bytes
	longAnswer   = 40 // runes
)

func shortened(s string) string {
	if r := []rune(s); len(r) > longAnswer {
		return string(r[:longAnswer]) + "…"
	}
	return s
}
