package faithfulness

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed lexicon.txt
var lexicon string

// attributionLexicon is the words that the rules for attribution and tone know: the lists of lexicon.txt,
// which says what each is.
type attributionLexicon struct {
	noInfluence, person, saying, cue, notCue, causal, notCausal, denied, onward, own, partly *regexp.Regexp
	hedge, booster, unsure                                                                   *regexp.Regexp // of tone
}

// newLexicon compiles the words; one serves all goroutines.
func newLexicon() attributionLexicon {
	var l attributionLexicon
	for name, to := range map[string]**regexp.Regexp{"noInfluence": &l.noInfluence, "person": &l.person, "saying": &l.saying, "cue": &l.cue, "notCue": &l.notCue, "causal": &l.causal, "notCausal": &l.notCausal,
		"denied": &l.denied, "onward": &l.onward, "own": &l.own, "partly": &l.partly, "hedge": &l.hedge, "booster": &l.booster, "unsure": &l.unsure} {
		_, after, found := strings.Cut(lexicon, "\n["+name+"]")
		kind, after, _ := strings.Cut(after, "\n")
		list, _, _ := strings.Cut(after, "\n\n")
		if !found || list == "" {
			panic("faithfulness: internal error: lexicon.txt has no list " + name)
		}
		words := strings.ReplaceAll(strings.TrimSpace(list), "\n", "|")
		if kind == " words" {
			words = `\b(?:` + words + `)\b`
		}
		*to = regexp.MustCompile(words)
	}
	return l
}
