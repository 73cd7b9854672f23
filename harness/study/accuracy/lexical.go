package accuracy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"assay/harness/dataset"
	"assay/results/text"
)

// This file is the rules of the lexical judge of answers. They are plain, blind to
// meaning and the same every time; docs/lexical-judge.md says what they miss.

// answered is what the rules read out of an answer.
type answered struct {
	labels []string // sorted; of the options named
	truth  *bool    // of a true-or-false question
	text   string   // of a short question
	quote  string   // the stretch of the answer that was read
}

// The line that the cot prompt asks for; it goes before tags, which a model may
// write about anything.
var finalLine = regexp.MustCompile(`(?im)^[\s*_#]*final answer[\s*_]*[:=][\s*_]*([^\r\n]*)$`)

var finalAnswer = regexp.MustCompile(`(?i)\banswer\b[\s*_]*(?:is\b|:|=)[\s*_:]*([^\r\n]*)`)

// Names says whether a sentence names a final answer.
func Names(sentence string) bool { return finalAnswer.MatchString(sentence) }

// Final is the stretch of an answer that holds the final answer: the last
// line that begins with "Final answer:"; else an <answer> tag or a JSON
// "answer"; else what follows the last "answer:" or "answer is"; else the last
// line.
func Final(s string) string {
	if all := finalLine.FindAllStringSubmatch(s, -1); len(all) > 0 {
		if a := strings.TrimSpace(all[len(all)-1][1]); a != "" {
			return a
		}
	}
	if a, from := text.Extract(s); from == text.FromTag || from == text.FromJSON {
		return a
	}
	if all := finalAnswer.FindAllStringSubmatch(s, -1); len(all) > 0 {
		if a := strings.TrimSpace(all[len(all)-1][1]); a != "" {
			return a
		}
	}
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, l := range slices.Backward(lines) {
		if strings.ContainsFunc(l, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// answer reads the final answer of a question of some type out of s; false:
// there is none that can be read.
func answer(kind string, options []dataset.Option, s string) (answered, bool) {
	a := answered{quote: Final(s)}
	if a.quote == "" {
		return a, false
	}
	switch kind {
	case text.Single, text.Multiple:
		a.labels = chosen(options, a.quote)
		return a, len(a.labels) == 1 || kind == text.Multiple && len(a.labels) > 1
	case text.Bool:
		v, ok := truth(options, a.quote)
		a.truth = &v
		return a, ok
	}
	a.text = a.quote
	return a, true
}

var (
	labelFirst  = regexp.MustCompile(`^[\s*_("'\[]*(?:(?i:options?|choices?)\s+)?[("'\[]*([A-Z])[)"'\]*_]*(?:$|[.:)]|\s*(?:$|[,;/&+]|and\b|or\b|-\s))`)
	labelNext   = regexp.MustCompile(`^[\s.:)]*(?:[,;/&+]|and\b|\s)[\s*_(]*(?:and\s+)?[("'\[]*([A-Z])[)"'\]*_]*(?:$|[.:)]|\s*(?:$|[,;/&+]|and\b))`)
	labelListed = regexp.MustCompile(`(?:[,;&]|\band\b)\s*(?:and\s+)?\(?([A-Z])[.):]\s`)
	labelLast   = regexp.MustCompile(`(?:^|\s)[("'*]*([A-Z])[)"'*.]*$`)
	labelsOnly  = regexp.MustCompile(`^[\s*_("'\[]*([A-Z]{2,})[)"'\]*_.\s]*$`)
	labelNamed  = regexp.MustCompile(`(?i:\b(?:option|choice)s?)\s+[("'\[]*([A-Z])\b|\(([A-Z])\)`)
)

// chosen is the labels that a stretch names, sorted: by letter, or by the text
// of options. A letter whose own words are those of another option names none.
func chosen(options []dataset.Option, s string) []string {
	has := func(l string) bool {
		return slices.ContainsFunc(options, func(c dataset.Option) bool { return c.Label == l })
	}
	var labels []string
	rest := s
	if m := labelsOnly.FindStringSubmatch(s); m != nil { // "ACD"
		for _, r := range m[1] {
			labels = append(labels, string(r))
		}
		rest = ""
	} else if m := labelFirst.FindStringSubmatchIndex(s); m != nil {
		for m != nil {
			labels = append(labels, rest[m[2]:m[3]])
			rest = rest[m[3]:]
			m = labelNext.FindStringSubmatchIndex(rest)
		}
		for _, m := range labelListed.FindAllStringSubmatch(rest, -1) {
			labels = append(labels, m[1])
		}
	} else {
		for _, m := range labelNamed.FindAllStringSubmatch(s, -1) {
			labels = append(labels, m[1]+m[2])
		}
		if m := labelLast.FindStringSubmatch(s); m != nil && labels == nil { // "so it is B"
			labels = append(labels, m[1])
		}
		rest = ""
	}
	labels = sorted(labels)
	if len(labels) > 0 && !slices.ContainsFunc(labels, func(l string) bool { return !has(l) }) {
		if named := named(options, rest); len(labels) == 1 && len(named) == 1 && !slices.Equal(meant(options, named), meant(options, labels)) {
			return nil
		}
		return labels
	}
	return named(options, s)
}

// meant is what labels say: the texts of their options, sorted. A question may offer a text
// twice, and whoever says it names both.
func meant(options []dataset.Option, labels []string) []string {
	var out []string
	for _, l := range labels {
		i := slices.IndexFunc(options, func(o dataset.Option) bool { return o.Label == l && strings.TrimSpace(o.Text) != "" })
		if i >= 0 {
			l = strings.ToLower(strings.TrimSpace(options[i].Text)) // signs tell some options apart
		}
		out = append(out, l)
	}
	return sorted(out)
}

// named is the labels of the options whose words stand in s, without "not" or
// "no" in front. Longer options are looked for first, and their words count once.
func named(options []dataset.Option, s string) []string {
	in := " " + bare(s) + " "
	byLength := slices.Clone(options)
	slices.SortStableFunc(byLength, func(a, b dataset.Option) int { return len(b.Text) - len(a.Text) })
	var labels []string
	for _, o := range byLength {
		f := bare(o.Text)
		if f == "" {
			continue
		}
		for {
			at := strings.Index(in, " "+f+" ")
			if at < 0 {
				break
			}
			before := in[:at]
			if !strings.HasSuffix(before, " not") && !strings.HasSuffix(before, " no") && !strings.HasSuffix(before, " not the") {
				labels = append(labels, o.Label)
			}
			in = before + " | " + in[at+len(f)+2:]
		}
	}
	return sorted(labels)
}

func sorted(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// bare is the words of a text with a space between them.
func bare(s string) string {
	return strings.Join(slices.DeleteFunc(text.Words(s), func(w string) bool { return w == "|" }), " ")
}

// truth reads a true-or-false answer; false: it says neither, or both.
func truth(options []dataset.Option, s string) (value, ok bool) {
	if labels := chosen(options, s); len(labels) == 1 {
		for _, o := range options {
			if o.Label == labels[0] {
				return truth(nil, o.Text)
			}
		}
	}
	words := strings.Fields(bare(s))
	var yes, no bool
	for i, w := range words {
		var v bool
		switch w {
		case "true", "correct":
			v = true
		case "false", "incorrect", "wrong", "untrue":
		case "yes", "no":
			if i > 0 { // "there is no effusion" answers nothing
				continue
			}
			v = w == "yes"
		default:
			continue
		}
		if w != "yes" && w != "no" && i > 0 && words[i-1] == "not" {
			v = !v
		}
		// An answer that begins with its verdict is not unsaid by what follows.
		if i == 0 || i == 1 && words[0] == "not" {
			return v, true
		}
		yes, no = yes || v, no || !v
	}
	return yes, yes != no
}

// meansShort says whether a short answer says what the gold answer says: at
// least four fifths of its content words, nothing against it, and not buried in
// a list of other things.
func meansShort(gold, answer string) bool {
	if text.Fold(gold) == text.Fold(answer) {
		return true
	}
	if text.Fold(answer) == "one" { // elsewhere mostly a pronoun
		answer = "1"
	}
	g, a := text.PhraseOf(gold), text.PhraseOf(answer)
	want, have := g.Contents(), a.Contents()
	if text.Share(want, have) < 0.8 || len(have) > 3*len(want)+2 {
		return false
	}
	return a.Compare(g) == text.Same
}

// Option is what the one option says that an answer names, so that options that say the same
// are one; false: it names none, or several.
func Option(options []dataset.Option, given string) (string, bool) {
	a, ok := answer(text.Single, options, given)
	if !ok {
		return "", false
	}
	return meant(options, a.labels)[0], true
}

// Compare compares an answer with the gold one. The error says why the gold
// answer cannot be compared with.
func Compare(kind string, options []dataset.Option, gold, given string) (verdict, quote string, err error) {
	g, ok := goldAnswer(kind, options, gold)
	if !ok {
		return "", "", fmt.Errorf("the gold answer %q cannot be read as an answer of type %s", gold, kind)
	}
	a, ok := answer(kind, options, given)
	if !ok {
		return NoAnswer, "", nil
	}
	var right bool
	switch {
	case g.labels != nil:
		right = slices.Equal(meant(options, g.labels), meant(options, a.labels))
	case g.truth != nil:
		right = *g.truth == *a.truth
	default:
		right = meansShort(gold, a.text)
	}
	if right {
		return Correct, a.quote, nil
	}
	return Incorrect, a.quote, nil
}

// goldAnswer reads the gold answer: the whole of it, not a candidate in it.
func goldAnswer(kind string, options []dataset.Option, gold string) (answered, bool) {
	switch kind {
	case text.Single, text.Multiple:
		l := chosen(options, gold)
		return answered{labels: l}, len(l) == 1 || kind == text.Multiple && len(l) > 1
	case text.Bool:
		v, ok := truth(options, gold)
		return answered{truth: &v}, ok
	}
	return answered{text: gold}, strings.TrimSpace(gold) != ""
}
