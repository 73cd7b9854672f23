// Package exporter reads the GPUs of another machine from the text that an exporter of
// its metrics serves (DCGM-exporter; Prometheus text). Its figures are
// seconds old, so they are good for blocks, never for single answers.
//
//  1. Find asks once which GPUs the exporter knows, and makes a probe of each that counts.
//  2. A probe reads the exporter's text again once a second, for all GPUs together.
//  3. A Doubt says what of a block's energy is left when it was measured so.
package exporter

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"assay/timing/telemetry"
)

const (
	source      = "exporter"
	backendFact = "backend" // whose GPU it is; a device can have several
)

const (
	energyName = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" // mJ since the driver was loaded
	powerName  = "DCGM_FI_DEV_POWER_USAGE"              // W
	// DCGM says that it has no figure by one beyond these.
	mostMillijoules, mostWatts = 1e14, 1e5
	// every is how often the exporter is asked: its own interval is a second or longer.
	every   = time.Second
	timeout = 2 * time.Second
	most    = 8 << 20 // bytes of a reply
)

// Use is whose GPUs an exporter tells of.
type Use struct {
	URL     string // of its metrics
	Key     string // sent as a bearer token; "": none is
	Backend string
	GPUs    []string // by index or UUID (or its begin); none: all that it knows
}

// Serves says whether a device is an exporter's that works for a backend.
func Serves(d telemetry.Device, backend string) bool {
	return d.Remote && slices.Contains(d.Facts, telemetry.Fact{Name: backendFact, Value: backend})
}

// page is an exporter's text, asked for once for all of its GPUs.
type page struct {
	url, key string
	client   *http.Client

	mu   sync.Mutex
	last time.Time
	gpus []*gpu
	err  error
}

// get is what the exporter said when it was asked last.
func (p *page) get() (gpus []*gpu, at time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.IsZero() || time.Since(p.last) >= every {
		p.gpus, p.err = p.fetch()
		p.last = time.Now()
	}
	return p.gpus, p.last, p.err
}

// fetch asks. Its errors are stored: where there is a key they hold nothing that may give it back.
func (p *page) fetch() ([]*gpu, error) {
	req, err := http.NewRequest(http.MethodGet, p.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if p.key != "" && strings.Contains(err.Error(), p.key) {
			err = errors.New("what it answers is no HTTP")
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d %s", p.url, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > most:
		return nil, fmt.Errorf("%s answers more than %d MiB", p.url, most>>20)
	}
	gpus, err := parse(b)
	if err != nil && p.key != "" { // the error shows some of the text, which may give the key back
		err = errors.New("what it answers is no text of metrics")
	}
	return gpus, err
}

// gpu is what a page says of one GPU.
type gpu struct {
	id, index, host, name string
	divided               bool     // MIG: the same figures stand at every part of it
	energy, power         *float64 // mJ, W; nil: not said
	differs               bool     // a figure stands there twice, and differently
}

// parse reads a text of metrics. GPUs come in the order of their first line, those with an
// energy first.
func parse(b []byte) ([]*gpu, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the text of metrics: %w", err)
	}
	var out []*gpu
	byID := map[string]*gpu{}
	for _, name := range []string{energyName, energyName + "_total", powerName} {
		for _, m := range families[name].GetMetric() {
			l := map[string]string{}
			for _, pair := range m.GetLabel() {
				l[pair.GetName()] = pair.GetValue()
			}
			g := gpu{id: cmp.Or(l["UUID"], l["uuid"]), index: l["gpu"], host: l["Hostname"], name: l["modelName"]}
			if g.id == "" {
				g.id = g.host + "#" + g.index
			}
			x := byID[g.id]
			if x == nil {
				x = &g
				byID[g.id] = x
				out = append(out, x)
			}
			x.divided = x.divided || l["GPU_I_ID"] != ""
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() // one of them is there
			to, limit := &x.energy, mostMillijoules
			if name == powerName {
				to, limit = &x.power, mostWatts
			}
			switch {
			case math.IsNaN(v) || v < 0 || v > limit, name != powerName && v == 0: // a counter of 0 is none
			case *to != nil && **to != v:
				x.differs = true
			default:
				*to = &v
			}
		}
	}
	return out, nil
}

// is says whether the GPU goes by a name: its index, or its UUID or its begin.
func (g *gpu) is(name string) bool {
	return name == g.index || len(name) > 3 && (strings.HasPrefix(g.id, name) || strings.HasPrefix(g.id, "GPU-"+name))
}

// chosen are the GPUs that go by names; none: all. why says why there are none.
func chosen(gpus []*gpu, names []string) (out []*gpu, why, do string) {
	known := make([]string, len(gpus))
	for i, g := range gpus {
		known[i] = fmt.Sprintf("%s (%s)", g.index, g.id)
	}
	there := "; it knows " + strings.Join(known, ", ")
	for _, name := range names {
		n := len(out)
		for _, g := range gpus {
			if g.is(name) && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
		switch len(out) - n {
		case 0:
			return nil, fmt.Sprintf("GPU %s is not there", name) + there, "name those of the server in gpus, each once"
		case 1:
		default:
			return nil, fmt.Sprintf("GPU %s may be any of several", name) + there, "name them by their UUIDs in gpus"
		}
	}
	if len(names) == 0 {
		out = gpus
	}
	for _, g := range out {
		switch {
		case g.divided:
			return nil, fmt.Sprintf("GPU %s is divided (MIG): its figures are of all that work on it, and nothing says whose", g.id), "measure on a GPU that is not divided"
		case g.host != out[0].host:
			return nil, "it tells of GPUs on several machines" + there, "name those of the server by their UUIDs in gpus"
		}
	}
	return out, "", ""
}

// Find asks exporters which GPUs they know, each once. A backend without all of its GPUs
// has none: what is left would be too little.
func Find(uses []Use) (probes []telemetry.Probe, problems []telemetry.Problem) {
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{}, // no proxy: it would be told the key
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	pages := map[[2]string]*page{}
	for _, u := range uses {
		p := pages[[2]string{u.URL, u.Key}]
		if p == nil {
			p = &page{url: u.URL, key: u.Key, client: client}
			pages[[2]string{u.URL, u.Key}] = p
		}
		gpus, _, err := p.get()
		list, why, do := chosen(gpus, u.GPUs)
		switch {
		case err != nil:
			why, do = fmt.Sprintf("the exporter cannot be read: %v", err), "give the URL of its metrics, as http://gpu-box:9400/metrics, and see that this machine may ask it"
		case len(gpus) == 0:
			why, do = "the exporter knows no GPU: neither "+energyName+" nor "+powerName+" is there", "start DCGM-exporter with these fields"
		}
		if why != "" {
			problems = append(problems, telemetry.Problem{Source: source, Device: u.URL, What: why, Do: do})
			continue
		}
		for _, g := range list {
			i := slices.IndexFunc(probes, func(q telemetry.Probe) bool { return q.Describe().ID == g.id })
			if i < 0 {
				probes, i = append(probes, newProbe(p, g)), len(probes)
			}
			d := &probes[i].(*probe).device
			d.Facts = append(d.Facts, telemetry.Fact{Name: backendFact, Value: u.Backend})
		}
	}
	return probes, problems
}

type probe struct {
	page   *page
	device telemetry.Device
	seen   time.Time // the page that was read last
	power  float64   // its last figure, where there is no counter
}

func newProbe(p *page, g *gpu) *probe {
	name := cmp.Or(g.name, "GPU "+g.index)
	if g.host != "" {
		name += " of " + g.host
	}
	d := telemetry.Device{Source: source, ID: g.id, Name: name, Kind: telemetry.GPU, Remote: true, Facts: []telemetry.Fact{{Name: "url", Value: p.url}}}
	if g.power != nil {
		d.Measures = append(d.Measures, telemetry.PowerInstant)
	}
	if g.energy != nil {
		d.Measures = append(d.Measures, telemetry.Energy)
	}
	return &probe{page: p, device: d, power: -1}
}

// Describe says which GPU this is.
func (p *probe) Describe() telemetry.Device { return p.device }

// Read gives what the exporter said last, once; between its answers a sample has no
// values. Where there is no counter, a power counts when it changes: an exporter that
// hangs repeats its last one, and that shows as a gap.
func (p *probe) Read(s *telemetry.Sample) error {
	gpus, at, err := p.page.get()
	if at.Equal(p.seen) {
		return nil
	}
	p.seen = at
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	i := slices.IndexFunc(gpus, func(g *gpu) bool { return g.id == p.device.ID })
	switch {
	case i < 0 || gpus[i].energy == nil && gpus[i].power == nil:
		return errors.New("exporter: the GPU is not in the reply any more")
	case gpus[i].divided:
		return errors.New("exporter: the GPU was divided (MIG)")
	case gpus[i].differs:
		return errors.New("exporter: a figure of the GPU stands there twice, and differently")
	}
	g, counts := gpus[i], slices.Contains(p.device.Measures, telemetry.Energy)
	if g.energy != nil && counts {
		s.Set(telemetry.Energy, int64(*g.energy*1000))
	}
	if g.power != nil && (counts || *g.power != p.power) {
		s.Set(telemetry.PowerInstant, int64(*g.power*1000))
		p.power = *g.power
	}
	return nil
}
