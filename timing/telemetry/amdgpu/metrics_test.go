package amdgpu

import (
	"bytes"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"assay/timing/telemetry"
)

// The tables as a 64-bit kernel lays them out: Go aligns these types alike. They
// are written apart from layouts(), to check it.
type (
	header struct {
		Size            uint16
		Format, Content uint8
	}
	v11 struct {
		header
		Edge, Hotspot, Mem, _, _, _ uint16 // temperatures
		Gfx, Umc, _, Power          uint16
		Energy, _                   uint64
		_                           [7]uint16 // mean clocks
		Gfxclk, _, Uclk             uint16
		_                           [4]uint16
		Throttle                    uint32
		_                           [4]uint16 // fan, link
		_                           [2]uint32
		_                           [4]uint16 // HBM
	}
	v12 struct {
		v11
		_ uint64
	}
	v13 struct {
		v12
		_      [4]uint16 // voltages
		Causes uint64
	}
	clocks struct {
		Gfxclk [8]uint16
		_      [3][4]uint16
		Uclk   uint16
	}
	start struct {
		header
		Hotspot, Mem, _, Power, Gfx, Umc uint16
	}
	residency struct {
		_                             uint32
		Prochot, PPT, Socket, VR, HBM uint32
	}
	v14 struct {
		start
		_           [4]uint16 // VCN
		Energy, _   uint64
		Throttle, _ uint32
		_           [4]uint16 // links
		_           [2]uint32
		_           [5]uint64 // PCIe
		_           [2][8]uint64
		_           uint64
		clocks
		_ uint16
	}
	v15 struct {
		start
		_           [4]uint16
		_           [32]uint16 // JPEG
		Energy, _   uint64
		Throttle, _ uint32
		_           [4]uint16
		_           [2]uint32
		_           [5]uint64
		_           [2]uint32
		_           [2][8]uint64
		_           uint64
		clocks
		_ uint16
	}
	v16old struct {
		start
		_         [4]uint16
		_         [32]uint16
		Energy, _ uint64
		residency
		Throttle, _ uint32
		_           [4]uint16
		_           [2]uint32
		_           [5]uint64
		_           [2]uint32
		_           [2][8]uint64
		_           uint64
		clocks
		_ uint16
	}
	partition struct {
		_ [8]uint32
		_ [32]uint16
		_ [4]uint16
		_ [8]uint64
	}
	v16 struct {
		start
		Energy, _ uint64
		residency
		_ uint32
		_ [4]uint16
		_ [2]uint32
		_ [5]uint64
		_ [2]uint32
		_ [2][8]uint64
		_ uint64
		clocks
		_ uint16
		_ [8]partition
		_ uint32
	}
	v17 struct {
		start
		_         uint64 // bandwidth
		Energy, _ uint64
		residency
		_ uint32
		_ [4]uint16
		_ [2]uint32
		_ [5]uint64
		_ [2]uint32
		_ [2][8]uint64
		_ [9]uint16
		_ uint64
		clocks
		_ uint16
		_ [8]struct {
			partition
			_ [8]uint64
		}
		_ uint32
	}
	v18 struct {
		start
		_         uint64
		Energy, _ uint64
		residency
		_ uint32
		_ [4]uint16
		_ [2]uint32
		_ [5]uint64
		_ [2]uint32
		_ [2][8]uint64
		_ [9]uint16
		_ uint64
		clocks
		_ uint16
		_ [8]struct {
			_ [8]uint32
			_ [40]uint16
			_ [4]uint16
			_ [8]uint64
			_ [4][8]uint64
		}
		_ uint32
	}
	v21 struct {
		header
		_        [12]uint16 // temperatures
		Gfx, _   uint16
		_        uint64
		Power, _ uint16
		_        [10]uint16
		_        [6]uint16  // mean clocks
		_        [16]uint16 // clocks
		Throttle uint32
		_        [4]uint16
	}
	v22 struct {
		v21
		Causes uint64
	}
	v23 struct {
		v22
		_ [12]uint16
	}
	v24 struct {
		v23
		_ [6]uint16
	}
	v30 struct {
		header
		_      [19]uint16 // temperatures
		Gfx, _ uint16
		_      [28]uint16
		_      uint64
		Power  uint32
		_      uint16
		_      [4]uint32
		_      [19]uint16
		_      [8]uint16
		_      [18]uint16
		_      [7]uint32
		_      uint32
	}
)

// table is a *T as the kernel hands it out: all ones but for what fill sets.
func table[T any](format, content uint8, fill func(*T)) []byte {
	size := int(unsafe.Sizeof(*new(T)))
	t := (*T)(unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8))))
	b := unsafe.Slice((*byte)(unsafe.Pointer(t)), size)
	for i := range b {
		b[i] = 0xFF
	}
	h := (*header)(unsafe.Pointer(t))
	h.Size, h.Format, h.Content = uint16(size), format, content
	fill(t)
	return slices.Clone(b)
}

const unit = 1 << 16 // of the counter, in a joule

func early(t *v11) {
	t.Edge, t.Hotspot, t.Mem, t.Gfx, t.Umc, t.Power, t.Energy, t.Gfxclk, t.Uclk, t.Throttle = 51, 63, 70, 99, 12, 305, 1000*unit, 2400, 1249, 0
}

func begin(t *start) {
	t.Hotspot, t.Mem, t.Power, t.Gfx, t.Umc = 63, 70, 305, 99, 12
}

func tick(t *clocks) { t.Gfxclk[0], t.Uclk = 2400, 1249 }

func stay(t *residency) { t.Prochot, t.PPT, t.Socket, t.VR, t.HBM = 1, 2, 3, 4, 5 }

type revision struct {
	name   string
	bytes  []byte
	want   map[telemetry.Measure]int64
	causes int // length of Residencies
}

// revisions is a table of each revision, the same state in each.
func revisions() []revision {
	of := func(m map[telemetry.Measure]int64, more ...map[telemetry.Measure]int64) map[telemetry.Measure]int64 {
		out := maps.Clone(m)
		for _, x := range more {
			maps.Copy(out, x)
		}
		return out
	}
	hot := map[telemetry.Measure]int64{
		telemetry.TempHotspot: 63_000, telemetry.TempMemory: 70_000, telemetry.CoreBusy: 99, telemetry.MemoryBusy: 12,
		telemetry.ClockCore: 2400, telemetry.ClockMemory: 1249, telemetry.Energy: 1_000_000_000,
	}
	discrete := of(hot, map[telemetry.Measure]int64{telemetry.TempCore: 51_000, telemetry.PowerAverage: 305_000, telemetry.Throttle: 0, telemetry.ThrottleRaw: 0})
	instinct := of(hot, map[telemetry.Measure]int64{telemetry.PowerInstant: 305_000})
	throttled := map[telemetry.Measure]int64{telemetry.Throttle: telemetry.ThrottleOther, telemetry.ThrottleRaw: 6}
	power := map[telemetry.Measure]int64{telemetry.Throttle: telemetry.ThrottlePower | telemetry.ThrottleThermal, telemetry.ThrottleRaw: 1<<3 | 1<<36}
	return []revision{
		{"v1.1", table(1, 1, early), discrete, 0},
		{"v1.2", table(1, 2, func(t *v12) { early(&t.v11) }), discrete, 0},
		{"v1.3", table(1, 3, func(t *v13) { early(&t.v11); t.Causes = 1<<3 | 1<<36 }), of(discrete, power), 0},
		{"v1.4", table(1, 4, func(t *v14) { begin(&t.start); t.Energy, t.Throttle = 1000*unit, 6; tick(&t.clocks) }), of(instinct, throttled), 0},
		{"v1.5", table(1, 5, func(t *v15) { begin(&t.start); t.Energy, t.Throttle = 1000*unit, 6; tick(&t.clocks) }), of(instinct, throttled), 0},
		{"v1.6 as it first was", table(1, 6, func(t *v16old) {
			begin(&t.start)
			t.Energy, t.Throttle = 1000*unit, 6
			stay(&t.residency)
			tick(&t.clocks)
		}), of(instinct, throttled), 5},
		{"v1.6", table(1, 6, func(t *v16) { begin(&t.start); t.Energy = 1000 * unit; stay(&t.residency); tick(&t.clocks) }), instinct, 5},
		{"v1.7", table(1, 7, func(t *v17) { begin(&t.start); t.Energy = 1000 * unit; stay(&t.residency); tick(&t.clocks) }), instinct, 5},
		{"v1.8", table(1, 8, func(t *v18) { begin(&t.start); t.Energy = 1000 * unit; stay(&t.residency); tick(&t.clocks) }), instinct, 5},
		{"v2.1", table(2, 1, func(t *v21) { t.Gfx, t.Power, t.Throttle = 4200, 15_000, 6 }), throttled, 0},
		{"v2.2", table(2, 2, func(t *v22) { t.Gfx, t.Power, t.Throttle, t.Causes = 4200, 15_000, 6, 1<<3|1<<36 }), power, 0},
		{"v2.3", table(2, 3, func(t *v23) { t.Gfx, t.Power, t.Throttle, t.Causes = 4200, 15_000, 6, 1<<3|1<<36 }), power, 0},
		{"v2.4", table(2, 4, func(t *v24) { t.Gfx, t.Power, t.Throttle, t.Causes = 4200, 15_300, 6, 1<<3|1<<36 }), of(power, map[telemetry.Measure]int64{telemetry.CoreBusy: 42, telemetry.PowerAverage: 15_300}), 0},
		{"v3.0", table(3, 0, func(t *v30) { t.Gfx, t.Power = 42, 118_000 }), map[telemetry.Measure]int64{telemetry.CoreBusy: 42, telemetry.PowerAverage: 118_000}, 0},
	}
}

func values(s *telemetry.Sample) map[telemetry.Measure]int64 {
	out := map[telemetry.Measure]int64{}
	for m := range telemetry.Measures() {
		if v, ok := s.Get(m); ok {
			out[m] = v
		}
	}
	return out
}

func TestEveryRevision(t *testing.T) {
	covered := map[int]bool{}
	for _, r := range revisions() {
		var s telemetry.Sample
		got, err := newParser().Parse(r.bytes, &s)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if !maps.Equal(values(&s), r.want) {
			t.Errorf("%s gives\n%v, want\n%v", r.name, values(&s), r.want)
		}
		if !strings.HasPrefix(r.name, got.Revision()) || len(got.Residencies) != r.causes || got.APU() != (r.name[1] > '1') {
			t.Errorf("%s: %+v", r.name, got)
		}
		if r.causes > 0 && !slices.Equal(got.Residencies, []uint32{1, 2, 3, 4, 5}) {
			t.Errorf("%s: residencies %v", r.name, got.Residencies)
		}
		for i, l := range layouts() {
			if l.size == len(r.bytes) && l.format == got.Format && l.content == got.Content {
				covered[i] = true
			}
		}
		// Nothing is reported: nothing is known, and nothing is 0.
		blank := append(slices.Clone(r.bytes[:4]), bytes.Repeat([]byte{0xFF}, len(r.bytes)-4)...)
		s = telemetry.Sample{}
		if _, err := newParser().Parse(blank, &s); err != nil || s.Len() != 0 {
			t.Errorf("%s, all ones: %v %v", r.name, values(&s), err)
		}
		// The kernel hands out whole tables; a reader may get more room than needed.
		s = telemetry.Sample{}
		if _, err := newParser().Parse(append(slices.Clone(r.bytes), 0, 0), &s); err != nil || !maps.Equal(values(&s), r.want) {
			t.Errorf("%s with bytes behind it: %v %v", r.name, values(&s), err)
		}
		if _, err := newParser().Parse(r.bytes[:len(r.bytes)-1], &s); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("%s cut short: %v", r.name, err)
		}
		off := slices.Clone(r.bytes)
		off[0]++
		if _, err := newParser().Parse(append(off, 0), &s); err == nil || !strings.Contains(err.Error(), "is not laid out like") {
			t.Errorf("%s of another size: %v", r.name, err)
		}
	}
	for i, l := range layouts() {
		if !covered[i] {
			t.Errorf("no test of v%d.%d of %d bytes", l.format, l.content, l.size)
		}
	}
}

func TestUnknownTablesAreRefused(t *testing.T) {
	for want, b := range map[string][]byte{
		"it has no header":                    {96, 0, 1},
		"gpu_metrics v1.0 is not supported":   {96, 0, 1, 0},
		"gpu_metrics v1.9 is not supported":   {96, 0, 1, 9},
		"gpu_metrics v2.0 is not supported":   {96, 0, 2, 0},
		"gpu_metrics v4.1 is not supported":   {96, 0, 4, 1},
		"gpu_metrics v255.255 is not support": {255, 255, 255, 255},
	} {
		var s telemetry.Sample
		if _, err := newParser().Parse(b, &s); err == nil || !strings.Contains(err.Error(), want) || s.Len() > 0 {
			t.Errorf("%v: %v", b, err)
		}
	}
}

func TestEnergyUnits(t *testing.T) {
	for units, want := range map[uint64]int64{
		0: 0, 1: 15, 65536: 1_000_000, 1 << 32: 65_536_000_000, 1 << 48: 1 << 32 * 1_000_000,
		0xFFFFFFFF: -1, 1<<64 - 1: -1, 1 << 63: -1,
	} {
		got, ok := microjoules(units)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%d units: %d %t, want %d", units, got, ok, want)
		}
	}
}

func TestChipIndependentThrottleBits(t *testing.T) {
	for bit := range 64 {
		want := int64(telemetry.ThrottleOther)
		switch {
		case bit < 16:
			want = telemetry.ThrottlePower
		case bit < 32 || bit == 46 || bit == 47:
			want = telemetry.ThrottleHardware
		case bit < 46:
			want = telemetry.ThrottleThermal
		}
		if got := throttle(1 << bit); got != want {
			t.Errorf("bit %d: %d, want %d", bit, got, want)
		}
	}
	if throttle(0) != 0 {
		t.Error("no bits")
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/fuzz/FuzzParse/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again telemetry.Sample
		table, err := newParser().Parse(b, &s)
		if err != nil {
			if s.Len() > 0 {
				t.Fatalf("%v, and yet %v", err, values(&s))
			}
			return
		}
		for m, v := range values(&s) {
			if v < 0 {
				t.Fatalf("%s is %d", m, v)
			}
		}
		// Only the table itself counts, not what lies behind it.
		size := int(b[0]) | int(b[1])<<8
		if table2, err := newParser().Parse(b[:size:size], &again); err != nil || !reflect.DeepEqual(table, table2) || s != again {
			t.Fatalf("again: %v", err)
		}
		if table.APU() && s.Len() > 0 {
			if _, ok := s.Get(telemetry.Energy); ok {
				t.Fatal("an APU with a counter")
			}
		}
	})
}
