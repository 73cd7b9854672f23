package cli

import (
	"encoding/json"
	"maps"

	"assay/results"
)

// describedConditions are the conditions of all studies as scores need them.
// Those that a store holds and bench.yaml no longer names stay: their trials do.
func (b *bench) describedConditions(old results.Manifest) map[string]map[string]json.RawMessage {
	all := map[string]map[string]json.RawMessage{}
	for name, known := range old.Conditions {
		all[name] = maps.Clone(known)
	}
	for name, st := range b.studies {
		if len(st.Described) > 0 && all[name] == nil {
			all[name] = map[string]json.RawMessage{}
		}
		maps.Copy(all[name], st.Described)
	}
	return all
}
