package experiment

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"assay/harness/dataset"
)

// recipient is a server that is sent something, and what.
type recipient struct {
	Backend  string   `json:"backend"`
	Address  string   `json:"address"`  // as in bench.yaml; "": a phantom of this process
	Loopback bool     `json:"loopback"` // it does not leave this machine
	Models   []string `json:"models,omitempty"`
	Judges   []string `json:"judges,omitempty"`
	What     []string `json:"what"`
}

// leaves says what a run sends where. Identifiers of patients that a data set has
// in columns of their own are in no item, and so in no request.
func (b *Bench) leaves() []recipient {
	var out []recipient
	for _, be := range b.Config.Served().Backends {
		r := recipient{Backend: be.Name, Address: be.URL, Loopback: be.Phantom() || loopback(be.URL)}
		for _, m := range b.Config.Models {
			if m.Backend == be.Name {
				r.Models = append(r.Models, m.Name)
			}
		}
		for _, j := range b.Config.Judges {
			if j.Backend == be.Name {
				r.Judges = append(r.Judges, j.Name)
			}
		}
		if len(r.Models) > 0 {
			r.What = append(r.What, "questions with their options, "+b.pictures(r.Models))
		}
		if len(r.Judges) > 0 {
			r.What = append(r.What, "questions, gold answers and steps, the models' answers and reasoning; no pictures")
		}
		if len(r.What) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// pictures says how the pictures of the studies of some models are sent.
func (b *Bench) pictures(models []string) string {
	var kept []string
	for _, s := range b.Config.Studies {
		asked := slices.ContainsFunc(s.Models, func(m string) bool { return slices.Contains(models, m) })
		i := slices.IndexFunc(b.Config.Datasets, func(d dataset.Source) bool { return d.Name == s.Dataset })
		if asked && i >= 0 && b.Config.Datasets[i].Metadata && !slices.Contains(kept, s.Dataset) {
			kept = append(kept, s.Dataset)
		}
	}
	if len(kept) == 0 {
		return "pictures without their files' metadata"
	}
	return "pictures, those of " + strings.Join(kept, ", ") + " with all that their files say (metadata: keep)"
}

func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if u.Scheme == "unix" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}
