package draws

import "golang.org/x/sys/cpu"

// addTwo adds rows to their sums in two replicates, each as often as it was drawn there.
func (l lanes) addTwo(sums, more *[width]float64, drawn, again []uint8, numbers *[256]float64) {
	if len(drawn) == 0 {
		return
	}
	if !cpu.X86.HasAVX2 {
		l.addEach(sums, drawn, numbers)
		l.addEach(more, again, numbers)
		return
	}
	_ = again[len(drawn)-1]
	sumTwoAVX2(sums, more, &l[:len(drawn)][0], &drawn[0], &again[0], len(drawn), numbers)
}

//go:noescape
func sumTwoAVX2(sums, more, rows *[width]float64, drawn, again *uint8, n int, numbers *[256]float64)
