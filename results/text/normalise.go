// Package text compares what models and judges wrote.
//
//  1. Normalise and Fold bring two spellings of the same text together.
//  2. Distance, Substring and Occurs compare strings by edits.
//  3. LCS and Similarity compare sequences of steps or tokens.
//  4. Reasoning and Outside take an output apart, the same way
//     whether or not the server split the reasoning off.
//  5. ReadAnswer says what an output commits to: the one reader of answers.
//
// Lengths and positions count code points, not bytes.
package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normalise is the normal form in which quotes are compared (metrics.md section
// 2.4): NFKC; U+2018-201B to ' and U+201C-201F to "; U+200B-200D, U+2060 and
// U+FEFF dropped; runs of white space to one space; trimmed. Case is kept.
func Normalise(s string) string {
	return normalise(s, func(r rune) (rune, bool) {
		switch {
		case r >= 0x200B && r <= 0x200D, r == 0x2060, r == 0xFEFF:
			return r, false
		case r >= 0x2018 && r <= 0x201B:
			return '\'', true
		case r >= 0x201C && r <= 0x201F:
			return '"', true
		}
		return r, true
	}, func(r rune) bool {
		// The White_Space property: U+001C to U+001F are not in it.
		return unicode.Is(unicode.White_Space, r)
	})
}

// normalise maps runes or drops them (false), and makes runs of white space one space.
func normalise(s string, of func(rune) (rune, bool), space func(rune) bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range norm.NFKC.String(s) {
		r, kept := of(r)
		if !kept {
			continue
		}
		if space(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// plain says of many texts that they are in their normal form: printable ASCII, with
// single spaces within.
func plain(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return s == "" || before != ' '
}

// Fold is the form in which answers are compared (metrics.md section 2.3):
// Normalise, lower case, without one trailing dot.
func Fold(s string) string {
	s = strings.ToLower(Normalise(s))
	return strings.TrimSpace(strings.TrimSuffix(s, "."))
}
