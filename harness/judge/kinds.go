package judge

import (
	"encoding/json"

	"assay/harness/judge/reply"
	"assay/results"
)

// Kind is a kind of judge: what bench.yaml says of it, and how one is made.
type Kind struct {
	Name string
	Keys []Key
	// Make makes one; nil: it asks a model, and has the keys of one that does. The
	// error holds everything that is wrong, one a line.
	Make func(Spec) (Judge, error)
	// About says in a few words what made the verdicts; nil: the name does.
	About func(values map[string]string) string
}

// Key is a key of a kind of judge in bench.yaml.
type Key struct {
	Name   string
	Need   bool
	File   bool     // the path of a file, which is read
	Values []string // what it may say; nil: anything
}

// Spec is what a judge is made of.
type Spec struct {
	Name    string
	Values  map[string]string // by key
	Content []byte            // of the file
	Rubrics []Rubric          // that it is asked under
}

// Hosted is the kind of a model behind a hosted API, with keys of its own.
const Hosted = "hosted"

// Kinds are all kinds of judges.
func Kinds() []Kind {
	return []Kind{
		{Name: "model"},
		{Name: Hosted},
		{Name: "lexical", Make: func(s Spec) (Judge, error) { return &Lexical{Name: s.Name}, nil }},
		metricKind(),
		fileKind(),
		humanKind(),
	}
}

// KindOf is a kind by name; false: there is none.
func KindOf(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Number is how a rubric takes a number in place of a whole verdict.
type Number struct {
	Low, High float64
	Whole     bool              // whole numbers alone
	Scale     string            // in words: "0 or 1"
	Verdict   func(float64) any // that follows the rubric's Schema
}

// takes says whether a number is on the scale.
func (n *Number) takes(x float64) bool {
	return n != nil && x >= n.Low && x <= n.High && (!n.Whole || x == float64(int64(x)))
}

// numbered fills in the verdict that a number stands for. A number has no quotes to
// look for, so the rubric's own check does not apply.
func (s *schemas) numbered(j *results.Judgment, r Rubric, c Case, x float64) {
	b, err := json.Marshal(r.Number.Verdict(x))
	var rep reply.Reply
	if err == nil {
		rep, err = reply.Parse(string(b))
	}
	if err != nil {
		panic("judge: internal error: the verdict of a number: " + err.Error())
	}
	r.Check = nil
	s.check(j, r, c, rep)
	if j.Status.Usable() {
		j.Status, j.Detail = results.StatusClean, ""
	}
}
