package config

import (
	"strings"

	"assay/backends/hosted"
)

// hosted reads a judge behind a hosted API. No seed is asked for unless one is given:
// most of them have none.
func (c *checker) hosted(j *Judge, n *Node, path, of string) {
	s := c.section(n, path, "kind", "provider", "url", "model", "api_key_env", "api_key_file", "in_flight", "sampling", "top_p", "timeouts", "repeats", "repeat_share", "reads",
		"requests_per_minute", "tokens_per_minute", "price", "budget", "served_as")
	h := &hostedTerms{}
	j.Hosted = h
	local := false
	if s.need("provider") {
		h.Provider = s.choice("provider", hosted.Providers()...)
	}
	if s.get("url") != nil {
		h.URL, local = s.url(0)
	}
	if s.need("model") {
		w, _ := s.text("model")
		j.Model, h.Model = w.text, w.text
	}
	h.KeyEnv, h.KeyFile = s.key(local)
	switch w, _ := s.text("url"); {
	case local:
	case strings.HasPrefix(h.URL, "http://") && h.KeyEnv+h.KeyFile != "":
		c.Errorf(w.at, w.path, "expected https:// where a key is sent, found http://; anybody on the way could read it")
	case s.get("api_key_env") == nil && s.get("api_key_file") == nil && s.n.Kind == IsMapping:
		c.Errorf(s.n.At, path, "expected api_key_env, the name of the environment variable that holds the key, or api_key_file, found neither; add one")
	}
	j.Sampling.Seed = nil
	s.fill(j)
	s.fill(&h.Settings)
	s.repeated(j)
	s.reads(j, of)
	if n := s.get("budget"); n != nil {
		if h.Budget == 0 {
			s.wrong("budget", n, "expected an amount above 0, found %s; remove the key to have no limit", n.Found())
		}
		if h.Price == nil {
			s.wrong("budget", n, "expected the key price beside it, found none; add price: {currency: USD, input: 2.5, output: 10}, of a million tokens")
		}
	}
	for key, want := range h.Unsent(j.Sampling) {
		at, found := s.n.At, "found none"
		if given := s.get("sampling"); given != nil && key != "top_p" {
			if n := (section{n: given}).get(strings.TrimPrefix(key, "sampling.")); n != nil {
				at, found = n.At, "found "+n.Found()
			}
		} else if n := s.get(key); n != nil {
			at, found = n.At, "found "+n.Found()
		}
		c.Errorf(at, JoinPath(path, key), "expected %s; %s", want, found)
	}
}
