package text

import (
	"regexp"
	"strings"
	"unicode"
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
	q, s := normaliseReleased(quote), normaliseReleased(text)
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

// normaliseReleased is the form in which that code compares quotes: NFKC; U+2018, U+2019
// to ' and U+201C, U+201D to ", en and em dash to -; U+200B dropped; runs of what Python
// takes for white space to one space; trimmed.
func normaliseReleased(s string) string {
	return normalise(s, func(r rune) (rune, bool) {
		switch r {
		case 0x200B:
			return r, false
		case 0x2018, 0x2019:
			return '\'', true
		case 0x201C, 0x201D:
			return '"', true
		case 0x2013, 0x2014:
			return '-', true
		}
		return r, true
	}, func(r rune) bool { return unicode.Is(unicode.White_Space, r) || r >= 0x1C && r <= 0x1F })
}
