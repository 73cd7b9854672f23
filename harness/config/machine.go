package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/text"
	"assay/timing/telemetry"
)

const (
	defaultHz           = 20
	defaultStartTimeout = 10 * time.Minute // vLLM compiles before it serves
	defaultRestarts     = 3
)

func (c *checker) telemetry(s section) telemetry.Settings {
	t := telemetry.Settings{Hz: defaultHz, Auto: true}
	n := s.get("telemetry")
	if n == nil {
		return t
	}
	in := c.section(n, "telemetry", "hz", "devices", "gpus", "remote", "meters", "calibration")
	in.fill(&t)
	t.GPUs = in.gpus()
	t.Remote = c.remotes(in)
	t.Meters = c.meters(in)
	in.asks("calibration", Rule{Type: valueText})
	if in.get("calibration") != nil {
		t.Calibration = in.file("calibration")
	}
	in.asks("devices", Rule{Type: List, Values: telemetry.Sources(), Names: []string{"auto", "none"}, Default: "auto"})
	d := in.get("devices")
	if d == nil || d.Kind == isText && d.Raw == "auto" {
		return t
	}
	t.Auto = false
	if d.Kind == isText && d.Raw == "none" {
		return t
	}
	if d.Kind != isList {
		in.wrong("devices", d, "expected auto, none, or a list of %s, found %s", strings.Join(telemetry.Sources(), ", "), d.Found())
		return t
	}
	list, _ := in.words("devices")
	for _, w := range list {
		if !slices.Contains(telemetry.Sources(), w.text) {
			c.Errorf(w.at, w.path, "expected %s, found %s%s", oneOf(telemetry.Sources()), shown(w.text), text.DidYouMean(w.text, telemetry.Sources()))
			continue
		}
		t.Devices = append(t.Devices, w.text)
	}
	return t
}

// gpus are the GPUs that bench.yaml names. Whether they are there is seen later.
func (s section) gpus() (out []string) {
	n := s.get("gpus")
	s.asks("gpus", Rule{Type: List})
	if n == nil {
		return nil
	}
	path := JoinPath(s.path, "gpus")
	const want = "expected an index, a UUID or a PCI address, such as [0], [GPU-5a1e...] or [\"0000:9b:00.0\"], found "
	if n.Kind != isList || len(n.Items) == 0 {
		s.wrong("gpus", n, want+"%s", n.Found())
		return nil
	}
	for i, it := range n.Items {
		text := it.Raw
		if it.Kind == isWhole {
			text = fmt.Sprint(it.Value)
		}
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case it.Kind != isText && it.Kind != isWhole || !gpuName.MatchString(text):
			s.c.Errorf(it.At, at, want+"%s", it.Found())
		case slices.Contains(out, text):
			s.c.Errorf(it.At, at, "expected each GPU once, found %s twice", shown(text))
		default:
			out = append(out, text)
		}
	}
	return out
}

// remotes are the exporters of servers' GPUs elsewhere.
func (c *checker) remotes(s section) (out []telemetry.Remote) {
	s.asks("remote", Rule{Type: List})
	n := s.get("remote")
	if n == nil {
		return nil
	}
	if n.Kind != isList {
		s.wrong("remote", n, `expected a list such as [{backend: gpu-box, url: "http://gpu-box:9400/metrics"}], found %s`, n.Found())
	}
	for i, it := range n.Items {
		in := c.section(it, fmt.Sprintf("%s[%d]", JoinPath(s.path, "remote"), i), "backend", "url", "gpus", "api_key_env", "api_key_file")
		r := telemetry.Remote{GPUs: in.gpus()}
		if w, ok := in.text("backend"); in.need("backend") && ok && c.refer(&c.backends, w) {
			r.Backend = w.text
		}
		local := false
		if in.need("url") {
			if r.URL, local = in.url(0); strings.HasPrefix(r.URL, "unix:") {
				in.wrong("url", in.get("url"), "expected http or https, found a socket of this machine; GPUs here need no exporter")
			}
		}
		r.KeyEnv, r.KeyFile = in.key(local)
		out = append(out, r)
	}
	return out
}

// meters are plugs in front of this machine.
func (c *checker) meters(s section) (out []telemetry.Plug) {
	s.asks("meters", Rule{Type: List})
	n := s.get("meters")
	if n == nil {
		return nil
	}
	if n.Kind != isList {
		s.wrong("meters", n, `expected a list such as [{url: "http://plug/rpc/Switch.GetStatus?id=0", field: apower}], found %s`, n.Found())
	}
	for i, it := range n.Items {
		in := c.section(it, fmt.Sprintf("%s[%d]", JoinPath(s.path, "meters"), i), "url", "field")
		var m telemetry.Plug
		if w, ok := in.text("url"); in.need("url") && ok {
			base, query, asks := strings.Cut(w.text, "?") // plugs are asked by a query
			address, _, found := readAddress(base)
			switch {
			case strings.HasPrefix(base, "unix:"):
				found = "a socket of this machine"
			case strings.Contains(strings.ToLower(query), "password"):
				found = "a password in it: switch it off for reading, or read the plug through something that knows it"
			}
			if m.URL = address; asks {
				m.URL += "?" + query
			}
			if found != "" {
				c.Errorf(w.at, w.path, "expected a plug's address such as http://plug/rpc/Switch.GetStatus?id=0, found %s", found)
			}
		}
		in.fill(&m)
		out = append(out, m)
	}
	return out
}

// gpuName is an index, a UUID (or its begin), or a PCI address with or without its domain.
var gpuName = regexp.MustCompile(`^(?i:[0-9]{1,4}|(GPU-)?[0-9a-f][0-9a-f-]{3,}|([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$`)

const maxPrice = 1e9

func (c *checker) cost(s section) *results.Cost {
	p := &results.Cost{}
	in, given := s.under("cost", p, "hosted_per_million")
	if !given {
		return nil
	}
	if len([]rune(p.Currency)) > 8 {
		in.wrong("currency", in.get("currency"), "expected a currency such as EUR, found %s", shown(p.Currency))
	}
	switch n := s.get("cost"); {
	case p.GPUHour != nil && p.GPUPrice != nil:
		c.Errorf(n.At, "cost", "expected either gpu_hour, or gpu_price with gpu_life_hours, found both; remove one")
	case (p.GPUPrice == nil) != (p.GPULifeHours == nil):
		c.Errorf(n.At, "cost", "expected gpu_price and gpu_life_hours together, found one of them; add the other")
	}
	in.asks("hosted_per_million", Rule{Type: Number, Least: "0", Most: short(maxPrice)})
	var both struct {
		Input  *float64 `yaml:"input,needed" range:"0..1e9"`
		Output *float64 `yaml:"output,needed" range:"0..1e9"`
	}
	if h := in.get("hosted_per_million"); h != nil && h.Kind == IsMapping {
		in.under("hosted_per_million", &both)
	} else if h != nil {
		v := in.number("hosted_per_million", 0, 0, maxPrice)
		both.Input, both.Output = &v, &v
	}
	p.HostedInput, p.HostedOutput = both.Input, both.Output
	return p
}

// managed are the keys of a server that the run starts itself. local: its
// address is on this machine.
func (s section) managed(b *backends.Server, local bool) {
	b.SharesGPU, b.StartTimeout, b.Restarts = true, defaultStartTimeout, defaultRestarts
	s.fill(b)
	n := s.get("command")
	s.asks("command", Rule{Type: List})
	if n == nil {
		s.none("there is no command to start", "remove the key", "start_timeout", "restarts")
		return
	}
	b.StartTimeout = s.duration("start_timeout", defaultStartTimeout, false)
	b.Restarts = s.whole("restarts", defaultRestarts, 0, 1000)
	for _, w := range s.command("[llama-server, -m, model.gguf]") {
		b.Command = append(b.Command, w.text)
		if strings.Contains(w.text, "{port}") && b.Port == 0 && !strings.Contains(b.URL, "{port}") && s.get("port") == nil {
			s.c.Errorf(w.at, JoinPath(s.path, "command"), "expected {port} in url too, found it in the command alone; write url: \"http://127.0.0.1:{port}\" and port: 8080")
		}
	}
	if b.URL != "" && !local {
		s.wrong("command", n, "expected an address of this machine as url, because the run starts the server here, found another; use 127.0.0.1")
	}
}
