package diagnosis

import (
	"regexp"
	"slices"
	"strings"

	"assay/harness/judge"
	"assay/results/text"
)

// This file is the rules of the lexical judges. They compare words with what
// experts say of the case and know no medicine: what neither agrees nor disagrees
// with an expert's sentence gets no verdict.

const mostSteps = 15 // of a split

var finalLine = regexp.MustCompile(`(?i)^[\s*_#]*final answer\b`)

// splitRules takes every sentence as a step; what is beyond the last place joins it.
func splitRules(c judge.Case) (any, string, bool) {
	f, err := judge.Fields[StepsCase](c)
	if err != nil {
		return nil, err.Error(), false
	}
	steps := slices.DeleteFunc(text.Sentences(f.Explanation), func(s string) bool { return finalLine.MatchString(s) })
	if len(steps) > mostSteps {
		steps = append(steps[:mostSteps-1:mostSteps-1], strings.Join(steps[mostSteps-1:], " "))
	}
	return stepsVerdict{Steps: append([]string{}, steps...)}, "", true
}

// known is what the rules know of a case.
type known struct {
	sentences []sentence // of experts
	gold      text.Phrase
	others    []string // texts of the other options
}

func knownOf(a About, findings bool) known {
	var k known
	about := []string{a.Captions, a.Findings}
	if !findings {
		about = append(about, a.Discussion)
	}
	for _, s := range about {
		for _, one := range text.Sentences(s) {
			k.sentences = append(k.sentences, statements(one)...)
		}
	}
	for _, o := range a.Options {
		if o.Label == a.Gold {
			k.gold = text.PhraseOf(o.Text)
		} else {
			k.others = append(k.others, o.Text)
		}
	}
	return k
}

// sentence is a statement, and the number of the image that it is of; "": it does
// not say.
type sentence struct {
	text.Phrase
	image string
}

var imageNumber = regexp.MustCompile(`(?i)^\s*image\s+(\d+)\s*[:,–-]\s*`)

func statements(s string) (out []sentence) {
	image := ""
	if m := imageNumber.FindStringSubmatch(s); m != nil {
		s, image = s[len(m[0]):], m[1]
	}
	for _, p := range text.Statements(s) {
		out = append(out, sentence{p, image})
	}
	return out
}

// says is how a sentence stands to what experts say: it is factual where they say
// the same, not where all they say of the same thing is against it.
func (k known) says(said string) (factual, ok bool) {
	against := false
	for _, p := range statements(said) {
		for _, e := range k.sentences {
			if p.image != "" && e.image != "" && p.image != e.image {
				continue
			}
			switch p.Compare(e.Phrase) {
			case text.Same:
				return true, true
			case text.Against:
				against = true
			}
		}
	}
	return false, against
}

// named is the options that a sentence names: the gold one, another.
func (k known) named(sentence string) (gold, other bool) {
	p := text.PhraseOf(sentence)
	holds := func(o text.Phrase) bool { return len(o.Contents()) > 0 && text.Share(o.Contents(), p.Contents()) == 1 }
	for _, o := range k.others {
		other = other || holds(text.PhraseOf(o))
	}
	return holds(k.gold), other
}

// errorRules: a sentence about the images is held against the experts' sentences;
// one that names one option alone, and nothing else that is known, is the
// conclusion, on which the answer rests.
func errorRules(c judge.Case) (any, string, bool) {
	f, err := judge.Fields[ErrorsCase](c)
	if err != nil {
		return nil, err.Error(), false
	}
	k := knownOf(f.Case, true)
	if len(k.sentences) == 0 {
		return nil, "nothing is known of the case's images in words", false
	}
	v := errorsVerdict{Steps: []stepVerdict{}}
	for i, s := range f.Steps {
		one := stepVerdict{Step: i + 1, Types: []string{}, Explanation: "compared by rule"}
		gold, other := k.named(s)
		factual, ok := k.says(s)
		switch {
		case ok:
			one.Factual, one.Critical = factual, gold
			if !factual {
				one.Types = []string{"image_understanding"}
			}
		case gold != other:
			one.Factual, one.Critical = gold, true
			if other {
				one.Types = []string{"reasoning"}
			}
		default:
			continue
		}
		v.Steps = append(v.Steps, one)
	}
	return v, "", true
}

// sentenceRules: the same for the sentences of a discussion.
func sentenceRules(c judge.Case) (any, string, bool) {
	f, err := judge.Fields[DiscussionCase](c)
	if err != nil {
		return nil, err.Error(), false
	}
	k := knownOf(f.Case, false)
	v := sentencesVerdict{Sentences: []sentenceVerdict{}}
	for _, s := range f.Sections {
		for i, sentence := range s.Sentences {
			if factual, ok := k.says(sentence); ok {
				v.Sentences = append(v.Sentences, sentenceVerdict{s.Name, i + 1, factual})
			}
		}
	}
	return v, "", true
}

// criteriaRules: how many content words of what experts wrote stand in the text: 2
// from three fifths on, 1 from three tenths on. Differentiation counts the other
// options that are named.
func criteriaRules(c judge.Case) (any, string, bool) {
	f, err := judge.Fields[DiscussionCase](c)
	if err != nil {
		return nil, err.Error(), false
	}
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
	v["differentiation"] = grade(namedShare(knownOf(f.Case, false).others, all))
	return v, "", true
}

func namedShare(options []string, in string) float64 {
	n := 0
	for _, o := range options {
		if p := text.PhraseOf(o).Contents(); len(p) > 0 && text.Share(p, text.PhraseOf(in).Contents()) == 1 {
			n++
		}
	}
	return float64(n) / float64(max(len(options), 1))
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
