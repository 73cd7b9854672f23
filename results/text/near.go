package text

import "strings"

// nearest is the name that word was probably meant to be: at most one slip per
// three letters away, where a slip is a letter too many, too few, wrong or
// swapped with its neighbour. false: none is that near.
func nearest(word string, names []string) (string, bool) {
	best, found := 1+max(1, len([]rune(word))/3), ""
	for _, n := range names {
		if d := slips(strings.ToLower(word), strings.ToLower(n)); d < best {
			best, found = d, n
		}
	}
	return found, found != ""
}

// slips is the optimal string alignment distance.
func slips(s, t string) int {
	a, b := []rune(s), []rune(t)
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			wrong := 1
			if a[i] == b[j] {
				wrong = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+wrong)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// DidYouMean is "; did you mean X?" where one of names is near, or nothing.
func DidYouMean(word string, names []string) string {
	if n, ok := nearest(word, names); ok {
		return "; did you mean " + n + "?"
	}
	return ""
}
