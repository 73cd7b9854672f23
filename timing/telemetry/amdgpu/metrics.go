package amdgpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"assay/timing/telemetry"
)

// metricsTable is what one gpu_metrics table is, besides the values that Parse sets.
type metricsTable struct {
	Format, Content uint8 // revision: v1.3 has format 1, content 3
	// Residencies count the time spent throttled by each cause: PROCHOT, power,
	// socket, regulators, memory (v1.6 to v1.8). nil: not reported.
	Residencies []uint32
}

// Revision is the table's revision as the kernel names it.
func (t metricsTable) Revision() string { return fmt.Sprintf("v%d.%d", t.Format, t.Content) }

// APU says that the table is one of those of chips with a CPU and a GPU.
func (t metricsTable) APU() bool { return t.Format >= 2 }

// causes is what each of metricsTable.Residencies means.
var causes = [...]int64{telemetry.ThrottleHardware, telemetry.ThrottlePower, telemetry.ThrottleThermal, telemetry.ThrottleThermal, telemetry.ThrottleThermal}

// value is one number in a table: where it is, how wide, and what one unit of it
// is in units of the measure. A value of all ones is not reported.
type value struct {
	to    telemetry.Measure
	at    int
	bytes int
	times int64 // 0: divide by 100
}

// layout is one revision of the table, as a 64-bit kernel lays it out.
type layout struct {
	format, content uint8
	size            int
	values          []value
	energy          int // offset of the counter; 0: none
	throttle        int // offset of the 32 bits that mean something else on every chip; 0: none
	causes          int // offset of the 64 bits that mean the same on every chip; 0: none
	residencies     int // offset of the five counters; 0: none
}

// layouts are v1.1 to v1.8 and the APUs' tables, by drivers/gpu/drm/amd/include/
// kgd_pp_interface.h of the kernel. v1.6 had another shape at first.
// v1.0 and v2.0 are not aligned alike everywhere; the kernel advises against
// them. v2.1 to v2.3 state no units for power and utilisation, and chips differ
// in them: nothing is taken from these but the throttle bits.
func layouts() []layout {
	early := []value{
		{telemetry.TempCore, 4, 2, 1000}, {telemetry.TempHotspot, 6, 2, 1000}, {telemetry.TempMemory, 8, 2, 1000},
		{telemetry.CoreBusy, 16, 2, 1}, {telemetry.MemoryBusy, 18, 2, 1}, {telemetry.PowerAverage, 22, 2, 1000},
		{telemetry.ClockCore, 54, 2, 1}, {telemetry.ClockMemory, 58, 2, 1},
	}
	instinct := func(gfxclk, uclk int) []value {
		return []value{
			{telemetry.TempHotspot, 4, 2, 1000}, {telemetry.TempMemory, 6, 2, 1000},
			{telemetry.PowerInstant, 10, 2, 1000}, {telemetry.CoreBusy, 12, 2, 1}, {telemetry.MemoryBusy, 14, 2, 1},
			{telemetry.ClockCore, gfxclk, 2, 1}, {telemetry.ClockMemory, uclk, 2, 1},
		}
	}
	return []layout{
		{format: 1, content: 1, size: 96, values: early, energy: 24, throttle: 68},
		{format: 1, content: 2, size: 104, values: early, energy: 24, throttle: 68},
		{format: 1, content: 3, size: 120, values: early, energy: 24, throttle: 68, causes: 112},
		{format: 1, content: 4, size: 288, values: instinct(240, 280), energy: 24, throttle: 40},
		{format: 1, content: 5, size: 360, values: instinct(312, 352), energy: 88, throttle: 104},
		{format: 1, content: 6, size: 384, values: instinct(336, 376), energy: 88, residencies: 108, throttle: 128},
		{format: 1, content: 6, size: 1664, values: instinct(264, 304), energy: 16, residencies: 36},
		{format: 1, content: 7, size: 2208, values: instinct(296, 336), energy: 24, residencies: 44},
		{format: 1, content: 8, size: 3872, values: instinct(296, 336), energy: 24, residencies: 44},
		{format: 2, content: 1, size: 120, throttle: 108},
		{format: 2, content: 2, size: 128, throttle: 108, causes: 120},
		{format: 2, content: 3, size: 152, throttle: 108, causes: 120},
		{format: 2, content: 4, size: 168, throttle: 108, causes: 120, values: []value{
			{telemetry.CoreBusy, 28, 2, 0}, {telemetry.PowerAverage, 40, 2, 1},
		}},
		{format: 3, content: 0, size: 264, values: []value{
			{telemetry.CoreBusy, 42, 2, 1}, {telemetry.PowerAverage, 112, 4, 1},
		}},
	}
}

// Parser reads gpu_metrics tables. The zero Parser is not usable; see newParser.
type parser struct{ layouts []layout }

// newParser makes a parser of every revision that is known.
func newParser() parser { return parser{layouts()} }

// Parse sets in s what the table b reports. A table of a revision that is not
// known, or not of the size that its revision has, is an error: nothing is
// guessed from it. Every input is bounded by its size, at most 64 KiB.
func (p parser) Parse(b []byte, s *telemetry.Sample) (metricsTable, error) {
	if len(b) < 4 {
		return metricsTable{}, fmt.Errorf("amdgpu: a gpu_metrics table of %d bytes: it has no header", len(b))
	}
	size := int(binary.LittleEndian.Uint16(b))
	t := metricsTable{Format: b[2], Content: b[3]}
	var l *layout
	known := false
	for i := range p.layouts {
		if x := &p.layouts[i]; x.format == t.Format && x.content == t.Content {
			known = true
			if x.size == size {
				l = x
			}
		}
	}
	switch {
	case !known:
		return t, fmt.Errorf("amdgpu: gpu_metrics %s is not supported: v1.1 to v1.8, v2.1 to v2.4 and v3.0 are", t.Revision())
	case l == nil:
		return t, fmt.Errorf("amdgpu: gpu_metrics %s of %d bytes is not laid out like any of its revision that is known", t.Revision(), size)
	case len(b) < size:
		return t, fmt.Errorf("amdgpu: gpu_metrics %s is cut short: %d bytes of %d", t.Revision(), len(b), size)
	}
	for _, v := range l.values {
		raw, ok := number(b, v.at, v.bytes)
		switch {
		case !ok:
		case v.times == 0:
			s.Set(v.to, int64(raw)/100)
		default:
			s.Set(v.to, int64(raw)*v.times)
		}
	}
	if l.energy > 0 {
		if uj, ok := microjoules(binary.LittleEndian.Uint64(b[l.energy:])); ok {
			s.Set(telemetry.Energy, uj)
		}
	}
	if l.throttle > 0 {
		if raw, ok := number(b, l.throttle, 4); ok {
			s.Set(telemetry.ThrottleRaw, int64(raw))
			s.Set(telemetry.Throttle, map[bool]int64{true: telemetry.ThrottleOther}[raw != 0])
		}
	}
	if l.causes > 0 {
		if raw, ok := number(b, l.causes, 8); ok {
			s.Set(telemetry.ThrottleRaw, int64(raw&math.MaxInt64)) // bit 63 has no meaning
			s.Set(telemetry.Throttle, throttle(raw))
		}
	}
	if l.residencies > 0 {
		for i := range causes {
			raw, ok := number(b, l.residencies+4*i, 4)
			if !ok {
				raw = 0
			}
			t.Residencies = append(t.Residencies, uint32(raw))
		}
	}
	return t, nil
}

// number reads a little-endian number; false: all ones.
func number(b []byte, at, bytes int) (uint64, bool) {
	var v uint64
	for i := range bytes {
		v |= uint64(b[at+i]) << (8 * i)
	}
	return v, v != 1<<(8*bytes)-1
}

// microjoules converts the counter from units of 2^-16 J. All ones is not
// reported, also where a driver widened the ones of 32 bits.
func microjoules(units uint64) (int64, bool) {
	hi, lo := bits.Mul64(units, 15625)
	if units == 0xFFFFFFFF || hi >= 512 { // a result of 2^63 or more is no count
		return 0, false
	}
	uj, _ := bits.Div64(hi, lo, 1024)
	return int64(uj), true
}

// throttle maps the chip-independent bits (SMU_THROTTLER_*_BIT in the kernel's
// amdgpu_smu.h) to ours: 0 to 15 are power limits, 16 to 31 current limits, 32
// to 45 temperatures, 46 and 47 a forced PROCHOT.
func throttle(raw uint64) int64 {
	var out int64
	for _, r := range []struct {
		bits uint64
		is   int64
	}{
		{0xFFFF, telemetry.ThrottlePower},
		{0xFFFF << 16, telemetry.ThrottleHardware},
		{0x3FFF << 32, telemetry.ThrottleThermal},
		{0x3 << 46, telemetry.ThrottleHardware},
		{0xFFFF << 48, telemetry.ThrottleOther},
	} {
		if raw&r.bits != 0 {
			out |= r.is
		}
	}
	return out
}
