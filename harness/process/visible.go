package process

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"assay/results"
)

// The environment by which CUDA leaves a process some of the GPUs, as Slurm and containers
// set it.
const (
	visibleDevices = "CUDA_VISIBLE_DEVICES"
	deviceOrder    = "CUDA_DEVICE_ORDER"
	byBus          = "PCI_BUS_ID" // as the driver numbers them
)

// Env is a variable of the environment that a process was started with; false: it has none
// of the name, or nobody may see.
func (t Table) Env(pid int, name string) (string, bool) {
	b, err := fs.ReadFile(t.proc, strconv.Itoa(pid)+"/environ")
	if err != nil {
		return "", false
	}
	for _, v := range strings.Split(string(b), "\x00") {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// left is the NVIDIA GPUs that CUDA leaves to the server; false: nothing says. The error
// says why it is not known which these are.
func (e Evidence) left() (gpus []GPU, ok bool, err error) {
	list, ok := e.Table.Env(e.Where.Server.PID, visibleDevices)
	if !ok || e.Where.Server.PID == 0 {
		return nil, false, nil
	}
	all := slices.DeleteFunc(slices.Clone(e.GPUs), func(g GPU) bool { return g.Device.Source != "nvml" })
	if len(all) == 0 {
		return nil, false, nil
	}
	order, _ := e.Table.Env(e.Where.Server.PID, deviceOrder)
	equal := !slices.ContainsFunc(all, func(g GPU) bool { return g.Device.Name != all[0].Device.Name })
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		_, notIndex := strconv.Atoi(name)
		if notIndex == nil && order != byBus && !equal {
			return nil, true, fmt.Errorf("%s of the server counts GPUs of several kinds by their speed: set %s=%s", visibleDevices, deviceOrder, byBus)
		}
		found := slices.DeleteFunc(slices.Clone(all), func(g GPU) bool { return !g.called(name) })
		if len(found) != 1 {
			break // CUDA ends the list at the first that it does not know
		}
		if !slices.ContainsFunc(gpus, func(g GPU) bool { return g.Device.ID == found[0].Device.ID }) {
			gpus = append(gpus, found[0])
		}
	}
	if len(gpus) == 0 {
		return nil, true, fmt.Errorf("%s of the server is %q, which names no GPU under watch", visibleDevices, list)
	}
	return gpus, true, nil
}

// called says whether CUDA means the GPU, or an instance of it, by a name: an index, a UUID
// or its begin, or the UUID of an instance in either form.
func (g GPU) called(name string) bool {
	if _, err := strconv.Atoi(name); err == nil {
		index, _ := g.Device.Fact("index")
		return name == index
	}
	if parent, ok := strings.CutPrefix(name, "MIG-GPU-"); ok { // before driver 470: of the GPU, and two numbers
		parent, _, _ = strings.Cut(parent, "/")
		return begins(g.Device.ID, parent)
	}
	if strings.HasPrefix(name, "MIG-") {
		instances, _ := g.Device.Fact("mig_instances")
		return slices.ContainsFunc(strings.Fields(instances), func(uuid string) bool { return strings.HasPrefix(uuid, name) })
	}
	return strings.HasPrefix(name, "GPU-") && begins(g.Device.ID, name)
}

// grown is what a model in memory takes at least of each GPU that it is on, its context alone.
const grown = 64 << 20 // bytes

// byEnvironment goes by what CUDA leaves to the server: the one GPU, or those of several whose
// memory grew with the model. Where that is not to be seen it is assumed of the one.
func (e Evidence) byEnvironment() (results.Hold, map[string][]int, string) {
	gpus, ok, err := e.left()
	switch {
	case err != nil:
		return results.Hold{}, nil, err.Error()
	case !ok:
		return results.Hold{}, nil, visibleDevices + " of the server is not known"
	}
	h := results.Hold{How: fmt.Sprintf("%s of %s (%d), the server", visibleDevices, e.Where.Server.Name, e.Where.Server.PID)}
	mine := map[string][]int{}
	seen := true
	for _, g := range gpus {
		known := g.Users.Used != nil && g.Before != nil && g.Before.Used != nil
		if seen = seen && known; known && *g.Users.Used-*g.Before.Used >= grown {
			h.GPUs = append(h.GPUs, g.Device.ID)
			mine[g.Device.ID] = g.likely()
		}
	}
	switch {
	case seen && len(h.GPUs) > 0:
		h.How += ", and memory that grew with the model"
		return h, mine, ""
	case seen:
		return results.Hold{}, nil, fmt.Sprintf("%s leaves the server %d GPUs, and the memory of none grew with the model", visibleDevices, len(gpus))
	case len(gpus) > 1:
		return results.Hold{}, nil, fmt.Sprintf("%s leaves the server %d GPUs", visibleDevices, len(gpus))
	}
	g := gpus[0]
	if e.Table.OfHost() && g.Users.Listed && len(g.likely()) == 0 {
		return results.Hold{}, nil, fmt.Sprintf("no process computes on the one GPU that %s leaves the server", visibleDevices)
	}
	return results.Hold{GPUs: []string{g.Device.ID}, How: h.How, Assumed: true}, map[string][]int{g.Device.ID: g.likely()}, ""
}
