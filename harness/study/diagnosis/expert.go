// Expert is what experts say of a case: as judges are told it, and as rules
// compare a model's sentences with it.

package diagnosis

import (
	"fmt"
	"regexp"
	"strings"

	"assay/harness/dataset"
	"assay/results/text"
)

// expertCase is a case as judges are told it.
type expertCase struct {
	History    string           `json:"history,omitempty"`
	Question   string           `json:"question"`
	Options    []dataset.Option `json:"options"`
	Gold       string           `json:"gold"` // label
	Captions   string           `json:"captions,omitempty"`
	Findings   string           `json:"findings,omitempty"`
	Discussion string           `json:"discussion,omitempty"`
}

// newExpertCase is what judges are told of an item.
func newExpertCase(it dataset.Item) expertCase {
	told := it.AnswerLeaking()
	c := expertCase{Question: it.Question, Options: it.Options, Gold: it.Answer, Captions: captions(it), Findings: told.Findings}
	if it.Case != nil {
		c.History = it.Case.History
	}
	var parts []string
	for _, s := range told.Discussion {
		parts = append(parts, strings.TrimSpace(s.Name+"\n"+s.Text))
	}
	c.Discussion = strings.Join(parts, "\n\n")
	return c
}

// Diagnosis is the gold option in words.
func (c expertCase) Diagnosis() string {
	for _, o := range c.Options {
		if o.Label == c.Gold {
			return o.Text
		}
	}
	return c.Gold
}

// captions are the experts' captions of an item, one a line, by number of the image.
func captions(it dataset.Item) string {
	var lines []string
	for i, c := range it.AnswerLeaking().Captions {
		if c = strings.Join(strings.Fields(c), " "); c != "" {
			lines = append(lines, fmt.Sprintf("Image %d: %s", i+1, c))
		}
	}
	return strings.Join(lines, "\n")
}

// expertKnown is what rules know of a case. They compare words with what experts say and
// know no medicine: what neither agrees nor disagrees with an expert's sentence gets
// no verdict.
type expertKnown struct {
	sentences []sentence
	gold      text.Phrase
	others    []string
}

// Images is what experts say of the images.
func (c expertCase) Images() expertKnown { return c.known(c.Captions, c.Findings) }

// All is that, and their discussion.
func (c expertCase) All() expertKnown { return c.known(c.Captions, c.Findings, c.Discussion) }

func (c expertCase) known(about ...string) expertKnown {
	var k expertKnown
	for _, s := range about {
		for _, one := range text.Sentences(s) {
			k.sentences = append(k.sentences, statements(one)...)
		}
	}
	for _, o := range c.Options {
		if o.Label == c.Gold {
			k.gold = text.PhraseOf(o.Text)
		} else {
			k.others = append(k.others, o.Text)
		}
	}
	return k
}

// Silent says that experts say nothing in words.
func (k expertKnown) Silent() bool { return len(k.sentences) == 0 }

// Others are the texts of the options that are not right.
func (k expertKnown) Others() []string { return k.others }

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

// Says is how a sentence stands to what experts say: it is factual where they say
// the same, not where all they say of the same thing is against it. ok false: they
// say nothing of it.
func (k expertKnown) Says(said string) (factual, ok bool) {
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

// Named is the options that a sentence names: the gold one, another.
func (k expertKnown) Named(sentence string) (gold, other bool) {
	p := text.PhraseOf(sentence)
	for _, o := range k.others {
		other = other || expertNames(p, text.PhraseOf(o))
	}
	return expertNames(p, k.gold), other
}

// expertNames says whether a text has all content words of an option.
func expertNames(p, option text.Phrase) bool {
	return len(option.Contents()) > 0 && text.Share(option.Contents(), p.Contents()) == 1
}

// share is which share of options a text names, 0..1.
func share(options []string, in string) float64 {
	p, n := text.PhraseOf(in), 0
	for _, o := range options {
		if expertNames(p, text.PhraseOf(o)) {
			n++
		}
	}
	return float64(n) / float64(max(len(options), 1))
}
