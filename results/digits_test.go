package results

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ptr[T any](v T) *T { return &v }

func TestPrint(t *testing.T) {
	percent := Column{Unit: "%", Digits: 2}
	four := Column{Unit: "steps/s", Digits: 4, Significant: true}
	for _, c := range []struct {
		name          string
		column        Column
		style         Digits
		v, low, high  float64
		n             int
		alone         bool
		value, within string
		unit          string
	}{
		{"an accuracy of 48 answers has no decimals", percent, Digits{}, 91.6667, 83.3333, 97.9167, 48, false, "92", "[83, 98]", "%"},
		{"one of 480 has what its interval tells", percent, Digits{}, 91.6667, 89.1, 94.1, 480, false, "91.7", "[89.1, 94.1]", "%"},
		{"at 99 cases whole, at 100 not", percent, Digits{}, 50.505, 42.4, 58.6, 99, false, "51", "[42, 59]", "%"},
		{"at 100", percent, Digits{}, 50.505, 42.4, 58.6, 100, false, "50.5", "[42.4, 58.6]", "%"},
		{"a narrow one of few keeps a digit of its half-width", percent, Digits{}, 99.52, 99.1, 99.9, 48, false, "99.5", "[99.1, 99.9]", "%"},
		{"as published", percent, Digits{Percent: ptr(2)}, 91.6667, 83.3333, 97.9167, 48, false, "91.67", "[83.33, 97.92]", "%"},
		{"as published leaves other units", four, Digits{Percent: ptr(2)}, 0.00421449, 0.0039, 0.00451234, 48, false, "0.00421", "[0.00390, 0.00451]", "steps/s"},
		{"a bound beside 0 does not look like 0", percent, Digits{}, 7.2, 0.31, 14.4, 48, false, "7.2", "[0.3, 14.4]", "%"},
		{"left of the point", four, Digits{}, 12345, 10811, 13888, 48, false, "12300", "[10800, 13900]", "steps/s"},
		{"half-width that rounds up a place", four, Digits{}, 50, 40.04, 59.96, 48, false, "50", "[40, 60]", "steps/s"},
		{"no width", percent, Digits{}, 100, 100, 100, 48, false, "100", "[100, 100]", "%"},
		{"milliseconds", Column{Unit: "s", Digits: 3}, Digits{}, 0.01234, 0, 0, 48, true, "12.3", "", "ms"},
		{"minutes", Column{Unit: "s", Digits: 3}, Digits{}, 1234, 0, 0, 48, true, "20.6", "", "min"},
		{"microseconds of ms", Column{Unit: "ms", Digits: 4, Significant: true}, Digits{}, 0.014, 0, 0, 48, true, "14.0", "", "µs"},
		{"money per 1,000", Column{Unit: "EUR", Digits: 4, Significant: true, Per: "answers"}, Digits{}, 0.00001234567, 0.0000111, 0.0000135, 48, false, "0.0123", "[0.0111, 0.0135]", "EUR per 1,000 answers"},
		{"joules per 1,000", Column{Unit: "J", Digits: 4, Significant: true, Per: "answers"}, Digits{}, 12.345, 11.3, 13.4, 48, false, "12.3", "[11.3, 13.4]", "kJ per 1,000 answers"},
		{"a count", Column{}, Digits{}, 1234567, 0, 0, 48, true, "1234567", "", ""},
		{"a short number", Column{Digits: 4, Significant: true}, Digits{}, 1234, 0, 0, 1, true, "1234", "", ""},
		{"a long number", Column{Digits: 4, Significant: true}, Digits{}, 1234.56, 0, 0, 1, true, "1230", "", ""},
		{"p", Column{Digits: 4}, Digits{}, 0.07681, 0, 0, 48, true, "0.0768", "", ""},
		{"a small p is not 0", Column{Digits: 4}, Digits{}, 0.0000123, 0, 0, 48, true, "0.00001", "", ""},
		{"a difference of rounding", Column{Unit: "points", Digits: 2}, Digits{}, 0, -2.2e-16, 1.1e-14, 48, false, "0", "[0, 0]", "points"},
		{"a difference of rounding alone", Column{Unit: "points", Digits: 2}, Digits{}, -1.4e-14, 0, 0, 48, true, "0", "", "points"},
		{"a slope of rounding", Column{Digits: 3}, Digits{}, 5.6e-17, -2.2e-16, 3.3e-16, 48, false, "0", "[0, 0]", ""},
		{"a bound of rounding", Column{Unit: "points", Digits: 2}, Digits{}, 7.2, -2.2e-16, 14.4, 48, false, "7", "[0, 14]", "points"},
		{"a p of one in a quadrillion", Column{Digits: 4}, Digits{}, 1e-15, 0, 0, 48, true, "0.000000000000001", "", ""},
		{"a share of few", percent, Digits{}, 2.0833, 0, 0, 48, true, "2", "", "%"},
		{"a small share is not 0", percent, Digits{}, 0.21, 0, 0, 48, true, "0.2", "", "%"},
	} {
		e := Estimate{Value: &c.v, N: c.n}
		if !c.alone {
			e.Low, e.High = &c.low, &c.high
		}
		col := c.style.Of(c.column, []*Estimate{&e, nil, {Why: "none"}})
		if v, in := col.Print(e); v != c.value || in != c.within || col.Unit != c.unit {
			t.Errorf("%s: %q %q %q, want %q %q %q", c.name, v, in, col.Unit, c.value, c.within, c.unit)
		}
	}
	if v, in := (Printer{scale: 1}).Print(Estimate{Why: "none"}); v+in != "" {
		t.Errorf("no value is printed as %q", v+in)
	}
	for v, want := range map[float64]string{0.0042: "4.2 ms", 0: "0 s", 90: "90 s", 4000: "66.7 min", 90000: "25 h"} {
		if got := DurationWords(v); got != want {
			t.Errorf("%v s: %s, want %s", v, got, want)
		}
	}
	if v, low, high := EstimateWords("points", Estimate{Value: ptr(16.667), Low: ptr(0.0), High: ptr(31.25), N: 96}, true); v+" "+low+" "+high != "+17 0 +31" {
		t.Errorf("%s %s %s", v, low, high)
	}
	if v, low, high := EstimateWords("%", Estimate{Value: ptr(0.0), N: 96}, true); v+low+high != "0" {
		t.Errorf("%s %s %s", v, low, high)
	}
}

// What is printed of an interval is as exact as its half-width asks for, in order, and
// on the side of 0 where it is.
func TestDigitsFollowTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := math.Pow(10, rapid.Float64Range(-7, 7).Draw(t, "size"))
		low := rapid.Float64Range(-1, 1).Draw(t, "low") * size
		width := math.Pow(10, rapid.Float64Range(-4, 0.5).Draw(t, "width")) * size
		high := low + width
		v := low + rapid.Float64Range(0, 1).Draw(t, "within")*width
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		unit := rapid.SampledFrom([]string{"%", "points", "steps/s", ""}).Draw(t, "unit")
		if v < low || v > high || low == high {
			return // lost to rounding
		}
		value, interval := (Digits{}).Of(Column{Unit: unit, Digits: 2, Significant: true}, nil).Print(Estimate{Value: &v, Low: &low, High: &high, N: n})
		parts := append([]string{value}, strings.Split(strings.Trim(interval, "[]"), ", ")...)
		var read [3]float64
		decimals := -1
		for i, p := range parts {
			f, err := strconv.ParseFloat(p, 64)
			if err != nil {
				t.Fatal(err)
			}
			read[i] = f
			_, after, _ := strings.Cut(p, ".")
			if decimals >= 0 && len(after) != decimals {
				t.Fatalf("%s %s: not the same decimals", value, interval)
			}
			decimals = len(after)
		}
		if read[1] > read[0] || read[0] > read[2] || read[1] == read[2] {
			t.Fatalf("%s %s: out of order, or without width", value, interval)
		}
		half := (high - low) / 2
		whole := (unit == "%" || unit == "points") && n < 100
		// An error of half the last digit: at most a twentieth of the half-width, a half where it is whole.
		most := half / 20
		if whole {
			most = max(half/2, 0.5)
		}
		for i, exact := range []float64{v, low, high} {
			if math.Abs(read[i]-exact) > most*(1+1e-9) {
				t.Fatalf("%s is printed of %v, off by more than %v", parts[i], exact, most)
			}
			if i > 0 && read[i]*exact < 0 {
				t.Fatalf("%s is printed of %v", parts[i], exact)
			}
		}
		if whole && half >= 1 && decimals > 0 && math.Abs(low) >= 0.5 && math.Abs(high) >= 0.5 {
			t.Fatalf("%s %s of %d cases: decimals", value, interval, n)
		}
		// And no more than that: the last digit is at least a hundredth of the half-width.
		if unit := math.Pow10(-decimals); decimals > 0 && unit < half/100*(1-1e-9) && math.Abs(low) >= unit*100 && math.Abs(high) >= unit*100 {
			t.Fatalf("%s %s: more digits than the half-width %v tells", value, interval, half)
		}
	})
}

// What is not 0 is not printed as 0, whatever its column, but for shares as small as what
// rounding leaves of equal ones.
func TestNothingBecomesZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1, 1).Draw(t, "v") * math.Pow(10, rapid.Float64Range(-9, 9).Draw(t, "size"))
		c := Column{Unit: rapid.SampledFrom([]string{"%", "s", "J", "EUR", ""}).Draw(t, "unit"), Digits: rapid.IntRange(1, 4).Draw(t, "digits"), Significant: rapid.Bool().Draw(t, "significant"),
			Per: rapid.SampledFrom([]string{"", "answers"}).Draw(t, "per")}
		e := Estimate{Value: &v, N: rapid.IntRange(0, 20_000).Draw(t, "n")}
		s, _ := (Digits{}).Of(c, []*Estimate{&e}).Print(e)
		got, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		if (v == 0 || c.Unit == "%" && math.Abs(v) < 1e-12) != (got == 0) || v*got < 0 {
			t.Fatalf("%v is printed as %s", v, s)
		}
	})
}

// TestRoundingShowsNoDigits: ends that differ by what rounding leaves, and a value beside them, print as one number
// without an interval does, in every kind of column.
func TestRoundingShowsNoDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]Column{{Unit: "%", Digits: 2}, {Unit: "points", Digits: 2}, {Unit: "s", Digits: 3, Significant: true}, {Digits: 3}, {Unit: "J", Digits: 4, Significant: true, Per: "answers"}}).Draw(t, "column")
		v := float64(rapid.IntRange(-9999, 9999).Draw(t, "v")) / 100
		hair := func(x float64) float64 {
			for range rapid.IntRange(0, 4).Draw(t, "ulps") {
				x = math.Nextafter(x, float64(rapid.SampledFrom([]int{-1000, 1000}).Draw(t, "way")))
			}
			return x
		}
		e := Estimate{Value: ptr(hair(v)), Low: ptr(hair(v)), High: ptr(hair(v)), N: rapid.IntRange(1, 200).Draw(t, "n")}
		col := Digits{}.Of(c, []*Estimate{&e})
		value, interval := col.Print(e)
		if digits := len(strings.Trim(strings.ReplaceAll(value, ".", ""), "-0")); digits > 4 {
			t.Fatalf("%v [%v, %v] prints as %s %s", *e.Value, *e.Low, *e.High, value, interval)
		}
		if interval != "["+value+", "+value+"]" {
			t.Fatalf("%v [%v, %v] prints as %s %s", *e.Value, *e.Low, *e.High, value, interval)
		}
	})
}
