package curate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assay/harness/dataset"
	"assay/results/text"
)

// LeakLevels are how plainly a text gives its answer away: L1 names it, L2 has all of its
// words in one sentence, in whatever order and form, L3 has half or more of the words
// that it alone among the options has.
func LeakLevels() []string { return []string{"L1", "L2", "L3"} }

// leak is what of an item's text gives its answer away.
type leak struct {
	Level string // "": nothing does
	Spans []span
}

// leaking are the items that leak at a level or a plainer one.
func leaking(items []dataset.Item, upTo string) (gone []removed) {
	for _, it := range items {
		leak := leakOf(it)
		if at := slices.Index(LeakLevels(), leak.Level); at < 0 || at > slices.Index(LeakLevels(), upTo) {
			continue
		}
		var says []string
		for _, s := range leak.Spans {
			if !slices.Contains(says, s.Says) {
				says = append(says, s.Says)
			}
		}
		gone = append(gone, removed{Item: it.ID, Level: leak.Level, Spans: leak.Spans,
			Why: map[string]string{"L1": "names the answer: ", "L2": "has all words of the answer: ", "L3": "has words of the answer alone: "}[leak.Level] + strings.Join(says, ", ")})
	}
	return gone
}

// leakOf looks for the answer in what every reader of an item is shown in words: the
// history of a case, else the question without its options. Items whose answer is no text
// of its own (True, a number, a grade that the question lists) do not leak: a text that
// names other options as well gives none away.
func leakOf(it dataset.Item) leak {
	where, shown := "question", stem(it.Question)
	if it.Case != nil {
		where, shown = "history", it.Case.History
	}
	gold, others := goldOf(it)
	words := content(gold)
	if len(words) == 0 {
		return leak{}
	}
	tokens := split(shown)
	if at := named(tokens, gold); len(at) > 0 {
		for _, o := range others {
			if len(named(tokens, o)) > 0 {
				return leak{}
			}
		}
		return leak{"L1", spansOf(where, shown, tokens, at)}
	}
	if len(words) > 1 {
		if at := together(tokens, words); at != nil {
			return leak{"L2", spansOf(where, shown, tokens, at)}
		}
	}
	var own []string
	for _, w := range words {
		if !slices.ContainsFunc(others, func(o string) bool {
			return slices.ContainsFunc(content(o), func(x string) bool { return alike(x, w) })
		}) {
			own = append(own, w)
		}
	}
	var at [][2]int
	hit := 0
	for _, w := range own {
		before := len(at)
		for i, t := range tokens {
			if alike(t.word, w) && !t.negated {
				at = append(at, [2]int{i, i + 1})
			}
		}
		if len(at) > before {
			hit++
		}
	}
	if len(own) > 0 && 2*hit >= len(own) {
		slices.SortFunc(at, func(a, b [2]int) int { return a[0] - b[0] })
		return leak{"L3", spansOf(where, shown, tokens, at)}
	}
	return leak{}
}

// stem is a question without the lines of its options.
func stem(question string) string {
	options, err := dataset.ParseOptions(question)
	if err != nil || len(options) == 0 {
		return question
	}
	if i := strings.Index(question, options[0].Text); i > 0 {
		if nl := strings.LastIndex(question[:i], "\n"); nl >= 0 {
			return question[:nl]
		}
	}
	return question
}

// goldOf is the text of the right option, and those of the others; without options the
// answer itself.
func goldOf(it dataset.Item) (gold string, others []string) {
	for _, o := range it.Options {
		if o.Label == it.Answer || o.Label == "" && o.Text == it.Answer {
			gold = o.Text
		} else {
			others = append(others, o.Text)
		}
	}
	if gold == "" && len(it.Options) == 0 {
		gold = it.Answer
	}
	return gold, others
}

// token is a word of a text.
type token struct {
	word     string // in lower case
	from, to int    // code points
	sentence int
	negated  bool // its clause denies what it says
}

func split(s string) []token {
	var out []token
	sentence, clause := 0, 0
	deny := func() { // what a negation of this clause reaches
		denied := slices.ContainsFunc(out[clause:], func(t token) bool { return slices.Contains(denials(), t.word) })
		for i := range out[clause:] {
			out[clause+i].negated = denied
		}
		clause = len(out)
	}
	runes := []rune(s)
	for i := 0; i < len(runes); {
		r := runes[i]
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			j := i
			for j < len(runes) && (unicode.IsLetter(runes[j]) || unicode.IsDigit(runes[j])) {
				j++
			}
			out = append(out, token{word: strings.ToLower(string(runes[i:j])), from: i, to: j, sentence: sentence})
			i = j
			continue
		}
		switch {
		case strings.ContainsRune(",;:", r):
			deny()
		case strings.ContainsRune("!?\n", r), r == '.' && (i+1 == len(runes) || unicode.IsSpace(runes[i+1])):
			deny()
			sentence++
		}
		i++
	}
	deny()
	return out
}

func denials() []string {
	return []string{"no", "not", "without", "denies", "denied", "excluded", "negative", "never", "absent", "unlikely"}
}

// content are the words of a text that say something, each once.
func content(s string) []string {
	var out []string
	for _, t := range split(s) {
		if len([]rune(t.word)) >= 4 && !slices.Contains(empty(), t.word) && !slices.Contains(out, t.word) {
			out = append(out, t.word)
		}
	}
	return out
}

// empty are words that say nothing of an answer.
func empty() []string {
	return []string{"with", "from", "this", "that", "these", "those", "than", "then", "into", "onto", "over", "under", "which", "what", "where", "when", "have", "been", "were", "will",
		"left", "right", "both", "none", "type", "acute", "chronic", "disease", "syndrome", "true", "false", "other", "above", "normal", "abnormal", "mild", "moderate", "severe"}
}

// alike says whether two words are forms or spellings of one.
func alike(a, b string) bool {
	if a == b || strings.TrimSuffix(a, "s") == strings.TrimSuffix(b, "s") {
		return true
	}
	n := min(len([]rune(a)), len([]rune(b)))
	return n >= 7 && text.Distance(a, b) <= n/7
}

// named are the places where a text has all words of an answer as they stand.
func named(tokens []token, answer string) (at [][2]int) {
	var want []string
	for _, t := range split(answer) {
		want = append(want, t.word)
	}
	for i := 0; i+len(want) <= len(tokens) && len(want) > 0; i++ {
		same := true
		for k, w := range want {
			same = same && tokens[i+k].word == w && tokens[i+k].sentence == tokens[i].sentence
		}
		if same && !tokens[i].negated {
			at = append(at, [2]int{i, i + len(want)})
		}
	}
	return at
}

// together is where one sentence has all words, without denying them; nil: none has.
func together(tokens []token, words []string) (at [][2]int) {
	for i := 0; i < len(tokens); {
		j := i
		for j < len(tokens) && tokens[j].sentence == tokens[i].sentence {
			j++
		}
		at = nil
		for _, w := range words {
			k := slices.IndexFunc(tokens[i:j], func(t token) bool { return alike(t.word, w) && !t.negated })
			if k < 0 {
				at = nil
				break
			}
			at = append(at, [2]int{i + k, i + k + 1})
		}
		if at != nil {
			slices.SortFunc(at, func(a, b [2]int) int { return a[0] - b[0] })
			return at
		}
		i = j
	}
	return nil
}

func spansOf(where, shown string, tokens []token, at [][2]int) []span {
	runes := []rune(shown)
	var out []span
	for _, p := range at {
		from, to := tokens[p[0]].from, tokens[p[1]-1].to
		out = append(out, span{Text: where, From: from, To: to, Says: string(runes[from:to])})
	}
	return out
}

// String is a span as a table has it.
func (s span) String() string { return fmt.Sprintf("%s[%d:%d] %s", s.Text, s.From, s.To, s.Says) }
