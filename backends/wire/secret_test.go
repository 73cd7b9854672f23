package wire

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzHide: no text has the key left in it, spelled plainly or in JSON's escapes, and
// no text without it is changed.
func FuzzHide(f *testing.F) {
	const key = "sk-Zq7/w+93kLmN0pQr5tUv"
	keys := spellings(key)
	escaped := ""
	for _, c := range key {
		escaped += fmt.Sprintf(`\u%04X`, c)
	}
	for _, seed := range []string{"", "no key", key, "a" + key + key + "b", key[:20], key[:11], escaped, escaped[:90], key[:5] + escaped[30:], `\u00`, "sk-Zq7sk-Zq7/w+93kLmN0pQr5tUv", strings.ReplaceAll(key, "/", `\/`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := hide(s, keys)
		plain, _ := unescaped(s)
		had := false
		for _, k := range keys {
			had = had || strings.Contains(s, k[:leastSecret]) || strings.Contains(plain, k[:leastSecret])
		}
		if had == (got == s) {
			t.Fatalf("%q became %q", s, got)
		}
		after, _ := unescaped(got)
		if strings.Contains(got, key[:leastSecret]) || strings.Contains(after, key[:leastSecret]) {
			t.Fatalf("%q still has it: %q", s, got)
		}
	})
}
