package text

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file is the one reader of answers: what a text commits to, as a careful person
// would read it (docs/judges.md). It knows words (lexicon.txt), not meanings.

// Choice is an option of a question, as it is offered. Label may be "" or digits.
type Choice struct{ Label, Text string }

// Commitment is what an answer was read as. The zero value is one that could not be read:
// it commits to nothing, or to several things where one was asked for.
type Commitment struct {
	Chosen []int  // places of the options, ascending; of types single and multiple
	Truth  *bool  // of type bool
	Other  bool   // it commits to something that is no option: read, and wrong
	Quote  string // the stretch that was read, as it stands; of type short the answer
}

// IsRead says whether the answer could be read.
func (c Commitment) IsRead() bool {
	return len(c.Chosen) > 0 || c.Truth != nil || c.Other || c.Quote != ""
}

// ReadAnswer reads the answer of a question of some type (Single, Multiple, Bool, else Short) out
// of an output. What was thought (<think>) never counts. Of the places that mark an answer
// the strongest is read (Final); without any, the whole text.
func ReadAnswer(kind string, options []Choice, output string) Commitment {
	all := withoutEcho(options, Outside(output))
	if at := revises.FindAllStringIndex(all, -1); len(at) > 0 && kind != Short {
		behind := all[at[len(at)-1][1]:]
		switch c := ReadAnswer(kind, options, behind); {
		case kind != Bool && withdrawn.MatchString(behind): // unless another option follows
			if before := ReadAnswer(kind, options, all[:at[len(at)-1][0]]); slices.Equal(c.Chosen, before.Chosen) {
				return Commitment{}
			}
			return c
		case len(c.Chosen) > 0 || c.Truth != nil:
			return c
		}
	}
	stretch, sure := marked(all)
	if stretch != "" {
		if c := commits(kind, options, stretch, true); c.IsRead() || sure {
			return c
		}
	} else if sure {
		return Commitment{}
	}
	return commits(kind, options, all, false)
}

// revises: what stands behind it takes back what stands before.
var revises = regexp.MustCompile(`(?i)\b(?:` + lexicon.Any("revise") + `\b|` + lexicon.Any("reconsider") + `\s*[,.:;–—-])`)

// withdrawn: the answer before is taken back.
var withdrawn = regexp.MustCompile(`(?i)` + lexicon.Whole("withdraw"))

// final is the stretch of an answer that holds the final answer: one that is marked; else
// the first line where it is a few words and others follow; else the last line.
func final(s string) string {
	if m, sure := marked(s); m != "" || sure {
		return m
	}
	list := lines(s)
	switch n := len(list); {
	case n == 0:
		return ""
	case n > 1 && len(strings.Fields(list[0])) <= fewWords && !strings.HasSuffix(list[0], ":") && len(strings.Fields(list[n-1])) > fewWords:
		return list[0]
	default:
		return list[n-1]
	}
}

// Said is the final answer of an output, in one line; "": it has none.
func Said(output string) string { return strings.Join(strings.Fields(final(Outside(output))), " ") }

// fewWords is how long an answer may be that stands before its explanation.
const fewWords = 6

var (
	// The line that the cot prompt asks for; it goes before tags, which a model may
	// write about anything.
	finalLine = regexp.MustCompile(`(?im)(?:^|[.!?,;]\s)[\s*_#>]*(?:(?:my|the) )?final answer[\s*_]*(?:is\b|[:=：]|$)[\s*_:]*([^\r\n]*)`)
	finalTag  = regexp.MustCompile(`(?is)<(final|final_answer)>(.*?)</`)
	boxed     = regexp.MustCompile(`\\f?boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}`)
	// "The correct answer is", "answer:", "la respuesta correcta es", "答案是"
	says = regexp.MustCompile(`(?i)(?:\b` + lexicon.Any("answer") + `|` + lexicon.Any("answerWithin") + `)[\s*_"']*` +
		`(?:(?:to|for|of) (?:this|the|that) \pL+ )?(?:\pL{3,} )??` +
		`(?:` + lexicon.Any("is") + `\b|` + lexicon.Any("isBefore") + `\s|` + lexicon.Any("isWithin") +
		`|[:=：|]|[-–—]\s)[\s*_:：]*([^\r\n]*)`)
	chooses = regexp.MustCompile(`(?i)\b` + lexicon.Any("choose") + `\s+([^\r\n]*)`)
)

// marked is what an answer marks as its answer, and whether nothing else can be it: the
// last "final answer", an <answer> or <final> tag, a JSON "answer", \boxed{}; else what
// follows the last "answer is" or "I choose", in several languages.
func marked(s string) (stretch string, sure bool) {
	if all := finalLine.FindAllStringSubmatchIndex(s, -1); len(all) > 0 {
		m := all[len(all)-1]
		if a := orNextLine(s, m[2], m[3]); a != "" {
			return a, true
		}
	}
	if a, found := tagged(s); found {
		return a, true
	}
	if all := finalTag.FindAllStringSubmatch(s, -1); len(all) > 0 {
		return strings.TrimSpace(all[len(all)-1][2]), true
	}
	if a := inBoxes(s); a != "" {
		return a, true
	}
	at := -1
	for _, by := range []*regexp.Regexp{says, chooses} {
		for m := by.FindStringSubmatchIndex(s); m != nil; {
			if a := orNextLine(s, m[2], m[3]); a != "" && m[2] > at {
				at, stretch = m[2], a
			}
			next := by.FindStringSubmatchIndex(s[m[2]:]) // a line may say it twice
			if next == nil {
				break
			}
			for i := range next {
				next[i] += m[2]
			}
			m = next
		}
	}
	return stretch, false
}

// inBoxes is what the last \boxed{} holds, with those that stand right before it.
func inBoxes(s string) string {
	var in string
	end := 0
	for _, m := range boxed.FindAllStringSubmatchIndex(s, -1) {
		if a := strings.TrimSpace(s[m[2]:m[3]]); in != "" && a != "" && len(lines(s[end:m[0]])) == 0 {
			in += ", " + a
		} else if a != "" {
			in = a
		}
		end = m[1]
	}
	return in
}

// orNextLine is s[from:to], or where that is blank the next line with something in it.
func orNextLine(s string, from, to int) string {
	if a := strings.TrimSpace(s[from:to]); strings.ContainsFunc(a, wordRune) {
		return a
	}
	if next := lines(s[to:]); len(next) > 0 {
		return next[0]
	}
	return ""
}

// lines are those that hold a letter or a digit, trimmed.
func lines(s string) []string {
	var out []string
	for _, l := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if strings.ContainsFunc(l, wordRune) {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return out
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// withoutEcho is a text without lines that offer all options again, in their order: they
// are the question, not an answer.
func withoutEcho(options []Choice, s string) string {
	if len(options) < 2 || slices.ContainsFunc(options, func(o Choice) bool { return o.Label == "" || o.Text == "" }) {
		return s
	}
	list := lines(s)
	for at := 0; at+len(options) <= len(list); at++ {
		echo := true
		for i, o := range options {
			if words(list[at+i]) != words(o.Label+" "+o.Text) {
				echo = false
				break
			}
		}
		if echo {
			return withoutEcho(options, strings.Join(slices.Delete(list, at, at+len(options)), "\n\n"))
		}
	}
	return s
}

// refuses says that no answer is given.
var refuses = regexp.MustCompile(`(?i)\b` + lexicon.Any("unable") + ` (?:\pL+ )?` + lexicon.Any("asked") + `\b|` +
	lexicon.Whole("unsure") + `|^\W*` + lexicon.Any("vague") + `\W*$`)

// commits reads a stretch; known: it is marked as the answer.
func commits(kind string, options []Choice, s string, known bool) Commitment {
	out := Commitment{Quote: strings.TrimSpace(s)}
	if !strings.ContainsFunc(s, wordRune) {
		return Commitment{}
	}
	switch kind {
	case Single, Multiple:
		out.Chosen, out.Other = choose(kind, options, plainLines(s), known)
		if out.Chosen == nil && !out.Other {
			return Commitment{}
		}
	case Bool:
		v, ok := truth(options, plainLines(s), known)
		if !ok {
			return Commitment{}
		}
		out.Truth = &v
	default:
		if !known {
			out.Quote = final(s)
		}
		if p := strings.Join(plainLines(out.Quote), " "); refuses.MatchString(p) {
			return Commitment{}
		} else if strings.Contains(out.Quote, `\`) {
			out.Quote = p
		}
	}
	return out
}

var markup = regexp.MustCompile(`<[/|a-zA-Z][^<>\r\n]{0,30}>`) // "<b>", "<|end_of_box|>"

var latex = regexp.MustCompile(`\\[a-zA-Z]+\s*\{|\\[()\[\]]|[{}$]`)

// plainLines are the lines of a text without the marks of Markdown and LaTeX.
func plainLines(s string) []string {
	s = latex.ReplaceAllString(markup.ReplaceAllString(s, " "), "")
	s = strings.NewReplacer("`", "", "*", "", "#", "", "_", " ", ">", " ").Replace(s)
	var out []string
	for _, l := range lines(s) {
		if l = strings.TrimLeft(Normalise(l), "-•· "); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// choose finds the options that lines commit to, as places; nil: none, or several where one
// is asked for. other: to something that is no option.
func choose(kind string, options []Choice, list []string, known bool) (chosen []int, other bool) {
	one := func(places []int) []int {
		if kind == Single && len(saying(options, places)) != 1 {
			return nil
		}
		return places
	}
	list = lines(neither.ReplaceAllString(strings.Join(list, "\n"), "\n"))
	whole := strings.Join(list, " ")
	if m := allExcept.FindStringSubmatch(whole); m != nil && kind == Multiple {
		out, _ := choose(kind, options, m[1:], true)
		for i := range options {
			if len(out) > 0 && !slices.Contains(out, i) {
				chosen = append(chosen, i)
			}
		}
		return chosen, false
	}
	if everyOption.MatchString(whole) && kind == Multiple {
		if named := named(options, list); len(named) == 1 {
			return named, false
		}
		all := make([]int, len(options))
		for i := range options {
			all[i] = i
		}
		return all, false
	}
	var alone, led, kept []int // lines that are an answer; lines that begin with one, and of these what is not denied
	for _, l := range list {
		b := lead(options, l)
		switch {
		case b.clash && kind == Single:
			return nil, false
		case b.foreign && (len(list) == 1 || known):
			return nil, true
		case b.entire:
			alone = append(alone, b.places...)
		default:
			led = append(led, b.places...)
			if !b.denied {
				kept = append(kept, b.places...)
			}
		}
	}
	alone, led, kept = ascending(alone), ascending(led), ascending(kept)
	switch {
	case len(alone) > 0:
		return one(alone), false
	case len(led) > 1:
		return one(kept), false
	case len(led) == 1:
		return led, false
	}
	if places := mentioned(options, list, known); len(places) > 0 {
		return one(places), false
	}
	if places := named(options, list); len(places) > 0 {
		return one(places), false
	}
	if noOption.MatchString(whole) {
		return nil, true
	}
	return nil, known && kind == Single && len(strings.Fields(whole)) <= fewWords && !hedges(whole)
}

var (
	neither     = regexp.MustCompile(`(?i)\bneither\b[^:,;.\n]*\bnor\b[^:,;.\n]*:`) // what follows it is not denied
	allExcept   = regexp.MustCompile(`(?i)^\W*(?:all|everything)(?: (?:of )?(?:the above|these|them|(?:the )?options))? (?:except|but|apart from)\b(?: for)?(.*)`)
	everyOption = regexp.MustCompile(`(?i)\ball (?:of )?(?:the above|these|them|(?:the )?(?:\pL+ )?options)\b`)
	noOption    = regexp.MustCompile(`(?i)\b(?:none|neither) (?:of (?:the|these|those|them)\b|fits\b|applies\b)`)
)

// hedges says of a stretch without an option that it commits to nothing at all.
func hedges(s string) bool {
	return refuses.MatchString(s) || slices.ContainsFunc(Words(s), func(w string) bool {
		return negates(w) || lexicon.Has("hedge", w)
	})
}

// saying are the texts of options, each once: a question may offer one twice, and whoever
// says it names both.
func saying(options []Choice, places []int) []string {
	var out []string
	for _, i := range places {
		said := strings.ToLower(strings.TrimSpace(options[i].Text)) // signs tell some options apart
		if said == "" {
			said = "\x00" + options[i].Label
		}
		out = append(out, said)
	}
	return distinct(out)
}

func ascending(places []int) []int {
	slices.Sort(places)
	return slices.Compact(places)
}

// token is a run of letters and digits of a line.
type token struct {
	from, to int
	place    int  // of the option whose label it is; -1: none
	exact    bool // in the label's own case
}

// tokensOf parts a line into words; a point between digits parts none.
func tokensOf(options []Choice, l string) []token {
	var out []token
	end := func(to int) {
		if n := len(out); n > 0 && out[n-1].to < 0 {
			t := &out[n-1]
			t.to = to
			t.place, t.exact = labelled(options, l[t.from:to])
		}
	}
	for i, r := range l {
		if n := len(out); n > 0 && out[n-1].to < 0 && wordRune(r) && unspaced(r) != unspaced(last(l[:i])) { // "选B", "B입니다"
			end(i)
		}
		inside := wordRune(r) || r == '\'' && i > 0 && i+1 < len(l) || r == '_' ||
			(r == '.' || r == ',') && i > 0 && i+1 < len(l) && digit(l[i-1]) && digit(l[i+1])
		if !inside {
			end(i)
		} else if n := len(out); wordRune(r) && (n == 0 || out[n-1].to >= 0) {
			out = append(out, token{from: i, to: -1})
		}
	}
	end(len(l))
	return out
}

// unspaced says of a letter that it is of a script whose words run into letters of others.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func last(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func labelled(options []Choice, w string) (int, bool) {
	at := slices.IndexFunc(options, func(o Choice) bool { return o.Label == w })
	if at >= 0 {
		return at, true
	}
	return slices.IndexFunc(options, func(o Choice) bool { return o.Label != "" && strings.EqualFold(o.Label, w) }), false
}

// beginning is what a line begins with.
type beginning struct {
	places  []int // of the options that it begins with, by label or text
	entire  bool  // the line is nothing else
	denied  bool  // what follows is said not to be so
	clash   bool  // the words behind the label are those of another option
	foreign bool  // it is a label that no option has
}

// lead reads what a line begins with: a label alone, with its option's text, before a point,
// comma, colon or bracket, or a list of them.
func lead(options []Choice, l string) beginning {
	places := packed(options, l)
	if i := slices.IndexFunc(options, func(o Choice) bool { return Fold(o.Text) != "" && Fold(o.Text) == Fold(strings.Trim(l, `"' `)) }); i >= 0 {
		if j, exact := labelled(options, strings.Trim(l, `"' .`)); exact && j != i { // one's text is another's label
			return beginning{clash: true}
		}
		places = []int{i}
	}
	if places != nil {
		return beginning{places: places, entire: true}
	}
	tokens := tokensOf(options, l)
	if len(tokens) > 1 && calls(strings.ToLower(l[tokens[0].from:tokens[0].to])) {
		tokens = tokens[1:]
	}
	if len(tokens) == 0 {
		return beginning{}
	}
	first := tokens[0]
	if first.place < 0 {
		w := l[first.from:first.to]
		return beginning{foreign: foreignLabel(options, w) && (len(tokens) == 1 || strings.ToUpper(w) == w && ends(l[first.to:]))}
	}
	at, last := 0, 0 // tokens read; where the last label ends
	own := false     // the last label has its option's text behind it
reading:
	for at < len(tokens) {
		t := tokens[at]
		gap := l[last:t.from]
		switch w := strings.ToLower(l[t.from:t.to]); {
		case at > 0 && strings.ContainsAny(strings.TrimRight(gap, "("), ".:") && !own:
		case t.place >= 0 && (t.exact || at == 0 || strings.ContainsAny(gap, "(,;/&+")):
			if len(places) > 0 && !ends(l[t.to:]) && !ownText(options[t.place], l, tokens[at:]) && at+1 < len(tokens) && !joins(l, tokens[at+1]) && tokens[at+1].place < 0 {
				break reading // an article, in the sentence that follows
			}
			places, last, at = append(places, t.place), t.to, at+1
			if own = ownText(options[t.place], l, tokens[at-1:]); own {
				at += len(strings.Fields(words(options[t.place].Text)))
				last = tokens[at-1].to
			}
			continue
		case joining(w) && at+1 < len(tokens) && tokens[at+1].place >= 0:
			at++
			continue
		}
		break reading
	}
	b := beginning{places: ascending(places), entire: at == len(tokens)}
	if b.entire || len(b.places) > 1 {
		return b
	}
	rest := l[first.to:]
	if !own && !ends(rest) {
		return beginning{}
	}
	said := words(rest) + " "
	b.clash = !own && slices.ContainsFunc(options, func(o Choice) bool {
		return said == strings.ToLower(o.Label)+" " || words(o.Text) != "" && strings.HasPrefix(said, words(o.Text)+" ") && len(saying([]Choice{options[first.place], o}, []int{0, 1})) == 2
	})
	b.denied = denies(strings.ToLower(l[last:]))
	return b
}

// ends says of what follows a label that the label stands by itself before it.
func ends(rest string) bool {
	rest = strings.TrimLeft(rest, `]"'`)
	for _, mark := range []string{".", ":", ",", ";", ")", "。", "，", "、", " (", " -", " –", " —", " ="} {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || unspaced(r)
}

// calls says of a word that it stands before a label that means an option.
func calls(w string) bool {
	return lexicon.Has("call", w) ||
		slices.ContainsFunc(lexicon.list("callEnd"), func(end string) bool { return strings.HasSuffix(w, end) })
}

// ownText says whether the words behind a label, tokens[0], begin with its option's text.
func ownText(o Choice, l string, tokens []token) bool {
	own := words(o.Text)
	n := len(strings.Fields(own))
	return n > 0 && len(tokens) > n && words(l[tokens[0].to:tokens[n].to]) == own
}

func joins(l string, t token) bool { return joining(strings.ToLower(l[t.from:t.to])) }

// joining says of a word that it joins what it stands between.
func joining(w string) bool {
	return lexicon.Has("join", w)
}

// packed are labels of one character without anything between: "AC".
func packed(options []Choice, l string) []int {
	s := strings.Trim(l, ` ("'[)].`)
	if len(s) < 2 || strings.ToUpper(s) != s {
		return nil
	}
	var places []int
	for _, r := range s {
		i, ok := labelled(options, string(r))
		if !ok || slices.Contains(places, i) || unicode.IsDigit(r) {
			return nil
		}
		places = append(places, i)
	}
	return ascending(places)
}

// foreignLabel says of a word that it is of the kind of the options' labels and none of them.
func foreignLabel(options []Choice, w string) bool {
	if len(options) == 0 || options[0].Label == "" || len(w) != 1 {
		return false
	}
	a, b := rune(options[0].Label[0]), rune(w[0])
	return len(options[0].Label) == 1 && (unicode.IsDigit(a) && unicode.IsDigit(b) || unicode.IsLetter(a) && unicode.IsLetter(b))
}

// clauseEnd parts what is denied from what is not.
var clauseEnd = regexp.MustCompile(`[,;!?。，；]|\.(?:\s|$)|\b(?i:` + lexicon.Any("turn") + `|` +
	lexicon.Any("turnAgainst") + `)\b`)

// clauses are the parts of a line, and whether each is denied.
func clauses(l string) (parts []string, denied []bool) {
	at, not := 0, false
	add := func(to int) {
		parts, denied = append(parts, l[at:to]), append(denied, not || denies(strings.ToLower(l[at:to])))
	}
	for _, m := range clauseEnd.FindAllStringIndex(l, -1) {
		add(m[0])
		at, not = m[1], lexicon.Has("turnAgainst", strings.ToLower(l[m[0]:m[1]]))
	}
	add(len(l))
	return parts, denied
}

var denial = regexp.MustCompile(lexicon.Whole("deny"))

func denies(lower string) bool { return denial.MatchString(lower) }

// mentioned are the options whose labels prose puts forward and does not deny.
func mentioned(options []Choice, list []string, known bool) []int {
	var out []int
	for _, l := range list {
		parts, denied := clauses(l)
		for i, p := range parts {
			if denied[i] {
				continue
			}
			tokens := tokensOf(options, p)
			for k, t := range tokens {
				if t.place < 0 {
					continue
				}
				var before, after string
				if k > 0 {
					before = strings.ToLower(p[tokens[k-1].from:tokens[k-1].to])
				}
				if k+1 < len(tokens) {
					after = strings.ToLower(p[tokens[k+1].from:tokens[k+1].to])
				}
				if putForward(options, p, t, before, after, known) {
					out = append(out, t.place)
					if k > 1 && joining(before) && tokens[k-2].exact { // "A or C"
						out = append(out, tokens[k-2].place)
					}
				}
			}
		}
	}
	return ascending(out)
}

// putForward says of a label in a clause that it stands for its option: it is in brackets or
// quotes, is called an option, or stands where a name would.
func putForward(options []Choice, p string, t token, before, after string, known bool) bool {
	rest := p[t.to:]
	if t.from > 0 && strings.ContainsRune(`("[`, rune(p[t.from-1])) && rest != "" && strings.ContainsRune(`)"]`, rune(rest[0])) {
		return true
	}
	if !t.exact || strings.HasPrefix(rest, "-") || t.from > 0 && p[t.from-1] == '-' {
		return false
	}
	if calls(before) || strings.HasSuffix(strings.TrimSpace(p[:t.from]), "→") {
		return true
	}
	switch {
	case before == "over": // "B over A"
		return false
	case joining(after) || lexicon.Has("afterOption", after):
		if before == "" || joining(before) || before == "either" || before == "think" || before == "both" {
			return true
		}
	case after == "":
		if known || before == "" || lexicon.Has("beforeOption", before) {
			return true
		}
	}
	own := words(options[t.place].Text)
	return own != "" && strings.HasPrefix(words(rest)+" ", own+" ")
}

// named are the options whose words stand in lines and are not denied. Longer options are
// looked for first, and their words count once.
func named(options []Choice, list []string) []int {
	order := make([]int, len(options))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(options[b].Text) - len(options[a].Text) })
	var out []int
	for _, l := range list {
		in := " " + strings.Join(Words(l), " ") + " "
		for _, i := range order {
			f := words(options[i].Text)
			if f == "" {
				continue
			}
			for {
				at := strings.Index(in, " "+f+" ")
				if at < 0 {
					break
				}
				in = in[:at] + " \x00" + string(rune('0'+i)) + " " + in[at+len(f)+2:]
			}
		}
		parts, denied := clauses(strings.ReplaceAll(in, "|", ","))
		for k, p := range parts {
			for i := range options {
				if !denied[k] && strings.Contains(p, "\x00"+string(rune('0'+i))+" ") {
					out = append(out, i)
				}
			}
		}
	}
	return ascending(out)
}

// words are the words of a text with a space between them.
func words(s string) string {
	return strings.Join(slices.DeleteFunc(Words(s), func(w string) bool { return w == "|" }), " ")
}

// truth reads a true-or-false answer; false: it says neither, or both.
func truth(options []Choice, list []string, known bool) (value, ok bool) {
	if places, _ := choose(Single, lettered(options), list, false); len(places) > 0 {
		return verdict(strings.ToLower(lettered(options)[places[0]].Text))
	}
	if len(list) == 0 {
		return false, false
	}
	whole := strings.Join(list, " ")
	if bothWays.MatchString(whole) {
		return false, false
	}
	last := list[len(list)-1]
	parts := strings.FieldsFunc(last, func(r rune) bool { return strings.ContainsRune(":,;", r) })
	if v, ok := verdict(words(parts[len(parts)-1])); ok { // "..., so: no"
		return v, true
	}
	said := strings.Fields(words(last))
	if len(said) == 1 && len(list) == 1 && (said[0] == "y" || said[0] == "n") {
		return said[0] == "y", true
	}
	if n := len(said); n > 1 && (said[n-1] == "yes" || said[n-1] == "no") { // "I would say no"
		return verdict(said[n-1])
	}
	if refusal := refuses.FindStringIndex(whole); refusal != nil && len(Words(whole[:refusal[0]])) <= 2 {
		return false, false
	}
	if v, ok := begun(list[0]); ok {
		return v, true
	}
	if v, ok := begun(last); ok {
		return v, true
	}
	var yes, no bool
	for i, w := range said {
		v, ok := verdict(w)
		if !ok || i > 0 && slices.Contains([]string{"yes", "no"}, w) && !known { // "there is no effusion" answers nothing
			continue
		}
		if i > 0 && (said[i-1] == "not" || said[i-1] == "never") {
			v = !v
		}
		yes, no = yes || v, no || !v
	}
	return yes, yes != no
}

var bothWays = regexp.MustCompile(`(?i)\b(?:yes|true) ?(?:and|or|/) ?(?:no|false)\b|\b(?:no|false) ?(?:and|or|/) ?(?:yes|true)\b`)

// lettered are options that have labels of their own beside their texts.
func lettered(options []Choice) []Choice {
	if slices.ContainsFunc(options, func(o Choice) bool { _, ok := verdict(strings.ToLower(o.Label)); return ok || o.Label == "" }) {
		return nil
	}
	return options
}

// begun reads a line that begins with its verdict, which what follows does not unsay.
func begun(l string) (value, ok bool) {
	said := strings.Fields(words(l))
	if len(said) > 1 && said[0] == "not" {
		v, ok := verdict(said[1])
		return !v, ok
	}
	if len(said) == 0 {
		return false, false
	}
	return verdict(said[0])
}

// verdict is what a word says.
func verdict(w string) (value, ok bool) {
	value = lexicon.Has("yes", w)
	return value, value || lexicon.Has("no", w)
}

var (
	thousands = regexp.MustCompile(`\b(\d{1,3}),(\d{3})\b`)
	decimals  = regexp.MustCompile(`\b(\d+)[.,](\d+)`)
	beforeOne = regexp.MustCompile(`(\d)(\pL)`)
)

// figures are the numbers of a text in one form: "1,200 mL" and "1200 ml", "3.0cm" and "3 cm".
func figures(s string) string {
	for was := ""; was != s; {
		was, s = s, thousands.ReplaceAllString(s, "$1$2")
	}
	s = decimals.ReplaceAllStringFunc(s, func(n string) string {
		return strings.TrimSuffix(strings.TrimRight(strings.Replace(n, ",", ".", 1), "0"), ".")
	})
	return beforeOne.ReplaceAllString(s, "$1 $2")
}

// Means says whether a short answer says what the gold answer says: at least four fifths of
// its content words, nothing against it, and not buried in a list of other things.
func Means(gold, answer string) bool {
	if Fold(gold) == Fold(answer) {
		return true
	}
	if Fold(answer) == "one" { // elsewhere mostly a pronoun
		answer = "1"
	}
	if or := []string{"or"}; Share(or, Words(answer)) > Share(or, Words(gold)) {
		return false
	}
	g, a := PhraseOf(figures(gold)), PhraseOf(figures(answer))
	want, have := g.Contents(), a.Contents()
	if Share(want, have) < 0.8 || len(have) > 3*len(want)+2 {
		return false
	}
	return a.Compare(g) == Same
}
