package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"assay/timing"
	"assay/timing/telemetry"
)

// Calibration is what a calibration found.
type Calibration struct {
	Made  time.Time `json:"made"`
	Meter string    `json:"meter"`
	// The meter is taken to show Efficiency x its watts, less Others, of the GPU.
	Efficiency float64           `json:"efficiency"`
	Others     timing.Milliwatts `json:"others_mw"`
	Cards      []CalibratedGPU   `json:"cards"`
}

// CalibratedGPU is one GPU, with a fit of each figure that deserves one.
type CalibratedGPU struct {
	ID      string            `json:"id"` // UUID, or PCI address
	Name    string            `json:"name"`
	Fits    map[string]fit    `json:"fits"`              // by telemetry.Instant, Average, Counter
	Refused map[string]string `json:"refused,omitempty"` // why another one has none
}

// Calibrate fits a GPU's figures on what a meter showed beside them. It fails where none deserves it.
func Calibrate(d telemetry.Device, samples iter.Seq[telemetry.Sample], meter []timing.PowerReading) (CalibratedGPU, error) {
	c := CalibratedGPU{ID: d.ID, Name: d.Name, Fits: map[string]fit{}, Refused: map[string]string{}}
	figures := map[string][]timing.PowerReading{}
	var ticks []timing.CounterReading // where the counter was seen changed
	for s := range samples {
		for name, m := range map[string]telemetry.Measure{telemetry.Instant: telemetry.PowerInstant, telemetry.Average: telemetry.PowerAverage} {
			if v, ok := s.Get(m); ok {
				figures[name] = append(figures[name], timing.PowerReading{At: s.At, Power: timing.Milliwatts(v)})
			}
		}
		if v, ok := s.Get(telemetry.Energy); ok && v >= 0 && (len(ticks) == 0 || ticks[len(ticks)-1].Microjoules != uint64(v)) {
			ticks = append(ticks, timing.CounterReading{At: s.At, Microjoules: uint64(v)})
		}
	}
	figures[telemetry.Counter] = counted(ticks)
	var why []error
	for _, name := range []string{telemetry.Instant, telemetry.Average, telemetry.Counter} {
		if len(figures[name]) == 0 {
			continue
		}
		f, err := fitted(figures[name], meter)
		if err != nil {
			c.Refused[name] = err.Error()
			why = append(why, fmt.Errorf("%s: %w", name, err))
			continue
		}
		c.Fits[name] = f
	}
	if len(c.Fits) == 0 {
		return c, errors.Join(append([]error{fmt.Errorf("%s (%s) cannot be calibrated by this run", d.Name, d.ID)}, why...)...)
	}
	return c, nil
}

// counted is the counter's mean power over whole seconds; one in which it started again has none.
func counted(ticks []timing.CounterReading) (out []timing.PowerReading) {
	var from, last float64 // uJ at the second that is under way
	known := false
	for i := 1; i < len(ticks); i++ {
		a, b := ticks[i-1], ticks[i]
		if b.Microjoules < a.Microjoules {
			known = false
			continue
		}
		for s := a.At.Truncate(time.Second) + time.Second; s <= b.At; s += time.Second {
			at := float64(a.Microjoules) + float64(b.Microjoules-a.Microjoules)*float64(s-a.At)/float64(b.At-a.At)
			if from, last = last, at; known {
				out = append(out, timing.PowerReading{At: s - time.Second/2, Power: timing.Milliwatts((last - from) / 1000)})
			}
			known = true
		}
	}
	return out
}

// Scales are those of a device; nil: the file has none of it.
func (f Calibration) Scales(id string) map[string]timing.Scale {
	i := slices.IndexFunc(f.Cards, func(c CalibratedGPU) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	out := map[string]timing.Scale{}
	for name, fit := range f.Cards[i].Fits {
		out[name] = fit.Scale()
	}
	return out
}

// ReadCalibration takes in a file that assay store calibrate wrote.
func ReadCalibration(path string) (Calibration, error) {
	var f Calibration
	b, err := os.ReadFile(path)
	if err == nil {
		f, err = parseCalibration(b)
	}
	if err != nil {
		return f, fmt.Errorf("telemetry.calibration: %s: %w", path, err)
	}
	return f, nil
}

func parseCalibration(b []byte) (Calibration, error) {
	var f Calibration
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("it is none of assay store calibrate's files: %w", err)
	}
	for _, c := range f.Cards {
		for name, fit := range c.Fits {
			if !(fit.Gain >= .5 && fit.Gain <= 2) || !(fit.Spread.Part >= 0) || !(fit.Spread.Rest >= 0) {
				return f, fmt.Errorf("GPU %s, %s: a gain of %g with a spread of %g + %g mW; expected a gain of 0.5 to 2 and a spread of 0 or more: write the file again with assay store calibrate", c.ID, name, fit.Gain, fit.Spread.Part, float64(fit.Spread.Rest))
			}
		}
	}
	if len(f.Cards) == 0 {
		return f, errors.New("it has no GPU: write it with assay store calibrate")
	}
	return f, nil
}
