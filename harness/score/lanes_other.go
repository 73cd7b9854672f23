//go:build !amd64

package score

// counts says whether the processor counts bits by instructions of its own.
func counts() bool { return false }

func countFast(*[4]uint64, []uint64, *[4]drawn) { panic("draws: internal error: no such instructions") }

func packFast(_, _ []uint8, _ []uint64) { panic("draws: internal error: no such instructions") }

func gatherFast([]uint8, *[3][]uint64) { panic("draws: internal error: no such instructions") }

// addFour adds rows to their sums in four replicates, each as often as it was drawn there.
func (l lanes) addFour(sums *[4]*[width]float64, drawn *[4][]uint8, numbers *[256]float64, _, _ bool) {
	for k, s := range sums {
		l.addEach(s, drawn[k], numbers)
	}
}
