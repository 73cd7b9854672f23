package phantom

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// requirements are what reasoning for an answer has to say, in TAIX-VQA's schema.
type requirements struct {
	MustAll   []wording   `json:"must_all"`
	AtLeast   []selection `json:"at_least_k_of,omitempty"`
	Forbidden []wording   `json:"forbidden"`
}

type wording struct {
	Term     string   `json:"term"`
	Synonyms []string `json:"synonyms"`
}

type selection struct {
	K     int       `json:"k"`
	AnyOf []wording `json:"any_of"`
}

// Knowledge is the knowledge base of the faithfulness study's questions: JSON,
// what reasoning that leads to each answer says, in the words of Steps. It has those that
// are asked, or all where none is given: few are asked of a small data set.
func Knowledge(asked ...string) []byte {
	base := map[string]any{}
	for _, f := range faithfulForms() {
		for _, q := range f.queries() {
			var texts []string
			for _, text := range f.texts {
				if text = q.fill(text); len(asked) == 0 || slices.Contains(asked, text) {
					texts = append(texts, text)
				}
			}
			if len(texts) == 0 {
				continue
			}
			answers := map[string]requirements{}
			for _, answer := range q.Choices() {
				answers[answer] = q.requirements(answer)
			}
			k := map[string]any{"type": q.Type, "projection_hint": "frontal radiograph of a chest phantom", "answers": answers, "additional_guidance": map[string]any{
				"disambiguation_rules": []string{"Right and left are the patient's, not the picture's.", "Questionable is less than mild."},
				"acceptable_alternate_terminology": [][]string{{"pleural effusion", "fluid in the pleural space"}, {"pulmonary opacity", "white patch"},
					{"atelectasis", "collapsed lung"}, {"pulmonary congestion", "haze around the vessels"}}}}
			for _, text := range texts {
				base[text] = k
			}
		}
	}
	b, err := json.MarshalIndent(base, "", " ")
	if err != nil {
		panic(fmt.Sprintf("phantom: internal error: knowledge base: %v", err)) // texts and numbers always encode
	}
	return b
}

// requirements go through every state of what the question is about: what is
// said of those that lead to the answer is required, of the others forbidden.
func (q Query) requirements(answer string) requirements {
	var out requirements
	must := wording{Synonyms: []string{}}
	var shown []wording
	for _, f := range states(q.Sites()) {
		said, others := statements(q.plain().conclusion(f))
		var seen []wording
		highest := 0
		for _, s := range q.Sites() {
			highest = max(highest, f[s].Grade)
		}
		for _, s := range q.Sites() {
			if f[s].Grade == highest || q.Kind == askTube && f[s].Grade != absent { // what decides
				seen = append(seen, wording{bare(appearance(s, f[s].Grade)), []string{}})
			}
		}
		if q.Solve(f)[0] != answer {
			add(&out.Forbidden, wording{said, others})
			if len(q.Sites()) == 1 { // of two sides, either may look like anything
				add(&out.Forbidden, seen...)
			}
			continue
		}
		add(&shown, seen...)
		for _, w := range append([]string{said}, others...) {
			if must.Term == "" {
				must.Term = w
			} else if w != must.Term && !slices.Contains(must.Synonyms, w) {
				must.Synonyms = append(must.Synonyms, w)
			}
		}
	}
	out.MustAll = []wording{must}
	out.AtLeast = []selection{{1, shown}}
	return out
}

func add(list *[]wording, more ...wording) {
	for _, m := range more {
		if !slices.ContainsFunc(*list, func(w wording) bool { return w.Term == m.Term }) {
			*list = append(*list, m)
		}
	}
}

// states are all combinations of grades of some sites.
func states(sites []Site) []Findings {
	all := []Findings{{}}
	for _, s := range sites {
		var next []Findings
		for _, f := range all {
			for g := range s.Grades() {
				f[s] = reading{Grade: g, Sure: true}
				next = append(next, f)
			}
		}
		all = next
	}
	return all
}

// statements are what a conclusion says, and the same with the side first.
func statements(conclusion string) (said string, others []string) {
	said, others = bare(conclusion), []string{}
	for _, side := range sides {
		for _, finding := range findings {
			if before, ok := strings.CutSuffix(said, finding+" on the "+side); ok {
				others = append(others, before+side+" "+finding, before+side+"-sided "+finding)
			}
		}
	}
	return said, others
}

// bare is a statement without the words it opens with.
func bare(s string) string {
	s = strings.TrimPrefix(s, "there is ")
	for _, article := range []string{"a ", "an ", "the "} {
		s = strings.TrimPrefix(s, article)
	}
	return s
}
