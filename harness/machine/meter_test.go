package machine_test

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"assay/harness/machine"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

// TestAMeterIsAPartOfItsOwn: a plug that says its watts once a second has a block's energy, beside
// the GPU's and in none of it, and no answer's.
func TestAMeterIsAPartOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		ctx, clock := t.Context(), timing.NewClock()
		const begin, end = 10 * time.Second, 40 * time.Second
		watts := func(at time.Duration) float64 {
			if at >= begin && at < end {
				return 400
			}
			return 100
		}
		told := time.Duration(-1)
		plug := &fake{id: "plug-desk", kind: telemetry.Meter, read: func(s *telemetry.Sample) error {
			if now := clock.Now().Truncate(time.Second); now != told {
				told = now
				s.Set(telemetry.PowerInstant, int64(1e3*watts(now)))
			}
			return nil
		}}
		gpu := &fake{id: "GPU-near", kind: telemetry.GPU, read: func(s *telemetry.Sample) error {
			s.Set(telemetry.PowerInstant, int64(1e3*(watts(clock.Now())-80)))
			return nil
		}}
		m, err := machine.Start(ctx, st, clock, 10, []telemetry.Probe{gpu, plug}, results.Session{Places: map[string]results.Place{"m": results.PlaceLocal}})
		if err != nil {
			t.Fatal(err)
		}
		m.Begin()
		if _, err := m.Hold(ctx, "m", results.Hold{Known: true, GPUs: []string{"GPU-near"}, How: "it is told"}, nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(end + 3*time.Second - clock.Now())
		put(t, st, clock, key("m", "a"), begin, end)
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := machine.Measure(ctx, st, 0); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows(t, st) {
			if r.GPU == nil || r.GPU.Unknown != "" || math.Abs(float64(r.GPU.Gross)/1000-320*30) > 100 || *r.GPU.Devices != 1 {
				t.Errorf("the answer's GPU: %+v", r.GPU)
			}
			if r.CPU != nil {
				t.Errorf("the plug is a processor: %+v", r.CPU)
			}
		}
		blocks, err := st.Blocks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(blocks, func(b results.Block) bool { return b.Part == results.PartMachine })
		if len(blocks) != 2 || i < 0 {
			t.Fatalf("%d blocks: %+v", len(blocks), blocks)
		}
		if e := blocks[i].Energy; e.Unknown != "" || math.Abs(float64(e.Gross)/1000-400*30) > float64(e.Uncertainty)/1000 || float64(e.Uncertainty) > .1*float64(e.Gross) || e.Absolute != nil {
			t.Errorf("the machine's block: %+v", e)
		}
	})
}
