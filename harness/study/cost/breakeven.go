package cost

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/results"
	"assay/results/stats"
)

// breakEven draws the GPU here against a hosted price, one figure per arm. A GPU
// that is bought is paid for after some number of trials: money over trials. One
// that is paid by the hour is cheaper up to no number and above a hosted price:
// money for a million tokens over that price.
func (b Basis) breakEven(costs []*Costs) []results.Figure {
	var out []results.Figure
	var arms []string
	for _, c := range costs {
		if slices.Contains(arms, c.Arm) {
			continue
		}
		arms = append(arms, c.Arm)
		of := slices.DeleteFunc(slices.Clone(costs), func(o *Costs) bool { return o.Arm != c.Arm })
		f := results.Figure{Name: b.Study + "-break-even-" + strings.NewReplacer(", ", "-", " ", "-").Replace(c.Arm), Kind: results.FigureTime, Title: "GPU here against a hosted price, arm " + c.Arm}
		if b.Prices.Cost.GPUPrice != nil && b.Prices.Cost.GPUHour == nil {
			f = b.bought(f, of)
		} else {
			f = b.rented(f, of)
		}
		if len(f.Series) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func line(name string, points ...[2]float64) results.Series {
	return results.Series{Name: name, Samples: points}
}

// many is a number of trials in words.
func many(n float64) string {
	for _, unit := range []struct {
		from float64
		name string
	}{{1e9, " billion"}, {1e6, " million"}, {1e4, " thousand"}} {
		if n >= unit.from {
			if unit.name == " thousand" {
				return stats.Significant(n/1e3, 3) + unit.name
			}
			return stats.Significant(n/unit.from, 3) + unit.name
		}
	}
	return stats.Significant(n, 3)
}

// rented is money for a million tokens over the hosted price of a million.
func (b Basis) rented(f results.Figure, costs []*Costs) results.Figure {
	cur := b.Prices.Cost.Currency
	f.X = results.Axis{Title: "Hosted price of a million tokens", Unit: cur, Log: true}
	f.Y = results.Axis{Title: "Money for a million tokens", Unit: cur, Log: true}
	f.Caption = fmt.Sprintf("Tokens of prompt and answer together, as the local server counts them. A model's line is what they take on the GPU here; where it meets the hosted line, both cost the same, and to the right of that the GPU here is cheaper. "+
		"The hosted price in force is %s of prompt and %s of answer.", significant(*b.Prices.Cost.HostedInput), significant(*b.Prices.Cost.HostedOutput))
	var own []*Costs
	var shown []float64
	for _, p := range []float64{*b.Prices.Cost.HostedInput, *b.Prices.Cost.HostedOutput} {
		if p > 0 && !slices.Contains(shown, p) {
			shown = append(shown, p)
			f.X.Marks = append(f.X.Marks, results.Mark{At: p, Text: [2]string{"prompt", "answer"}[len(shown)-1]})
		}
	}
	if len(f.X.Marks) == 1 {
		f.X.Marks[0].Text = "in force"
	}
	for _, c := range costs {
		if v := c.PerMillion.Value; v != nil && *v > 0 && c.Hosted.Value != nil && *c.Tokens.Value > 0 {
			own, shown = append(own, c), append(shown, *v)
		}
	}
	if len(own) == 0 {
		return f
	}
	low, high := slices.Min(shown)/2, slices.Max(shown)*2
	f.Series = append(f.Series, line("hosted", [2]float64{low, low}, [2]float64{high, high}))
	var words []string
	for _, c := range own {
		v := *c.PerMillion.Value
		f.Series = append(f.Series, line(c.Model, [2]float64{low, v}, [2]float64{v, v}, [2]float64{high, v}))
		force := *c.Hosted.Value / *c.Tokens.Value * 1e6
		cheaper := "here"
		if force < v {
			cheaper = "hosted"
		}
		words = append(words, fmt.Sprintf("%s meets the hosted line at %s %s%s; at the prices in force the same tokens cost %s hosted: %s is cheaper",
			c.Model, significant(v), cur, between(c.PerMillion), significant(force), cheaper))
	}
	f.Alt = "Money for a million tokens by hosted price. " + strings.Join(words, ". ") + "."
	return f
}

func between(e *results.Estimate) string {
	if e.Low == nil {
		return ""
	}
	return fmt.Sprintf(" (95 %% interval %s to %s)", significant(*e.Low), significant(*e.High))
}

// bought is money over trials: the price of the GPU at once, then electricity,
// and another GPU when its life is over; hosted by the trial.
func (b Basis) bought(f results.Figure, costs []*Costs) results.Figure {
	zero, cost := 0.0, b.Prices.Cost
	price := *cost.GPUPrice
	f.Y = results.Axis{Title: "Money", Unit: cost.Currency, Low: &zero}
	f.Caption = fmt.Sprintf("The GPU here costs %s %s at once and its electricity by the trial; hosted tokens are paid by the trial. Where the two lines of a model meet, the GPU is paid for.", significant(price), cost.Currency)
	if cost.GPULifeHours != nil {
		f.Caption += fmt.Sprintf(" After %s hours of work another one is bought.", significant(*cost.GPULifeHours))
	}
	end := 0.0
	for _, c := range costs {
		if c.PaidAfter.Value != nil {
			end = max(end, *c.PaidAfter.Value)
		}
	}
	if end == 0 { // none is ever paid for: until hosted has cost as much as the GPU
		for _, c := range costs {
			if h := c.Hosted.Value; h != nil && *h > 0 {
				end = max(end, price / *h)
			}
		}
	}
	end *= 1.25
	if end == 0 {
		return f
	}
	f.X = results.Axis{Title: "Trials", Low: &zero}
	scale := 1.
	switch {
	case end >= 3e6:
		f.X.Unit, scale = "millions", 1e6
	case end >= 3e4:
		f.X.Unit, scale = "thousands", 1e3
	}
	scaled := func(points [][2]float64) [][2]float64 {
		for i := range points {
			points[i][0] /= scale
		}
		return points
	}
	one := true // electricity makes no difference that shows
	for _, c := range costs {
		if held := c.GPUSeconds.Value; held != nil && cost.GPULifeHours != nil && *held*end > *cost.GPULifeHours*3600 {
			one = false
		}
		if wh := c.WattHours.Value; b.Prices.NeedsEnergy() && wh != nil && *wh/1000*cost.PerKWh()*end > price/100 {
			one = false
		}
	}
	if one {
		f.Series = append(f.Series, line("GPU here", scaled([][2]float64{{0, price}, {end, price}})...))
	}
	var words []string
	for _, c := range costs {
		if c.Hosted.Value == nil || c.GPUSeconds.Value == nil || b.Prices.NeedsEnergy() && c.WattHours.Value == nil {
			continue
		}
		there, power := *c.Hosted.Value, 0.
		if b.Prices.NeedsEnergy() {
			power = *c.WattHours.Value / 1000 * cost.PerKWh()
		}
		life := math.Inf(1)
		if held := *c.GPUSeconds.Value; cost.GPULifeHours != nil && held > 0 {
			life = *cost.GPULifeHours * 3600 / held
		}
		own := [][2]float64{{0, price}}
		const most = 50 // GPUs, so that a line has an end
		for n := 1.; n*life < end && n < most; n++ {
			own = append(own, [2]float64{n * life, n*price + n*life*power}, [2]float64{n * life, (n+1)*price + n*life*power})
		}
		stop := min(end, most*life)
		last := own[len(own)-1]
		hosted := [][2]float64{{0, 0}, {stop, there * stop}}
		if at := c.PaidAfter.Value; at != nil && *at < min(life, stop) {
			meet := [2]float64{*at, there * *at}
			own, hosted = append(own[:1:1], append([][2]float64{meet}, own[1:]...)...), [][2]float64{hosted[0], meet, hosted[1]}
			interval := ""
			if e := c.PaidAfter; e.Low != nil {
				interval = fmt.Sprintf(" (95 %% interval %s to %s)", many(*e.Low), many(*e.High))
			}
			words = append(words, fmt.Sprintf("%s: both cost the same after %s trials%s, and the GPU here is cheaper from then on", c.Model, many(*at), interval))
		} else if at != nil {
			words = append(words, fmt.Sprintf("%s: the GPU would be paid for after %s trials, which is longer than it lives", c.Model, many(*at)))
		} else {
			words = append(words, fmt.Sprintf("%s: the two lines do not meet: %s", c.Model, c.PaidAfter.Why))
		}
		own = append(own, [2]float64{stop, last[1] + (stop-last[0])*power})
		if !one {
			f.Series = append(f.Series, line(c.Model+", here", scaled(own)...))
		}
		f.Series = append(f.Series, line(c.Model+", hosted", scaled(hosted)...))
	}
	f.Alt = "Money by trials, GPU here against hosted. " + strings.Join(words, ". ") + "."
	return f
}
