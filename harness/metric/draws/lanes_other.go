//go:build !amd64

package draws

// add adds rows to their sums, each as often as it was drawn.
func (l lanes) add(sums *[width]float64, drawn []uint8, numbers *[256]float64) {
	l.addEach(sums, drawn, numbers)
}
