package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible replaces what does not show, or changes how other text shows, by its
// code point in brackets: control and direction characters, bytes that are not
// UTF-8. Line ends and tabs become spaces.
func Visible(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || r != ' ' && !unicode.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "[0x%02X]", s[i])
		case r == '\n' || r == '\r' || r == '\t' || unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
		i += n
	}
	return b.String()
}

// VisibleLines is Visible for text of several lines, which stay lines.
func VisibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Visible(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}
