package study

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/results"
	"assay/results/store"
)

// Load is how many trials of one kind a plan holds, stored ones included.
type Load struct {
	Study, Model, Arm string
	Trials            int
}

// Projection is what a whole plan will take, judging by what is stored. An
// Estimate that is not known says why; its N is the answers that it rests on.
type Projection struct {
	Hours    *results.Estimate `json:"hours"`     // of requests, one after another
	GPUHours *results.Estimate `json:"gpu_hours"` // time x GPUs held
	KWh      *results.Estimate `json:"kwh"`
	EnergyOf energyOf          `json:"energy_of,omitempty"` // what KWh is of: the same parts of every answer
	KgCO2    *results.Estimate `json:"kg_co2,omitempty"`    // nil: emissions are not told
	Building string            `json:"building,omitempty"`  // what it adds to KWh and money, in words; "": nothing
	// Money is GPUMoney and Electricity together, over the answers that know both.
	Money       *results.Estimate `json:"money"`
	GPUMoney    *results.Estimate `json:"gpu_money"`
	Electricity *results.Estimate `json:"electricity"`
	Currency    string            `json:"currency,omitempty"`
	Seen        int               `json:"answers"` // stored
}

// projected is a stored answer, with what it took; nil: not known.
type projected struct {
	load             Load
	item             int
	seconds, held    *float64
	gpu, cpu, joules *float64
}

// Project computes a Projection from a store: the mean cost of an answer of
// each model and arm, times its trials, with intervals over clusters of items. inFlight is
// how many requests of a study go out together.
func Project(ctx context.Context, st *store.Store, seed uint64, cost *results.Cost, loads []Load, inFlight map[string]int) (Projection, error) {
	trials := map[Load]int{}
	var order []Load
	for _, l := range loads {
		k := l
		k.Trials = 0
		if _, ok := trials[k]; !ok {
			order = append(order, k)
		}
		trials[k] += l.Trials
	}
	order = slices.DeleteFunc(order, func(l Load) bool { return trials[l] == 0 })
	out, p := Projection{}, Prices{Cost: cost}
	if cost != nil {
		out.Currency = cost.Currency
		out.Building = strings.Join(p.Building(), "")
	}
	s := &score.PairSample{}
	all, err := stored(ctx, st, s, trials, inFlight)
	if err != nil {
		return out, err
	}
	out.Seen = len(all)
	out.EnergyOf = partsOf(all)
	for i := range all {
		all[i].joules = out.EnergyOf.Joules(all[i].gpu, all[i].cpu)
	}
	has := map[Load]bool{}
	for _, a := range all {
		has[a.load] = true
	}
	total := func(why string, over float64, of func(projected) (float64, bool)) *results.Estimate {
		n, sum, seen := map[Load]int{}, map[Load]int{}, 0 // columns
		var counted []int
		for _, l := range order {
			n[l], sum[l] = s.Column(), s.Column()
			counted = append(counted, n[l])
		}
		for _, a := range all {
			if v, ok := of(a); ok && trials[a.load] > 0 {
				s.Add(n[a.load], a.item, 1)
				s.Add(sum[a.load], a.item, v)
				seen++
			}
		}
		for _, l := range order { // the first that is missing
			if s.Sum(n[l]) == 0 {
				if !has[l] {
					why = "no stored answer"
				}
				why += fmt.Sprintf(" of model %s in arm %s of study %s", l.Model, l.Arm, l.Study)
				break
			}
		}
		e := s.Sums(func(sums []float64) (float64, bool) {
			var t float64
			for _, l := range order {
				if sums[n[l]] == 0 {
					return 0, false
				}
				t += float64(trials[l]) * sums[sum[l]] / sums[n[l]]
			}
			return t / over, true
		})
		s.Rests(e, nil, counted...)
		e.N, e.Invalid, e.Why = seen, len(all)-seen, why
		return e
	}
	out.Hours = total("no time is known", 3600, func(a projected) (float64, bool) { return known(a.seconds) })
	out.GPUHours = total("no GPU time is known", 3600, func(a projected) (float64, bool) { return known(a.held) })
	out.KWh = total("no energy is known", 3.6e6/cost.Building(), func(a projected) (float64, bool) { return known(a.joules) })
	if g, ok := cost.Grams(3.6e6); ok {
		out.KgCO2 = total("no energy is known", 3.6e9/g, func(a projected) (float64, bool) { return known(a.joules) })
	}
	noPower, noGPU := "no energy is known", "no GPU time is known"
	if cost == nil || cost.KWh == nil {
		noPower = "no price per kWh is given (cost: in bench.yaml)"
	}
	out.Electricity = total(noPower, 1, func(a projected) (float64, bool) { return p.Electricity(a.joules) })
	noMoney := "no energy is known, and power has a price: GPU time alone is priced beside,"
	if _, ok := cost.PerGPUHour(); !ok {
		noGPU = "no price per GPU-hour is given (cost: in bench.yaml)"
		noMoney = noGPU
	}
	out.GPUMoney = total(noGPU, 1, func(a projected) (float64, bool) { return p.GPUMoney(a.held) })
	out.Money = total(noMoney, 1, func(a projected) (float64, bool) { return p.Money(a.held, a.joules) })
	s.Run(seed, score.Replicates(s.N()))
	return out, nil
}

func known(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

// partsOf is the parts whose energies are added up.
func partsOf(all []projected) energyOf {
	gpu, cpu, both := 0, 0, 0
	for _, a := range all {
		if a.gpu != nil {
			gpu++
		}
		if a.cpu != nil {
			cpu++
		}
		if a.gpu != nil && a.cpu != nil {
			both++
		}
	}
	return parts(gpu, cpu, both)
}

// stored is the stored answers of a plan, and puts their items into the sample.
func stored(ctx context.Context, st *store.Store, s *score.PairSample, trials map[Load]int, inFlight map[string]int) ([]projected, error) {
	var studies []string
	for l := range trials {
		studies = append(studies, l.Study)
	}
	slices.Sort(studies)
	var all []projected
	for _, name := range slices.Compact(studies) {
		items := map[string]int{}
		clusters, err := score.Clusters(ctx, st, name)
		if err != nil {
			return nil, err
		}
		for r, err := range st.Rows(ctx, name) {
			if err != nil {
				return nil, err
			}
			l := Load{Study: r.Key.Study, Model: r.Key.Model, Arm: r.Key.Arm}
			if _, ok := trials[l]; !ok || r.Failed {
				continue
			}
			at, ok := items[r.Key.Item]
			if !ok {
				at = s.Item()
				items[r.Key.Item] = at
				if c := clusters[r.Key.Item]; c != "" {
					s.Cluster(at, name+"\n"+c)
				}
			}
			together := float64(max(1, inFlight[name]))
			a := projected{load: l, item: at, gpu: joulesOf(r.GPU), cpu: joulesOf(r.CPU)}
			if r.Latency != nil && !hidden(&r) {
				a.seconds = new(r.Latency.Seconds() / together)
			}
			a.held, _ = heldBy(&r, false)
			if a.held != nil && r.GPU == nil { // a share of the time, as seconds is
				a.held = a.seconds
			}
			all = append(all, a)
		}
	}
	return all, nil
}
