//go:build !amd64

package draws

// counts says whether the processor counts bits by instructions of its own.
func counts() bool { return false }

func countFast(set []uint64, planes *[3][]uint64) int64 { return countEach(set, planes) }

func gatherFast([]uint8, *[3][]uint64) { panic("draws: internal error: no such instructions") }

// addFour adds rows to their sums in four replicates, each as often as it was drawn there.
func (l lanes) addFour(sums *[4]*[width]float64, drawn *[4][]uint8, numbers *[256]float64, _, _ bool) {
	for k, s := range sums {
		l.addEach(s, drawn[k], numbers)
	}
}
