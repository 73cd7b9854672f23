//go:build unix

package machine_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"assay/backends/phantom"
	"assay/harness/machine"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry/host"
	"assay/timing/telemetry/rapl"
)

// BenchmarkSampler prints what watching this machine and a phantom GPU at 20 and
// 100 samples a second costs, in percent of one core.
func BenchmarkSampler(b *testing.B) {
	for _, hz := range []int{20, 100} {
		b.Run(fmt.Sprintf("%dHz", hz), func(b *testing.B) {
			for b.Loop() {
				probes, _ := host.Find(b.TempDir())
				more, _ := rapl.Find(os.DirFS("/sys"))
				probes = append(append(probes, more...), machine.PhantomGPU{GPU: phantom.NewGPU(phantom.NewActivity(), phantom.DefaultCard())})
				st := openStore(b)
				before := cpuTime(b)
				m, err := machine.Start(b.Context(), st, timing.NewClock(), hz, probes, results.Session{})
				if err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				<-time.After(8 * time.Second)
				if err := errors.Join(m.Stop(), st.Close()); err != nil {
					b.Fatal(err)
				}
				took := time.Since(began)
				b.ReportMetric(100*float64(cpuTime(b)-before)/float64(took), "%core")
				b.ReportMetric(float64(len(probes)), "devices")
			}
		})
	}
	b.Logf("%d cores, %s", runtime.NumCPU(), runtime.Version())
}

// cpuTime is what this process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
