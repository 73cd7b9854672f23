//go:build cgo && linux

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/harness/machine"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/timingtest"
)

// standIn compiles the stand-in for NVIDIA's library and writes a recording for it.
func standIn(t *testing.T) (folder, trace string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	folder = t.TempDir()
	header, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-I", filepath.Join(strings.TrimSpace(string(header)), "pkg", "nvml"),
		"-o", filepath.Join(folder, "libnvidia-ml.so.1"), filepath.Join("..", "..", "timing", "telemetry", "nvml", "nvmltest", "libnvml.c")).CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	all, err := timingtest.Traces()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for at := time.Duration(0); at < all[0].Length(); at += 5 * time.Millisecond {
		fmt.Fprintf(&b, "%d %.0f %.0f\n", at.Milliseconds(), all[0].Says(timingtest.Draw, at), all[0].Says(timingtest.Instant, at))
	}
	trace = filepath.Join(folder, "trace")
	if err := os.WriteFile(trace, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder, trace
}

const bindingBench = `name: binding
seed: 7
store: binding.sqlite
rules: paper
datasets:
  chest: {kind: phantom, items: 3, size: 256}
backends:
  box: {kind: %s, url: "%s"}
models:
  honest: {backend: box, model: honest}
judges:
  lexical: {kind: lexical}
studies:
  cot:
    dataset: chest
    arms: [direct, cot]
    sampling: {temperature: 0.1, max_tokens: 256, seed: 1}
    timed: true
    repeats_of_invalid: 0
    rubrics: {accuracy: [lexical]}
telemetry: {devices: auto%s}
cost: {currency: EUR, kwh: 0.3}
`

// TestTheRealBinding runs doctor, run and report on go-nvml and a library that plays a recorded
// RTX 3090, beside a phantom's server whose process the library names.
func TestTheRealBinding(t *testing.T) {
	t.Parallel()
	lib, trace := standIn(t)
	for _, c := range []struct {
		name, telemetry string
		env             []string
		others          string // lines of processes beside the server's on GPU 0
		dies            bool
		check           func(t *testing.T, doctor, notes string, blocks []results.Block, ses results.Session)
	}{
		{"one card", "", nil, "", false, func(t *testing.T, doctor, notes string, blocks []results.Block, ses results.Session) {
			e := gpuBlock(t, blocks)
			if e.Unknown != "" || e.Method != timing.ByCounter || e.Absolute == nil || *e.Absolute <= e.Uncertainty {
				t.Errorf("block %+v", e)
			}
			// The counter moves every 100 ms: the block's own uncertainty belongs to the bound.
			mean, within := float64(e.Gross)/e.Length().Seconds()/1000, float64(e.Uncertainty)/e.Length().Seconds()/1000
			if mean+within < 126 || mean-within > 421 {
				t.Errorf("%.1f ± %.1f W over %v: the recording lies between 126 and 421", mean, within, e.Length())
			}
			if !strings.Contains(doctor, "NVIDIA GeForce RTX 3090") || !strings.Contains(doctor, "its energy counter changes every") {
				t.Errorf("doctor says\n%s", doctor)
			}
		}},
		{"no counter", "", []string{"FAKE_NVML_COUNTER=0"}, "", false, func(t *testing.T, doctor, notes string, blocks []results.Block, ses results.Session) {
			if e := gpuBlock(t, blocks); e.Unknown != "" || e.Method != timing.ByPower || !strings.HasPrefix(e.Sensor, "GA10x instant") {
				t.Errorf("block %+v", e)
			}
		}},
		{"two cards and a neighbour", "", []string{"FAKE_NVML_CARDS=2"}, fmt.Sprintf("1 %d 4000\n0 1 300\n", os.Getpid()), false, func(t *testing.T, doctor, notes string, blocks []results.Block, ses results.Session) {
			if e := gpuBlock(t, blocks); e.Unknown != "" {
				t.Errorf("block %+v", e)
			}
			h := ses.Holds["honest"]
			if !h.Known || len(h.GPUs) != 1 || !strings.HasPrefix(h.GPUs[0], "GPU-5a1e0000") {
				t.Errorf("its GPUs: %+v", h)
			}
			if len(h.Foreign) == 0 || !strings.Contains(notes, "which is not the model's server") {
				t.Errorf("nothing says that a neighbour is there: %+v\n%s", h, notes)
			}
		}},
		{"MIG", "", []string{"FAKE_NVML_MIG=1"}, "", false, func(t *testing.T, doctor, notes string, blocks []results.Block, ses results.Session) {
			if !strings.Contains(notes, "MIG is on") || !strings.Contains(doctor, "MIG is on") {
				t.Errorf("nothing says MIG:\n%s\n%s", doctor, notes)
			}
			if e := gpuBlock(t, blocks); e.Unknown != "" {
				t.Errorf("block %+v", e)
			}
		}},
		{"no permission for processes", "", nil, "!", false, func(t *testing.T, doctor, notes string, blocks []results.Block, ses results.Session) {
			if !strings.Contains(notes, "no permission") {
				t.Errorf("nothing says that processes are not told:\n%s", notes)
			}
			if h := ses.Holds["honest"]; !h.Known || !h.Assumed {
				t.Errorf("the machine's only GPU is not assumed: %+v", h)
			}
		}},
		{"a driver that goes away", "", nil, "", true, func(t *testing.T, doctor, notes string, blocks []results.Block, ses results.Session) {
			if e := gpuBlock(t, blocks); e.Unknown == "" {
				t.Errorf("a GPU that was lost has an energy: %+v", e)
			}
			if s := ses.Devices[0].Stats; s == nil || s.Failed == 0 || !strings.Contains(strings.Join(s.Failures, " "), "lost") {
				t.Errorf("its reads: %+v", ses.Devices[0].Stats)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			processes, kind := c.others, "ollama"
			if processes == "!" { // an Ollama of a phantom says that nothing of it is on a GPU
				kind = "llamacpp"
			}
			server, pid := served(t, dir, kind)
			if processes != "!" {
				processes = fmt.Sprintf("0 %d 4000\n", pid) + c.others
			}
			if err := os.WriteFile(path("processes"), []byte(processes), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path("bench.yaml"), fmt.Appendf(nil, bindingBench, kind, server, c.telemetry), 0o644); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "LD_LIBRARY_PATH="+lib, "FAKE_NVML_TRACE="+trace, "FAKE_NVML_PROCESSES="+path("processes"), "FAKE_NVML_LOST="+path("lost"))
			env = append(env, c.env...)
			do := func(args ...string) (out, errs string, err error) {
				cmd := exec.CommandContext(t.Context(), "assay", args...)
				cmd.Dir, cmd.Env = dir, env
				var o, e bytes.Buffer
				cmd.Stdout, cmd.Stderr = &o, &e
				err = cmd.Run()
				return o.String(), e.String(), err
			}
			doctor, notes, _ := do("doctor", "-c", "bench.yaml")
			if c.dies {
				go func() { // the run watches 12.5 s of rest before its first answer
					time.Sleep(14 * time.Second)
					os.WriteFile(path("lost"), nil, 0o644)
				}()
			}
			_, errs, err := do("run", "-c", "bench.yaml")
			if err != nil {
				t.Fatalf("run: %v\n%s", err, errs)
			}
			report, errs2, err := do("report", "--json", "binding.sqlite")
			if err != nil || !c.dies && !strings.Contains(report, "± within the card") {
				t.Errorf("report: %v\n%s\n%s", err, errs, errs2)
			}
			st, err := store.OpenReader(t.Context(), path("binding.sqlite"))
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			sessions, err := st.Sessions(t.Context())
			if err != nil || len(sessions) != 1 {
				t.Fatal(len(sessions), err)
			}
			blocks, err := st.Blocks(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, doctor+notes, errs, blocks, sessions[0])
		})
	}
}

func gpuBlock(t *testing.T, blocks []results.Block) timing.Block {
	t.Helper()
	i := slices.IndexFunc(blocks, func(b results.Block) bool { return b.Part == results.PartGPU })
	if i < 0 {
		t.Fatal("no block")
	}
	return blocks[i].Energy
}

// served starts a phantom's server in a process of its own.
func served(t *testing.T, dir, kind string) (url string, pid int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "assay", "phantom", "serve", "--protocol", kind, "--listen", "127.0.0.1:0")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		for _, w := range strings.Fields(lines.Text()) {
			if strings.HasPrefix(w, "http://127.0.0.1:") {
				return strings.TrimRight(w, ".,;/"), cmd.Process.Pid
			}
		}
	}
	t.Fatal("the server says no address")
	return "", 0
}

// TestCalibrateOnAPlug goes all the way from a plug in bench.yaml to a calibrated run: the stand-in
// shows 0.95 of the plug's watts and 1.4 W more, at three heights. A plug that stands still is refused.
func TestCalibrateOnAPlug(t *testing.T) {
	t.Parallel()
	lib, trace := standIn(t)
	dir := t.TempDir()
	server, pid := served(t, dir, "ollama")
	heights := []float64{130, 390, 250}
	const lasts, gain, offset = 6000, .95, 1.4 // ms; W
	var still atomic.Bool
	plug := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watts := heights[time.Now().UnixMilli()/lasts%int64(len(heights))]
		if still.Load() {
			watts = 412
		}
		json.NewEncoder(w).Encode(map[string]any{"StatusSNS": map[string]any{"ENERGY": map[string]any{"Power": watts}}})
	}))
	defer plug.Close()
	var levels bytes.Buffer
	for i := range lasts * len(heights) / 20 {
		mw := 1000 * (gain*heights[20*i/lasts] + offset)
		fmt.Fprintf(&levels, "%d %.0f %.0f\n", 20*i, mw, mw)
	}
	fmt.Fprintf(&levels, "%d 0 0\n", lasts*len(heights))
	trace = filepath.Join(dir, "levels")
	if err := os.WriteFile(trace, levels.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"processes": fmt.Sprintf("0 %d 4000\n", pid),
		"bench.yaml": fmt.Sprintf(bindingBench, "ollama", server, fmt.Sprintf(`, meters: [{url: "%s/cm?cmnd=Status%%208"}]`, plug.URL))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	do := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "assay", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LD_LIBRARY_PATH="+lib, "FAKE_NVML_TRACE="+trace, "FAKE_NVML_WALL=1", "FAKE_NVML_PROCESSES="+filepath.Join(dir, "processes"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := do("run", "-c", "bench.yaml"); err != nil || !strings.Contains(out, "plug 127.0.0.1") {
		t.Fatalf("run: %v\n%s", err, out)
	}
	out, err := do("store", "calibrate", "-c", "bench.yaml")
	if err != nil || !strings.Contains(out, "written to calibration.json") {
		t.Fatalf("calibrate: %v\n%s", err, out)
	}
	file, err := machine.ReadCalibration(filepath.Join(dir, "calibration.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"instant", "average", "counter"} {
		if f := file.Cards[0].Fits[name]; math.Abs(f.Gain-gain) > .02 || math.Abs(float64(f.Offset)/1000-offset) > 5 {
			t.Errorf("%s: %+v\n%s", name, f, out)
		}
	}
	if out, err := do("cost", "binding.sqlite"); err != nil || !strings.Contains(out, "MACHINE") {
		t.Errorf("cost: %v\n%s", err, out)
	}
	still.Store(true)
	bench := strings.ReplaceAll(fmt.Sprintf(bindingBench, "ollama", server, fmt.Sprintf(`, calibration: calibration.json, meters: [{url: "%s"}]`, plug.URL)), "binding.sqlite", "calibrated.sqlite")
	if err := os.WriteFile(filepath.Join(dir, "calibrated.yaml"), []byte(bench), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := do("run", "-c", "calibrated.yaml"); err != nil {
		t.Fatalf("run: %v\n%s", err, out)
	}
	if out, err := do("store", "calibrate", "calibrated.sqlite", "--out", "none.json"); err == nil || !strings.Contains(out, "cannot be calibrated by this run") {
		t.Errorf("a plug that stands still: %v\n%s", err, out)
	}
	st, err := store.OpenReader(t.Context(), filepath.Join(dir, "calibrated.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	blocks, err := st.Blocks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	most := file.Cards[0].Fits["counter"].Spread.Rest
	if e := gpuBlock(t, blocks); e.Absolute == nil || *e.Absolute > e.Uncertainty+most.Over(e.Length()) {
		t.Errorf("the calibration is not used: ± %v of %v within, %v", e.Absolute, e.Uncertainty, e.Gross)
	}
}
