package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/results"
	"assay/timing"
)

// Sentences for a methods section: how devices were watched, where energies came
// from, and who stamped the arrival of pieces.

// watched says how devices were watched, each way once.
func watched(sessions []results.Session) []string {
	var out []string
	say := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, ses := range sessions {
		if ses.Hz > 0 && len(ses.Devices) > 0 {
			say(fmt.Sprintf("Devices were watched %d times a second, on the clock that times the requests.", ses.Hz))
		}
		for _, d := range ses.Devices {
			if s := deviceSentence(d); s != "" {
				say(s)
			}
		}
	}
	if len(out) == 0 && len(sessions) > 0 {
		say("No device was watched, so that no energies are known.")
	}
	return out
}

// facts are what a methods section names of a device, in order.
func facts() [][2]string {
	return [][2]string{{"driver", "driver"}, {"nvml", "NVML"}, {"gpu_metrics", "gpu_metrics"}, {"uuid", "UUID"}, {"mig", "MIG"}, {"vbios", "VBIOS"}}
}

func deviceSentence(d results.Watched) string {
	if d.Kind == "host" {
		return ""
	}
	var about struct {
		Facts []struct{ Name, Value string }
	}
	_ = json.Unmarshal(d.About, &about) // a description that cannot be read tells nothing
	fact := func(name string) string {
		for _, f := range about.Facts {
			if f.Name == name {
				return f.Value
			}
		}
		return ""
	}
	name := d.Name
	if d.Synthetic {
		name += " (synthetic)"
	}
	parts := []string{"source " + d.Source}
	for _, f := range facts() {
		if v := fact(f[0]); v != "" {
			parts = append(parts, f[1]+" "+v)
		}
	}
	if mw, err := strconv.ParseInt(fact("power_limit_mw"), 10, 64); err == nil {
		parts = append(parts, fmt.Sprintf("power limit %s W", significantTo(float64(mw)/1000, 4)))
	}
	s := fmt.Sprintf("%s (%s)", name, strings.Join(parts, ", "))
	if ns, err := strconv.ParseInt(fact("energy_tick_ns"), 10, 64); err == nil && ns > 0 {
		s += fmt.Sprintf(" has an energy counter that changes every %s ms (measured before the run) and", significantTo(float64(ns)/1e6, 3))
	}
	switch b := d.Baseline; {
	case b == nil:
		return s + " has no baseline at rest, so that net energies are unknown."
	case d.Synthetic:
		return s + fmt.Sprintf(" draws %s W at rest by its profile.", rest(b))
	default:
		return s + fmt.Sprintf(" drew %s W at rest, the median of whole seconds over ten seconds or more before the run.", rest(b))
	}
}

func rest(b *timing.Baseline) string {
	switch {
	case b.Counter != nil:
		return significantTo(float64(b.Counter.Median)/1000, 3)
	case b.Power != nil:
		return significantTo(float64(b.Power.Median)/1000, 3)
	}
	return "an unknown power"
}

// Methods says where the study's energies came from and who stamped its times.
// It follows Score.
func (b Basis) Methods(costs []*Costs) []string {
	var out []string
	by := map[timing.Method]int{}
	n := 0
	for _, c := range costs {
		for m, k := range c.methods {
			by[m] += k
			n += k
		}
	}
	if n > 0 {
		var parts []string
		for _, m := range []struct {
			method timing.Method
			words  string
		}{{timing.ByCounter, "the GPU's energy counter, aligned to its ticks"}, {timing.ByPower, "integrated power"}, {timing.ByBoth, "the counter with power where it failed"}} {
			if by[m.method] > 0 {
				parts = append(parts, fmt.Sprintf("%s for %d", m.words, by[m.method]))
			}
		}
		s := fmt.Sprintf("Energies of the %s study are those of the GPUs from the first byte of a request to its last content, by %s answers; net energies are less what the GPUs draw at rest.", b.Study, strings.Join(parts, ", "))
		if b.Together {
			s += " Requests ran beside each other, and each moment's energy and time are divided equally among those on the wire."
		}
		out = append(out, s)
	}
	if a := b.arrived(); a.Kernel > 0 {
		s := fmt.Sprintf("Arrival times of the %s study are the kernel's receive stamps, carried to the monotonic clock; the instrument read a piece %s ms after it arrived (largest median of a block; 99th percentile %s ms)",
			b.Study, significantTo(a.Median.Seconds()*1000, 2), significantTo(a.P99.Seconds()*1000, 2))
		if a.User > 0 {
			s += fmt.Sprintf("; %d of %d answers were stamped after the read instead", a.User, a.Kernel+a.User)
		}
		out = append(out, s+".")
	} else if a.User > 0 {
		out = append(out, fmt.Sprintf("Arrival times of the %s study were stamped after each read, not by the kernel.", b.Study))
	}
	return out
}

// arrived is the sum over the study's blocks; of lags, the largest.
func (b Basis) arrived() results.Arrivals {
	var a results.Arrivals
	for _, x := range b.Blocks {
		if x.Study == b.Study && x.Arrivals != nil {
			a.Kernel, a.User = a.Kernel+x.Arrivals.Kernel, a.User+x.Arrivals.User
			a.Median, a.P99 = max(a.Median, x.Arrivals.Median), max(a.P99, x.Arrivals.P99)
		}
	}
	return a
}

// ArrivalTable is the instrument's own delay: how long after its arrival a piece
// was read; false: nothing is known of it.
func (b Basis) ArrivalTable() (results.Table, bool) {
	t := results.Table{Name: b.Study + "-arrivals", Title: "The instrument's own delay", Columns: []results.Column{
		TextColumn("model", "Model"), CountColumn("session", "Session", "one call of run"),
		CountColumn("kernel", "Kernel's stamps", "answers whose pieces the kernel stamped on arrival"),
		CountColumn("user", "Own stamps", "answers whose pieces were stamped after the read"),
		CountColumn("pieces", "Pieces", "with the kernel's stamps"),
		PercentColumn("shared", "Share a read", "pieces that came in one read with a later one: their times are \"at most\", and they are in no figure beside"),
		SignificantColumn("lag_median", "Lag median", "ms", "our read less the kernel's stamp; no part of any time, because the stamp counts"),
		SignificantColumn("lag_p99", "Lag p99", "ms", "99th percentile"), SignificantColumn("lag_longest", "Longest", "ms", ""),
	}}
	for _, x := range b.Blocks {
		a := x.Arrivals
		if x.Study != b.Study || a == nil {
			continue
		}
		lags := a.Pieces - a.Shared
		ms := func(d time.Duration) results.Cell {
			e := &results.Estimate{N: lags, Why: "no piece has a stamp of the kernel and a read of its own"}
			if lags > 0 {
				v := d.Seconds() * 1000
				e.Value, e.Why = &v, ""
			}
			return Value(e)
		}
		share := &results.Estimate{N: a.Pieces, Why: "no piece has a stamp of the kernel"}
		if v, ok := over(100*float64(a.Shared), float64(a.Pieces)); ok {
			share.Value, share.Why = &v, ""
		}
		t.Rows = append(t.Rows, []results.Cell{Text(x.Model), Counted(int(x.Session), 1), Counted(a.Kernel, a.Kernel+a.User), Counted(a.User, a.Kernel+a.User), Counted(a.Pieces, a.Pieces),
			Value(share), ms(a.Median), ms(a.P99), ms(a.Longest)})
	}
	return t, len(t.Rows) > 0
}
