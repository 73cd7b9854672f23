package cli

import (
	"os"
	"path/filepath"

	"assay/harness/config"
	"assay/harness/managed"
	"assay/results"
)

// manage puts a managed server's life around its adapter.
func (s *servers) manage(c config.Backend, log string) *managed.Server {
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
	conf := managed.Config{Name: c.Name, URL: c.URL, Command: c.Command, Dir: filepath.Dir(s.cfg.File), Timeout: c.StartTimeout, Restarts: c.Restarts, Record: log + ".server",
		Tell: func(kind results.EventKind, text string) {
			if s.tell != nil {
				s.tell(c.Name, kind, text)
			}
		}}
	if out != nil {
		conf.Log = out
	}
	srv := managed.New(conf)
	s.managed[c.Name] = srv
	return srv
}

// down stops a backend's server, if the run has started it.
func (s *servers) down(backend string) {
	if m, ok := s.managed[backend]; ok {
		m.Down()
	}
}
