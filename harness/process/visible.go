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
// set it. AMD's is amdVariables.
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

// left is the GPUs that the environment leaves to the server, and the variables that say so;
// "": nothing says. The error says why it is not known which these are.
func (e Evidence) left() (gpus []GPU, by string, err error) {
	pid := e.Where.Server.PID
	if pid == 0 {
		return nil, "", nil
	}
	env := func(name string) (string, bool) { return e.Table.Env(pid, name) }
	of := func(source string) []GPU {
		return slices.DeleteFunc(slices.Clone(e.GPUs), func(g GPU) bool { return g.Device.Source != source })
	}
	nvidia, amd := of("nvml"), of("amdgpu")
	var said []string
	if list, ok := env(visibleDevices); ok && len(nvidia) > 0 {
		said = append(said, visibleDevices)
		if gpus, err = leftByCUDA(nvidia, list, env); err != nil {
			return nil, visibleDevices, err
		}
	}
	if vars := amdVariables(env, len(nvidia) == 0); len(vars) > 0 && len(amd) > 0 {
		for i, v := range vars {
			amd = v.left(amd, i > 0)
			said = append(said, v.name)
		}
		gpus = append(gpus, amd...)
	}
	if by = strings.Join(said, " and "); by != "" && len(gpus) == 0 {
		var values []string
		for _, name := range said {
			value, _ := env(name)
			values = append(values, strconv.Quote(value))
		}
		err = fmt.Errorf("%s of the server is %s, which names no GPU under watch", by, strings.Join(values, " and "))
	}
	return gpus, by, err
}

// leftByCUDA is what a list of CUDA's leaves of NVIDIA GPUs.
func leftByCUDA(all []GPU, list string, env func(string) (string, bool)) ([]GPU, error) {
	order, _ := env(deviceOrder)
	equal := !slices.ContainsFunc(all, func(g GPU) bool { return g.Device.Name != all[0].Device.Name })
	for _, name := range strings.Split(list, ",") {
		if _, err := strconv.Atoi(strings.TrimSpace(name)); err == nil && order != byBus && !equal {
			return nil, fmt.Errorf("%s of the server counts GPUs of several kinds by their speed: set %s=%s", visibleDevices, deviceOrder, byBus)
		}
	}
	return listed(all, list, func(name string, g GPU, _ int) bool { return g.called(name) }), nil
}

// listed are the GPUs of a list, in its order; it ends at the first name that is not one GPU's.
func listed(all []GPU, list string, is func(name string, g GPU, position int) bool) (gpus []GPU) {
	for _, name := range strings.Split(list, ",") {
		var found []GPU
		for i, g := range all {
			if is(strings.TrimSpace(name), g, i) {
				found = append(found, g)
			}
		}
		if len(found) != 1 {
			break
		}
		if !slices.ContainsFunc(gpus, func(g GPU) bool { return g.Device.ID == found[0].Device.ID }) {
			gpus = append(gpus, found[0])
		}
	}
	return gpus
}

// amdVariable is one by which AMD's runtimes leave a process some of the GPUs.
type amdVariable struct{ name, list string }

// amdVariables are those that count, in the order in which they do: ROCr leaves out first,
// and HIP counts within the rest. HIP goes by CUDA's variable where its own is empty; that is
// read only where cuda says that no NVIDIA GPU can be meant.
func amdVariables(env func(string) (string, bool), cuda bool) (all []amdVariable) {
	if list, ok := env("ROCR_VISIBLE_DEVICES"); ok {
		all = append(all, amdVariable{"ROCR_VISIBLE_DEVICES", list})
	}
	for _, name := range []string{"HIP_VISIBLE_DEVICES", visibleDevices} {
		if list, _ := env(name); list != "" && (cuda || name != visibleDevices) {
			return append(all, amdVariable{name, list})
		}
	}
	return all
}

// left is what the variable leaves of AMD GPUs: numbers are the driver's or, where another
// variable came before, positions in what that left.
func (v amdVariable) left(of []GPU, later bool) []GPU {
	return listed(of, v.list, func(name string, g GPU, position int) bool {
		if n, err := strconv.Atoi(name); err == nil {
			index, _ := g.Device.Fact("index")
			return later && n == position || !later && index == strconv.Itoa(n)
		}
		uuid, _ := g.Device.Fact("uuid")
		return uuid != "" && strings.EqualFold(name, "GPU-"+strings.TrimPrefix(uuid, "0x"))
	})
}

// Visible names the GPUs that an environment leaves to this process, separated by commas, as
// it calls them; "": it says nothing. Who is left the same GPUs by the same variables has the same names.
func Visible(env func(string) (string, bool)) string {
	vars := amdVariables(env, true)
	if len(vars) == 0 {
		return ""
	}
	names := strings.Split(vars[0].list, ",")
	for _, v := range vars[1:] {
		var left []string
		for _, name := range strings.Split(v.list, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(name))
			switch {
			case err != nil:
				left = append(left, name)
			case n >= 0 && n < len(names):
				left = append(left, names[n])
			}
		}
		names = left
	}
	return strings.Join(names, ",")
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

// byEnvironment goes by what CUDA or ROCm leaves to the server: the one GPU, or those of several whose
// memory grew with the model. Where that is not to be seen it is assumed of the one.
func (e Evidence) byEnvironment() (results.Hold, map[string][]int, string) {
	gpus, by, err := e.left()
	switch {
	case err != nil:
		return results.Hold{}, nil, err.Error()
	case by == "":
		return results.Hold{}, nil, visibleDevices + " of the server is not known"
	}
	h := results.Hold{How: fmt.Sprintf("%s of %s (%d), the server", by, e.Where.Server.Name, e.Where.Server.PID)}
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
		return results.Hold{}, nil, fmt.Sprintf("%s leaves the server %d GPUs, and the memory of none grew with the model", by, len(gpus))
	case len(gpus) > 1:
		return results.Hold{}, nil, fmt.Sprintf("%s leaves the server %d GPUs", by, len(gpus))
	}
	g := gpus[0]
	if e.Table.OfHost() && g.Users.Listed && len(g.likely()) == 0 {
		return results.Hold{}, nil, fmt.Sprintf("no process computes on the one GPU that %s leaves the server", by)
	}
	return results.Hold{GPUs: []string{g.Device.ID}, How: h.How, Assumed: true}, map[string][]int{g.Device.ID: g.likely()}, ""
}
