package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/backends"
	"assay/backends/phantom"
	"assay/backends/wire"
	"assay/harness/config"
	"assay/harness/dataset/phantom/skill"
	"assay/harness/managed"
	"assay/results"
)

// servers are the backends of a bench, made when first asked for. Phantoms are
// started on loopback and stopped by close; so are servers with a command.
type servers struct {
	cfg      *config.Config
	dial     wire.Dial // nil: the network
	open     map[string]backends.Backend
	phantoms []*phantom.Server
	activity *phantom.Activity // of all phantoms
	films    skill.Films       // of all phantoms: they are shown the same pictures
	managed  map[string]*managed.Server
	logs     []*os.File                                                // that managed servers write to
	tell     func(backend string, kind results.EventKind, text string) // nil: nobody is told
}

func newServers(cfg *config.Config) *servers {
	return &servers{cfg: cfg, open: map[string]backends.Backend{}, activity: phantom.NewActivity(), managed: map[string]*managed.Server{}}
}

func (s *servers) close() {
	for _, m := range s.managed {
		m.Down()
	}
	for _, f := range s.logs {
		f.Close()
	}
	for _, p := range s.phantoms {
		p.Close()
	}
}

// config finds a backend by name; bench.yaml was checked, so it is there.
func (s *servers) config(name string) config.Backend {
	for _, b := range s.cfg.Backends {
		if b.Name == name {
			return b
		}
	}
	panic("cli: internal error: no backend " + name)
}

// backend is the adapter of a backend by name.
func (s *servers) backend(name string) (backends.Backend, error) {
	if b, ok := s.open[name]; ok {
		return b, nil
	}
	c := s.config(name)
	url, kind := c.URL, c.Server()
	if kind.Phantom {
		url = "http://phantom.invalid"
		if s.dial == nil {
			o := phantom.Options{Protocol: c.Protocol, Seed: s.cfg.Seed, Skill: &s.films, Activity: s.activity}
			if c.Caches {
				o.Caches = &phantom.Caches{}
			}
			p, err := phantom.Listen("127.0.0.1:0", o)
			if err != nil {
				return nil, environment(fmt.Errorf("backend %s: start phantom: %w", name, err))
			}
			s.phantoms = append(s.phantoms, p)
			url = p.URL
		}
	}
	key, err := c.Key(os.Getenv)
	if err != nil {
		return nil, usage("backend %s: %w", name, err)
	}
	roots, err := c.Roots()
	if err != nil {
		return nil, usage("%w", err)
	}
	b, err := kind.Connect(wire.Config{URL: url, Key: key, Dial: s.dial, Roots: roots})
	if err != nil {
		return nil, usage("backend %s: %w", name, err)
	}
	if len(c.Command) > 0 && s.dial == nil {
		log := strings.TrimSuffix(s.cfg.Store, filepath.Ext(s.cfg.Store)) + "-" + strings.ReplaceAll(name, "/", "_") + ".log"
		b = &managed.Backend{Backend: b, Server: s.manage(c, log)}
	}
	s.open[name] = b
	return b, nil
}
