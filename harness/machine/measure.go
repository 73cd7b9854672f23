package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
	"assay/timing/telemetry/exporter"
)

// Measure computes what trials and blocks took in every session that has not
// been measured yet, from the store alone. live is the session that is still
// under way, 0 for none: it is left alone.
func Measure(ctx context.Context, st *store.Store, live int64) error {
	sessions, err := st.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, ses := range sessions {
		if ses.Measured || ses.ID == live {
			continue
		}
		if err := measure(ctx, st, ses); err != nil {
			return fmt.Errorf("machine: energies of session %d: %w", ses.ID, err)
		}
	}
	return nil
}

// Pending says whether a session waits for Measure.
func Pending(ctx context.Context, st *store.Store) (bool, error) {
	sessions, err := st.Sessions(ctx)
	return slices.ContainsFunc(sessions, func(s results.Session) bool { return !s.Measured }), err
}

// device is a device with what computes its energies.
type device struct {
	results.Watched
	about telemetry.Device
	meter *timing.Meter
	slow  slowness
	doubt exporter.Doubt // of a device of another machine
}

func remote(d *device) bool { return d.about.Remote }

func open(ctx context.Context, st *store.Store, ses results.Session, n int) (*device, error) {
	d := &device{Watched: ses.Devices[n], slow: slowness{far: gapOf(ses.Hz)}}
	if err := json.Unmarshal(d.About, &d.about); err != nil {
		return nil, fmt.Errorf("the description of device %s cannot be read: %w", d.Name, err)
	}
	if !hasPower(d.Kind) {
		return d, nil
	}
	var bad error
	r := telemetry.Readings(d.about, func(yield func(telemetry.Sample) bool) {
		for s, err := range Stored(ctx, st, ses.ID, n) {
			if err != nil {
				bad = err
				return
			}
			d.slow.add(s)
			d.doubt.Add(s)
			if !yield(s) {
				return
			}
		}
	})
	if bad != nil {
		return nil, bad
	}
	if v, ok := d.about.Fact(tickFact); ok {
		if ns, err := strconv.ParseInt(v, 10, 64); err == nil {
			r.Tick = time.Duration(ns)
		}
	}
	var err error
	d.meter, err = timing.NewMeter(r)
	return d, err
}

// Stored is a device's samples from the store.
func Stored(ctx context.Context, st *store.Store, session int64, n int) iter.Seq2[telemetry.Sample, error] {
	return func(yield func(telemetry.Sample, error) bool) {
		for c, err := range st.SampleBundles(ctx, session, n) {
			if err != nil {
				yield(telemetry.Sample{}, err)
				return
			}
			samples, err := telemetry.Unpack(c.Bytes)
			if err != nil {
				yield(telemetry.Sample{}, err)
				return
			}
			for _, s := range samples {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// of says whether a device may work for a model at a place, as a part.
func (d *device) of(p results.Part, place results.Place) bool {
	if d.about.Remote != (place == results.PlaceRemote) || d.Synthetic != (place == results.PlacePhantom) {
		return false
	}
	part := results.PartCPU
	switch telemetry.Kind(d.Kind) {
	case telemetry.GPU:
		part = results.PartGPU
	case telemetry.Meter:
		part = results.PartMachine
	}
	return hasPower(d.Kind) && part == p
}

// held are those of a part's devices that work for a model, at rest as they were
// in its block; "" where there are some, else why there are none.
func held(devices []*device, p results.Part, place results.Place, h results.Hold, told bool) (group []*device, why string) {
	for _, d := range devices {
		if !d.of(p, place) || p == results.PartGPU && told && !slices.Contains(h.GPUs, d.ID) {
			continue
		}
		one := *d
		if b := h.Rest[d.ID].Loaded; b != nil {
			one.Baseline = b
		}
		group = append(group, &one)
	}
	any := slices.ContainsFunc(devices, func(d *device) bool { return d.of(p, place) })
	switch {
	case place == results.PlaceRemote && len(group) == 0:
		return nil, "the server is on another machine"
	case !any:
		return nil, "no " + map[results.Part]string{results.PartGPU: "GPU", results.PartCPU: "processor's energy", results.PartMachine: "meter"}[p] + " was watched"
	case p != results.PartGPU || place == results.PlacePhantom && !told:
		return group, ""
	case !told:
		return nil, "it was not found out which GPUs work for this model"
	case !h.Known:
		return nil, "it is not known which GPUs work for this model: " + h.How
	case len(group) == 0:
		return nil, "no GPU works for this model: " + h.How
	}
	return group, ""
}

// block is one model's flights of a study.
type block struct {
	study, model string
	place        results.Place
	windows      []timing.Window
	arrivals     arrivals
	output       timing.Throughput
}

func measure(ctx context.Context, st *store.Store, ses results.Session) error {
	var devices []*device
	for n := range ses.Devices {
		d, err := open(ctx, st, ses, n)
		if err != nil {
			return err
		}
		devices = append(devices, d)
	}
	var flights []results.Flight
	byName := map[[2]string]*block{}
	var blocks []*block
	for f, err := range st.Flights(ctx, ses) {
		if err != nil {
			return err
		}
		name := [2]string{f.Key.Study, f.Key.Model}
		b := byName[name]
		if b == nil {
			b = &block{study: name[0], model: name[1], place: ses.Places[name[1]]}
			if b.place == "" {
				b.place = results.PlaceLocal
			}
			byName[name] = b
			blocks = append(blocks, b)
		}
		b.windows = append(b.windows, f.Turns...)
		if f.Last && !f.Failed {
			b.arrivals.add(f)
			b.output.Add(timing.Undefined, f.Tokens)
		}
		f.Chunks = nil
		flights = append(flights, f)
	}
	for _, d := range devices {
		d.step(blocks)
	}
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return err
	}
	var uses []results.TrialUse
	var sums []results.Block
	for _, b := range blocks {
		for _, part := range []results.Part{results.PartGPU, results.PartCPU, results.PartMachine} {
			hold, told := ses.Holds[b.model]
			group, why := held(devices, part, b.place, hold, told)
			if part != results.PartGPU && len(group) == 0 {
				continue
			}
			share := newShares(b.windows, group)
			whole := share.sum(b, part, why)
			if part == results.PartMachine { // a figure a second is none of an answer
				sums = append(sums, whole)
				continue
			}
			for _, f := range flights {
				if f.Last && f.Key.Study == b.study && f.Key.Model == b.model {
					u := share.use(f, why)
					if hold.Assumed && part == results.PartGPU && u.Unknown == "" {
						u.Flags = append(u.Flags, Assumed)
					}
					uses = append(uses, results.TrialUse{Trial: f.Trial, Attempts: f.Attempts, Part: part, Use: u})
				}
			}
			if part == results.PartGPU {
				whole.Loads = loads(man, b, flights, group)
				if n := len(share.edges); n > 0 {
					b.output.Window, whole.Output = share.edges[n-1]-share.edges[0], &b.output
				}
				whole.Arrivals, whole.Throttled = b.arrivals.sum(), throttled(group, b.windows)
				if hold.Assumed && whole.Energy.Unknown == "" {
					whole.Energy.Flags = append(whole.Energy.Flags, Assumed)
				}
			}
			sums = append(sums, whole)
		}
	}
	return st.PutUses(ctx, ses.ID, uses, sums)
}

// step tells a device's meter when power may step: when a request to any server
// of its place begins or ends.
func (d *device) step(blocks []*block) {
	if d.meter == nil {
		return
	}
	var ws []timing.Window
	for _, b := range blocks {
		if d.Synthetic == (b.place == results.PlacePhantom) && d.about.Remote == (b.place == results.PlaceRemote) {
			ws = append(ws, b.windows...)
		}
	}
	d.meter = d.meter.Stepped(ws)
}

// Trials are scaled to their block's busy energy only by as much as the method
// may be off: more is not theirs, but was drawn between them.
const (
	scaleCounter = .005
	scalePower   = .02
)

// sum is a block's energy over all of a part's devices. It sets by how much each
// device's trials are scaled.
func (s *shares) sum(b *block, part results.Part, why string) results.Block {
	out := results.Block{Study: b.study, Model: b.model, Part: part}
	var es []timing.Energy
	busy, answers, known, told := timing.Millijoules(0), timing.Millijoules(0), true, true
	for i, d := range s.group {
		told = told && len(s.edges) > 0 && s.lost[i][len(s.edges)-1] == 0
		answers += s.all[i]
		e, ok := d.meter.Block(b.windows)
		if remote(d) {
			e.Energy, ok = d.doubt.Of(e.Energy)
		}
		if ok && d.Baseline != nil {
			e.Energy = e.Energy.WithIdle(*d.Baseline)
			x, has := e.BusyGross(*d.Baseline)
			busy, known = busy+x, known && has
			most := scaleCounter
			if e.Method == timing.ByPower {
				most = scalePower
			}
			if factor := float64(x / s.all[i]); has && told && math.Abs(factor-1) <= most {
				s.scale[i] = factor
			}
		} else {
			known = false
		}
		out.Energy.Busy, out.Energy.Trials = e.Busy, e.Trials
		es = append(es, e.Energy)
	}
	if len(s.group) == 0 {
		out.Energy.Unknown = why
		return out
	}
	n := len(s.group)
	out.Devices = &n
	e, ok := timing.Add(es)
	out.Energy.Energy = e
	if ok && known {
		out.Busy = &busy
	}
	if ok && told {
		out.Answers = &answers
	}
	return out
}

// shares divides time and energy among requests: all of it belongs to the one
// that is alone, and equal parts to those that are on the wire together.
type shares struct {
	group   []*device
	edges   []time.Duration      // ends of the stretches with the same requests
	held    []float64            // ns divided up to each edge
	mj      [][]float64          // by device: energy divided up to each edge
	lost    [][]int              // by device: stretches of unknown energy up to each edge
	several []int                // stretches with several requests up to each edge
	all     []timing.Millijoules // by device: energy of all stretches with requests
	scale   []float64            // by device: of its energies, to add up to the block's busy energy
}

func newShares(ws []timing.Window, group []*device) *shares {
	s := &shares{group: group}
	type edge struct {
		at time.Duration
		n  int
	}
	var es []edge
	for _, w := range ws {
		es = append(es, edge{w.From, 1}, edge{w.To, -1})
	}
	slices.SortFunc(es, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
	s.mj, s.lost = make([][]float64, len(group)), make([][]int, len(group))
	s.all, s.scale = make([]timing.Millijoules, len(group)), slices.Repeat([]float64{1}, len(group))
	active := 0
	for i := 0; i < len(es); {
		at := es[i].at
		s.push(at, active)
		for ; i < len(es) && es[i].at == at; i++ {
			active += es[i].n
		}
	}
	return s
}

// push ends a stretch in which active requests were on the wire.
func (s *shares) push(at time.Duration, active int) {
	n := len(s.edges)
	var held float64
	several := 0
	if n > 0 {
		held, several = s.held[n-1], s.several[n-1]
		if active > 0 {
			held += float64(at-s.edges[n-1]) / float64(active)
		}
		if active > 1 {
			several++
		}
	}
	for d := range s.group {
		var mj float64
		lost := 0
		if n > 0 {
			mj, lost = s.mj[d][n-1], s.lost[d][n-1]
			if active > 0 {
				if e, ok := s.group[d].meter.Window(timing.Window{From: s.edges[n-1], To: at}); ok {
					mj += float64(e.Gross) / float64(active)
					s.all[d] += e.Gross
				} else {
					lost++
				}
			}
		}
		s.mj[d], s.lost[d] = append(s.mj[d], mj), append(s.lost[d], lost)
	}
	s.edges, s.held, s.several = append(s.edges, at), append(s.held, held), append(s.several, several)
}

func (s *shares) at(t time.Duration) int {
	return sort.Search(len(s.edges), func(i int) bool { return s.edges[i] >= t })
}

// use is a trial's share. why says why there are no devices.
func (s *shares) use(f results.Flight, why string) results.Use {
	var u results.Use
	if f.Whole && !slices.ContainsFunc(f.Flags, results.Flag.HidesTime) {
		u.Held = new(time.Duration)
		for _, w := range f.Turns {
			a, b := s.at(w.From), s.at(w.To)
			*u.Held += time.Duration(s.held[b] - s.held[a])
		}
	}
	if len(s.group) == 0 {
		u.Unknown = why
		return u
	}
	n := len(s.group)
	u.Devices = &n
	switch {
	case !f.Whole:
		u.Unknown = "the times of the answer are not complete"
		return u
	case u.Held == nil:
		u.Unknown = "the clock was disturbed during the answer"
		return u
	}
	if slices.ContainsFunc(s.group, remote) {
		u.Unknown = "the figures of a GPU elsewhere are seconds apart: the block's energy is the one to use"
		return u
	}
	var es []timing.Energy
	for _, w := range f.Turns {
		for d := range s.group {
			es = append(es, s.energy(d, w))
		}
	}
	u.Energy, _ = timing.Add(es)
	return u
}

func (s *shares) energy(d int, w timing.Window) timing.Energy {
	dev := s.group[d]
	e, ok := dev.meter.Window(w)
	if !ok {
		return e
	}
	if a, b := s.at(w.From), s.at(w.To); s.several[b] > s.several[a] {
		if s.lost[d][b] > s.lost[d][a] {
			e.Unknown = "the energy of a part of it is unknown"
			return e
		}
		part := timing.Millijoules(s.mj[d][b] - s.mj[d][a])
		e = e.Share(part, time.Duration(s.held[b]-s.held[a]))
		e.Flags = append(e.Flags, Shared)
	}
	if dev.Baseline != nil {
		e = e.WithIdle(*dev.Baseline)
	}
	return e.Scaled(s.scale[d])
}

// Shared marks an energy that was divided among requests on the wire together.
const Shared timing.EnergyFlag = "shared"

// Assumed marks an energy of GPUs that are only taken to be the model's.
const Assumed timing.EnergyFlag = "assumed"
