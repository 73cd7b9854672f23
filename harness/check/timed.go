package check

import (
	"context"
	"fmt"
	"time"

	"assay/backends/phantom"
	"assay/harness/machine"
	"assay/harness/study"
	"assay/harness/study/cot"
	"assay/results/stats"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// late is how much later than due a time may be found: what the two ends of a
// loopback connection and a timer cost on a machine that is not busy.
const late = 5 * time.Millisecond

// times runs a timed study of a reader whose chunks leave when they are due,
// on a phantom GPU, and puts times and energy beside what they have to be.
func (in *instrument) times(ctx context.Context) ([]Row, error) {
	p, err := quick("honest")
	if err != nil {
		return nil, err
	}
	p.Base, p.PerChunk = 40*time.Millisecond, 2*time.Millisecond
	st, err := in.opened(ctx, "times")
	if err != nil {
		return nil, err
	}
	defer st.Close()
	clock, activity := timing.NewClock(), phantom.NewActivity()
	card := phantom.DefaultCard()
	card.Tick = 20 * time.Millisecond
	gpu := machine.PhantomGPU{GPU: phantom.NewGPU(activity, card)}
	sampler, err := telemetry.NewSampler(clock, telemetry.MaxHz, []telemetry.Probe{gpu})
	if err != nil {
		return nil, err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan error, 1)
	go func() { watched <- sampler.Run(watch) }()
	if err := in.run(ctx, st, []model{{"timed", protocol(0), p}}, study.Choice{Sampling: sampling(), InFlight: 1, Timed: true}, clock, activity, 6); err != nil {
		return nil, err
	}
	select {
	case <-time.After(4 * card.Tick): // a last look after the last answer
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	stop()
	if err := <-watched; err != nil {
		return nil, err
	}
	meter, err := timing.NewMeter(telemetry.Readings(gpu.Describe(), sampler.Log().All(0)))
	if err != nil {
		return nil, err
	}
	return compare(ctx, st, p, meter, gpu.GPU, clock)
}

// span is a time found and the time that it has to be, in seconds.
type span struct{ found, due []float64 }

func compare(ctx context.Context, st *store.Store, p phantom.Profile, meter *timing.Meter, gpu *phantom.GPU, clock timing.Clock) ([]Row, error) {
	first, whole := span{}, map[string]*span{}
	var windows []timing.Window
	var drawn timing.Millijoules
	for r, err := range st.Rows(ctx, cot.Name) {
		if err != nil {
			return nil, err
		}
		t, _, err := st.Trial(ctx, r.Key)
		if err != nil {
			return nil, err
		}
		last, _ := t.Last()
		if r.Latency == nil || r.CompletionTokens == nil || len(last.Turns) != 1 {
			return nil, fmt.Errorf("check: trial %v of a phantom has no answer with a time (failure: %+v)", r.Key, last.Failure)
		}
		if whole[r.Key.Arm] == nil {
			whole[r.Key.Arm] = &span{}
		}
		due := p.Prefill(0, 0)
		if r.TTFT != nil { // else this machine was so busy that it read many chunks at once
			first.add(*r.TTFT, due)
		}
		whole[r.Key.Arm].add(*r.Latency, due+time.Duration(*r.CompletionTokens-1)*p.PerChunk)
		from, _ := last.Turns[0].Trace.At(timing.Start)
		to, _ := last.Turns[0].Trace.At(timing.LastContent)
		windows = append(windows, timing.Window{From: from, To: to})
		drawn += gpu.True(clock.Origin().Add(from), clock.Origin().Add(to))
	}
	rows := []Row{first.row("first chunk, median s")}
	for _, arm := range cot.ArmNames() {
		rows = append(rows, whole[arm].row("T "+arm+", median s"))
	}
	meter = meter.Stepped(windows)
	var energies []timing.Energy
	for _, w := range windows {
		e, _ := meter.Window(w)
		energies = append(energies, e)
	}
	energy := Row{What: "timed", Score: "energy of all trials, J", Truth: float64(drawn) / 1000, Kind: timed}
	if sum, ok := timing.Add(energies); ok {
		v := float64(sum.Gross) / 1000
		low, high := v-float64(sum.Uncertainty)/1000, v+float64(sum.Uncertainty)/1000
		energy.Found, energy.Low, energy.High = &v, &low, &high
		energy.OK = low <= energy.Truth && energy.Truth <= high
	}
	return append(rows, energy), nil
}

func (s *span) add(found, due time.Duration) {
	s.found, s.due = append(s.found, found.Seconds()), append(s.due, due.Seconds())
}

func (s *span) row(score string) Row {
	truth, _ := stats.Median(s.due)
	r := Row{What: "timed", Score: score, Truth: truth, Kind: timed}
	if v, ok := stats.Median(s.found); ok {
		r.Found = &v
		r.OK = truth <= v && v <= truth+late.Seconds()
	}
	return r
}
