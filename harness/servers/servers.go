package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/backends/wire"
	films "assay/harness/dataset/phantom"
	"assay/harness/machine"
	"assay/results"
)

// Servers are the backends of a run, made when first asked for. Phantoms are
// started on loopback and stopped by close; so are servers with a command.
type Servers struct {
	setup    machine.Setup
	Dial     wire.Dial                                                 // nil: the network
	Activity *phantom.Activity                                         // of all phantoms
	Tell     func(backend string, kind results.EventKind, text string) // nil: nobody is told
	// Stay has servers go on when a block of theirs ends, until Close: more of it follows.
	Stay     bool
	open     map[string]backends.Backend
	phantoms []*phantom.Server
	films    films.Films // of all phantoms: they are shown the same pictures
	managed  map[string]*server
	weights  weights
	logs     []*os.File // that managed servers write to
}

// SettingError is a backend of bench.yaml that no adapter can be made for.
type SettingError struct{ error }

func (e SettingError) Unwrap() error { return e.error }

// NewServers makes none yet.
func NewServers(setup machine.Setup) *Servers {
	return &Servers{setup: setup, open: map[string]backends.Backend{}, Activity: phantom.NewActivity(), managed: map[string]*server{}}
}

func (s *Servers) Close() {
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

// Config finds a backend by name; bench.yaml was checked, so it is there.
func (s *Servers) Config(name string) backends.Server {
	for _, b := range s.setup.Servers {
		if b.Name == name {
			return b
		}
	}
	panic("servers: internal error: no backend " + name)
}

// Backend is the adapter of a backend by name.
func (s *Servers) Backend(name string) (backends.Backend, error) {
	if b, ok := s.open[name]; ok {
		return b, nil
	}
	c := s.Config(name)
	url, kind := c.URL, kinds.Server(c.Kind, c.Protocol)
	if kind.Imported {
		return nil, SettingError{fmt.Errorf("backend %s: its answers are made elsewhere (kind: imported), and nobody can be asked; assay import predictions brings them in", name)}
	}
	if kind.Phantom {
		url = "http://phantom.invalid"
		if s.Dial == nil {
			o := phantom.Options{Protocol: c.Protocol, Seed: s.setup.Seed, Skill: &s.films, Activity: s.Activity, Slots: c.Slots}
			if c.Caches {
				o.Caches = &phantom.Caches{}
			}
			p, err := phantom.Listen("127.0.0.1:0", o)
			if err != nil {
				return nil, fmt.Errorf("backend %s: start phantom: %w", name, err)
			}
			s.phantoms = append(s.phantoms, p)
			url = p.URL
		}
	}
	key, err := backends.APIKey("backend "+name, c.KeyEnv, c.KeyFile, os.Getenv)
	if err != nil {
		return nil, SettingError{fmt.Errorf("backend %s: %w", name, err)}
	}
	roots, err := backends.Authorities(name, c.CAFile)
	if err != nil {
		return nil, SettingError{err}
	}
	b, err := kind.Connect(wire.Config{URL: url, Key: key, Dial: s.Dial, Roots: roots, Omit: c.Omit,
		Weights: func(ctx context.Context, path string) (string, error) { return s.weights.digest(ctx, c, path) }})
	if err != nil {
		return nil, SettingError{fmt.Errorf("backend %s: %w", name, err)}
	}
	if len(c.Command) > 0 && s.Dial == nil {
		log := strings.TrimSuffix(s.setup.Store, filepath.Ext(s.setup.Store)) + "-" + strings.ReplaceAll(name, "/", "_") + ".log"
		b = &Backend{Backend: b, Server: s.manage(c, log)}
	}
	s.open[name] = b
	return b, nil
}

// manage puts a managed server's life around its adapter.
func (s *Servers) manage(c backends.Server, log string) *server {
	if srv, ok := s.managed[c.Name]; ok {
		return srv
	}
	var out *os.File
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err == nil {
		if f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
			out = f
			s.logs = append(s.logs, f)
		}
	}
	conf := serverConfig{Name: c.Name, URL: c.URL, Command: c.Start(), Dir: s.setup.Dir, Timeout: c.StartTimeout, Restarts: c.Restarts, Record: log + recordEnd, Store: s.setup.Store,
		Tell: func(kind results.EventKind, text string) {
			if s.Tell != nil {
				s.Tell(c.Name, kind, text)
			}
		}}
	if out != nil {
		conf.Log = out
	}
	srv := newServer(conf)
	s.managed[c.Name] = srv
	return srv
}

// Down stops a backend's server, if the run has started it.
func (s *Servers) Down(backend string) {
	if m, ok := s.managed[backend]; ok && !s.Stay {
		m.Down()
	}
}
