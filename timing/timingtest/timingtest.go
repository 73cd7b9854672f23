// Package timingtest has real GPUs that were recorded beside a power meter
// (traces/README.md), for the tests of several packages.
package timingtest

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/csv"
	"fmt"
	"math"
	"sort"
	"strconv"
	"time"

	"assay/timing"
)

//go:embed traces/*.gz traces/sensors.csv
var files embed.FS

// Fields of power that the driver has.
const (
	Draw    = "draw"
	Instant = "instant"
)

// Trace is one recording. Its clock begins with the meter; what the driver said
// begins earlier and ends later.
type Trace struct {
	Name string
	Card string        // "rtx3090", "a100", "k40m"
	Load timing.Window // from the load's first step up to its last step down

	at            []time.Duration // when the driver said something new; the last one closes the recording
	draw, instant []float64       // mW
	meter         []float64       // mJ from 0 to the end of each slot
}

const slot = 5 * time.Millisecond

// Traces are all recordings.
func Traces() ([]Trace, error) {
	const us = time.Microsecond
	out := []Trace{
		{Name: "step-rtx3090", Card: "rtx3090", Load: timing.Window{From: 1_050_236 * us, To: 6_979_026 * us}},
		{Name: "step-a100", Card: "a100", Load: timing.Window{From: 1_050_116 * us, To: 7_020_033 * us}},
		{Name: "step-k40m", Card: "k40m", Load: timing.Window{From: 1_050_190 * us, To: 7_021_001 * us}},
		{Name: "pulses-rtx3090", Card: "rtx3090", Load: timing.Window{From: 1_050_233 * us, To: 9_023_917 * us}},
		{Name: "pulses-a100", Card: "a100", Load: timing.Window{From: 1_050_112 * us, To: 8_979_835 * us}},
	}
	for i := range out {
		if err := out[i].read(); err != nil {
			return nil, fmt.Errorf("timingtest: %s: %w", out[i].Name, err)
		}
	}
	return out, nil
}

func (t *Trace) read() error {
	meter, err := numbers(t.Name + ".meter.csv.gz")
	if err != nil {
		return err
	}
	sum := 0.
	for _, row := range meter {
		sum += row[0] * 1000 * slot.Seconds()
		t.meter = append(t.meter, sum)
	}
	sensor, err := numbers(t.Name + ".sensor.csv.gz")
	for _, row := range sensor {
		t.at = append(t.at, time.Duration(row[0])*time.Millisecond)
		t.draw, t.instant = append(t.draw, row[1]*1000), append(t.instant, row[2]*1000)
	}
	return err
}

func numbers(name string) ([][]float64, error) {
	b, err := files.ReadFile("traces/" + name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		return nil, err
	}
	var out [][]float64
	for _, row := range rows[1:] {
		var line []float64
		for _, s := range row {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return nil, err
			}
			line = append(line, v)
		}
		out = append(out, line)
	}
	return out, nil
}

// Length is how long the meter ran.
func (t Trace) Length() time.Duration { return time.Duration(len(t.meter)) * slot }

// Energy is what the meter counted over w, which lies in 0..Length.
func (t Trace) Energy(w timing.Window) timing.Millijoules {
	return timing.Millijoules(t.until(w.To) - t.until(w.From))
}

func (t Trace) until(at time.Duration) float64 {
	i := min(int(at/slot), len(t.meter)-1)
	before := 0.
	if i > 0 {
		before = t.meter[i-1]
	}
	return before + (t.meter[i]-before)*float64(at-time.Duration(i)*slot)/float64(slot)
}

// Says is what the driver says at a moment.
func (t Trace) Says(field string, at time.Duration) timing.Milliwatts {
	i := max(0, sort.Search(len(t.at), func(i int) bool { return t.at[i] > at })-1)
	if field == Draw {
		return timing.Milliwatts(t.draw[i])
	}
	return timing.Milliwatts(t.instant[i])
}

// Read looks at a field hz times a second, first at later after the recording's begin.
func (t Trace) Read(field string, hz int, later time.Duration) (out []timing.PowerReading) {
	for at := t.at[0] + later; at < t.at[len(t.at)-1]; at += time.Second / time.Duration(hz) {
		out = append(out, timing.PowerReading{At: at, Power: t.Says(field, at)})
	}
	return out
}

// Sensor is a line of sensors.csv: one field of one card under one driver. What
// was not measured is NaN.
type Sensor struct {
	GPU, Driver, Field string
	Update, Rise       float64 // ms
	Gain, Offset       float64 // a reading is Gain x truth + Offset (W)
	SteadyError        float64 // percent
	Window             float64 // ms
	EnergyError        float64 // percent
}

// Sensors are all that were recorded.
func Sensors() ([]Sensor, error) {
	b, err := files.ReadFile("traces/sensors.csv")
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, err
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return math.NaN() // empty, or a word of the log
		}
		return v
	}
	var out []Sensor
	for _, r := range rows[1:] {
		out = append(out, Sensor{GPU: r[0], Driver: r[1], Field: r[2], Update: number(r[3]), Rise: number(r[4]),
			Gain: number(r[5]), Offset: number(r[6]), SteadyError: number(r[7]), Window: number(r[8]), EnergyError: number(r[10])})
	}
	return out, nil
}
