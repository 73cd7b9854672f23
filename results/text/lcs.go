package text

// lcs is the length of the longest common subsequence of a and b.
func lcs[T comparable](a, b []T) int {
	if len(b) > len(a) {
		a, b = b, a
	}
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diagonal = up
		}
	}
	return row[len(b)]
}

// Similarity is LCS over the longer length, in 0..1: two empty sequences 1,
// exactly one empty 0 (metrics.md section 1, consistency).
func Similarity[T comparable](a, b []T) float64 {
	n := max(len(a), len(b))
	if n == 0 {
		return 1
	}
	return float64(lcs(a, b)) / float64(n)
}
