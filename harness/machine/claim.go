package machine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/backends"
	"assay/results"
	"assay/timing/telemetry"
)

// GPU is one of this machine's, as it is with a model in memory.
type GPU struct {
	Device telemetry.Device
	Users  Users
	Before *Users // with the model out of memory; nil: not looked at
}

// Users is who uses a GPU at a moment.
type Users struct {
	Processes []telemetry.Process
	Listed    bool // false: the driver does not tell them
}

// has says whether a process is on the list.
func (c *Users) has(pid int) bool {
	return c != nil && slices.ContainsFunc(c.Processes, func(p telemetry.Process) bool { return p.PID == pid })
}

// usersOf is who uses a GPU now, as far as its driver tells.
func usersOf(p telemetry.Probe) Users {
	var c Users
	if l, ok := p.(telemetry.Lister); ok {
		if list, err := l.Processes(); err == nil {
			c.Processes, c.Listed = list, true
		}
	}
	return c
}

// GPUsOf is the real GPUs among probes that nobody else reads.
func GPUsOf(probes []telemetry.Probe) []GPU {
	var out []GPU
	for _, p := range probes {
		d := p.Describe()
		if !d.RealGPU() {
			continue
		}
		out = append(out, GPU{Device: d, Users: usersOf(p)})
	}
	return out
}

// evidence is what tells which GPUs work for a model.
type evidence struct {
	Named []string // telemetry.gpus
	GPUs  []GPU    // all real ones under watch
	Where Where    // the model's server is
	VRAM  *int64   // bytes that the server says it has on GPUs; nil: it does not say
	Table Table
	Other []Process    // servers of bench.yaml's other backends: idle while this model is asked
	Find  func() Where // looks for the server once more
}

// Evidence is what is known of a backend's server, but for the GPUs.
func (s Site) Evidence(ctx context.Context, on Setup, b backends.Server) evidence {
	e := evidence{Named: on.Telemetry.GPUs, Where: s.ByAddress(ctx, b), Table: s.Processes}
	for _, o := range on.Servers {
		if o.Name == b.Name || o.Phantom() {
			continue
		}
		if w := s.ByAddress(ctx, o); w.Place == results.PlaceLocal && w.Server.PID > 0 {
			e.Other = append(e.Other, Process{PID: w.Server.PID, Started: w.Server.Started})
		}
	}
	e.Find = func() Where { return s.ByAddress(context.Background(), b) }
	return e
}

// Claim decides which GPUs work for a model: those that bench.yaml names, those whose
// driver lists a process of its server, or the only one, which is flagged as assumed.
func (e evidence) Claim() (results.Hold, census) {
	h, mine, listed := e.decide()
	if listed {
		return h, &tree{e: e, roots: e.roots(), ours: map[int]Process{}}
	}
	return h, &adopted{e: e, mine: mine}
}

func (e evidence) roots() []int {
	out := []int{e.Where.Server.PID}
	for _, p := range e.Other {
		out = append(out, p.PID)
	}
	return out
}

// decide also says which processes are taken for the server's, by GPU, nil where that is
// not known, and whether the driver lists the server's own.
func (e evidence) decide() (h results.Hold, mine map[string][]int, listed bool) {
	server := e.Where.Server
	var ours []string
	for _, g := range e.GPUs {
		if e.Table.OfHost() && g.holds(e.Table, server.PID) {
			ours = append(ours, g.Device.ID)
		}
	}
	if len(e.Named) > 0 {
		h, mine = e.named()
		return h, mine, slices.ContainsFunc(ours, func(id string) bool { return slices.Contains(h.GPUs, id) })
	}
	var why string
	switch {
	case len(e.GPUs) == 0:
		return results.Hold{How: "no GPU is watched"}, nil, false
	case len(ours) > 0:
		return results.Hold{Known: true, GPUs: ours, How: fmt.Sprintf("processes of %s (%d), the server", server.Name, server.PID)}, nil, true
	case e.VRAM != nil && *e.VRAM == 0:
		return results.Hold{Known: true, How: "the server says that nothing of it is in a GPU's memory"}, nil, false
	case server.PID == 0:
		why = e.Where.Why
	case !e.Table.OfHost():
		why = "process numbers of the driver are not those seen here, as in a container"
	default:
		why = fmt.Sprintf("no GPU's driver lists a process of %s (%d), the server", server.Name, server.PID)
	}
	if len(e.GPUs) > 1 {
		return results.Hold{How: fmt.Sprintf("%s; there are %d GPUs; name its own in telemetry.gpus: %s", why, len(e.GPUs), strings.Join(names(e.GPUs), ", "))}, nil, false
	}
	g := e.GPUs[0]
	likely := g.likely()
	if e.Table.OfHost() && g.Users.Listed && len(likely) == 0 {
		return results.Hold{How: why + "; no process computes on the only GPU"}, nil, false
	}
	how := "it is the only GPU of this machine"
	if n := len(likely); n > 1 {
		how += fmt.Sprintf("; which of its %d processes is the server's is not known", n)
	}
	return results.Hold{Known: true, Assumed: true, GPUs: []string{g.Device.ID}, How: how}, map[string][]int{g.Device.ID: likely}, false
}

// names say which GPUs are there: index, ID and PCI address.
func names(gpus []GPU) (all []string) {
	for _, g := range gpus {
		index, _ := g.Device.Fact("index")
		pci, _ := g.Device.Fact("pci")
		all = append(all, fmt.Sprintf("%s %s (%s)", index, g.Device.ID, pci))
	}
	return all
}

// holds says whether a process on the GPU is root's or its child's.
func (g GPU) holds(t Table, root int) bool {
	return slices.ContainsFunc(g.Users.Processes, func(p telemetry.Process) bool { return root > 0 && t.Under(p.PID, root) })
}

// named are the GPUs that bench.yaml names.
func (e evidence) named() (results.Hold, map[string][]int) {
	h := results.Hold{Known: true, How: "telemetry.gpus"}
	mine := map[string][]int{}
	for _, name := range e.Named {
		g, err := PickGPU(e.GPUs, name)
		if err != nil {
			return results.Hold{How: err.Error()}, nil
		}
		if !slices.Contains(h.GPUs, g.Device.ID) {
			h.GPUs = append(h.GPUs, g.Device.ID)
			mine[g.Device.ID] = g.likely()
		}
	}
	return h, mine
}

// PickGPU is the GPU that a name of telemetry.gpus means: an index, a UUID or its
// begin, or a PCI address. The error says what is there.
func PickGPU(gpus []GPU, name string) (GPU, error) {
	var found []GPU
	there := names(gpus)
	for _, g := range gpus {
		d := g.Device
		index, _ := d.Fact("index")
		pci, _ := d.Fact("pci")
		uuid, _ := d.Fact("uuid")
		_, notIndex := strconv.Atoi(name)
		switch {
		case notIndex == nil && name == index,
			notIndex != nil && bus(name) != "" && bus(name) == bus(pci),
			notIndex != nil && bus(name) == "" && (begins(d.ID, name) || begins(uuid, name)):
			found = append(found, g)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if len(there) == 0 {
			there = []string{"none"}
		}
		return GPU{}, fmt.Errorf("telemetry.gpus names %s, which is not among the GPUs under watch: %s", name, strings.Join(there, ", "))
	}
	return GPU{}, fmt.Errorf("telemetry.gpus names %s, which %d GPUs are called: give the UUID or PCI address: %s", name, len(found), strings.Join(there, ", "))
}

// begins says whether a UUID begins with a name, with or without GPU- and in any case.
func begins(uuid, name string) bool {
	clean := func(s string) string { return strings.TrimPrefix(strings.ToLower(s), "gpu-") }
	return clean(name) != "" && strings.HasPrefix(clean(uuid), clean(name))
}

// bus is a PCI address in one form: domains are written with 4 digits, 8, or not
// at all; "" where it is none.
func bus(s string) string {
	parts := strings.Split(strings.ToLower(s), ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 || !strings.Contains(parts[2], ".") {
		return ""
	}
	domain, err := strconv.ParseUint(parts[0], 16, 32)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x:%s:%s", domain, parts[1], parts[2])
}

// likely are the processes of a GPU that may be the server's: those that came with
// the model, else all that compute.
func (g GPU) likely() []int {
	var came, all []int
	for _, p := range g.Users.Processes {
		if p.Draws {
			continue
		}
		all = append(all, p.PID)
		if g.Before != nil && g.Before.Listed && !g.Before.has(p.PID) {
			came = append(came, p.PID)
		}
	}
	if len(came) > 0 {
		return came
	}
	return all
}

// census tells a server's processes from those of others.
type census interface {
	// Foreign are those of the processes on a GPU that are not the server's.
	Foreign(gpu string, all []telemetry.Process) []telemetry.Process
	// Name is the program that a process runs; "": not known.
	Name(pid int) string
}

// tree is a census by descent: the server's processes are its listener and what
// that has started.
type tree struct {
	e evidence

	mu    sync.Mutex
	roots []int
	ours  map[int]Process // seen to be the server's
}

func (t *tree) Name(pid int) string { return nameOf(t.e.Table, pid) }

func nameOf(t Table, pid int) string {
	p, err := t.Process(pid)
	if err != nil {
		return ""
	}
	return p.Name
}

// Foreign implements Census.
func (t *tree) Foreign(_ string, all []telemetry.Process) []telemetry.Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []telemetry.Process
	looked := false
	for _, p := range all {
		own := t.own(p.PID)
		if !own && !looked && t.gone() {
			looked = true // the server may have been started again
			if t.e.Find != nil {
				if w := t.e.Find(); w.Server.PID > 0 {
					t.e.Where = w
					t.roots = append(t.roots, w.Server.PID)
					own = t.own(p.PID)
				}
			}
		}
		if !own {
			out = append(out, p)
		}
	}
	return out
}

// gone says whether the server's process has ended.
func (t *tree) gone() bool {
	p, err := t.e.Table.Process(t.e.Where.Server.PID)
	return err != nil || !p.Same(t.e.Where.Server)
}

func (t *tree) own(pid int) bool {
	old, known := t.ours[pid]
	p, err := t.e.Table.Process(pid)
	if err != nil {
		return known // it has ended, and the driver has not noticed
	}
	if known && p.Same(old) {
		return true
	}
	if slices.ContainsFunc(t.roots, func(root int) bool { return t.e.Table.Under(pid, root) }) {
		t.ours[pid] = p
		return true
	}
	return false
}

// adopted is a census by what was there: processes that were taken for the
// server's, and those that come in their place.
type adopted struct {
	e evidence

	mu   sync.Mutex
	mine map[string][]int
	held map[int]*uint64 // what they had
}

func (a *adopted) Name(pid int) string {
	if !a.e.Table.OfHost() {
		return "" // of another namespace
	}
	return nameOf(a.e.Table, pid)
}

// Foreign implements Census. One that comes as one of the server's goes, and
// holds as much, is the server after a reload.
func (a *adopted) Foreign(gpu string, all []telemetry.Process) []telemetry.Process {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		a.held = map[int]*uint64{}
	}
	mine := a.mine[gpu]
	var out []telemetry.Process
	for _, p := range all {
		if slices.Contains(mine, p.PID) {
			a.held[p.PID] = p.Memory
			continue
		}
		gone := slices.IndexFunc(mine, func(pid int) bool {
			return !slices.ContainsFunc(all, func(q telemetry.Process) bool { return q.PID == pid }) && alike(a.held[pid], p.Memory)
		})
		if gone >= 0 && !p.Draws {
			delete(a.held, mine[gone])
			mine[gone] = p.PID
			a.held[p.PID] = p.Memory
			continue
		}
		out = append(out, p)
	}
	return out
}

// alike says whether two processes hold about as much, as far as is known.
func alike(a, b *uint64) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return math.Abs(float64(*a)-float64(*b)) <= .2*max(float64(*a), float64(*b))
}
