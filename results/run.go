package results

import (
	"fmt"
	"strings"
)

// Run is a run as its store tells of it.
type Run struct {
	Manifest Manifest
	Extents  []Extent  // how far it got; nil: not counted
	Versions []Version // of the judges, with what they judged; nil: not counted
}

// Planned is how many trials there are of how many that were planned; false: the
// store does not say what was.
func (r Run) Planned() (stored, of int, ok bool) {
	for _, e := range r.Extents {
		if e.Planned != nil {
			stored, of, ok = stored+min(e.Stored(), *e.Planned), of+*e.Planned, true
		}
	}
	return stored, of, ok
}

// Unfinished says how far a run got that is not at its end; "": it is, or the
// store does not say.
func (r Run) Unfinished() string {
	stored, of, ok := r.Planned()
	if !ok || stored == of {
		return ""
	}
	return fmt.Sprintf("%d of %d planned trials are stored", stored, of)
}

// Lacking names the studies and models that are not at their end.
func (r Run) Lacking() string {
	var parts []string
	for _, e := range r.Extents {
		if e.Planned != nil && e.Stored() < *e.Planned {
			parts = append(parts, fmt.Sprintf("%s, %s: %d of %d", e.Study, e.Model, e.Stored(), *e.Planned))
		}
	}
	return strings.Join(parts, "; ")
}

// Synthetic says whether the results are of no real model.
func (r Run) Synthetic() bool { return len(r.Manifest.Synthetic) > 0 }
