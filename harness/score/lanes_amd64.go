package score

import "golang.org/x/sys/cpu"

// counts says whether bits are counted, and four replicates added up, by instructions of
// the processor's.
func counts() bool {
	return cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasAVX512VPOPCNTDQ
}

// gatherFast is gather but for what was drawn more often, where counts says so.
func gatherFast(times []uint8, planes *[3][]uint64) {
	if n := len(planes[0]); n > 0 {
		_, _, _ = planes[1][n-1], planes[2][n-1], times[64*n-1]
		gatherAVX512(&times[0], &planes[0][0], &planes[1][0], &planes[2][0], n)
	}
}

// countFast is countEach of whole blocks in four replicates, where counts says so.
func countFast(counts *[4]uint64, set []uint64, drawn *[4]drawn) {
	var planes [4]*uint64
	for i := range drawn {
		planes[i] = &drawn[i].bits[:3*len(set)][0]
	}
	countAVX512(counts, &set[0], &planes, len(set))
}

// packFast writes how often each item that is kept was drawn, one behind the other, where
// counts says so; to has as many as keep has bits.
func packFast(to, times []uint8, keep []uint64) {
	if n := len(keep); n > 0 {
		_, _ = to[64*n-1], times[64*n-1]
		packAVX512(&to[0], &times[0], &keep[0], n)
	}
}

// addFour adds rows to their sums in four replicates, each as often as it was drawn there;
// half: only their first eight columns are needed.
func (l lanes) addFour(sums *[4]*[width]float64, drawn *[4][]uint8, numbers *[256]float64, half, fast bool) {
	if fast && len(l) > 0 {
		var first [4]*uint8
		for k := range first {
			first[k] = &drawn[k][:len(l)][0]
		}
		if half {
			sumHalfAVX512(sums, &first, &l[0], len(l), numbers)
		} else {
			sumFourAVX512(sums, &first, &l[0], len(l), numbers)
		}
		return
	}
	l.addTwo(sums[0], sums[1], drawn[0], drawn[1], numbers)
	l.addTwo(sums[2], sums[3], drawn[2], drawn[3], numbers)
}

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

//go:noescape
func sumFourAVX512(sums *[4]*[width]float64, drawn *[4]*uint8, rows *[width]float64, n int, numbers *[256]float64)

//go:noescape
func sumHalfAVX512(sums *[4]*[width]float64, drawn *[4]*uint8, rows *[width]float64, n int, numbers *[256]float64)

//go:noescape
func packAVX512(to, times *uint8, keep *uint64, words int)

//go:noescape
func gatherAVX512(times *uint8, low, mid, high *uint64, words int)

//go:noescape
func countAVX512(counts *[4]uint64, set *uint64, planes *[4]*uint64, words int)
