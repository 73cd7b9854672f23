package study

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// took is what an answer took; joules below 0: not known.
type took struct {
	model    string
	latency  time.Duration // 0: not known
	held     time.Duration // 0: not known; below 0: nobody watched
	gpus     int
	gpu, cpu float64
}

// project stores answers of the arm cot and projects ten trials of each model.
func project(t *testing.T, cost *results.Cost, inFlight int, answers ...took) Projection {
	t.Helper()
	return projectAbout(t, nil, cost, inFlight, answers...)
}

// projectAbout has answers be about images; nil: each is about its own.
func projectAbout(t *testing.T, images []string, cost *results.Cost, inFlight int, answers ...took) Projection {
	t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ses := results.Session{Origin: time.Unix(1, 0), Places: map[string]results.Place{}}
	if err := st.PutSession(ctx, &ses); err != nil {
		t.Fatal(err)
	}
	models := map[string]bool{}
	for i, a := range answers {
		models[a.model] = true
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		if a.latency > 0 {
			rec.Chunks([]timing.Chunk{{At: time.Second + a.latency, Runes: 1, Answer: true}}, timing.StampsUser)
		}
		k := results.Key{Study: "s", Model: a.model, Item: fmt.Sprint(i), Arm: "cot", Condition: "baseline"}
		if images != nil {
			if err := st.PutItems(ctx, []results.Item{{Study: "s", ID: k.Item, Facts: fmt.Appendf(nil, `{"picture":%q}`, images[i])}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.PutTrial(ctx, results.Trial{Key: k, Inputs: "x", Attempts: []results.Attempt{{Output: &results.Output{Finish: "stop"},
			Turns: []results.Turn{{Trace: rec.Trace(), Finish: "stop"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	var uses []results.TrialUse
	for f, err := range st.Flights(ctx, ses) {
		if err != nil {
			t.Fatal(err)
		}
		var i int
		fmt.Sscan(f.Key.Item, &i)
		a := answers[i]
		for part, joules := range map[results.Part]float64{results.PartGPU: a.gpu, results.PartCPU: a.cpu} {
			if a.held < 0 {
				continue
			}
			u := results.Use{Energy: timing.Energy{Gross: timing.Millijoules(joules * 1000)}}
			if joules < 0 {
				u.Energy = timing.Energy{Unknown: "no reading"}
			}
			if a.held > 0 {
				u.Held = &a.held
			}
			if a.gpus > 0 {
				u.Devices = &a.gpus
			}
			uses = append(uses, results.TrialUse{Trial: f.Trial, Attempts: 1, Part: part, Use: u})
		}
	}
	if err := st.PutUses(ctx, ses.ID, uses, nil); err != nil {
		t.Fatal(err)
	}
	var loads []Load
	for m := range models {
		loads = append(loads, Load{Study: "s", Model: m, Arm: "cot", Trials: 6}, Load{Study: "s", Model: m, Arm: "cot", Trials: 4})
	}
	p, err := Project(ctx, st, 1, cost, loads, map[string]int{"s": inFlight})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func projects(t *testing.T, what string, e *results.Estimate, v float64, n, invalid int) {
	t.Helper()
	if e.Value == nil || math.Abs(*e.Value-v) > 1e-9*math.Abs(v) || e.N != n || e.Invalid != invalid {
		t.Errorf("%s: %+v, want %v of %d, %d left out", what, e, v, n, invalid)
	}
}

func unprojected(t *testing.T, what string, e *results.Estimate, why string) {
	t.Helper()
	if e.Value != nil || !strings.Contains(e.Why, why) {
		t.Errorf("%s: %+v, want none: %s", what, e, why)
	}
}

func prices() *results.Cost {
	hour, kwh := .36, .5
	return &results.Cost{Currency: "EUR", GPUHour: &hour, KWh: &kwh}
}

// Joules of the processors alone are no joules of GPUs and processors.
func TestProjectionsAddTheSameParts(t *testing.T) {
	const s = time.Second
	both, cpu := took{"m", 10 * s, 10 * s, 1, 480e3, 96e3}, took{"m", 10 * s, 10 * s, 1, -1, 144e3}
	p := project(t, prices(), 1, both, cpu, both, both, cpu)
	projects(t, "kWh", p.KWh, 1.6, 3, 2)
	projects(t, "GPU-hours", p.GPUHours, 100/3600., 5, 0)
	projects(t, "hours", p.Hours, 100/3600., 5, 0)
	projects(t, "electricity", p.Electricity, .8, 3, 2)
	projects(t, "money of GPU time", p.GPUMoney, .01, 5, 0)
	projects(t, "money", p.Money, .81, 3, 2)
	if p.EnergyOf != ofGPUAndCPU || p.Seen != 5 {
		t.Errorf("energy of %s, %d seen", p.EnergyOf, p.Seen)
	}
	// The processors' energy is known of too few.
	gpu := took{"m", 10 * s, 10 * s, 1, 360e3, -1}
	p = project(t, prices(), 1, gpu, gpu, gpu, both)
	if projects(t, "kWh of the GPU", p.KWh, 10*(3*.1+.48/3.6)/4, 4, 0); p.EnergyOf != ofGPU {
		t.Errorf("energy of %s", p.EnergyOf)
	}
	// A model of which nothing is known: its GPU time is.
	p = project(t, prices(), 1, both, took{"far", 5 * s, 5 * s, 1, -1, -1})
	unprojected(t, "kWh", p.KWh, "no energy is known of model far")
	unprojected(t, "money", p.Money, "GPU time alone is priced beside")
	projects(t, "money of GPU time of both", p.GPUMoney, .015, 2, 0)
	p = project(t, &results.Cost{Currency: "EUR", KWh: prices().KWh}, 1, both)
	unprojected(t, "money without a price of GPUs", p.Money, "no price per GPU-hour")
	projects(t, "electricity without one", p.Electricity, .8, 1, 0)
	// Electricity that costs nothing needs no energy.
	free := prices()
	*free.KWh = 0
	projects(t, "money with electricity included", project(t, free, 1, took{"m", 10 * s, 10 * s, 1, -1, -1}).Money, .01, 1, 0)
}

// What the building adds is in kWh, electricity and CO2, and not in GPU time; CO2 is told
// where its intensity is.
func TestProjectionsOfABuilding(t *testing.T) {
	const s = time.Second
	cost, pue, grams := prices(), 1.5, 400.
	cost.PUE, cost.GCO2PerKWh = &pue, &grams
	p := project(t, cost, 1, took{"m", 10 * s, 10 * s, 1, 360e3, -1}) // .1 kWh an answer, ten of them
	projects(t, "kWh", p.KWh, 1.5, 1, 0)
	projects(t, "electricity", p.Electricity, .75, 1, 0)
	projects(t, "money of GPU time", p.GPUMoney, .01, 1, 0)
	projects(t, "money", p.Money, .76, 1, 0)
	if projects(t, "kg of CO2", p.KgCO2, .6, 1, 0); !strings.Contains(p.Building, "1.50 kWh of the building") {
		t.Errorf("%q", p.Building)
	}
	if p := project(t, prices(), 1, took{"m", 10 * s, 10 * s, 1, 360e3, -1}); p.KgCO2 != nil || p.Building != "" {
		t.Errorf("nothing was told of a building: %+v, %q", p.KgCO2, p.Building)
	}
}

func TestProjectionsOfGPUTime(t *testing.T) {
	const s = time.Second
	p := project(t, prices(), 1, took{"m", 10 * s, 10 * s, 4, -1, -1})
	projects(t, "four GPUs", p.GPUHours, 400/3600., 1, 0)
	projects(t, "hours on four GPUs", p.Hours, 100/3600., 1, 0)
	p = project(t, prices(), 8, took{"m", 16 * s, 3 * s, 1, -1, -1})
	projects(t, "hours of eight at a time", p.Hours, 20/3600., 1, 0)
	projects(t, "a share of eight", p.GPUHours, 30/3600., 1, 0)
	p = project(t, prices(), 8, took{"m", 16 * s, -1, 0, -1, -1})
	projects(t, "eight at a time, unwatched", p.GPUHours, 20/3600., 1, 0)
	// What has no time is no answer of 0 s.
	p = project(t, prices(), 1, took{"m", 4 * s, 4 * s, 1, -1, -1}, took{"m", 4 * s, 4 * s, 1, -1, -1}, took{"m", 0, 0, 1, -1, -1})
	projects(t, "one without content", p.GPUHours, 40/3600., 2, 1)
	projects(t, "hours", p.Hours, 40/3600., 2, 1)
}

// TestProjectDrawsImages: 40 answers about 4 images, all of an image as long: the interval is as
// wide as that of 4 answers, not of 40.
func TestProjectDrawsImages(t *testing.T) {
	width := func(images bool) float64 {
		var list []took
		var about []string
		for i := range 40 {
			list = append(list, took{model: "m", latency: time.Duration(1+i/10) * time.Second, held: -1})
			if images {
				about = append(about, fmt.Sprint("image ", i/10))
			}
		}
		h := projectAbout(t, about, prices(), 1, list...).Hours
		if want := map[bool]int{true: 4, false: 40}[images]; h.Low == nil || h.Clusters != want || h.N != 40 {
			t.Fatalf("images %v: %+v", images, h)
		}
		return *h.High - *h.Low
	}
	if w, v := width(false), width(true); v < 2.5*w {
		t.Errorf("%v hours wide over images, %v over answers", v, w)
	}
}

// A projection rests on the clusters that have an answer in it, not on all that were seen.
func TestProjectionsRestOnTheirOwnClusters(t *testing.T) {
	list := []took{{model: "m", latency: time.Second, held: -1}, {model: "m", latency: 2 * time.Second, held: -1}, {model: "m", held: -1}, {model: "m", held: -1}}
	if h := project(t, prices(), 1, list...).Hours; h.Clusters != 2 || h.N != 2 {
		t.Errorf("hours: %+v, want 2 clusters", h)
	}
}
