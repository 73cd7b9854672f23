package text

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	bullet  = regexp.MustCompile(`^(?:[-*•–>#]+\s+|\(?\d{1,2}[.)]\s+|\(?[ivx]{1,4}[.)]\s+|(?i:step)\s+\d+\s*[:.)–-]+\s*)`)
	endMark = regexp.MustCompile(`[.!?]+["')\]]*(?:\s+|$)`)
)

// Sentences splits a text into sentences and list items, without their markers.
// Headings, which end in a colon, are left out, and so is what has no letter.
func Sentences(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(strings.NewReplacer("**", "", "__", "", "`", "").Replace(line))
		for {
			cut := strings.TrimSpace(bullet.ReplaceAllString(line, ""))
			if cut == line {
				break
			}
			line = cut
		}
		if strings.HasSuffix(line, ":") && len(strings.Fields(line)) <= 6 {
			continue
		}
		for _, one := range cutLine(line) {
			if strings.ContainsFunc(one, unicode.IsLetter) {
				out = append(out, one)
			}
		}
	}
	return out
}

// cutLine cuts a line at the ends of its sentences.
func cutLine(line string) []string {
	var out []string
	from := 0
	for _, m := range endMark.FindAllStringIndex(line, -1) {
		if m[1] < len(line) && !endsSentence(line[from:m[0]], line[m[1]:]) {
			continue
		}
		out = append(out, strings.TrimSpace(line[from:m[1]]))
		from = m[1]
	}
	return append(out, strings.TrimSpace(line[from:]))
}

// endsSentence says of a full stop between two texts that a sentence ends there.
func endsSentence(before, after string) bool {
	last := before[strings.LastIndexAny(before, " (")+1:]
	switch strings.ToLower(last) {
	case "e.g", "i.e", "vs", "dr", "fig", "approx", "cf", "resp", "ca", "al":
		return false
	}
	if len(last) == 1 && unicode.IsUpper(rune(last[0])) { // "option B. Left"
		return false
	}
	for _, r := range after {
		return !unicode.IsLower(r)
	}
	return true
}
