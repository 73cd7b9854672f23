// Package plug reads a power meter in front of the whole machine: a plug that serves its
// power as JSON over HTTP (Shelly Gen2, Tasmota, any other by the path of the figure).
package plug

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assay/timing/telemetry"
)

const (
	source  = "plug"
	every   = time.Second
	timeout = 800 * time.Millisecond // a figure that comes later is of another second
	most    = 1 << 20                // bytes of a reply
	// mostWatts is more than any machine draws.
	mostWatts = 1e5
)

// known are the paths of plugs that people have: Shelly Gen2 (Switch.GetStatus), Tasmota (Status 8).
func known() []string { return []string{"apower", "StatusSNS.ENERGY.Power"} }

// Find asks each plug once.
func Find(plugs []telemetry.Plug) (probes []telemetry.Probe, problems []telemetry.Problem) {
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, u := range plugs {
		p := &probe{url: u.URL, client: client}
		name := u.URL
		if at, err := url.Parse(u.URL); err == nil {
			name = at.Host // the rest may hold a password
		}
		b, err := p.ask()
		if err == nil {
			paths := known()
			if u.Field != "" {
				paths = []string{u.Field}
			}
			for _, p.field = range paths {
				if _, err = watts(b, p.field); !errors.Is(err, errNotThere) {
					break
				}
			}
		}
		if err != nil {
			problems = append(problems, telemetry.Problem{Source: source, Device: name, What: fmt.Sprintf("the plug cannot be read: %v", err),
				Do: "give the URL of its status, as http://plug/rpc/Switch.GetStatus?id=0 (Shelly) or http://plug/cm?cmnd=Status%208 (Tasmota), and in field the path of its power in watts"})
			continue
		}
		p.device = telemetry.Device{Source: source, ID: "plug-" + name, Name: "plug " + name, Kind: telemetry.Meter, Measures: []telemetry.Measure{telemetry.PowerInstant},
			Facts: []telemetry.Fact{{Name: "field", Value: p.field}}}
		probes = append(probes, p)
	}
	return probes, problems
}

// probe is one plug.
type probe struct {
	url, field string
	client     *http.Client
	device     telemetry.Device
	last       time.Time
}

// Describe says which plug this is.
func (p *probe) Describe() telemetry.Device { return p.device }

// Read asks the plug, once a second; a sample between has no values.
func (p *probe) Read(s *telemetry.Sample) error {
	if time.Since(p.last) < every-every/50 {
		return nil
	}
	p.last = time.Now()
	b, err := p.ask()
	if err != nil {
		return fmt.Errorf("plug: %w", err)
	}
	w, err := watts(b, p.field)
	if err != nil {
		return fmt.Errorf("plug: %w", err)
	}
	s.Set(telemetry.PowerInstant, int64(math.Round(w*1000)))
	return nil
}

func (p *probe) ask() ([]byte, error) {
	resp, err := p.client.Get(p.url)
	if e, ok := err.(*url.Error); ok {
		return nil, e.Err // without the address, which may hold a password
	} else if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return io.ReadAll(io.LimitReader(resp.Body, most))
}

var errNotThere = errors.New("is not there")

// watts is the number at a path of a JSON text.
func watts(b []byte, field string) (float64, error) {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return 0, fmt.Errorf("what it answers is no JSON: %w", err)
	}
	at := ""
	for _, key := range strings.Split(field, ".") {
		switch in := v.(type) {
		case map[string]any:
			there := false
			if v, there = in[key]; !there {
				return 0, fmt.Errorf("%s%s %w", at, key, errNotThere)
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return 0, fmt.Errorf("%s%s %w: the list has %d places, from 0", at, key, errNotThere, len(in))
			}
			v = in[i]
		default:
			return 0, fmt.Errorf("%s%s %w", at, key, errNotThere)
		}
		at += key + "."
	}
	if s, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			v = f
		}
	}
	w, ok := v.(float64)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s is no number", field)
	case !(w >= 0 && w <= mostWatts):
		return 0, fmt.Errorf("%s is %g: a power is 0 to %g W", field, w, mostWatts)
	}
	return w, nil
}
