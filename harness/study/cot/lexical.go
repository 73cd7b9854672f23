package cot

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"assay/results/text"
)

// This file is the rules of the lexical judge. They are plain, blind to meaning
// and the same every time; docs/lexical-judge.md says what they miss.

// choice is one option of a question.
type choice struct{ label, text string }

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

// candidate is the stretch of an answer that holds the final answer: the last
// line that begins with "Final answer:"; else an <answer> tag or a JSON
// "answer"; else what follows the last "answer:" or "answer is"; else the last
// line.
func candidate(s string) string {
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
func answer(kind string, options []choice, s string) (answered, bool) {
	a := answered{quote: candidate(s)}
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
func chosen(options []choice, s string) []string {
	has := func(l string) bool {
		return slices.ContainsFunc(options, func(c choice) bool { return c.label == l })
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
		if named := named(options, rest); len(labels) == 1 && len(named) == 1 && named[0] != labels[0] {
			return nil
		}
		return labels
	}
	return named(options, s)
}

// named is the labels of the options whose words stand in s, without "not" or
// "no" in front. Longer options are looked for first, and their words count once.
func named(options []choice, s string) []string {
	in := " " + bare(s) + " "
	byLength := slices.Clone(options)
	slices.SortStableFunc(byLength, func(a, b choice) int { return len(b.text) - len(a.text) })
	var labels []string
	for _, o := range byLength {
		f := bare(o.text)
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
				labels = append(labels, o.label)
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
func truth(options []choice, s string) (value, ok bool) {
	if labels := chosen(options, s); len(labels) == 1 {
		for _, o := range options {
			if o.label == labels[0] {
				return truth(nil, o.text)
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

// verdictOf compares an answer with the gold one. The error says why the gold
// answer cannot be compared with.
func verdictOf(kind string, options []choice, gold, given string) (verdict, quote string, err error) {
	g, ok := goldAnswer(kind, options, gold)
	if !ok {
		return "", "", fmt.Errorf("the gold answer %q cannot be read as an answer of type %s", gold, kind)
	}
	a, ok := answer(kind, options, given)
	if !ok {
		return noAnswer, "", nil
	}
	var right bool
	switch {
	case g.labels != nil:
		right = slices.Equal(g.labels, a.labels)
	case g.truth != nil:
		right = *g.truth == *a.truth
	default:
		right = meansShort(gold, a.text)
	}
	if right {
		return correct, a.quote, nil
	}
	return incorrect, a.quote, nil
}

// goldAnswer reads the gold answer: the whole of it, not a candidate in it.
func goldAnswer(kind string, options []choice, gold string) (answered, bool) {
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

// reasoning is the sentences of an answer without the line of the final answer.
func reasoning(s string) []string {
	return slices.DeleteFunc(text.Sentences(s), finalAnswer.MatchString)
}

var labelled = regexp.MustCompile(`(?i)^(modality|examination(?: type)?|imaging|feature|image features?|features?|findings?|observations?|(?:key )?conclusions?|diagnosis|impression|interpretation|additional(?: analysis)?|analysis|other)\s*:\s*\S`)

// typeOf guesses the type of a step from its words alone.
func typeOf(s string) string {
	if m := labelled.FindStringSubmatch(s); m != nil {
		switch l := strings.ToLower(m[1]); {
		case strings.HasPrefix(l, "modality"), strings.HasPrefix(l, "exam"), l == "imaging":
			return modality
		case strings.Contains(l, "feature"), strings.HasPrefix(l, "finding"), strings.HasPrefix(l, "observation"):
			return feature
		case strings.Contains(l, "conclusion"), l == "diagnosis", l == "impression", l == "interpretation":
			return conclusion
		}
		return other
	}
	var cues []string
	for _, w := range text.Words(s) {
		cues = append(cues, cue(w))
	}
	has := func(typ string) bool { return slices.Contains(cues, typ) }
	lower := strings.ToLower(s)
	switch {
	case strings.HasPrefix(lower, "in general"), strings.HasPrefix(lower, "note that"), strings.HasPrefix(lower, "in addition"):
		return other
	case has(conclusion):
		return conclusion
	case has(other):
		return other
	case has(feature): // "the radiograph shows an opacity"
		return feature
	case has(modality):
		return modality
	}
	return other
}

// leadsIn says of a sentence that it speaks of the question or of what is to be
// done, and is no step.
func leadsIn(s string) bool {
	l := strings.ToLower(s)
	for _, b := range []string{"the question", "we are asked", "i am asked", "the task", "let's", "let us", "to answer", "we need to", "i need to", "i will"} {
		if strings.HasPrefix(l, b) {
			return true
		}
	}
	return strings.HasSuffix(l, "?")
}

// repeats says whether a sentence says nothing that the question does not.
func repeats(s string, p, question text.Phrase) bool {
	return leadsIn(s) || text.Share(p.Contents(), question.Contents()) >= 0.8
}

// judgeSteps splits an answer into steps and compares each with the gold steps:
// wrong when something it states is against a gold statement and like none, else
// matched when something it states is like a gold statement.
func judgeSteps(question, given string, gold [][]string) []step {
	q := text.PhraseOf(question)
	want := slices.Concat(statements(slices.Concat(gold...))...)
	out := []step{}
	for _, s := range reasoning(given) {
		verdict := judgedNA
		for _, p := range text.Statements(s) {
			switch closest([]text.Phrase{p}, want) {
			case text.Against:
				verdict = judgedWrong
			case text.Same:
				if verdict == judgedNA {
					verdict = judgedMatch
				}
			}
		}
		typ := typeOf(s)
		if verdict == judgedNA && repeats(s, text.PhraseOf(s), q) {
			typ = restatement
		}
		out = append(out, step{Text: s, Type: typ, Judgment: verdict})
	}
	return out
}

// statements takes sentences apart, one list for each.
func statements(sentences []string) [][]text.Phrase {
	var out [][]text.Phrase
	for _, s := range sentences {
		out = append(out, text.Statements(s))
	}
	return out
}

// closest is the best likeness between any of have and any of want.
func closest(have, want []text.Phrase) text.Likeness {
	best := text.Unrelated
	for _, h := range have {
		for _, w := range want {
			best = max(best, h.Compare(w))
		}
	}
	return best
}

// findSteps says, by gold path and step, whether all that the step states is
// stated somewhere in the answer.
func findSteps(given string, gold [][]string) [][]bool {
	have := slices.Concat(statements(reasoning(given))...)
	out := make([][]bool, len(gold))
	for i, p := range gold {
		for _, want := range statements(p) {
			missing := func(w text.Phrase) bool { return closest(have, []text.Phrase{w}) != text.Same }
			out[i] = append(out[i], len(want) > 0 && !slices.ContainsFunc(want, missing))
		}
	}
	return out
}

// orderOf ranks the step types of an answer by their first occurrence, from 1;
// 0: the type does not occur. The order of the array is that of kinds.
func orderOf(given string) [len(kinds)]int {
	var order [len(kinds)]int
	next := 1
	for _, s := range reasoning(given) {
		if leadsIn(s) {
			continue
		}
		at := slices.Index([]string{modality, feature, conclusion, other}, typeOf(s))
		if order[at] == 0 {
			order[at] = next
			next++
		}
	}
	return order
}
