// Discussion is the rubrics of case discussions of models: their five sections,
// what judges are asked of them, and what lexical rules say (metrics.md section 3).

package diagnosis

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/results"
	"assay/results/text"
)

// The rubrics: each sentence, and the whole by five criteria.
const (
	sentences = "sentences"
	criteria  = "criteria"
)

// criteriaNames are those that a discussion is graded by, 0 to 2 each.
func criteriaNames() []string {
	return []string{"overview", "pathophysiology", "imaging", "differentiation", "transfer"}
}

// section is a part of a discussion, cut into sentences.
type section struct {
	Name      string   `json:"name"`
	Sentences []string `json:"sentences"`
}

// discussionCase is what a judge of discussions sees.
type discussionCase struct {
	Case     expertCase `json:"case"`
	Splitter int        `json:"splitter"` // version of what cut the sentences
	Sections []section  `json:"sections"` // those of sectionNames that the text has, in that order
}

// discussionSplitter is the version of text.Sentences as discussions are cut by it; another
// one makes other cases.
const discussionSplitter = 1

// newDiscussionCase is a discussion as judges see it.
func newDiscussionCase(it dataset.Item, answer string) discussionCase {
	return discussionCase{Case: newExpertCase(it), Splitter: discussionSplitter, Sections: sectionsOf(answer)}
}

// Listed is the sections with their sentences by number, as a prompt shows them.
func (c discussionCase) Listed() string {
	var b strings.Builder
	for _, s := range c.Sections {
		fmt.Fprintf(&b, "%s:\n", s.Name)
		for i, sentence := range s.Sentences {
			fmt.Fprintf(&b, "%d. %s\n", i+1, sentence)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sectionNames are the sections of a discussion, as scores name them.
func sectionNames() []string {
	return []string{"background", "clinical", "imaging", "outcome", "take-home"}
}

var heading = regexp.MustCompile(`(?im)^[\s#*_]*(?:\d[.)]\s*)?(background|clinical|imaging|outcome|take[- ]?home)\b(?:[ \t]+[a-z-]+){0,3}[*_]*[ \t]*(?::[*_ \t]*|$)`)

// sectionOf is the section that a heading begins; "": none.
func sectionOf(name string) string {
	if m := heading.FindStringSubmatch(name); m != nil {
		if n := strings.ToLower(m[1]); !strings.HasPrefix(n, "take") {
			return n
		}
		return "take-home"
	}
	return ""
}

// sectionsOf cuts a discussion at its headings; what stands before the first is of
// no section. A section that comes twice is one.
func sectionsOf(s string) []section {
	by := map[string][]string{}
	heads := heading.FindAllStringSubmatchIndex(s, -1)
	for i, m := range heads {
		end := len(s)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		name := sectionOf(s[m[0]:m[1]])
		by[name] = append(by[name], text.Sentences(s[m[1]:end])...)
	}
	var out []section
	for _, name := range sectionNames() {
		if len(by[name]) > 0 {
			out = append(out, section{name, by[name]})
		}
	}
	return out
}

// whole says whether experts wrote all five sections about a case.
func whole(it dataset.Item) bool {
	var b strings.Builder
	for _, s := range it.AnswerLeaking().Discussion {
		if sectionOf(s.Name) != "" {
			fmt.Fprintf(&b, "%s:\n", strings.TrimSuffix(s.Name, ":"))
		}
		fmt.Fprintf(&b, "%s\n", s.Text)
	}
	return len(sectionsOf(b.String())) == len(sectionNames())
}

// Verdicts, as the schemas ask for them. That on the criteria is a number by name.
type (
	// discussionVerdict is what is said of sentences.
	discussionVerdict struct {
		Sentences []judged `json:"sentences"`
	}
	// judged is one of them.
	judged struct {
		Section  string `json:"section"`
		Sentence int    `json:"sentence"` // from 1, in its section
		Factual  bool   `json:"factual"`
	}
)

const (
	sentencesSchema = `{"type":"object","additionalProperties":false,"required":["sentences"],"properties":{
"sentences":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["section","sentence","factual"],"properties":{
"section":{"type":"string","enum":["background","clinical","imaging","outcome","take-home"]},
"sentence":{"type":"integer","minimum":1},
"factual":{"type":"boolean"}}}}}}`
	criteriaSchema = `{"type":"object","additionalProperties":false,"required":["overview","pathophysiology","imaging","differentiation","transfer","why"],"properties":{
"overview":{"type":"integer","minimum":0,"maximum":2},
"pathophysiology":{"type":"integer","minimum":0,"maximum":2},
"imaging":{"type":"integer","minimum":0,"maximum":2},
"differentiation":{"type":"integer","minimum":0,"maximum":2},
"transfer":{"type":"integer","minimum":0,"maximum":2},
"total":{"type":"number"},
"why":{"type":"string"}}}`
)

func discussionRubrics() []judge.Rubric {
	return []judge.Rubric{
		{Name: sentences, Schema: json.RawMessage(sentencesSchema),
			Accept: judge.Accept{Keys: map[string]string{"is_factual": "factual", "number": "sentence"}}, Check: judge.Checked(check), Read: judge.Read(readSentences), Rules: judge.ByRule(sentenceRules)},
		{Name: criteria, Schema: json.RawMessage(criteriaSchema),
			Accept: judge.Accept{Free: []string{"why"}, Keys: map[string]string{"reason": "why", "rationale": "why"}}, Read: judge.Read(readCriteria), Rules: judge.ByRule(criteriaRules)},
	}
}

// check refuses a verdict on sentences that are not there, and one that says two
// things of one sentence. One that leaves sentences out stands: they are counted.
func check(f discussionCase, v discussionVerdict) (results.Status, string) {
	done := map[string]bool{}
	for _, s := range v.Sentences {
		at := slices.IndexFunc(f.Sections, func(x section) bool { return x.Name == s.Section })
		name := fmt.Sprintf("sentence %d of %s", s.Sentence, s.Section)
		switch {
		case at < 0 || s.Sentence > len(f.Sections[at].Sentences):
			return results.StatusSchema, name + " is not there"
		case done[name]:
			return results.StatusSchema, name + " is judged twice"
		}
		done[name] = true
	}
	return "", ""
}

func readSentences(v discussionVerdict) results.Reading {
	r := results.Reading{More: true}
	for _, s := range v.Sentences {
		r.Fields = append(r.Fields, results.Field{Name: fmt.Sprintf("%s %d", s.Section, s.Sentence), Text: map[bool]string{true: "factual", false: "not factual"}[s.Factual], Decides: true})
	}
	return r
}

func readCriteria(v map[string]any) results.Reading {
	var r results.Reading
	for _, name := range criteriaNames() {
		r.Fields = append(r.Fields, results.Field{Name: name, Text: fmt.Sprint(v[name]), Decides: true})
	}
	return r
}

// sentenceRules holds sentences against those of experts.
func sentenceRules(f discussionCase) (any, string, bool) {
	k := f.Case.All()
	v := discussionVerdict{Sentences: []judged{}}
	for _, s := range f.Sections {
		for i, sentence := range s.Sentences {
			if factual, ok := k.Says(sentence); ok {
				v.Sentences = append(v.Sentences, judged{s.Name, i + 1, factual})
			}
		}
	}
	return v, "", true
}

// criteriaRules: how many content words of what experts wrote stand in the text: 2
// from three fifths on, 1 from three tenths on. Differentiation counts the other
// options that are named.
func criteriaRules(f discussionCase) (any, string, bool) {
	experts := map[string]text.Phrase{}
	for _, s := range sectionsOf(f.Case.Discussion) {
		experts[s.Name] = text.PhraseOf(strings.Join(s.Sentences, " "))
	}
	if len(experts) == 0 {
		return nil, "the experts' discussion has no sections to compare with", false
	}
	own, all := map[string]text.Phrase{}, ""
	for _, s := range f.Sections {
		words := strings.Join(s.Sentences, " ")
		own[s.Name], all = text.PhraseOf(words), all+" "+words
	}
	v := map[string]any{"why": "compared by rule"}
	for name, section := range map[string]string{"overview": "background", "pathophysiology": "clinical", "imaging": "imaging", "transfer": "take-home"} {
		v[name] = grade(text.Share(experts[section].Contents(), own[section].Contents()))
	}
	v["differentiation"] = grade(share(f.Case.All().Others(), all))
	return v, "", true
}

func grade(share float64) int {
	switch {
	case share >= 0.6:
		return 2
	case share >= 0.3:
		return 1
	}
	return 0
}
