package cli

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/study"
	"assay/perturb"
)

// object is a JSON object. Its keys are sorted when it is written.
type object = map[string]any

// schema is the JSON Schema (2020-12) of bench.yaml, for editors. The parser asks for more:
// that names stand somewhere, that files are there, that keys go together.
func schema() ([]byte, error) {
	keys, err := keys()
	if err != nil {
		return nil, err
	}
	root := mapping(keys, "", "")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "bench.yaml of assay"
	root["required"] = []string{"name", "datasets", "backends", "models", "studies"}
	sections := root["properties"].(object)
	for _, section := range []string{"datasets", "backends", "models", "judges", "ops", "texts"} {
		sections[section] = referenceNamed(keys, section)
	}
	studies := object{}
	for _, k := range keys {
		if parts := strings.Split(k.Path, "."); parts[0] == "studies" && len(parts) > 1 && studies[parts[1]] == nil {
			studies[parts[1]] = mapping(keys, "studies."+parts[1], "")
		}
	}
	sections["studies"] = object{"type": "object", "minProperties": 1, "additionalProperties": false, "properties": studies}
	sections["prompts"] = object{"type": "object", "additionalProperties": object{"type": "string"}}
	b, err := json.MarshalIndent(root, "", "  ")
	return append(b, '\n'), err
}

// referenceNamed is a section of names that the file chooses; the key kind of each, where there is
// one, decides which others it may have.
func referenceNamed(keys []key, section string) object {
	var kinds []string
	for _, k := range keys {
		if strings.HasPrefix(k.Path, section+".*.") && !slices.Contains(kinds, k.Kind) {
			kinds = append(kinds, k.Kind)
		}
	}
	slices.Sort(kinds)
	one := object{"type": "object"}
	if len(kinds) == 1 {
		one = mapping(keys, section+".*", kinds[0])
	} else {
		var cases []object
		for _, kind := range kinds {
			is := object{"properties": object{"kind": object{"const": kind}}, "required": []string{"kind"}}
			if section == "judges" && kind == "model" { // the kind of a judge that says none
				is = object{"properties": object{"kind": object{"const": kind}}}
			}
			cases = append(cases, object{"if": is, "then": mapping(keys, section+".*", kind)})
		}
		one["allOf"] = cases
		one["properties"] = object{"kind": object{"enum": kinds}}
		if section != "judges" {
			one["required"] = []string{"kind"}
		}
	}
	return object{"type": "object", "minProperties": 1, "additionalProperties": one}
}

// mapping are the keys right below a path.
func mapping(keys []key, path, kind string) object {
	properties, required := object{}, []string{}
	for _, k := range keys {
		below := k.Path
		if path != "" {
			rest, ok := strings.CutPrefix(k.Path, path+".")
			if !ok || k.Kind != kind {
				continue
			}
			below = rest
		}
		if strings.Contains(below, ".") {
			continue
		}
		properties[below] = value(keys, k)
		if k.Needed {
			required = append(required, below)
		}
	}
	o := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// value is what the value of a key may be.
func value(keys []key, k key) object {
	var o object
	switch k.Type {
	case config.Choice:
		o = object{"enum": k.Values}
	case config.Whole:
		o = limited(k, "integer")
	case config.Number:
		o = limited(k, "number")
	case config.Flag:
		o = object{"type": "boolean"}
	case config.Duration:
		o = object{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}
	case config.List:
		o = list(k)
	case config.Mapping:
		if o = mapping(keys, k.Path, k.Kind); len(o["properties"].(object)) == 0 { // handed on as it is
			o = object{"type": "object"}
		}
	default:
		o = object{"type": "string", "minLength": 1}
	}
	var or []any
	switch {
	case k.Name() == "hosted_per_million": // one price for both
		or = []any{o, object{"type": "number", "minimum": 0}}
	case k.Name() == "in_flight" && slices.ContainsFunc(experiment.All(), func(d study.Study) bool { return d.Loads && k.Path == "studies."+d.Name+".in_flight" }):
		or = []any{o, object{"type": "array", "minItems": 2, "items": limited(k, "integer")}}
	case k.Name() == study.Param:
		or = []any{o, object{"type": "array", "minItems": 1, "items": limited(k, "integer")}}
	case k.Name() == "group" || strings.Contains(k.Path, ".columns."):
		or = []any{o, object{"type": "string"}}
	case len(k.Names) > 0 && (k.Type == config.Whole || k.Type == config.Duration || k.Type == config.List):
		or = []any{o, object{"enum": k.Names}}
	}
	if or != nil {
		o = object{"anyOf": or}
	}
	o["description"] = k.About
	if k.Default != "" {
		o["description"] = k.About + " (default: " + k.Default + ")"
	}
	return o
}

func limited(k key, typ string) object {
	o := object{"type": typ}
	for name, limit := range map[string]string{"minimum": k.Least, "maximum": k.Most} {
		if _, err := strconv.ParseFloat(limit, 64); err == nil {
			o[name] = json.Number(limit)
		}
	}
	return o
}

// list is a list: of texts, unless it is one of the few that hold something else.
func list(k key) object {
	items := object{"type": "string"}
	switch {
	case k.Name() == "gpus":
		items = object{"type": []string{"string", "integer"}}
	case k.Name() == "remote":
		items = object{"type": "object", "required": []string{"backend", "url"}, "additionalProperties": false, "properties": object{"backend": object{"type": "string"}, "url": object{"type": "string"},
			"api_key_env": object{"type": "string"}, "api_key_file": object{"type": "string"},
			"gpus": object{"type": "array", "items": object{"type": []string{"string", "integer"}}}}}
	case k.Name() == "meters":
		items = object{"type": "object", "required": []string{"url"}, "additionalProperties": false, "properties": object{"url": object{"type": "string"}, "field": object{"type": "string"}}}
	case k.Name() == "sweeps":
		items = object{"type": "object", "required": []string{"condition"}, "minProperties": 2, "maxProperties": 2, "properties": object{"condition": object{"type": "string"}},
			"additionalProperties": object{"type": "array", "minItems": 2, "items": object{"type": "number"}}}
	case k.Name() == "conditions":
		items = object{"anyOf": []any{object{"enum": k.Values}, object{"type": "string", "pattern": "^" + perturb.FamilyOwn + "|^" + perturb.FamilyTexts + "|:"}}}
	case len(k.Values) > 0:
		items = object{"enum": k.Values}
	}
	return object{"type": "array", "minItems": 1, "items": items}
}
