package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/results"
)

// Telemetry says what is watched during a run.
type Telemetry struct {
	Hz      int      // samples per second, 1 to 100
	Auto    bool     // whatever is found
	Devices []string // of Devices(); nothing is watched if there are none and Auto is false
	// GPUs are those that the models' servers use, each by the driver's index, UUID
	// or PCI address; none: a run finds out.
	GPUs []string
}

// Devices are the kinds of device that can be watched.
func Devices() []string { return []string{"nvidia", "amd", "rapl", "host", "phantom"} }

// Watches says whether devices of a kind are to be looked for.
func (t Telemetry) Watches(kind string) bool { return t.Auto || slices.Contains(t.Devices, kind) }

const (
	defaultHz           = 20
	maxHz               = 100
	defaultStartTimeout = 10 * time.Minute // vLLM compiles before it serves
	defaultRestarts     = 3
)

func (c *checker) telemetry(s section) Telemetry {
	t := Telemetry{Hz: defaultHz, Auto: true}
	n := s.get("telemetry")
	if n == nil {
		return t
	}
	in := c.section(n, "telemetry", "hz", "devices", "gpus")
	t.Hz = in.whole("hz", defaultHz, 1, maxHz)
	in.gpus(&t)
	d := in.get("devices")
	if d == nil || d.kind == isText && d.raw == "auto" {
		return t
	}
	t.Auto = false
	if d.kind == isText && d.raw == "none" {
		return t
	}
	if d.kind != isList {
		in.wrong("devices", d, "expected auto, none, or a list of %s, found %s", strings.Join(Devices(), ", "), d.found())
		return t
	}
	list, _ := in.words("devices")
	for _, w := range list {
		if !slices.Contains(Devices(), w.text) {
			c.errorf(w.at, w.path, "expected %s, found %s%s", oneOf(Devices()), shown(w.text), DidYouMean(w.text, Devices()))
			continue
		}
		t.Devices = append(t.Devices, w.text)
	}
	return t
}

// gpus are the GPUs that bench.yaml names. Whether they are there is seen later.
func (s section) gpus(t *Telemetry) {
	n := s.get("gpus")
	if n == nil {
		return
	}
	path := join(s.path, "gpus")
	const want = "expected an index, a UUID or a PCI address, such as [0], [GPU-5a1e...] or [\"0000:9b:00.0\"], found "
	if n.kind != isList || len(n.items) == 0 {
		s.wrong("gpus", n, want+"%s", n.found())
		return
	}
	for i, it := range n.items {
		text := it.raw
		if it.kind == isWhole {
			text = fmt.Sprint(it.value)
		}
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case it.kind != isText && it.kind != isWhole || !gpuName.MatchString(text):
			s.c.errorf(it.at, at, want+"%s", it.found())
		case slices.Contains(t.GPUs, text):
			s.c.errorf(it.at, at, "expected each GPU once, found %s twice", shown(text))
		default:
			t.GPUs = append(t.GPUs, text)
		}
	}
}

// gpuName is an index, a UUID (or its begin), or a PCI address with or without its domain.
var gpuName = regexp.MustCompile(`^(?i:[0-9]{1,4}|(GPU-)?[0-9a-f][0-9a-f-]{3,}|([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$`)

const maxPrice = 1e9

func (c *checker) cost(s section) *results.Cost {
	n := s.get("cost")
	if n == nil {
		return nil
	}
	in := c.section(n, "cost", "currency", "gpu_hour", "gpu_price", "gpu_life_hours", "kwh", "hosted_per_million")
	if in.n.kind != isMapping {
		return nil
	}
	p := &results.Cost{}
	if in.need("currency") {
		w, _ := in.text("currency")
		p.Currency = w.text
		if len([]rune(w.text)) > 8 {
			c.errorf(w.at, w.path, "expected a currency such as EUR, found %s", shown(w.text))
		}
	}
	price := func(s section, key string, least float64) *float64 {
		if s.get(key) == nil {
			return nil
		}
		v := s.number(key, 0, least, maxPrice)
		return &v
	}
	p.GPUHour, p.KWh = price(in, "gpu_hour", 0), price(in, "kwh", 0)
	p.GPUPrice, p.GPULifeHours = price(in, "gpu_price", 0), price(in, "gpu_life_hours", 1)
	switch {
	case p.GPUHour != nil && p.GPUPrice != nil:
		c.errorf(n.at, "cost", "expected either gpu_hour, or gpu_price with gpu_life_hours, found both; remove one")
	case (p.GPUPrice == nil) != (p.GPULifeHours == nil):
		c.errorf(n.at, "cost", "expected gpu_price and gpu_life_hours together, found one of them; add the other")
	}
	if h := in.get("hosted_per_million"); h != nil && h.kind == isMapping {
		of := c.section(h, "cost.hosted_per_million", "input", "output")
		of.need("input")
		of.need("output")
		p.HostedInput, p.HostedOutput = price(of, "input", 0), price(of, "output", 0)
	} else if h != nil {
		p.HostedInput = price(in, "hosted_per_million", 0)
		p.HostedOutput = p.HostedInput
	}
	return p
}

// managed are the keys of a server that the run starts itself. local: its
// address is on this machine.
func (s section) managed(b *Backend, local bool) {
	b.SharesGPU, b.StartTimeout, b.Restarts = true, defaultStartTimeout, defaultRestarts
	if f := s.flag("shares_gpu"); f != nil {
		b.SharesGPU = *f
	}
	n := s.get("command")
	if n == nil {
		for _, key := range []string{"start_timeout", "restarts"} {
			if x := s.get(key); x != nil {
				s.wrong(key, x, "expected nothing, because there is no command to start, found %s; remove the key", x.found())
			}
		}
		return
	}
	b.StartTimeout = s.duration("start_timeout", defaultStartTimeout, false)
	b.Restarts = s.whole("restarts", defaultRestarts, 0, 1000)
	path := join(s.path, "command")
	if n.kind != isList || len(n.items) == 0 {
		s.wrong("command", n, "expected a list of the program and its arguments, found %s; write [llama-server, -m, model.gguf]", n.found())
		return
	}
	for i, it := range n.items {
		if w, ok := s.c.text(it, fmt.Sprintf("%s[%d]", path, i)); ok {
			b.Command = append(b.Command, w.text)
		}
	}
	for i, word := range b.Command {
		if holdsSecret(word) {
			// Not shown: it may hold the secret.
			s.c.errorf(n.items[min(i, len(n.items)-1)].at, path, "expected no secret in a command, because it is stored with the results, found an argument that sets one; use the server's option for a key file, or its environment")
		}
	}
	if b.URL != "" && !local {
		s.wrong("command", n, "expected an address of this machine as url, because the run starts the server here, found another; use 127.0.0.1")
	}
}

// holdsSecret says whether an argument sets a key: --api-key, VLLM_API_KEY=...
func holdsSecret(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	flag := strings.HasPrefix(name, "-")
	name = strings.ToLower(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
	if !flag && !strings.Contains(arg, "=") {
		return false
	}
	for _, end := range []string{"api_key", "token", "password", "secret"} {
		if name == end || strings.HasSuffix(name, "_"+end) {
			return true
		}
	}
	return false
}
