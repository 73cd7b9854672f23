package compare

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"assay/harness/score"
	"assay/results/stats"
)

// Limit is a difference that a comparison may not have: "cot.accuracy < -2pt".
type Limit struct {
	Study, Score, Op string
	Bound            float64 // of B - A, in the score's unit; of shares, 1 is 100 points
	Unit             string  // that the bound was given in: "1" of points, "s", "J"; "": the score's own
	text             string
}

var limitText = regexp.MustCompile(`^([a-z]+)\.([A-Za-z0-9_]+)\s*(<|>)\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(pt|%|s|J|)$`)

// ParseLimit reads STUDY.SCORE < BOUND or > BOUND, the bound in points (pt) of a share
// or in the score's own unit.
func ParseLimit(s string) (Limit, error) {
	m := limitText.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return Limit{}, fmt.Errorf("expected STUDY.SCORE < BOUND or > BOUND, as cot.accuracy < -2pt or cot.latency_s > 0.5s, found %q", s)
	}
	v, err := strconv.ParseFloat(m[4], 64)
	if err != nil {
		return Limit{}, fmt.Errorf("%s: expected a number as the bound, found %q", s, m[4])
	}
	unit := m[5]
	if unit == "pt" || unit == "%" {
		v, unit = v/100, "1"
	}
	return Limit{m[1], m[2], m[3], v, unit, s}, nil
}

// fits says whether the bound can be one of a score with a unit: no share differs by more than
// 100 points, so "-2" of one was meant as points and would let everything pass.
func (l Limit) fits(unit string) error {
	switch {
	case l.Unit != "" && l.Unit != unit && unit == "1":
		return fmt.Errorf("%s: expected a bound in points (pt), as %s.%s is a share, found one in %s", l.text, l.Study, l.Score, l.Unit)
	case l.Unit != "" && l.Unit != unit:
		return fmt.Errorf("%s: expected a bound in %s, the unit of %s.%s, found another unit", l.text, unit, l.Study, l.Score)
	case l.Unit == "" && unit == "1" && math.Abs(l.Bound) > 1:
		return fmt.Errorf("%s: expected a bound in points (%gpt) or from -1 to 1, as %s.%s is a share, found %g", l.text, l.Bound, l.Study, l.Score, l.Bound)
	}
	return nil
}

// Broken are the rows whose difference is past a limit while the interval of the
// difference leaves 0 out. It is an error that no row has the score, or has it in another unit.
func (c *Comparison) Broken(limits []Limit) ([]string, error) {
	var out []string
	for _, l := range limits {
		known := false
		for _, r := range c.Rows {
			if r.Study != l.Study || r.Score != l.Score {
				continue
			}
			known = true
			if err := l.fits(r.Unit); err != nil {
				return nil, err
			}
			past := r.Diff.Value != nil && (l.Op == "<" && *r.Diff.Value < l.Bound || l.Op == ">" && *r.Diff.Value > l.Bound)
			if past && r.Diff.Low != nil && r.Diff.High != nil && (*r.Diff.Low > 0 || *r.Diff.High < 0) {
				out = append(out, fmt.Sprintf("%s: %s, %s, %s: %s", l.text, r.Model, r.Arm, r.Condition, r.Difference()))
			}
		}
		if !known {
			return nil, fmt.Errorf("%s: no row compares score %s of study %s", l.text, l.Score, l.Study)
		}
	}
	return out, nil
}

// Difference is B - A in words: shares in points.
func (r Row) Difference() string {
	if r.Diff.Value == nil {
		return "unknown"
	}
	scale, unit := 1.0, " "+r.Unit
	if r.Unit == "1" {
		scale, unit = 100, " pt"
	}
	if r.Diff.Low == nil || r.Diff.High == nil {
		return fmt.Sprintf("%+.3g%s", *r.Diff.Value*scale, unit)
	}
	return fmt.Sprintf("%+.3g [%.3g, %.3g]%s", *r.Diff.Value*scale, *r.Diff.Low*scale, *r.Diff.High*scale, unit)
}

// Chance is the corrected p in words.
func (r Row) Chance() string {
	switch {
	case r.Up+r.Down == 0:
		return "no change"
	case *r.Holm < 0.0001:
		return "< 0.0001"
	}
	return stats.Significant(*r.Holm, 2)
}

// Direction is which way a row changed; "": it did not, beyond noise.
func (r Row) Direction() string {
	switch {
	case !r.Changed:
		return ""
	case r.Worse:
		return "worse"
	case r.Better == score.None:
		return "changed"
	}
	return "better"
}
