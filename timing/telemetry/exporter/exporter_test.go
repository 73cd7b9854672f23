package exporter

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"assay/timing/telemetry"
)

// text is what DCGM-exporter serves of two GPUs: so many mJ and W each.
func text(mj0, w0, mj1, w1 float64) string {
	return fmt.Sprintf(`# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-aaaa-1",device="nvidia0",modelName="NVIDIA L4",Hostname="box"} %f
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-bbbb-2",device="nvidia1",modelName="NVIDIA L4",Hostname="box"} %f
# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-aaaa-1",modelName="NVIDIA L4",Hostname="box"} %f
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",UUID="GPU-bbbb-2",modelName="NVIDIA L4",Hostname="box"} %f 1700000000000
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-aaaa-1"} 41
# EOF
`, w0, w1, mj0, mj1)
}

// serve answers with what body says; "": with an error.
func serve(t *testing.T, body *atomic.Value) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b := body.Load().(string)
		if b == "" {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, b)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func find(url string, gpus ...string) ([]telemetry.Probe, []telemetry.Problem) {
	return Find([]Use{{URL: url, Backend: "far", GPUs: gpus}})
}

// A GPU is found by index or UUID, and read once for each answer of the exporter; faults
// are errors, and no values.
func TestGPUsOfAnExporter(t *testing.T) {
	var body atomic.Value
	body.Store(text(5000, 100, 7000, 200))
	url := serve(t, &body)
	if probes, bad := find(url); len(probes) != 2 || len(bad) != 0 {
		t.Fatalf("%d probes, %v", len(probes), bad)
	}
	for _, gpus := range [][]string{{"1"}, {"GPU-bbbb-2"}, {"GPU-bb"}, {"bbbb"}} {
		probes, bad := find(url, gpus...)
		if len(probes) != 1 || len(bad) != 0 || probes[0].Describe().ID != "GPU-bbbb-2" {
			t.Fatalf("%v: %d probes, %v", gpus, len(probes), bad)
		}
	}
	if probes, bad := find(url, "0", "7"); len(probes) != 0 || len(bad) != 1 || !strings.Contains(bad[0].What, "GPU 7 is not there; it knows 0 (GPU-aaaa-1), 1 (GPU-bbbb-2)") {
		t.Errorf("one GPU is not there: %d probes, %v; the other alone would be too little", len(probes), bad)
	}
	probes, bad := Find([]Use{{URL: url, Backend: "far", GPUs: []string{"0", "1"}}, {URL: url, Backend: "second", GPUs: []string{"1"}}})
	if len(probes) != 2 || len(bad) != 0 || !Serves(probes[1].Describe(), "far") || !Serves(probes[1].Describe(), "second") || Serves(probes[0].Describe(), "second") {
		t.Errorf("two servers, one GPU of both: %d probes, %v", len(probes), bad)
	}
	p := probes[1].(*probe)
	if d := p.Describe(); d.Name != "NVIDIA L4 of box" || !d.Remote || d.RealGPU() || d.Kind != telemetry.GPU || len(d.Measures) != 2 || d.Source != source {
		t.Errorf("%+v", d)
	}
	read := func() (telemetry.Sample, error) {
		var s telemetry.Sample
		err := p.Read(&s)
		return s, err
	}
	again := func() { p.page.last = p.page.last.Add(-every) }
	s, err := read()
	uj, _ := s.Get(telemetry.Energy)
	mw, _ := s.Get(telemetry.PowerInstant)
	if err != nil || uj != 7_000_000 || mw != 200_000 {
		t.Errorf("%d µJ, %d mW, %v", uj, mw, err)
	}
	if s, err := read(); err != nil || s.Len() != 0 {
		t.Errorf("the same answer is read twice: %d values, %v", s.Len(), err)
	}
	ones := text(1, 1, 1, 1)
	for name, fault := range map[string]string{"an error": "", "no such GPU": strings.ReplaceAll(ones, "GPU-bbbb-2", "GPU-cccc-3"), "no text": "hello{", "not a number": strings.ReplaceAll(ones, "1.000000", "NaN"),
		"no figures in DCGM's words": strings.NewReplacer("CONSUMPTION{gpu=\"1\"", "CONSUMPTION{gpu=\"1\",x=\"y\"", "} 1.000000", "} 9223372036854775794").Replace(strings.ReplaceAll(ones, "USAGE{gpu=\"1\"", "OTHER{gpu=\"1\"")),
		"no power in DCGM's words":   `DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-bbbb-2"} 140737488355328` + "\n",
		"two figures":                ones + `DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-bbbb-2",pod="a"} 2` + "\n",
		"divided since":              strings.ReplaceAll(ones, `gpu="1",`, `gpu="1",GPU_I_ID="7",`)} {
		body.Store(fault)
		again()
		if s, err := read(); err == nil || s.Len() != 0 {
			t.Errorf("%s: %d values, %v", name, s.Len(), err)
		}
	}
	body.Store(text(5000, 100, 10, 0) + `DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-bbbb-2",pod="a"} 0` + "\n")
	again()
	if s, err := read(); err != nil || s.Len() != 2 {
		t.Errorf("after a restart, and twice the same: %d values, %v", s.Len(), err)
	}
	for name, b := range map[string]string{"cannot be read": "", "knows no GPU": "up 1\n"} {
		body.Store(b)
		if probes, bad := find(url); len(probes) != 0 || len(bad) != 1 || !strings.Contains(bad[0].What, name) || bad[0].Do == "" {
			t.Errorf("%s: %v", name, bad)
		}
	}
}

// Whose joules they are has to be sure.
func TestWhoseGPUs(t *testing.T) {
	one := func(rest string) string { return "DCGM_FI_DEV_POWER_USAGE{" + rest + "} 100\n" }
	var body atomic.Value
	body.Store("")
	url := serve(t, &body)
	for _, c := range []struct {
		text, gpu, want string
	}{
		{one(`gpu="0",UUID="GPU-a",GPU_I_ID="7"`) + one(`gpu="0",UUID="GPU-a",GPU_I_ID="8"`), "0", "MIG"},
		{one(`gpu="0",UUID="GPU-a",GPU_I_ID="7"`) + one(`gpu="1",UUID="GPU-b"`), "1", ""},
		{one(`gpu="0",UUID="GPU-a",Hostname="x"`) + one(`gpu="0",UUID="GPU-b",Hostname="y"`), "", "several machines"},
		{one(`gpu="0",UUID="GPU-a",Hostname="x"`) + one(`gpu="0",UUID="GPU-b",Hostname="y"`), "0", "any of several"},
		{one(`gpu="0",UUID="GPU-a",Hostname="x"`) + one(`gpu="0",UUID="GPU-b",Hostname="y"`), "GPU-b", ""},
		{one(`gpu="0",Hostname="x"`) + one(`gpu="0",Hostname="y"`), "", "several machines"},
		{one(`gpu="0",uuid="GPU-a"`), "GPU-a", ""},
	} {
		body.Store(c.text)
		var names []string
		if c.gpu != "" {
			names = []string{c.gpu}
		}
		probes, bad := find(url, names...)
		if c.want == "" && (len(probes) != 1 || len(bad) != 0) || c.want != "" && (len(probes) != 0 || len(bad) != 1 || !strings.Contains(bad[0].What, c.want)) {
			t.Errorf("gpus %v of\n%s%d probes, %v; want %q", names, c.text, len(probes), bad, c.want)
		}
	}
}

// The key is sent to the exporter and stands in nothing that is said; it goes nowhere else.
func TestKeyOfAnExporter(t *testing.T) {
	const key = "s3cret-of-the-exporter"
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirection was followed") }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	defer s.Close()
	for k, want := range map[string]string{"": "401", key: "302"} {
		probes, bad := Find([]Use{{URL: s.URL, Key: k, Backend: "far"}})
		if len(probes) != 0 || len(bad) != 1 || !strings.Contains(bad[0].What, want) || strings.Contains(fmt.Sprintf("%+v", bad), key) {
			t.Errorf("%v, want %s", bad, want)
		}
	}
}

// Without a counter, a figure that does not change is not read again: an exporter that
// hangs is a gap.
// What stands before an exporter may give the key back: it is in no error, which would be stored.
func TestKeyThatIsGivenBack(t *testing.T) {
	const key = "sk-secret-0123456789"
	for _, answer := range []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { fmt.Fprintf(w, "%s{ is no key here\n", key) },
		func(w http.ResponseWriter) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "HTTP/1.1 403 no such key as %s\r\nContent-Length: 0\r\n\r\n", key)
		},
		func(w http.ResponseWriter) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "HTTP/1.1 %s\r\n\r\n", key)
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
		defer s.Close()
		probes, bad := Find([]Use{{URL: s.URL, Key: key, Backend: "far"}})
		if len(probes) != 0 || len(bad) != 1 || strings.Contains(fmt.Sprintf("%+v", bad), key) {
			t.Errorf("%v", bad)
		}
	}
}

func TestPowerAlone(t *testing.T) {
	var body atomic.Value
	line := func(w float64) string {
		return fmt.Sprintf("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\"} %f\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-a\"} 0\n", w)
	}
	body.Store(line(100))
	probes, _ := find(serve(t, &body))
	p := probes[0].(*probe)
	if m := p.Describe().Measures; len(m) != 1 || m[0] != telemetry.PowerInstant {
		t.Errorf("a counter of 0 is none: %v", m)
	}
	var got []int
	for _, w := range []float64{100, 100, 101, 101, 100} {
		body.Store(line(w))
		p.page.last = p.page.last.Add(-every)
		var s telemetry.Sample
		if err := p.Read(&s); err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Len())
	}
	if fmt.Sprint(got) != "[1 0 1 0 1]" {
		t.Errorf("values read: %v", got)
	}
}

func TestParse(t *testing.T) {
	const quoted = `# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total counter
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total{gpu="0",UUID="GPU-\"a",modelName="x\ny"} 2.5e3 1700000000250
`
	got, err := parse([]byte(quoted))
	if err != nil || len(got) != 1 || got[0].id != `GPU-"a` || got[0].name != "x\ny" || got[0].energy == nil || *got[0].energy != 2500 || got[0].power != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"a 1\nb", "a{x=1} 2\n", "a{x=\"1} 2\n", "a{x=\"1\"}\n", "a{x=\"1\"} b\n"} {
		if got, err := parse([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

// FuzzParse: whatever an exporter says, a GPU has a name of its own, and figures in the
// range of what a GPU can have drawn.
func FuzzParse(f *testing.F) {
	f.Add([]byte(text(1, 2, 3, 4)))
	f.Add([]byte("DCGM_FI_DEV_POWER_USAGE{} 140737488355328\n"))
	f.Add([]byte("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} -1\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} NaN\n"))
	f.Add([]byte("a{x=\"\\\\\",} 1\n"))
	f.Add([]byte("a{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		gpus, err := parse(b)
		if err != nil && gpus != nil {
			t.Error("GPUs beside an error")
		}
		ids := map[string]bool{}
		for _, g := range gpus {
			if g.id == "" || ids[g.id] {
				t.Errorf("%q, once or again", g.id)
			}
			ids[g.id] = true
			if g.power != nil && !(*g.power >= 0 && *g.power <= mostWatts) || g.energy != nil && !(*g.energy > 0 && *g.energy <= mostMillijoules) {
				t.Errorf("%+v", g)
			}
		}
	})
}
