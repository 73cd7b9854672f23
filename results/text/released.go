package text

import (
	"regexp"
	"strings"
)

// This file is what the released code of the faithfulness paper does (metrics.md, marked
// (R)): rules: released.

var (
	releasedTag      = regexp.MustCompile(`(?is)<answer>(.*?)</answer>`)
	releasedAnswer   = regexp.MustCompile(`(?i)"answer"\s*:\s*"([^"]*)"`)
	releasedSeverity = regexp.MustCompile(`(?i)"severity"\s*:\s*"([^"]*)"`)
)

// ExtractReleased is the first <answer>, wherever it stands; else the first JSON key
// "answer"; else "severity"; else the whole text. It is trimmed, its line ends are
// spaces; "": there is none.
func ExtractReleased(answer string) string {
	for _, at := range []*regexp.Regexp{releasedTag, releasedAnswer, releasedSeverity} {
		if m := at.FindStringSubmatch(answer); m != nil {
			answer = m[1]
			break
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(answer, "\n", " "))
}

// OccursReleased looks for a quote as it is; else in windows of its length, an eighth
// of it apart, within 2 % of its code points in edits and never less than one. An empty
// quote occurs.
func OccursReleased(quote, text string) bool {
	q, s := Normalise(quote), Normalise(text)
	if strings.Contains(s, q) {
		return true
	}
	pattern, runes := []rune(q), []rune(s)
	n := len(pattern)
	most := max(1, n/50)
	for at := 0; at+n <= len(runes); at += max(1, n/8) {
		if Distance(q, string(runes[at:at+n])) <= most {
			return true
		}
	}
	return false
}
