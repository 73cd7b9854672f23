package score

// lanes are columns of any numbers that are added up together, by item. Those that
// are not needed are 0.
type lanes [][width]float64

const (
	width = 16
	// tile is how many items are added up at a time for several replicates: their rows
	// then stay in the processor's nearest memory.
	tile = 256
)

// addEach is add in plain Go. What was not drawn adds 0, which changes no sum and
// costs less than a branch.
func (l lanes) addEach(sums *[width]float64, drawn []uint8, numbers *[256]float64) {
	s := *sums
	for i, w := range drawn {
		t, r := numbers[w], &l[i]
		for k := range s {
			s[k] += t * r[k]
		}
	}
	*sums = s
}
