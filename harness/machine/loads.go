package machine

import (
	"cmp"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

// loads are the levels of a load sweep that a block ran, by arm and condition; none: it
// is none.
func loads(man results.Manifest, b *block, flights []results.Flight, group []*device) []results.Load {
	levels := man.LoadLevels(b.study)
	if len(levels) == 0 {
		return nil
	}
	type cell struct{ arm, condition string }
	by := map[cell][]results.LoadRequest{}
	for _, f := range flights {
		if f.Key.Study != b.study || f.Key.Model != b.model || levels[f.Key.Condition] == 0 {
			continue
		}
		c := cell{f.Key.Arm, f.Key.Condition}
		for i, w := range f.Turns {
			r := results.LoadRequest{From: w.From, To: w.To, Answered: f.Last && !f.Failed && f.Whole && i == len(f.Turns)-1}
			if r.Answered {
				r.Tokens = f.Tokens
			}
			by[c] = append(by[c], r)
		}
	}
	var out []results.Load
	for c, all := range by {
		var drawn func(from, to time.Duration) (float64, bool)
		var devices *int
		if far := slices.ContainsFunc(group, remote); len(group) > 0 && !far { // stretches are as short as its figures are old
			n := len(group)
			devices, drawn = &n, func(from, to time.Duration) (joules float64, known bool) {
				for _, d := range group {
					e, ok := d.meter.Window(timing.Window{From: from, To: to})
					if !ok {
						return 0, false
					}
					joules += float64(e.Gross) / 1000
				}
				return joules, true
			}
		}
		l := results.SplitLoad(all, levels[c.condition], drawn)
		l.Arm, l.Condition, l.Devices = c.arm, c.condition, devices
		out = append(out, l)
	}
	slices.SortFunc(out, func(x, y results.Load) int {
		return cmp.Or(cmp.Compare(x.Arm, y.Arm), cmp.Compare(x.InFlight, y.InFlight))
	})
	return out
}
