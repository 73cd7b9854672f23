package wire

import (
	"strings"
	"testing"
)

// FuzzHide: no text has the key left in it, and none without it is changed.
func FuzzHide(f *testing.F) {
	const key = "sk-Zq7/w+93kLmN0pQr5tUv"
	keys := spellings(key)
	for _, seed := range []string{"", "no key", key, "a" + key + key + "b", key[:20], "sk-Zq7sk-Zq7/w+93kLmN0pQr5tUv", strings.ReplaceAll(key, "/", `\/`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		had := false
		for _, k := range keys {
			had = had || strings.Contains(s, k)
		}
		if got := hide(s, keys); had == (got == s) || strings.Contains(got, key) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
