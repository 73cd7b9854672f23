//go:build !amd64

package draws

// addTwo adds rows to their sums in two replicates, each as often as it was drawn there.
func (l lanes) addTwo(sums, more *[width]float64, drawn, again []uint8, numbers *[256]float64) {
	l.addEach(sums, drawn, numbers)
	l.addEach(more, again, numbers)
}
