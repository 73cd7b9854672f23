package config

import (
	"assay/backends"
	"slices"
)

// Imported says whether a model's answers are made elsewhere and brought in.
func (c *Config) Imported(model string) bool {
	return slices.ContainsFunc(c.Models, func(m backends.Model) bool {
		b, _ := c.Backend(m.Backend)
		return m.Name == model && b.Imported()
	})
}

// Served is the configuration without the models that nobody is asked as; c itself
// where there are none.
func (c *Config) Served() *Config {
	if !slices.ContainsFunc(c.Backends, func(b backends.Server) bool { return b.Imported() }) {
		return c
	}
	out := *c
	out.Backends = slices.DeleteFunc(slices.Clone(c.Backends), func(b backends.Server) bool { return b.Imported() })
	out.Models = slices.DeleteFunc(slices.Clone(c.Models), func(m backends.Model) bool { return c.Imported(m.Name) })
	out.Studies = slices.Clone(c.Studies)
	for i := range out.Studies {
		out.Studies[i].Models = slices.DeleteFunc(slices.Clone(out.Studies[i].Models), c.Imported)
	}
	return &out
}
