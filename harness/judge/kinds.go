// Judges is the table of the kinds of judges, and those that ask no model: a
// function of texts, a file of verdicts, a person.

package judge

import ()

// Kind is a kind of judge: what bench.yaml says of it, and how one is made.
type Kind struct {
	Name string
	Keys []key
	// Make makes one; nil: it asks a model, and is made when it is asked. The error holds
	// everything that is wrong, one a line.
	Make func(Spec) (Judge, error)
	// About says in a few words what made the verdicts; nil: the name does.
	About func(values map[string]string) string
}

// key is a key of a kind of judge in bench.yaml.
type key struct {
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

// Make makes a judge of a kind; nil: it asks a model, and is made when it is asked.
func Make(kind string, s Spec) (Judge, error) {
	if k, _ := KindOf(kind); k.Make != nil {
		return k.Make(s)
	}
	return nil, nil
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
