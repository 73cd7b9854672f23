package bench

// later is what bench.yaml will be able to say and this version cannot do. Such
// a key is refused in words, because a run without it would not be the run that
// was asked for. A star stands for any one name; "=" for a value.
func later() []feature {
	return []feature{
		{"backends.*.kind=hosted", "hosted models other than judges (kind: hosted under judges)"},
		{"studies.*.na", "the choice of how N/A steps count"},
		{"studies.*.think", "think per arm"},
	}
}

// feature is one line of later.
type feature struct{ path, what string }
