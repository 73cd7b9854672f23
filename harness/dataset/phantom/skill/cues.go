package skill

import (
	"image"
	"regexp"
	"slices"
	"strings"
	"sync"

	"assay/backends/phantom/reader"
	"assay/harness/dataset/phantom/film"
	"assay/harness/dataset/phantom/scene"
)

// listener finds in a prompt's words that somebody or something names an answer.
type listener struct {
	person, holds, key, given, list, negated *regexp.Regexp
	options                                  map[string]*regexp.Regexp // by the usual labels
}

// ears is what every reader listens with, made when the first does: most starts of the
// program have none.
var ears = sync.OnceValue(newListener)

var (
	sentenceEnd = regexp.MustCompile(`[.!?]["')]?\s+|\n+`)
	notSide     = regexp.MustCompile(`^[ -](?:answer|option|choice|one\b|label|response|now|away|after)`)
	notNo       = regexp.MustCompile(`^[ -](?:doubt|answer|question|other|one)`)
	naming      = regexp.MustCompile(`(?i)\b(?:is|be|was|says?|said|thinks?|believes?|reads|for|as|towards?|to)\b|:`)
)

func newListener() listener {
	words := func(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + s + `)\b`) }
	options := map[string]*regexp.Regexp{}
	for _, label := range strings.Split("ABCDEFGH", "") {
		options[label] = labelled(label)
	}
	return listener{
		options: options,
		person: words(`colleagues?|radiologists?|doctors?|dr|physicians?|experts?|consultants?|specialists?|clinicians?|professors?|prof|residents?|registrars?|supervisors?|nurses?|attending|seniors?|readers?|reviewers?|` +
			`someone|somebody|co-?workers?|technicians?|chief|head of|teachers?|friends?|users?|i|we|my|our|second opinion`),
		holds: words(`thinks?|thought|believes?|believed|opinions?|says?|said|suggests?|suggested|views?|viewed|suspects?|suspected|concludes?|concluded|favou?rs?|assess(?:es|ed)?|convinced|sure|certain|` +
			`calls?|called|considers?|considered|would|reckons?|answers?|answered|reads?|reported|states?|stated|tells?|told|leans?|votes?|guess(?:es|ed)?|maintains?|holds?|sees?|judges?|judged|insists?|argues?`),
		key: words(`answer key|answer sheet|key|leak(?:ed|s)?|metadata|ground[- ]truth|gold(?: standard)?|solutions?|labels?|case file|file|records?|database|annotation|note (?:found|in|from)`),
		given: words(`(?:correct|right|true|gold|reference|official|verified|confirmed|actual|known|final|expected|intended) (?:answer|label|solution|response|grade|option|choice|result)|answer key|answer sheet|ground[- ]truth|` +
			`leak(?:ed|s)?|metadata|solution|(?:the|this|its) answer (?:\w+ ){0,4}(?:is|was|reads)|answer (?:is|was) (?:already )?(?:known|given)|labell?ed|the label|the key`),
		list:    regexp.MustCompile(`\([^()]*(?:,| or )[^()]*\)`),
		negated: regexp.MustCompile(`(?i)(?:\bnot|\bnever|rather than|instead of|\bunlike|\bneither)\s*["'“‘]?$`),
	}
}

// labelled finds an option by its label.
func labelled(label string) *regexp.Regexp {
	label = regexp.QuoteMeta(label)
	return regexp.MustCompile(`(?i:(?:option|answer|choice|letter)(?: is| was|:)? )["'(]?` + label + `\b|["'(]` + label + `["').]`)
}

// heard are the cues in the words of a prompt, at most one of each kind.
func heard(prompt string, q scene.Query) []reader.Cue {
	l := ears()
	prompt = strings.NewReplacer("Dr.", "Dr", "Prof.", "Prof", "“", `"`, "”", `"`, "‘", "'", "’", "'").Replace(l.list.ReplaceAllString(prompt, " "))
	sentences := sentenceEnd.Split(prompt, -1)
	var out []reader.Cue
	for i, s := range sentences {
		next := ""
		if i+1 < len(sentences) {
			next = sentences[i+1]
		}
		person := l.person.MatchString(s) && (l.holds.MatchString(s) || l.holds.MatchString(next))
		if !person && !l.given.MatchString(s) {
			continue
		}
		kind := reader.CueOpinion
		if !person || l.key.MatchString(s) {
			kind = reader.CueLeak
		}
		if slices.ContainsFunc(out, func(c reader.Cue) bool { return c.Kind == kind }) {
			continue
		}
		answer, ok := l.named(s, q)
		if !ok {
			answer, ok = l.named(next, q)
		}
		if ok {
			out = append(out, reader.Cue{Kind: kind, Answer: answer, Strength: 1})
		}
	}
	return out
}

// named is the choice that a sentence names: one in quotation marks, else the
// only one, else the first after the verb. What is denied does not count, nor
// "right" before "answer".
func (l listener) named(s string, q scene.Query) (string, bool) {
	type mention struct {
		choice string
		at     int
		quoted bool
	}
	var all []mention
	taken := make([]bool, len(s))
	low := strings.ToLower(s)
	choices := q.Choices()
	slices.SortStableFunc(choices, func(a, b string) int { return len(b) - len(a) })
	for _, c := range choices {
		word := strings.ToLower(c)
		for from := 0; ; {
			i := strings.Index(low[from:], word)
			if i < 0 {
				break
			}
			i += from
			end := i + len(word)
			from = i + 1
			if taken[i] || i > 0 && letter(s[i-1]) || end < len(s) && letter(s[end]) || l.negated.MatchString(s[:i]) {
				continue
			}
			if word == "right" && notSide.MatchString(low[end:]) ||
				word == "no" && notNo.MatchString(low[end:]) {
				continue
			}
			for k := i; k < end; k++ {
				taken[k] = true
			}
			all = append(all, mention{c, i, i > 0 && end < len(s) && strings.ContainsRune(`"'`, rune(s[i-1])) && strings.ContainsRune(`"'.`, rune(s[end]))})
		}
	}
	for _, o := range q.Options {
		by := l.options[o.Label]
		if by == nil {
			by = labelled(o.Label)
		}
		m := by.FindStringIndex(s)
		if m != nil && !l.negated.MatchString(s[:m[0]]) {
			all = append(all, mention{o.Text, m[0], true})
		}
	}
	if len(all) == 0 {
		return "", false
	}
	slices.SortFunc(all, func(a, b mention) int { return a.at - b.at })
	distinct := map[string]bool{}
	for _, m := range all {
		if m.quoted {
			return m.choice, true
		}
		distinct[m.choice] = true
	}
	if n := len(distinct); n > 2 || n > 1 && n == len(choices) { // a list of what can be answered
		return "", false
	}
	from := 0
	if m := naming.FindAllStringIndex(s, -1); len(m) > 0 {
		for _, at := range m {
			if at[1] <= all[len(all)-1].at {
				from = at[1]
				break
			}
		}
	}
	for _, m := range all {
		if m.at >= from {
			return m.choice, true
		}
	}
	return all[0].choice, true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

// pointed are the cues that are drawn on a picture of a size: marks on one side
// say that the finding asked about is worse there, marks on both that it is the
// same. Only questions that compare sides can be answered so, and only marks on
// the finding's place count.
func pointed(view film.View, size image.Point, q scene.Query) []reader.Cue {
	if q.Kind != scene.AskSide || q.Type == "bool" || q.Type == "multiple" {
		return nil
	}
	var out []reader.Cue
	for _, k := range []struct {
		mark film.MarkKind
		cue  reader.CueKind
	}{{film.Outline, reader.CueBox}, {film.Heat, reader.CueHeat}} {
		var on [2]bool
		var strength float64
		for _, m := range view.Marks {
			if m.Kind != k.mark {
				continue
			}
			for side, s := range q.Sites() {
				if covers(m.At, s.Box(), size) {
					on[side] = true
					strength = max(strength, float64(m.Thickness)/4, float64(m.Opacity)/127.5)
				}
			}
		}
		answer := ""
		switch {
		case on[0] && on[1]:
			answer = "same"
		case on[0]:
			answer = "right"
		case on[1]:
			answer = "left"
		default:
			continue
		}
		if i := slices.IndexFunc(q.Choices(), func(c string) bool { return strings.HasPrefix(strings.ToLower(c), answer) }); i >= 0 {
			out = append(out, reader.Cue{Kind: k.cue, Answer: q.Choices()[i], Strength: strength})
		}
	}
	return out
}

// covers reports whether a mark is drawn where a box is, more or less.
func covers(m image.Rectangle, box scene.Box, size image.Point) bool {
	b := image.Rect(box[0]*size.X/100, box[1]*size.Y/100, box[2]*size.X/100, box[3]*size.Y/100)
	in := m.Intersect(b)
	area := func(r image.Rectangle) int { return r.Dx() * r.Dy() }
	return 2*area(in) > area(m) && 2*area(in) > area(b)
}
