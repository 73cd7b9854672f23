package config

import "strings"

// later says what of bench.yaml this version cannot do yet, by a key's path or by path and
// value with "=" between. Such a key is refused in words, because a run without it would
// not be the run that was asked for.
func later(path string) (what string, ok bool) {
	for _, f := range coming() {
		if matches(f[0], path) {
			return f[1], true
		}
	}
	return "", false
}

// coming are patterns, and what they are. A star stands for any one name.
func coming() [][2]string {
	return [][2]string{
		{"backends.*.kind=hosted", "hosted models other than judges (kind: hosted under judges)"},
		{"studies.*.na", "the choice of how N/A steps count"},
		{"studies.*.think", "think per arm"},
	}
}

func matches(pattern, path string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == path
	}
	// A name may hold dots, so the star takes whatever stands between.
	return len(path) > len(before)+len(after) && strings.HasPrefix(path, before) && strings.HasSuffix(path, after)
}
