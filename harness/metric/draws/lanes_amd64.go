package draws

import "golang.org/x/sys/cpu"

// add adds rows to their sums, each as often as it was drawn.
func (l lanes) add(sums *[width]float64, drawn []uint8, numbers *[256]float64) {
	if len(drawn) == 0 {
		return
	}
	if !cpu.X86.HasAVX2 {
		l.addEach(sums, drawn, numbers)
		return
	}
	sumAVX2(sums, &l[:len(drawn)][0], &drawn[0], len(drawn), numbers)
}

//go:noescape
func sumAVX2(sums, rows *[width]float64, drawn *uint8, n int, numbers *[256]float64)
