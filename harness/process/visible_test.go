package process

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assay/timing/telemetry"
)

// env gives a process an environment.
func (p *proc) env(pid int, vars ...string) *proc {
	p.MapFS[fmt.Sprint(pid, "/environ")] = &fstest.MapFile{Data: []byte(strings.Join(vars, "\x00") + "\x00")}
	return p
}

// A Slurm task on a node with eight GPUs, seven of them busy for others, in a container whose
// process numbers are not the driver's: what CUDA leaves to the server says whose they are.
func TestGPUsThatCUDALeavesToTheServer(t *testing.T) {
	server := Where{Server: Process{PID: 10, Name: "llama-server", Started: 5}}
	in := func(vars ...string) Table {
		return newProc().inContainer().run(10, 1, "llama-server", 5, "").env(10, append([]string{"HOME=/root", "NOT_CUDA_VISIBLE_DEVICES=7"}, vars...)...).site().Processes
	}
	// loaded are eight GPUs, of which those named grew with the model; the rest belong to others.
	loaded := func(ours ...int) []GPU {
		gpus := eight()
		for i := range gpus {
			used := int64(40 << 30)
			gpus[i].Users.Used = &used
			gpus[i] = gpus[i].after(used)
			if slices.Contains(ours, i) {
				gpus[i] = gpus[i].after(used - 5<<30)
			}
		}
		return gpus
	}
	mixed := eight()
	mixed[3].Device.Name = "T4"
	mig := eight()
	mig[2].Device.Facts = append(mig[2].Device.Facts, telemetry.Fact{Name: "mig", Value: "on"}, telemetry.Fact{Name: "mig_instances", Value: "MIG-aaaa-1 MIG-bbbb-2"})
	half := loaded(5)
	half[3].Before = nil
	amd := eight()
	for i := range amd {
		amd[i].Device.Source = "amdgpu"
	}
	for _, c := range []struct {
		what string
		gpus []GPU
		vars []string
		vram *int64
		want []string
		how  string
		flag string
	}{
		{"the one by its number", eight(), []string{"CUDA_VISIBLE_DEVICES=3", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, nil, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of llama-server (10)", "assumed"},
		{"the one by its number, all of a kind", eight(), []string{"CUDA_VISIBLE_DEVICES=3"}, nil, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"numbers by speed", mixed, []string{"CUDA_VISIBLE_DEVICES=3"}, nil, nil, "set CUDA_DEVICE_ORDER=PCI_BUS_ID", "unknown"},
		{"numbers by the bus", mixed, []string{"CUDA_VISIBLE_DEVICES=3", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, nil, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"a UUID needs no order", mixed, []string{"CUDA_VISIBLE_DEVICES=GPU-33"}, nil, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"the begin of a UUID", eight(), []string{"CUDA_VISIBLE_DEVICES=GPU-3"}, nil, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"a begin of several", eight(), []string{"CUDA_VISIBLE_DEVICES=GPU-"}, nil, nil, "names no GPU under watch", "unknown"},
		{"its memory grew with the model", loaded(3), []string{"CUDA_VISIBLE_DEVICES=3"}, nil, []string{"GPU-33"}, "memory that grew", ""},
		{"two, and both grew", loaded(3, 5, 6), []string{"CUDA_VISIBLE_DEVICES=5,3"}, nil, []string{"GPU-55", "GPU-33"}, "memory that grew", ""},
		{"two, and one grew", loaded(5, 6), []string{"CUDA_VISIBLE_DEVICES=5,3"}, nil, []string{"GPU-55"}, "memory that grew", ""},
		{"a neighbour's grew", loaded(6), []string{"CUDA_VISIBLE_DEVICES=3"}, nil, nil, "the memory of none grew", "unknown"},
		{"two, nobody looked before", eight(), []string{"CUDA_VISIBLE_DEVICES=5,3"}, nil, nil, "leaves the server 2 GPUs", "unknown"},
		{"two, nobody looked at one before", half, []string{"CUDA_VISIBLE_DEVICES=5,3"}, nil, nil, "leaves the server 2 GPUs", "unknown"},
		{"of two the one that fits", eight()[:2], []string{"CUDA_VISIBLE_DEVICES=0,1"}, amount(40 << 30), []string{"GPU-11"}, "fits the", "assumed"},
		{"a neighbour's would fit", eight(), []string{"CUDA_VISIBLE_DEVICES=0,1"}, amount(40 << 30), []string{"GPU-11"}, "fits the", "assumed"},
		{"the list ends at what is not there", eight(), []string{"CUDA_VISIBLE_DEVICES=3,8,5"}, nil, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"twice the same", eight(), []string{"CUDA_VISIBLE_DEVICES=3,GPU-33"}, nil, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"none", eight()[:1], []string{"CUDA_VISIBLE_DEVICES="}, nil, nil, "names no GPU under watch", "unknown"},
		{"none, as Slurm says it", eight()[:1], []string{"CUDA_VISIBLE_DEVICES=NoDevFiles"}, nil, nil, "names no GPU under watch", "unknown"},
		{"an instance", mig, []string{"CUDA_VISIBLE_DEVICES=MIG-bbbb-2"}, nil, []string{"GPU-22"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"an instance, as older drivers name it", mig, []string{"CUDA_VISIBLE_DEVICES=MIG-GPU-22/1/0"}, nil, []string{"GPU-22"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"an instance that is not there", mig, []string{"CUDA_VISIBLE_DEVICES=MIG-cccc-3"}, nil, nil, "names no GPU under watch", "unknown"},
		{"another maker's, whose runtime goes by it, too", amd[:1], []string{"CUDA_VISIBLE_DEVICES=3"}, nil, nil, "names no GPU under watch", "unknown"},
		{"nothing is set", eight(), nil, nil, nil, "there are 8 GPUs", "unknown"},
	} {
		h, _ := Evidence{GPUs: c.gpus, Where: server, VRAM: c.vram, Table: in(c.vars...)}.Claim()
		flag := map[[2]bool]string{{true, false}: "", {true, true}: "assumed", {false, false}: "unknown"}[[2]bool{h.Known, h.Assumed}]
		if !slices.Equal(h.GPUs, c.want) || flag != c.flag || !strings.Contains(h.How, c.how) {
			t.Errorf("%s: %v %q: %s", c.what, h.GPUs, flag, h.How)
		}
	}
	// What ROCr and HIP leave of AMD's: ROCr first, then HIP among the rest.
	amd[3].Device.Facts = []telemetry.Fact{{Name: "index", Value: "3"}, {Name: "uuid", Value: "deadbeefdeadbeef"}}
	mine := func(ours ...int) []GPU {
		gpus := loaded(ours...)
		for i := range gpus {
			gpus[i].Device.Source, gpus[i].Device.Facts = "amdgpu", amd[i].Device.Facts
		}
		return gpus
	}
	both := slices.Concat(eight()[:2], amd[2:4])
	for _, c := range []struct {
		what string
		gpus []GPU
		vars []string
		want []string
		how  string
		flag string
	}{
		{"ROCr's number", amd, []string{"ROCR_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "ROCR_VISIBLE_DEVICES of llama-server (10)", "assumed"},
		{"ROCr's UUID", amd, []string{"ROCR_VISIBLE_DEVICES=GPU-DEADBEEFDEADBEEF"}, []string{"GPU-33"}, "ROCR_VISIBLE_DEVICES of", "assumed"},
		{"the begin of a UUID is none", amd, []string{"ROCR_VISIBLE_DEVICES=GPU-DEAD"}, nil, "names no GPU under watch", "unknown"},
		{"HIP's number", amd, []string{"HIP_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "HIP_VISIBLE_DEVICES of", "assumed"},
		{"HIP counts within what ROCr leaves", amd, []string{"HIP_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=5,3"}, []string{"GPU-33"}, "ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES of", "assumed"},
		{"and not before", amd, []string{"HIP_VISIBLE_DEVICES=5", "ROCR_VISIBLE_DEVICES=5,3"}, nil, `is "5,3" and "5", which names no GPU`, "unknown"},
		{"HIP's before CUDA's", amd, []string{"CUDA_VISIBLE_DEVICES=1", "HIP_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "HIP_VISIBLE_DEVICES of", "assumed"},
		{"CUDA's, where HIP's is not set", amd, []string{"CUDA_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"CUDA's, where HIP's is empty", amd, []string{"HIP_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"CUDA's, within what ROCr leaves", amd, []string{"ROCR_VISIBLE_DEVICES=2,3", "CUDA_VISIBLE_DEVICES=1"}, []string{"GPU-33"}, "ROCR_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES of", "assumed"},
		{"ROCr leaves none", amd[:1], []string{"ROCR_VISIBLE_DEVICES="}, nil, "names no GPU under watch", "unknown"},
		{"the list ends at what is not there", amd, []string{"ROCR_VISIBLE_DEVICES=3,9,5"}, []string{"GPU-33"}, "ROCR_VISIBLE_DEVICES of", "assumed"},
		{"its memory grew", mine(3, 6), []string{"ROCR_VISIBLE_DEVICES=3,5"}, []string{"GPU-33"}, "memory that grew", ""},
		{"a neighbour's grew", mine(6), []string{"ROCR_VISIBLE_DEVICES=3"}, nil, "the memory of none grew", "unknown"},
		{"two, nobody looked before", amd, []string{"ROCR_VISIBLE_DEVICES=3,5"}, nil, "leaves the server 2 GPUs", "unknown"},
		{"a number of one that nobody watches", amd[2:], []string{"ROCR_VISIBLE_DEVICES=0,3", "HIP_VISIBLE_DEVICES=1"}, nil, "names no GPU", "unknown"},
		{"numbers are the driver's, whichever are watched", amd[2:], []string{"HIP_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "HIP_VISIBLE_DEVICES of", "assumed"},
		{"ROCr's says nothing of NVIDIA's", eight(), []string{"ROCR_VISIBLE_DEVICES=3"}, nil, "there are 8 GPUs", "unknown"},
		{"both makers', CUDA's", both, []string{"CUDA_VISIBLE_DEVICES=1"}, []string{"GPU-11"}, "CUDA_VISIBLE_DEVICES of", "assumed"},
		{"both makers', ROCr's", both, []string{"ROCR_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "ROCR_VISIBLE_DEVICES of", "assumed"},
		{"both makers', one of each", both, []string{"CUDA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=3"}, nil, "leaves the server 2 GPUs", "unknown"},
		{"both makers', none of one", both, []string{"CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=3"}, []string{"GPU-33"}, "CUDA_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES of", "assumed"},
	} {
		h, _ := Evidence{GPUs: c.gpus, Where: server, Table: in(c.vars...)}.Claim()
		flag := map[[2]bool]string{{true, false}: "", {true, true}: "assumed", {false, false}: "unknown"}[[2]bool{h.Known, h.Assumed}]
		if !slices.Equal(h.GPUs, c.want) || flag != c.flag || !strings.Contains(h.How, c.how) {
			t.Errorf("AMD, %s: %v %q: %s", c.what, h.GPUs, flag, h.How)
		}
	}
	// Its own processes on a GPU say more than its environment.
	host := newProc().run(10, 1, "llama-server", 5, "").run(11, 10, "llama-server", 6, "").env(10, "CUDA_VISIBLE_DEVICES=3").site().Processes
	if h, _ := (Evidence{GPUs: eight(), Where: server, Table: host}).Claim(); !slices.Equal(h.GPUs, []string{"GPU-00"}) || h.Assumed {
		t.Errorf("%+v", h)
	}
	// Where the driver lists all processes and none computes on the one, it is not the server's.
	host = newProc().run(10, 1, "llama-server", 5, "").env(10, "CUDA_VISIBLE_DEVICES=3").site().Processes
	idle := eight()
	idle[3].Users.Processes = nil
	if h, _ := (Evidence{GPUs: idle, Where: server, Table: host}).Claim(); h.Known || !strings.Contains(h.How, "no process computes on the one GPU") {
		t.Errorf("%+v", h)
	}
	// Of a server that nobody sees, nothing is known.
	if h, _ := (Evidence{GPUs: eight(), Where: Where{Why: "hidden"}, Table: in("CUDA_VISIBLE_DEVICES=3")}).Claim(); h.Known {
		t.Errorf("%+v", h)
	}
}

// The GPUs of this process itself, by the names that its locks have.
func TestVisible(t *testing.T) {
	for _, c := range [][]string{
		{""},
		{"1,3", "CUDA_VISIBLE_DEVICES=1,3"},
		{"2", "ROCR_VISIBLE_DEVICES=2"},
		{"3", "ROCR_VISIBLE_DEVICES=2,3", "HIP_VISIBLE_DEVICES=1"},
		{"3,2", "ROCR_VISIBLE_DEVICES=2,3", "HIP_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=1,0"},
		{"0", "HIP_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=1"},
		{"", "ROCR_VISIBLE_DEVICES=2", "HIP_VISIBLE_DEVICES=5"},
	} {
		env := func(name string) (string, bool) {
			for _, v := range c[1:] {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value, true
				}
			}
			return "", false
		}
		if got := Visible(env); got != c[0] {
			t.Errorf("%v: %q, want %q", c[1:], got, c[0])
		}
	}
}
