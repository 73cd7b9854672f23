package text

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

// TestEachWordIsKnown: each entry of lexicon.txt does in a sentence what its list is for.
func TestEachWordIsKnown(t *testing.T) {
	denied := func(s string) bool { _, denied := clauses(s); return len(denied) == 2 && denied[1] }
	left := func(s string) bool { return revises.MatchString(s) }
	parts := func(s string) bool { _, denied := clauses(s); return len(denied) == 2 && !denied[1] }
	sides := []Choice{{"A", "left"}, {"B", "right"}}
	isB := func(s string) bool { return slices.Equal(ReadAnswer(Single, sides, s).Chosen, []int{1}) }
	if isB("B xyz best here") || isB("The xyz B") {
		t.Error("B is read behind any word, or before any")
	}
	truthOf := func(w string, want bool) bool { v, ok := verdict(w); return ok && v == want }
	uses := map[string]func(word string) bool{
		"answer":       func(w string) bool { return says.MatchString("The " + w + " is B") },
		"answerWithin": func(w string) bool { return says.MatchString("所以" + w + ": B") },
		"is":           func(w string) bool { return says.MatchString("The answer " + w + " B") },
		"isBefore":     func(w string) bool { return says.MatchString("svar " + w + " B") },
		"isWithin":     func(w string) bool { return says.MatchString("答案" + w + "B") },
		"choose":       func(w string) bool { return chooses.MatchString("I " + w + " B") },
		"revise":       func(w string) bool { return left("A. No, " + w + " B") },
		"reconsider":   func(w string) bool { return left("A. Well, "+w+": B") && !left(w+" B") },
		"withdraw":     func(w string) bool { return withdrawn.MatchString("But " + w + ".") },
		"unable":       func(w string) bool { return refuses.MatchString("Sorry, " + w + " really answer") },
		"asked":        func(w string) bool { return refuses.MatchString("I cannot " + w + " this") },
		"unsure":       func(w string) bool { return refuses.MatchString("Well, " + w + " at all") },
		"vague":        func(w string) bool { return refuses.MatchString(" "+w+".") && !refuses.MatchString(w+" B") },
		"deny":         func(w string) bool { return denies("it is " + w + " an effusion") },
		"turn":         func(w string) bool { return parts("one " + w + " the other") },
		"turnAgainst":  func(w string) bool { return denied("one " + w + " the other") },
		"hedge":        func(w string) bool { return hedges("quite " + w) },
		"call":         calls,
		"callEnd":      func(w string) bool { return calls("我" + w) },
		"join":         joining,
		"afterOption":  func(w string) bool { return isB("B " + w + " best here") },
		"beforeOption": func(w string) bool { return isB("The " + w + " B") },
		"yes":          func(w string) bool { return truthOf(w, true) },
		"no":           func(w string) bool { return truthOf(w, false) },
	}
	if got, want := slices.Sorted(maps.Keys(lexicon)), slices.Sorted(maps.Keys(uses)); !slices.Equal(got, want) {
		t.Fatalf("lexicon.txt has the lists %v, want %v", got, want)
	}
	words := map[string]string{
		`answers?`: "answers", `options?`: "option", `choices?`: "choice", `r[ée]ponse`: "réponse", `svaret?`: "svaret",
		`odpowied[zź]`: "odpowiedź", `(?:would|should|must|will) be`: "should be", `[èéä]r?`: "är",
		`go(?:ing)? with`: "going with", `on second thoughts?`: "on second thought",
		`(?:that|this|it) (?:is|was) (?:wrong|incorrect|not (?:right|correct))`: "that was not right",
		`cannot be (?:right|correct|it)`:                                        "cannot be it",
		`can't be (?:right|correct|it)`:                                         "can't be right",
		`(?:i|we)(?: am| are|'m|'re)? (?:cannot|can't|can not|could not|couldn't|` +
			`unable to|not able to|won't|will not)`: "I'm not able to",
		`(?:unable|not possible|impossible) to`: "impossible to", `(?:cannot|can't|could not) be`: "could not be",
		`no (?:idea|comment)`: "no idea", `rules? out`: "rule out", `\pL+n't`: "isn't",
	}
	for name, entries := range lexicon {
		for _, entry := range entries {
			word := entry
			if regexp.QuoteMeta(entry) != entry {
				if word = words[entry]; !regexp.MustCompile(`(?i)^(?:` + entry + `)$`).MatchString(word) {
					t.Errorf("%s: %q is no wording of %s", name, word, entry)
				}
			}
			if !uses[name](word) {
				t.Errorf("%s: %q is not known", name, word)
			}
			for _, other := range entries {
				if other != entry && regexp.MustCompile(`(?i)^(?:`+other+`)$`).MatchString(word) {
					t.Errorf("%s: %s says what %s does", name, other, entry)
				}
			}
		}
	}
}

func TestMustLexicon(t *testing.T) {
	l := MustLexicon("# of a test\r\n\n[one]\na b?\n# more\n  c  \n\nd|e\n[two]\n(?:[f])\n")
	if one, two := l.Any("one"), l.Whole("two"); one != "(?:a b?|c|d|e)" || two != `\b(?:(?:[f]))\b` || len(l) != 2 {
		t.Errorf("%v is read as %s and %s", l, one, two)
	}
	for name, use := range map[string]func(){
		"an entry of no list":    func() { MustLexicon("a\n[one]\n") },
		"a list twice":           func() { MustLexicon("[one]\na\n[one]\n") },
		"an entry twice":         func() { MustLexicon("[one]\na\na\n") },
		"a list that is not":     func() { l.Any("three") },
		"a list without entries": func() { MustLexicon("[one]\n[two]\na\n").Any("one") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			use()
		}()
	}
}
