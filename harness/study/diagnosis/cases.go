package diagnosis

import (
	"fmt"
	"regexp"
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study/accuracy"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// About is what judges are told of a case, the answer and what experts say of it.
type About struct {
	History    string           `json:"history,omitempty"`
	Question   string           `json:"question"`
	Options    []dataset.Option `json:"options"`
	Gold       string           `json:"gold"` // label
	Captions   string           `json:"captions,omitempty"`
	Findings   string           `json:"findings,omitempty"`
	Discussion string           `json:"discussion,omitempty"`
}

// Diagnosis is the gold option in words.
func (a About) Diagnosis() string {
	return diagnosis(dataset.Item{Options: a.Options, Answer: a.Gold})
}

// StepsCase is what is split into steps.
type StepsCase struct {
	Explanation string `json:"explanation"`
}

// ErrorsCase is what a judge of steps sees; Steps come from the split.
type ErrorsCase struct {
	Case        About    `json:"case"`
	Explanation string   `json:"explanation"`
	Steps       []string `json:"steps,omitempty"`
}

// Section is a part of a discussion, cut into sentences.
type Section struct {
	Name      string   `json:"name"`
	Sentences []string `json:"sentences"`
}

// DiscussionCase is what a judge of discussions sees.
type DiscussionCase struct {
	Case     About     `json:"case"`
	Splitter int       `json:"splitter"` // version of what cut the sentences
	Sections []Section `json:"sections"` // those of sectionNames that the text has, in that order
}

// splitter is the version of text.Sentences as discussions are cut by it; another
// one makes other cases.
const splitter = 1

// Listed is the sections with their sentences by number, as a prompt shows them.
func (c DiscussionCase) Listed() string {
	var b strings.Builder
	for _, s := range c.Sections {
		fmt.Fprintf(&b, "%s:\n", s.Name)
		for i, sentence := range s.Sentences {
			fmt.Fprintf(&b, "%d. %s\n", i+1, sentence)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ReportCase is a report beside that of experts, for tools that compare them.
type ReportCase struct {
	Report    string `json:"report"`
	Reference string `json:"reference"`
}

func aboutOf(it dataset.Item) About {
	a := About{Question: it.Question, Options: it.Options, Gold: it.Answer, Captions: captioned(it), Findings: it.AnswerLeaking().Findings}
	if it.Case != nil {
		a.History = it.Case.History
	}
	var parts []string
	for _, s := range it.AnswerLeaking().Discussion {
		parts = append(parts, strings.TrimSpace(s.Name+"\n"+s.Text))
	}
	a.Discussion = strings.Join(parts, "\n\n")
	return a
}

func accuracyCase(it dataset.Item, answer string) accuracy.Case {
	return accuracy.Case{Question: it.Question, Type: text.Single, Options: it.Options, Gold: it.Answer, Answer: text.Outside(answer)}
}

// cases shows judges of answers what a reader would see, and judges of steps the
// reasoning too; steps are judged of images alone, as published. Text that the
// server split off is the same as text in <think>.
func cases(it dataset.Item, k results.Key, out results.Output) []judge.Case {
	switch k.Arm {
	case armMCQ:
		list := []judge.Case{{Rubric: rubAccuracy, Fields: accuracyCase(it, out.Answer)}}
		if k.Condition != perturb.Baseline().Name {
			return list
		}
		explanation := text.Reasoning(out.Answer, out.Reasoning)
		return append(list, judge.Case{Rubric: rubSteps, Fields: StepsCase{explanation}},
			judge.Case{Rubric: rubErrors, Fields: ErrorsCase{Case: aboutOf(it), Explanation: explanation}})
	case armFindings:
		if ref := it.AnswerLeaking().Findings; ref != "" {
			return []judge.Case{{Rubric: rubReport, Fields: ReportCase{Report: text.Outside(out.Answer), Reference: ref}}}
		}
	case armDiscussion:
		c := DiscussionCase{Case: aboutOf(it), Splitter: splitter, Sections: sectionsOf(text.Outside(out.Answer))}
		return []judge.Case{{Rubric: rubSentences, Fields: c}, {Rubric: rubCriteria, Fields: c}}
	}
	return nil
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
func sectionsOf(s string) []Section {
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
	var out []Section
	for _, name := range sectionNames() {
		if len(by[name]) > 0 {
			out = append(out, Section{name, by[name]})
		}
	}
	return out
}

// expertSections are the sections of the experts' discussion of a case.
func expertSections(it dataset.Item) []Section {
	var b strings.Builder
	for _, s := range it.AnswerLeaking().Discussion {
		if sectionOf(s.Name) != "" {
			fmt.Fprintf(&b, "%s:\n", strings.TrimSuffix(s.Name, ":"))
		}
		fmt.Fprintf(&b, "%s\n", s.Text)
	}
	return sectionsOf(b.String())
}
