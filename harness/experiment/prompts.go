package experiment

import (
	"fmt"
	"strings"

	"assay/harness/study"
	"assay/results/text"
)

// Prompt is a built-in prompt.
type Prompt struct {
	Study string `json:"study"`
	Name  string `json:"name"`
	Uses  string `json:"uses"` // what its template may use and has to
	Text  string `json:"text"`
}

// Prompts are those of all studies, in their order.
func Prompts() ([]Prompt, error) {
	var out []Prompt
	for _, s := range All() {
		st, err := s.With(nil, study.Choice{})
		if err != nil {
			return nil, err
		}
		for _, name := range s.Kind().Prompts {
			out = append(out, Prompt{Study: s.Name, Name: name, Uses: st.Usable[name], Text: st.Texts[name]})
		}
	}
	return out, nil
}

// PromptOf finds a prompt by NAME, where one study alone has it, or STUDY/NAME.
func PromptOf(name string) (Prompt, error) {
	all, err := Prompts()
	if err != nil {
		return Prompt{}, err
	}
	var found []Prompt
	var names, of []string
	for _, p := range all {
		full := p.Study + "/" + p.Name
		if name == p.Name || name == full {
			found, of = append(found, p), append(of, full)
		}
		names = append(names, p.Name, full)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Prompt{}, fmt.Errorf("no prompt %q%s", name, text.DidYouMean(name, names))
	}
	return Prompt{}, fmt.Errorf("expected one of %s, found %q, which is several", strings.Join(of, ", "), name)
}
