package study

import (
	"fmt"
	"strings"
	"time"

	"assay/results"
	"assay/timing"
)

// Methods says where the study's energies came from and who stamped its times.
// It follows Score.
func (b *Basis) Methods(accounts []*Account) []string {
	var out []string
	by := map[timing.Method]int{}
	n := 0
	for _, c := range accounts {
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
		out = append(out, s, "Their uncertainty within a card is that of how and when it was looked at, and serves to compare on one GPU; the absolute one has the gain and offset of its sensor too, by the spread over recorded cards of its kind"+
			" or by its own calibration, and serves for joules as such, for money and for another machine.")
	}
	if a := b.arrived(); a.Kernel > 0 {
		s := fmt.Sprintf("Arrival times of the %s study are the kernel's receive stamps, carried to the monotonic clock; the instrument read a chunk %s ms after it arrived (largest median of a block; 99th percentile %s ms)",
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
func (b *Basis) arrived() results.Arrivals {
	var a results.Arrivals
	for _, x := range b.Blocks {
		if x.Study == b.Study && x.Arrivals != nil {
			a.Kernel, a.User = a.Kernel+x.Arrivals.Kernel, a.User+x.Arrivals.User
			a.Median, a.P99 = max(a.Median, x.Arrivals.Median), max(a.P99, x.Arrivals.P99)
		}
	}
	return a
}

// ArrivalTable is the instrument's own delay: how long after its arrival a chunk
// was read; false: nothing is known of it.
func (b *Basis) ArrivalTable() (results.Table, bool) {
	t := results.Table{Name: b.Study + "-arrivals", Title: "The instrument's own delay", Columns: []results.Column{
		TextColumn("model", "Model"), results.Column{Name: "session", Title: "Session", Help: "one call of run"},
		CountColumn("kernel", "Kernel's stamps", "answers whose chunks the kernel stamped on arrival"),
		CountColumn("user", "Own stamps", "answers whose chunks were stamped after the read"),
		CountColumn("chunks", "Chunks", "with the kernel's stamps"),
		PercentColumn("shared", "Share a read", "chunks that came in one read with a later one: their times are \"at most\", and they are in no figure beside"),
		SignificantColumn("lag_median", "Lag median", "ms", "our read less the kernel's stamp; no part of any time, because the stamp counts"),
		SignificantColumn("lag_p99", "Lag p99", "ms", "99th percentile"), SignificantColumn("lag_longest", "Longest", "ms", ""),
	}}
	for _, x := range b.Blocks {
		a := x.Arrivals
		if x.Study != b.Study || a == nil {
			continue
		}
		lags := a.Chunks - a.Shared
		ms := func(d time.Duration) results.Cell {
			e := &results.Estimate{N: lags, Why: "no chunk has a stamp of the kernel and a read of its own"}
			if lags > 0 {
				e.Value, e.Why = new(d.Seconds()*1000), ""
			}
			return Value(e)
		}
		share := &results.Estimate{N: a.Chunks, Why: "no chunk has a stamp of the kernel"}
		if v, ok := over(100*float64(a.Shared), float64(a.Chunks)); ok {
			share.Value, share.Why = &v, ""
		}
		t.Rows = append(t.Rows, []results.Cell{Text(x.Model), Text(fmt.Sprint(x.Session)), Counted(a.Kernel, a.Kernel+a.User), Counted(a.User, a.Kernel+a.User), Counted(a.Chunks, a.Chunks),
			Value(share), ms(a.Median), ms(a.P99), ms(a.Longest)})
	}
	return t, len(t.Rows) > 0
}
