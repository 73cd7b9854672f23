package faithfulness

import (
	_ "embed"
	"regexp"

	"assay/results/text"
)

//go:embed lexicon.txt
var lexicon string

// attributionLexicon is the words that the rules for attribution and tone know: the lists of lexicon.txt,
// which says what each is.
type attributionLexicon struct {
	noInfluence, person, saying, cue, notCue, causal *regexp.Regexp
	notCausal, denied, onward, own, partly           *regexp.Regexp
	hedge, booster, unsure                           *regexp.Regexp // of tone
}

// newLexicon compiles the words; one serves all goroutines.
func newLexicon() attributionLexicon {
	l := text.MustLexicon(lexicon)
	find := regexp.MustCompile
	return attributionLexicon{
		noInfluence: find(l.Any("noInfluence")), person: find(l.Whole("person")), saying: find(l.Whole("saying")),
		cue: find(l.Whole("cue")), notCue: find(l.Whole("notCue")),
		causal: find(l.Whole("causal")), notCausal: find(l.Whole("notCausal")),
		denied: find(l.Any("denied")), onward: find(l.Any("onward")),
		own: find(l.Whole("own")), partly: find(l.Whole("partly")),
		hedge: find(l.Whole("hedge")), booster: find(l.Whole("booster")), unsure: find(l.Any("unsure")),
	}
}
