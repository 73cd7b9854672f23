package results

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"

	"assay/results/stats"
)

// loadLevel is what a store keeps of a condition of a load sweep.
type loadLevel struct {
	InFlight int `json:"in_flight"`
}

// DescribeLoads is what a store keeps of a load sweep: the levels by the names of their
// conditions, in the same order; nil: there is no sweep.
func DescribeLoads(conditions []string, levels []int) map[string]json.RawMessage {
	if len(levels) == 0 {
		return nil
	}
	out := map[string]json.RawMessage{}
	for i, n := range levels {
		b, err := json.Marshal(loadLevel{n})
		if err != nil {
			panic("results: internal error: " + err.Error())
		}
		out[conditions[i]] = b
	}
	return out
}

// LoadLevels are the requests in flight of a study, by condition; none: it is no load sweep.
func (m Manifest) LoadLevels(study string) map[string]int {
	out := map[string]int{}
	for name, raw := range m.Conditions[study] {
		var d loadLevel
		if json.Unmarshal(raw, &d) == nil && d.InFlight > 0 {
			out[name] = d.InFlight
		}
	}
	return out
}

// LoadRequest is a request of a load sweep that was on the wire.
type LoadRequest struct {
	From, To time.Duration // on the session's clock: first write, last content
	Answered bool          // it led to an answer that counts
	Tokens   *int          // of that answer; nil: the server does not count
}

// stretches is how many a level is cut into at most: enough for an interval, and long
// enough that one hardly depends on the next.
const stretches = 20

// SplitLoad cuts a level into stretches that end with answers, equally many in each. Where n
// are to be in flight, the level is kept until the last request begins: what is answered
// later, with fewer and fewer beside it, is left out, and so is time in which nothing
// was on the wire: that is ours. drawn is what devices drew between two times; nil, or
// false: it is not known.
func SplitLoad(all []LoadRequest, n int, drawn func(from, to time.Duration) (joules float64, ok bool)) Load {
	out := Load{InFlight: n}
	if len(all) == 0 {
		return out
	}
	begin, full := all[0].From, all[0].From
	var ends []LoadRequest
	for _, r := range all {
		begin, full = min(begin, r.From), max(full, r.From)
	}
	wire := time.Duration(0)
	for _, r := range all {
		wire += min(r.To, full) - min(r.From, full)
		if r.Answered {
			out.Answers++
			if r.To <= full {
				ends = append(ends, r)
			}
		}
	}
	slices.SortFunc(ends, func(a, b LoadRequest) int { return cmp.Compare(a.To, b.To) })
	if len(ends) == 0 || full == begin {
		return out
	}
	busy := wireBusy(all)
	out.Mean = float64(wire) / float64(busyBetween(busy, begin, full, nil))
	k := max(1, min(stretches, len(ends)/max(n, 2)))
	from, done := begin, 0
	for i := range k {
		upto := (i + 1) * len(ends) / k
		s := Stretch{Answers: upto - done, Tokens: new(int)}
		for _, r := range ends[done:upto] {
			if r.Tokens == nil {
				s.Tokens = nil
			} else if s.Tokens != nil {
				*s.Tokens += *r.Tokens
			}
		}
		joules, known := 0., drawn != nil
		s.Took = busyBetween(busy, from, ends[upto-1].To, func(a, b time.Duration) {
			if known {
				j, ok := drawn(a, b)
				joules, known = joules+j, ok
			}
		})
		if known {
			s.Joules = &joules
		}
		out.Stretches = append(out.Stretches, s)
		from, done = ends[upto-1].To, upto
	}
	return out
}

// wireBusy is when anything was on the wire, in order.
func wireBusy(all []LoadRequest) [][2]time.Duration {
	all = slices.SortedFunc(slices.Values(all), func(a, b LoadRequest) int { return cmp.Compare(a.From, b.From) })
	var out [][2]time.Duration
	for _, r := range all {
		if n := len(out); n > 0 && r.From <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], r.To)
		} else {
			out = append(out, [2]time.Duration{r.From, r.To})
		}
	}
	return out
}

// busyBetween is how much of the time between two moments was busy; each part is shown to see.
func busyBetween(busy [][2]time.Duration, from, to time.Duration, see func(from, to time.Duration)) (sum time.Duration) {
	for _, w := range busy {
		a, b := max(from, w[0]), min(to, w[1])
		if a < b {
			sum += b - a
			if see != nil {
				see(a, b)
			}
		}
	}
	return sum
}

// Rate is a ratio of sums over stretches, with the t interval of a ratio: as if
// stretches were drawn one by one. why says why there is none where one of the two is
// not known.
func Rate(all []Stretch, why string, of func(Stretch) (num, den float64, ok bool)) *Estimate {
	e := &Estimate{Why: "the level was not kept for as long as one answer takes: give it more items"}
	var num, den float64
	var parts [][2]float64
	for _, s := range all {
		e.N += s.Answers
		x, y, ok := of(s)
		if !ok {
			return &Estimate{Why: why}
		}
		num, den, parts = num+x, den+y, append(parts, [2]float64{x, y})
	}
	if den <= 0 {
		return e
	}
	v := num / den
	e.Value, e.Why = &v, ""
	k := float64(len(parts))
	if k < 3 {
		e.Why = "too few answers for an interval"
		return e
	}
	var squares float64
	for _, p := range parts {
		squares += (p[0] - v*p[1]) * (p[0] - v*p[1])
	}
	half := stats.StudentQuantile(.975, k-1) * math.Sqrt(squares*k/(k-1)) / den
	low, high := v-half, v+half
	e.Low, e.High = &low, &high
	return e
}

// KneeShare is the share of the greatest rate that counts as all of it.
const KneeShare = .95

// Knee is the index of the smallest level whose rate may be 95 % of the greatest: whose
// interval reaches that. levels ascend; false: a rate is not known.
func Knee(rates []*Estimate) (int, bool) {
	most := math.Inf(-1)
	for _, r := range rates {
		if r == nil || r.Value == nil {
			return 0, false
		}
		most = max(most, *r.Value)
	}
	for i, r := range rates {
		high := *r.Value
		if r.High != nil {
			high = max(high, *r.High)
		}
		if high >= KneeShare*most {
			return i, true
		}
	}
	return 0, false
}
