package process

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/harness/config"
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
	Listed    bool   // false: the driver does not tell them
	Used      *int64 // bytes of its memory; nil: not known
}

// has says whether a process is on the list.
func (c *Users) has(pid int) bool {
	return c != nil && slices.ContainsFunc(c.Processes, func(p telemetry.Process) bool { return p.PID == pid })
}

// UsersOf is who uses a GPU now, as far as its driver tells.
func UsersOf(p telemetry.Probe) Users {
	var c Users
	if l, ok := p.(telemetry.Lister); ok {
		if list, err := l.Processes(); err == nil {
			c.Processes, c.Listed = list, true
		}
	}
	return c
}

// Look is the real GPUs among probes that nobody else reads.
func Look(probes []telemetry.Probe) []GPU {
	var out []GPU
	for _, p := range probes {
		d := p.Describe()
		if !d.RealGPU() {
			continue
		}
		g := GPU{Device: d, Users: UsersOf(p)}
		var s telemetry.Sample
		if p.Read(&s) == nil {
			if v, ok := s.Get(telemetry.MemoryUsed); ok {
				g.Users.Used = &v
			}
		}
		out = append(out, g)
	}
	return out
}

// Evidence is what tells which GPUs work for a model.
type Evidence struct {
	Named []string // telemetry.gpus
	GPUs  []GPU    // all real ones under watch
	Where Where    // the model's server is
	VRAM  *int64   // bytes that the server says it has on GPUs; nil: it does not say
	Table Table
	Other []Process    // servers of bench.yaml's other backends: idle while this model is asked
	Find  func() Where // looks for the server once more
}

// Evidence is what is known of a backend's server, but for the GPUs.
func (s Site) Evidence(ctx context.Context, cfg *config.Config, b config.Backend) Evidence {
	e := Evidence{Named: cfg.Telemetry.GPUs, Where: s.ByAddress(ctx, b), Table: s.Processes}
	for _, o := range cfg.Backends {
		if o.Name == b.Name || o.Server().Phantom {
			continue
		}
		if w := s.ByAddress(ctx, o); w.Place == results.PlaceLocal && w.Server.PID > 0 {
			e.Other = append(e.Other, Process{PID: w.Server.PID, Started: w.Server.Started})
		}
	}
	e.Find = func() Where { return s.ByAddress(context.Background(), b) }
	return e
}

// Claim decides which GPUs work for a model, by what bench.yaml names, by its
// server's processes, by what CUDA or ROCm leaves to the server (CUDA_VISIBLE_DEVICES,
// ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES) and the memory that grew there, or by what is flagged as assumed: the memory that the server speaks of,
// its control group, the only GPU that it may use.
func (e Evidence) Claim() (results.Hold, Census) {
	h, mine := e.decide()
	listed := slices.ContainsFunc(e.GPUs, func(g GPU) bool {
		return slices.Contains(h.GPUs, g.Device.ID) && g.holds(e.Table, e.Where.Server.PID)
	})
	if h.Known && listed && e.counts() {
		return h, &tree{e: e, roots: e.roots(), ours: map[int]Process{}}
	}
	return h, &adopted{e: e, mine: mine}
}

// counts says whether process numbers on the GPUs are those of this machine's table:
// in the host's namespace, or when one of the server's appeared with the model.
func (e Evidence) counts() bool {
	if e.Table.OfHost() {
		return true
	}
	return slices.ContainsFunc(e.GPUs, func(g GPU) bool {
		return slices.ContainsFunc(g.Users.Processes, func(p telemetry.Process) bool {
			return g.Before != nil && g.Before.Listed && !g.Before.has(p.PID) && e.Table.Under(p.PID, e.Where.Server.PID)
		})
	})
}

func (e Evidence) roots() []int {
	out := []int{e.Where.Server.PID}
	for _, p := range e.Other {
		out = append(out, p.PID)
	}
	return out
}

// decide also says which processes are taken for the server's, by GPU; nil: that
// is not known.
func (e Evidence) decide() (results.Hold, map[string][]int) {
	if len(e.Named) > 0 {
		return e.named()
	}
	if len(e.GPUs) == 0 {
		return results.Hold{How: "no GPU is watched"}, nil
	}
	var doubts []string
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }
	server := e.Where.Server
	switch {
	case server.PID == 0:
		doubt("%s", e.Where.Why)
	case !e.counts():
		doubt("process numbers of the driver are not those seen here, as in a container")
	default:
		h := results.Hold{Known: true, How: fmt.Sprintf("processes of %s (%d), the server", server.Name, server.PID)}
		for _, g := range e.GPUs {
			if g.holds(e.Table, server.PID) {
				h.GPUs = append(h.GPUs, g.Device.ID)
			}
		}
		if len(h.GPUs) > 0 {
			return h, nil
		}
		doubt("no GPU's driver lists a process of %s (%d), the server", server.Name, server.PID)
	}
	if e.VRAM != nil && *e.VRAM == 0 {
		return results.Hold{Known: true, How: "the server says that nothing of it is in a GPU's memory"}, nil
	}
	h, mine, why := e.byEnvironment()
	if why == "" {
		h.Known = true
		return h, mine
	}
	doubt("%s", why)
	rules := []func() (results.Hold, map[string][]int, string){e.byMemory, e.byGroup, e.only}
	switch gpus, by, err := e.left(); {
	case err != nil: // any GPU that is left could be a neighbour's
		return results.Hold{How: strings.Join(doubts, "; ") + "; name them in telemetry.gpus"}, nil
	case by != "":
		e.GPUs = gpus
		rules = []func() (results.Hold, map[string][]int, string){e.byMemory, e.byGroup}
	}
	for _, rule := range rules {
		h, mine, why := rule()
		if why == "" {
			h.Known, h.Assumed = true, true
			return h, mine
		}
		doubt("%s", why)
	}
	return results.Hold{How: strings.Join(doubts, "; ") + "; name them in telemetry.gpus"}, nil
}

// holds says whether a process on the GPU is root's or its child's.
func (g GPU) holds(t Table, root int) bool {
	return slices.ContainsFunc(g.Users.Processes, func(p telemetry.Process) bool { return root > 0 && t.Under(p.PID, root) })
}

// named are the GPUs that bench.yaml names.
func (e Evidence) named() (results.Hold, map[string][]int) {
	h := results.Hold{Known: true, How: "telemetry.gpus"}
	mine := map[string][]int{}
	for _, name := range e.Named {
		g, err := Pick(e.GPUs, name)
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

// Pick is the GPU that a name of telemetry.gpus means: an index, a UUID or its
// begin, or a PCI address. The error says what is there.
func Pick(gpus []GPU, name string) (GPU, error) {
	var found []GPU
	var there []string
	for _, g := range gpus {
		d := g.Device
		index, _ := d.Fact("index")
		pci, _ := d.Fact("pci")
		uuid, _ := d.Fact("uuid")
		there = append(there, fmt.Sprintf("%s %s (%s)", index, d.ID, pci))
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

// What a model's process has on a GPU beside what its server counts: its context
// and kernels, and some slack of the driver's granularity.
const (
	leastOfVRAM = .9
	mostOfVRAM  = 1.25
	contextRoom = 700 << 20 // bytes
)

func fits(used, vram int64) bool {
	return float64(used) >= leastOfVRAM*float64(vram) && float64(used) <= mostOfVRAM*float64(vram)+contextRoom
}

// byMemory goes by the memory that the server says it has: the one GPU that grew by
// as much, or has as much in use.
func (e Evidence) byMemory() (results.Hold, map[string][]int, string) {
	if e.VRAM == nil {
		return results.Hold{}, nil, "the server does not say how much memory of GPUs it has"
	}
	var found []GPU
	for _, g := range e.GPUs {
		if g.Users.Used == nil {
			continue
		}
		used := *g.Users.Used
		if g.Before != nil && g.Before.Used != nil {
			used -= *g.Before.Used
		}
		if fits(used, *e.VRAM) {
			found = append(found, g)
		}
	}
	if len(found) != 1 {
		return results.Hold{}, nil, fmt.Sprintf("the server has %.1f GB on GPUs, which fits the memory in use of %d of them", float64(*e.VRAM)/1e9, len(found))
	}
	g := found[0]
	mine := g.likely()
	for _, p := range g.Users.Processes {
		if p.Memory != nil && *p.Memory <= math.MaxInt64 && fits(int64(*p.Memory), *e.VRAM) {
			mine = []int{p.PID}
			break
		}
	}
	return results.Hold{GPUs: []string{g.Device.ID}, How: fmt.Sprintf("its memory in use fits the %.1f GB that the server says it has", float64(*e.VRAM)/1e9)}, map[string][]int{g.Device.ID: mine}, ""
}

// confined says whether a control group is a service's or a container's: those of
// a person's session hold whatever was started in it.
func confined(group string) bool {
	for _, part := range []string{"/system.slice/", "docker", "libpod", "containerd", "kubepods", "lxc"} {
		if strings.Contains(group, part) {
			return true
		}
	}
	return false
}

// byGroup goes by the control groups of the processes on the GPUs: the one group of
// the listener's user, or the one container where the port is forwarded to one.
func (e Evidence) byGroup() (results.Hold, map[string][]int, string) {
	if e.Where.UID == nil && !e.Where.Forwarded {
		return results.Hold{}, nil, "no control group tells"
	}
	if !e.Table.OfHost() {
		return results.Hold{}, nil, "control groups of other containers cannot be seen"
	}
	groups := map[string]map[string][]int{} // group, GPU, processes
	for _, g := range e.GPUs {
		for _, p := range g.Users.Processes {
			group, ok := e.Table.Cgroup(p.PID)
			if !ok || !confined(group) {
				continue
			}
			if e.Where.UID != nil {
				if uid, ok := e.Table.UID(p.PID); !ok || uid != *e.Where.UID {
					continue
				}
			} else if strings.HasPrefix(group, "/system.slice/") && strings.HasSuffix(group, ".service") {
				continue // a service, in no container
			}
			if groups[group] == nil {
				groups[group] = map[string][]int{}
			}
			groups[group][g.Device.ID] = append(groups[group][g.Device.ID], p.PID)
		}
	}
	if len(groups) != 1 {
		return results.Hold{}, nil, fmt.Sprintf("processes of %d control groups on GPUs may be the server's", len(groups))
	}
	var h results.Hold
	var mine map[string][]int
	for group, by := range groups {
		h.How, mine = "the only processes on GPUs that may be the server's are of the control group "+group, by
	}
	for _, g := range e.GPUs {
		if mine[g.Device.ID] != nil {
			h.GPUs = append(h.GPUs, g.Device.ID)
		}
	}
	return h, mine, ""
}

// only is the machine's only GPU, unless its driver shows that nobody computes on it.
func (e Evidence) only() (results.Hold, map[string][]int, string) {
	if len(e.GPUs) != 1 {
		return results.Hold{}, nil, fmt.Sprintf("there are %d GPUs", len(e.GPUs))
	}
	g := e.GPUs[0]
	likely := g.likely()
	if e.Table.OfHost() && g.Users.Listed && len(likely) == 0 {
		return results.Hold{}, nil, "no process computes on the only GPU"
	}
	how := "it is the only GPU of this machine"
	if n := len(likely); n > 1 {
		how += fmt.Sprintf("; which of its %d processes is the server's is not known", n)
	}
	return results.Hold{GPUs: []string{g.Device.ID}, How: how}, map[string][]int{g.Device.ID: likely}, ""
}

// Census tells a server's processes from those of others.
type Census interface {
	// Foreign are those of the processes on a GPU that are not the server's.
	Foreign(gpu string, all []telemetry.Process) []telemetry.Process
	// Name is the program that a process runs; "": not known.
	Name(pid int) string
}

// tree is a census by descent: the server's processes are its listener and what
// that has started.
type tree struct {
	e Evidence

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
	e Evidence

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
