package score

import "assay/results"

// Count says how many trials a score rests on and how many it leaves out.
type Count struct{ N, Undefined, Invalid int }

// Note counts one trial: exists says whether the quantity exists for it, ok
// whether it is known.
func (c *Count) Note(ok, exists bool) {
	switch {
	case !exists:
		c.Undefined++
	case ok:
		c.N++
	default:
		c.Invalid++
	}
}

// Plus adds another count.
func (c *Count) Plus(o Count) {
	c.N, c.Undefined, c.Invalid = c.N+o.N, c.Undefined+o.Undefined, c.Invalid+o.Invalid
}

// Of writes the count into an estimate; why is the reason should it turn out
// not to exist for lack of trials.
func (c Count) Of(e *results.Estimate, why string) *results.Estimate {
	e.N, e.Undefined, e.Invalid = c.N, c.Undefined, c.Invalid
	if c.N == 0 {
		e.Why = why
	}
	return e
}
