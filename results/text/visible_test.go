package text

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"plain ä 漢 😀":           "plain ä 漢 😀",
		"a\tb\r\nc\u00a0d":      "a b  c d",
		"\u2066x\x00\x80\u009b": "[U+2066]x[U+0000][0x80][U+009B]",
		"\x1b[31mred":           "[U+001B][31mred",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got, want := VisibleLines("a\r\n\x1bb\n\rc\n"), "a\n[U+001B]b\n c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNothingInvisibleIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		v := VisibleLines(s)
		if strings.ContainsFunc(v, func(r rune) bool { return r != '\n' && r != ' ' && !unicode.IsPrint(r) }) {
			t.Fatalf("%q became %q", s, v)
		}
		if VisibleLines(v) != v || Visible(strings.ReplaceAll(s, "\n", "")) != Visible(Visible(strings.ReplaceAll(s, "\n", ""))) {
			t.Fatalf("%q became %q, which is not left as it is", s, v)
		}
	})
}
