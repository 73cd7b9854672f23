package text

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// This file is what lexical rules share: sentences, and whether two of them say
// the same thing. It knows words, not meanings.

// Words are the lower-case words of a text; "|" stands where a clause ends.
// Hyphens part words, apostrophes do not; "x-ray" is one word, "isn't" is two.
func Words(s string) []string {
	s = strings.ToLower(Normalise(s))
	for _, r := range [][2]string{{"x-ray", "xray"}, {"x ray", "xray"}, {"can't", "cannot"}, {"n't", " not"},
		{"ruled out", "excluded"}, {"rules out", "excluded"}, {"rule out", "excluded"}} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	var out []string
	start := -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		if w := strings.Trim(s[start:end], "'"); w != "" {
			out = append(out, w)
		}
		start = -1
	}
	for i, r := range s {
		point := r == '.' && i > 0 && i+1 < len(s) && digit(s[i-1]) && digit(s[i+1])
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '\'', point:
			if start < 0 {
				start = i
			}
		default:
			flush(i)
			if strings.ContainsRune(",;.!?", r) {
				out = append(out, "|")
			}
		}
	}
	flush(len(s))
	return out
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// Phrase is what lexical rules know of a statement.
type Phrase struct {
	words  []word   // content words without sides, grades and numbers
	sides  []string // "left", "right"; both for "bilateral"
	grades []string
	counts []string // numbers
}

// word is the stem of a content word, and whether its clause negates it.
type word struct {
	stem    string
	negated bool
}

// Statements takes a sentence apart into what it states, one phrase each: it is
// cut at semicolons and at words like "but".
func Statements(s string) []Phrase {
	var out []Phrase
	var words []string
	end := func() {
		if p := phrase(words); len(p.Contents()) > 0 {
			out = append(out, p)
		}
		words = nil
	}
	for part := range strings.SplitSeq(s, ";") {
		for _, w := range Words(part) {
			switch w {
			case "but", "however", "although", "though", "while", "whereas":
				end()
			default:
				words = append(words, w)
			}
		}
		end()
	}
	return out
}

// PhraseOf takes a text as one statement.
func PhraseOf(s string) Phrase { return phrase(Words(s)) }

// phrase reads words; a negation reaches as far as its clause.
func phrase(words []string) Phrase {
	var p Phrase
	for len(words) > 0 {
		n := slices.Index(words, "|")
		if n < 0 {
			n = len(words)
		}
		negated := slices.ContainsFunc(words[:n], negates)
		for _, w := range words[:n] {
			p.add(w, negated)
		}
		words = words[min(n+1, len(words)):]
	}
	p.sides, p.grades, p.counts = distinct(p.sides), distinct(p.grades), distinct(p.counts)
	return p
}

func (p *Phrase) add(w string, negated bool) {
	switch {
	case w == "bilateral", w == "bilaterally", w == "both":
		p.sides = append(p.sides, "left", "right")
	case w == "left", w == "right":
		p.sides = append(p.sides, w)
	case grade(w) != "":
		p.grades = append(p.grades, grade(w))
	case number(w) != "":
		p.counts = append(p.counts, number(w))
	case negates(w), common(w):
	default:
		base, opposite := opposed(w)
		p.words = append(p.words, word{stem(base), negated != opposite})
	}
}

// opposed is the word that w is the opposite of, for common pairs.
func opposed(w string) (base string, opposite bool) {
	switch w {
	case "wrong", "wrongly", "incorrect", "incorrectly":
		return "correct", true
	case "inadequate", "inadequately":
		return "adequate", true
	case "asymmetric", "asymmetrical":
		return "symmetric", true
	case "irregular", "irregularly":
		return "regular", true
	case "unstable":
		return "stable", true
	}
	return w, false
}

// Contents are the distinct stems of a statement, sides, grades and numbers too.
func (p Phrase) Contents() []string {
	return distinct(slices.Concat(p.sides, p.grades, p.counts, p.stems()))
}

func (p Phrase) stems() []string {
	var out []string
	for _, w := range p.words {
		out = append(out, w.stem)
	}
	return out
}

// Share is the part of want's members that have has, 0..1; 0 when want is empty.
func Share(want, have []string) float64 {
	n := 0
	for _, w := range want {
		if slices.Contains(have, w) {
			n++
		}
	}
	return float64(n) / float64(max(len(want), 1))
}

// Likeness is how a statement stands to another.
type Likeness uint8

const (
	Unrelated Likeness = iota
	Against            // about the same thing, but with another side, grade, number or negation
	Same
)

// Compare compares a statement with what it should say. They are about the same
// thing when the statement has more than three fifths of the content words of
// want. To say the same, it must name the same sides, grades and numbers as want,
// wherever want names any.
func (p Phrase) Compare(want Phrase) Likeness {
	need, have := distinct(want.stems()), p.stems()
	if len(need) == 0 { // "Left.", "Two."
		need, have = want.Contents(), p.Contents()
	}
	if len(need) == 0 || Share(need, have) <= 0.6 {
		return Unrelated
	}
	silent := false
	for _, pair := range [][2][]string{{p.sides, want.sides}, {p.grades, want.grades}, {p.counts, want.counts}} {
		switch {
		case len(pair[1]) == 0 || slices.Equal(pair[0], pair[1]):
		case len(pair[0]) == 0:
			silent = true
		default:
			return Against
		}
	}
	for _, w := range p.words {
		shared := slices.ContainsFunc(want.words, func(g word) bool { return g.stem == w.stem })
		if shared && !slices.Contains(want.words, w) && !slices.ContainsFunc(want.words, func(g word) bool {
			return g.stem == w.stem && slices.Contains(p.words, g)
		}) {
			return Against
		}
	}
	if silent {
		return Unrelated
	}
	return Same
}

// stem cuts common endings, so that "blunted" meets "blunting".
func stem(w string) string {
	for _, e := range []string{"ements", "ement", "ations", "ation", "ings", "ing", "ed", "ly", "ies", "es", "s"} {
		rest, ok := strings.CutSuffix(w, e)
		if !ok || len(rest) < 4 || e == "s" && strings.HasSuffix(rest, "s") {
			continue
		}
		if w = rest; e == "ies" {
			w += "y"
		}
		break
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

func negates(w string) bool {
	switch w {
	case "no", "not", "without", "absent", "absence", "negative", "free", "never", "none", "neither", "nor", "cannot", "excluded":
		return true
	}
	return false
}

// grade is the grade that a word names, "" for other words. Words for the same
// step of a scale have one grade.
func grade(w string) string {
	switch w {
	case "normal":
		return "normal"
	case "questionable", "borderline", "equivocal":
		return "borderline"
	case "mild", "mildly", "slight", "slightly", "minimal", "minimally", "small", "trace":
		return "mild"
	case "moderate", "moderately":
		return "moderate"
	case "enlarged", "enlargement":
		return "enlarged"
	case "severe", "severely", "massive", "massively", "large", "marked", "markedly", "gross", "grossly":
		return "severe"
	}
	return ""
}

// number is a number in digits, "" for other words. "One" is mostly a pronoun.
func number(w string) string {
	if i := slices.Index([]string{"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}, w); i >= 0 {
		return strconv.Itoa(i + 2)
	}
	if w == "zero" {
		return "0"
	}
	if strings.Trim(w, "0123456789.") == "" {
		return w
	}
	return ""
}

// common says of a word that it carries no content of its own.
func common(w string) bool {
	switch w {
	case "a", "an", "the", "this", "that", "these", "those", "it", "its", "is", "are", "was", "were", "be", "been", "being", "am",
		"of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "and", "or", "than", "then", "there", "here", "which", "who",
		"has", "have", "had", "do", "does", "did", "can", "could", "may", "might", "will", "would", "should", "must",
		"i", "we", "you", "he", "she", "they", "his", "her", "their", "our", "my", "us", "one", "some", "any", "all", "also", "so", "if",
		"very", "more", "most", "such", "into", "over", "under", "about", "because", "therefore", "thus", "hence", "s",
		"image", "picture", "figure", "see", "seen", "show", "shows", "shown", "showing", "visible", "appears", "appear", "evidence", "step", "option":
		return true
	}
	return false
}

func distinct(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
