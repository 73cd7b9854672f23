package render

import (
	"fmt"
	"slices"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/perturb"
)

// Protocol is what a study asks.
type Protocol struct {
	Name  string
	Arms  []Arm
	Types []string // of items that it asks; nil: any
	Own   []string // that it asks as well of a data set that is not generated
	// Conditions are an item's, the baseline first, and those that were asked for and do not
	// exist for it; nil: the baseline alone.
	Conditions func(seed uint64, it dataset.Item) ([]*perturb.Condition, []Missing)
}

// Arm is a prompting strategy: one user turn per template.
type Arm struct {
	Name    string
	Prompts []string             // names of the templates of its turns; nil: one, of its own name
	Turns   []*template.Template // these, executed with Prompt
	Needs   []string             // arms whose output (same model, item, repeat, at baseline) enters the prompt
	// Under says of an item and a condition whether the arm is asked, and which arms'
	// output enters the prompt then, beside Needs; nil: always, no others.
	Under func(it *dataset.Item, c *perturb.Condition) (needs []string, asked bool)
	// Show is what a prompt may hold of an item besides question and options, by name;
	// nil: nothing. outputs are those of the arms needed.
	Show func(it dataset.Item, c perturb.Condition, outputs map[string]string) map[string]string
	// Example is what a right answer to an item looks like here, or why it cannot be
	// shown: then the item is no example. nil: the arm has no examples.
	Example func(it dataset.Item) (string, error)
}

// Texts are what an item is asked with under a condition, one for each turn, where
// outputs are the answers of the arms that are needed.
func (a *Arm) Texts(it *dataset.Item, c *perturb.Condition, outputs map[string]string) ([]string, error) {
	seen := Seen(*it, *c)
	it = &seen
	p := Prompt{Question: it.Question, Type: it.Type, Options: it.Options, Outputs: outputs, Cue: c.Cue, Images: len(c.Shown(len(it.Images), 0))}
	if a.Show != nil {
		p.Shown = a.Show(*it, *c, outputs)
	}
	if it.Case != nil {
		p.History = it.Case.History
	}
	var texts []string
	for i, tmpl := range a.Turns {
		var text strings.Builder
		if err := tmpl.Execute(&text, p); err != nil {
			return nil, fmt.Errorf("prompt of arm %s, turn %d: %w", a.Name, i+1, err)
		}
		if i == 0 && c.Says != "" {
			texts = append(texts, c.Says+"\n\n"+text.String())
			continue
		}
		texts = append(texts, text.String())
	}
	return texts, nil
}

// Shown is an item as an example: how it is asked, and how it is answered.
func (a *Arm) Shown(it *dataset.Item) (question, answer string, err error) {
	if a.Example == nil || len(a.Turns) != 1 {
		return "", "", fmt.Errorf("arm %s has no examples", a.Name)
	}
	if answer, err = a.Example(*it); err != nil {
		return "", "", fmt.Errorf("example %s: %w", it.ID, err)
	}
	base := perturb.Baseline()
	texts, err := a.Texts(it, &base, map[string]string{})
	if err != nil {
		return "", "", fmt.Errorf("example %s: %w", it.ID, err)
	}
	return texts[0], answer, nil
}

// NeedsUnder are the arms whose output enters the prompt of an item under a
// condition, and whether the arm is asked there.
func (a *Arm) NeedsUnder(it *dataset.Item, c *perturb.Condition) (needs []string, asked bool) {
	if a.Under == nil {
		return a.Needs, true
	}
	more, asked := a.Under(it, c)
	if len(a.Needs) == 0 {
		return more, asked
	}
	return slices.Concat(a.Needs, more), asked
}

// Prompt is what an arm's template may use.
type Prompt struct {
	Question string
	Type     string            // of dataset.Item
	Options  []dataset.Option  // all of them, also those that stand inside Question
	Outputs  map[string]string // answers of the arms needed, by arm
	Cue      string            // what the condition says besides; "": nothing
	Shown    map[string]string // what Arm.Show gives
	History  string            // the clinical history of the case; "": none is known
	Images   int               // how many pictures are shown
}

// Missing is a condition that an item cannot have.
type Missing struct {
	Condition, Why string
	Arms           []string // that would be asked under it; nil: all
}
