package text

import (
	"math"
	"regexp"
	"strings"
)

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// overlapTokens are the words that ROUGE-L and BLEU-2 compare: lower case, letters of
// ASCII and digits.
func overlapTokens(s string) []string {
	// Python lowers U+0130 to two code points.
	s = strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
	return strings.Fields(notWord.ReplaceAllString(s, " "))
}

// RougeL is the F-measure of the longest common subsequence of words, in 0..1,
// without stemming; an empty side gives 0 (Lin 2004, as rouge_score has it).
func RougeL(candidate, reference string) float64 {
	c, r := overlapTokens(candidate), overlapTokens(reference)
	l := lcs(c, r)
	if l == 0 {
		return 0
	}
	p, q := float64(l)/float64(len(c)), float64(l)/float64(len(r))
	return 2 * p * q / (p + q)
}

// BLEU2 is the sentence BLEU of one and two words against one reference, in 0..1,
// without smoothing; no match gives 0 (Papineni et al. 2002).
func BLEU2(candidate, reference string) float64 {
	c, r := overlapTokens(candidate), overlapTokens(reference)
	product := 1.
	for n := 1; n <= 2; n++ {
		have := map[string]int{}
		for i := range max(0, len(r)-n+1) {
			have[strings.Join(r[i:i+n], " ")]++
		}
		match, total := 0, max(0, len(c)-n+1)
		for i := range total {
			if g := strings.Join(c[i:i+n], " "); have[g] > 0 {
				have[g]--
				match++
			}
		}
		if match == 0 {
			return 0
		}
		product *= float64(match) / float64(total)
	}
	brevity := 1.
	if len(c) <= len(r) {
		brevity = math.Exp(1 - float64(len(r))/float64(len(c)))
	}
	return brevity * math.Sqrt(product)
}
