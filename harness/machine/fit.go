package machine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay/results/stats"
	"assay/timing"
)

// fit is how a device's figures of power lie to those of a meter beside it: figure =
// Gain x meter + Offset, each with a 95 % CI of +/-.
type fit struct {
	Gain          float64           `json:"gain"`
	GainError     float64           `json:"gain_error"`
	Offset        timing.Milliwatts `json:"offset_mw"`
	OffsetError   timing.Milliwatts `json:"offset_error_mw"`
	Levels        int               `json:"levels"` // stretches of even power that it rests on
	Low           timing.Milliwatts `json:"low_mw"` // the meter's, lowest and highest of them
	High          timing.Milliwatts `json:"high_mw"`
	Residual      timing.Milliwatts `json:"residual_mw"` // standard deviation of a level about the line
	Spread        timing.Spread     `json:"spread"`      // 95 %, of a power from 0 to twice the mean of the levels
	meter, figure []float64
}

// Scale is what the meter takes of a fit.
func (f fit) Scale() timing.Scale {
	return timing.Scale{Gain: f.Gain, Offset: f.Offset, Spread: &f.Spread}
}

const (
	levelLasts  = 4 * time.Second // the least that a level of power has to last
	levelEdge   = time.Second     // left out at both its ends: a plug is late
	levelEven   = .04             // its seconds' means lie within this part of their middle
	leastLevels = 3
	leastSpan   = .3  // of the highest level
	leastHeight = .1  // of the span: levels closer than that are one height
	mostOff     = .03 // residual, of the span
)

// fitted fits the figures of one sensor on those of a meter that ran beside it: over
// stretches in which both are even, at three heights or more. Both lists are in order of time,
// on one clock. An error says why the fit would not deserve to be used.
func fitted(figures, meter []timing.PowerReading) (fit, error) {
	var f fit
	seconds := func(rs []timing.PowerReading) map[int]float64 {
		sum, n := map[int]float64{}, map[int]float64{}
		for _, r := range rs {
			at := int(math.Floor(r.At.Seconds()))
			sum[at] += float64(r.Power)
			n[at]++
		}
		for at := range sum {
			sum[at] /= n[at]
		}
		return sum
	}
	x, y := seconds(meter), seconds(figures)
	at := []int{}
	for s := range x {
		if _, ok := y[s]; ok {
			at = append(at, s)
		}
	}
	slices.Sort(at)
	even := func(v map[int]float64, from, to int) bool {
		low, high := math.Inf(1), math.Inf(-1)
		for _, s := range at[from:to] {
			low, high = min(low, v[s]), max(high, v[s])
		}
		return high-low <= levelEven*(high+low)
	}
	least, edge := int(levelLasts/time.Second), int(levelEdge/time.Second)
	for i := 0; i+least <= len(at); {
		j := i + 1
		for j < len(at) && at[j] == at[j-1]+1 && even(x, i, j+1) && even(y, i, j+1) {
			j++
		}
		if j-i < least {
			i++
			continue
		}
		var mx, my float64
		for _, s := range at[i+edge : j-edge] {
			mx, my = mx+x[s], my+y[s]
		}
		n := float64(j - i - 2*edge)
		f.meter, f.figure = append(f.meter, mx/n), append(f.figure, my/n)
		i = j
	}
	return f, f.fit()
}

func (f *fit) fit() error {
	f.Levels = len(f.meter)
	if f.Levels < leastLevels {
		return fmt.Errorf("%d stretches of even power of %v or more, it takes %d: let the machine rest, and work at several heights, for ten seconds each", f.Levels, levelLasts, leastLevels)
	}
	low, high := slices.Min(f.meter), slices.Max(f.meter)
	f.Low, f.High = timing.Milliwatts(low), timing.Milliwatts(high)
	span := high - low
	if span < leastSpan*high {
		return fmt.Errorf("the meter's levels lie between %.0f and %.0f W: it takes loads that differ by %.0f %% of the highest", low/1000, high/1000, 100*leastSpan)
	}
	heights, last := 0, math.Inf(-1)
	for _, v := range slices.Sorted(slices.Values(f.meter)) {
		if v-last > leastHeight*span {
			heights, last = heights+1, v
		}
	}
	if heights < leastLevels {
		return fmt.Errorf("%d heights of power, it takes %d: a line through two says nothing of its own error", heights, leastLevels)
	}
	n := float64(f.Levels)
	mx := mean(f.meter)
	my := mean(f.figure)
	var sxx, sxy float64
	for i, x := range f.meter {
		sxx += sq(x - mx)
		sxy += (x - mx) * (f.figure[i] - my)
	}
	f.Gain = sxy / sxx
	offset := my - f.Gain*mx
	var rest float64
	for i, x := range f.meter {
		rest += sq(f.figure[i] - f.Gain*x - offset)
	}
	sd := math.Sqrt(rest / (n - 2))
	t := stats.StudentQuantile(.975, float64(f.Levels-2))
	f.GainError, f.Offset = t*sd/math.Sqrt(sxx), timing.Milliwatts(offset)
	f.OffsetError, f.Residual = timing.Milliwatts(t*sd*math.Sqrt(1/n+sq(mx)/sxx)), timing.Milliwatts(sd)
	switch {
	case f.Gain < .5 || f.Gain > 2:
		return fmt.Errorf("the figures grow by %.2f of the meter's watts: they are not of the same power", f.Gain)
	case sd > mostOff*span:
		return fmt.Errorf("levels lie %.1f W off the line, more than %.0f %% of the %.0f W between the lowest and the highest: something else draws on the meter as well", sd/1000, 100*mostOff, span/1000)
	}
	// |error| <= t se(gain) |P - mean| + t se(mean level), and |P - mean| <= mean.
	f.Spread = timing.Spread{Rest: timing.Milliwatts((f.GainError*mx + t*sd/math.Sqrt(n)) / f.Gain)}
	return nil
}

func sq(x float64) float64 { return x * x }

func mean(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
