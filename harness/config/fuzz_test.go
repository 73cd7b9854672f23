package config

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse holds Parse to its promises for any bytes: a config or errors, the
// same ones each time, each at a place that the text has, none with a secret.
// Its corpus is the files of testdata.
func FuzzParse(f *testing.F) {
	for _, file := range append(cases(f, "good", 2), cases(f, "bad", 25)...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			return
		}
		cfg, errs := Parse("bench.yaml", text, testKnown(), testFiles())
		again, errsAgain := Parse("bench.yaml", text, testKnown(), testFiles())
		if !reflect.DeepEqual(cfg, again) || !reflect.DeepEqual(errs, errsAgain) {
			t.Fatalf("two readings differ: %v and %v", errs, errsAgain)
		}
		if (cfg == nil) != (len(errs) > 0) {
			t.Fatalf("config %v with errors %v", cfg, errs)
		}
		lines := bytes.Split(text, []byte("\n"))
		for i, e := range errs {
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > utf8.RuneCount(lines[e.Line-1])+1 {
				t.Errorf("no such place: %v", e)
			}
			if strings.Contains(e.Error(), "\n") {
				t.Errorf("more than one line: %v", e)
			}
			if i > 0 && (errs[i-1].Line > e.Line || errs[i-1].Line == e.Line && errs[i-1].Column > e.Column) {
				t.Errorf("%v stands before %v", errs[i-1], e)
			}
		}
		if cfg != nil {
			checkResolved(t, cfg)
		}
	})
}

// checkResolved is what every accepted config is.
func checkResolved(t *testing.T, cfg *Config) {
	t.Helper()
	if cfg.Name == "" || cfg.Store == "" || len(cfg.Studies) == 0 || len(cfg.Models) == 0 {
		t.Errorf("accepted an empty experiment: %+v", cfg)
	}
	judges := map[string]bool{}
	for _, j := range cfg.Judges {
		judges[j.Name] = true
	}
	for _, m := range cfg.Models {
		if _, ok := cfg.Backend(m.Backend); !ok || m.Model == "" {
			t.Errorf("model %+v has no server", m)
		}
	}
	for _, s := range cfg.Studies {
		if len(s.Models) == 0 || len(s.Arms) == 0 || s.Repeats < 1 || s.InFlight < 1 || s.Timed && s.InFlight != 1 ||
			s.Sampling.MaxTokens < 1 || !(s.Sampling.Temperature >= 0 && s.Sampling.Temperature <= 2) {
			t.Errorf("study %+v cannot be run", s)
		}
		for _, r := range s.Rubrics {
			for _, j := range r.Judges {
				if !judges[j] {
					t.Errorf("rubric %s has the unknown judge %s", r.Name, j)
				}
			}
		}
	}
	if len(cfg.Settings()) == 0 || len(Diff(cfg.Settings(), cfg.Settings())) != 0 {
		t.Error("a config differs from itself")
	}
}
