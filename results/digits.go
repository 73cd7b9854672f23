package results

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/results/stats"
)

// Digits is how numbers are printed for people: with as many digits as they carry.
//
//  1. Where there is an interval, half its width decides: value and bounds stand to its
//     second significant digit, a percentage of fewer than 100 cases to a whole one.
//  2. Where there is none, three significant digits stand, and never more decimals than
//     the column declares; what is short by itself stands as it is.
//  3. Units follow the size: 0.0042 s is 4.2 ms, and what a thousandth of a cent pays is
//     printed per 1,000.
//
// Files for programs keep every digit; nothing here touches them.
type Digits struct {
	Percent *int // decimals of every percentage and every number of points, as published; nil: the rules above
}

// MostDecimals is the most decimals that Digits take.
const MostDecimals = 6

// Printer prints the numbers of one column.
type Printer struct {
	Unit  string
	style Digits
	from  Column
	scale float64
}

// Of is how a column is printed that holds these estimates: all in one unit.
func (s Digits) Of(c Column, held []*Estimate) Printer {
	out := Printer{Unit: c.Unit, style: s, from: c, scale: 1}
	if c.Per != "" {
		out.scale = 1000
	}
	var sizes []float64
	for _, e := range held {
		if e != nil && e.Value != nil && *e.Value != 0 {
			sizes = append(sizes, math.Abs(*e.Value)*out.scale)
		}
	}
	if size, ok := stats.Median(sizes); ok {
		by, unit := sized(c.Unit, size)
		out.scale, out.Unit = out.scale*by, unit
	}
	if c.Per != "" {
		out.Unit = strings.TrimSpace(out.Unit + " per 1,000 " + c.Per)
	}
	return out
}

// step is a unit in which sizes below a bound are printed.
type step struct {
	below float64 // in the unit that the ladder begins with
	by    float64
	unit  string
}

// sized is a unit for values of a size, and what they are multiplied by.
func sized(unit string, size float64) (by float64, in string) {
	seconds := []step{{1e-3, 1e6, "µs"}, {1, 1e3, "ms"}, {600, 1, "s"}, {2 * 3600, 1. / 60, "min"}, {math.Inf(1), 1. / 3600, "h"}}
	joules := []step{{0.1, 1e3, "mJ"}, {1e4, 1, "J"}, {1e7, 1e-3, "kJ"}, {math.Inf(1), 1e-6, "MJ"}}
	into, ladder := 1., []step(nil)
	switch unit {
	case "s":
		ladder = seconds
	case "ms":
		into, ladder = 1e-3, seconds
	case "J":
		ladder = joules
	}
	for _, s := range ladder {
		if size*into < s.below {
			return into * s.by, s.unit
		}
	}
	return 1, unit
}

// Print is a value, and its interval in brackets; "": there is none.
func (c Printer) Print(e Estimate) (value, interval string) {
	if e.Value == nil {
		return "", ""
	}
	if e.Low != nil || c.share() {
		e.Value, e.Low, e.High = settled(e.Value), settled(e.Low), settled(e.High)
	}
	v := *e.Value * c.scale
	if e.Low == nil || stats.Same(*e.Low, *e.High) {
		value = c.alone(v, e.N)
		if e.Low != nil {
			interval = "[" + value + ", " + value + "]"
		}
		return value, interval
	}
	low, high := *e.Low*c.scale, *e.High*c.scale
	d := c.decimals(low, high, e.N)
	return rounded(v, d), "[" + rounded(low, d) + ", " + rounded(high, d) + "]"
}

func settled(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return new(stats.Settled(*v))
}

// share says whether the column holds percentages or their differences.
func (c Printer) share() bool { return c.from.Unit == "%" || c.from.Unit == "points" }

// countable says whether the column holds whole numbers.
func (c Printer) countable() bool {
	return c.from.Unit == "" && c.from.Digits == 0 && !c.from.Significant
}

// fewCases is below how many a percentage stands whole: one case more or less would
// change it by more than its first decimal tells.
const fewCases = 100

// decimals is how many an interval asks for; below 0: places left of the point.
func (c Printer) decimals(low, high float64, n int) int {
	if c.share() && c.style.Percent != nil {
		return *c.style.Percent
	}
	d := decimalsOf((high-low)/2, 2)
	if c.share() && n < fewCases {
		d = max(0, decimalsOf((high-low)/2, 1))
	}
	// A bound beside 0 must not look like 0.
	for most := d + 2; d < most && (hides(low, d) || hides(high, d)); d++ {
	}
	return d
}

func hides(v float64, d int) bool { return v != 0 && math.Abs(v) < math.Pow10(-d)/2 }

// alone prints a number that has no interval, of n cases.
func (c Printer) alone(v float64, n int) string {
	switch {
	case c.share() && c.style.Percent != nil:
		return rounded(v, *c.style.Percent)
	case c.countable() && c.scale == 1:
		return stats.Fixed(v, 0)
	}
	const digits = 3
	d := decimalsOf(v, digits)
	switch {
	case c.share():
		d = 0
		for cases := fewCases; n >= cases && d < 2; cases *= fewCases {
			d++
		}
	case c.scale != 1:
	case !c.from.Significant:
		d = min(d, c.from.Digits)
	default:
		if short := strconv.FormatFloat(v, 'f', -1, 64); len(strings.Trim(strings.ReplaceAll(short, ".", ""), "-0")) <= c.from.Digits {
			return short
		}
	}
	if hides(v, d) {
		d = decimalsOf(v, 1)
	}
	return rounded(v, d)
}

// decimalsOf is how many decimals show so many significant digits of v; below 0: they
// end that many places left of the point. Of 0 it is 0.
func decimalsOf(v float64, significant int) int {
	if v == 0 {
		return 0
	}
	e := strconv.FormatFloat(math.Abs(v), 'e', significant-1, 64) // rounds first: 9.96 has one decimal less than 9.94
	exp, err := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if err != nil {
		panic("results: internal error: " + err.Error())
	}
	return significant - 1 - exp
}

// rounded is v with so many decimals; below 0: rounded left of the point.
func rounded(v float64, decimals int) string {
	if decimals >= 0 {
		return stats.Fixed(v, decimals)
	}
	unit := math.Pow10(-decimals)
	return stats.Fixed(math.Round(v/unit)*unit, 0)
}

// DurationWords is a time in a unit of its size, with three significant digits: "4.2 ms".
func DurationWords(seconds float64) string {
	c, e := Column{Unit: "s", Digits: 3, Significant: true}, Estimate{Value: &seconds}
	out := Digits{}.Of(c, []*Estimate{&e})
	value, _ := out.Print(e)
	if strings.Contains(value, ".") {
		value = strings.TrimRight(strings.TrimRight(value, "0"), ".")
	}
	return value + " " + out.Unit
}

// EstimateWords are an estimate of a unit inside a sentence: the value and the two bounds,
// which are "" where there is no interval. sign gives what is above 0 a plus.
func EstimateWords(unit string, e Estimate, sign bool) (value, low, high string) {
	c := Digits{}.Of(Column{Unit: unit, Digits: 2}, nil)
	value, interval := c.Print(e)
	if low, high, ok := strings.Cut(strings.Trim(interval, "[]"), ", "); ok {
		return plus(value, sign), plus(low, sign), plus(high, sign)
	}
	return plus(value, sign), "", ""
}

func plus(s string, sign bool) string {
	if sign && !strings.HasPrefix(s, "-") && slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= '1' && b <= '9' }) {
		return "+" + s
	}
	return s
}

// Count prints a number of things: "1 trial", "2 trials".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
