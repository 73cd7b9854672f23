package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/results"
)

// methods is the section that says what was run, from the manifest alone. Lines
// of its Intro are paragraphs. full adds every setting.
func methods(m Meta, full bool) results.Section {
	man := m.Manifest
	var par []string
	say := func(format string, args ...any) { par = append(par, fmt.Sprintf(format, args...)) }

	made := "assay " + or(man.Version, "of unknown version")
	if man.Revision != "" {
		made += " (revision " + man.Revision + ")"
	}
	created := ""
	if !man.Created.IsZero() {
		created = " was created on " + man.Created.UTC().Format(time.RFC3339) + ","
	}
	config := ""
	if man.Digest != "" {
		config = ", from a configuration with digest " + short(man.Digest)
	}
	say("Run %s%s made with %s and seed %d%s.", or(man.Name, "without a name"), created, made, man.Seed, config)
	for _, d := range man.Datasets {
		say("Data set %s: kind %s, %d items, digest %s.", d.Name, d.Kind, d.Items, short(d.Digest))
	}
	for _, study := range slices.Sorted(maps.Keys(man.Rubrics)) {
		at := "studies." + study + "."
		var facts []string
		for _, f := range []struct{ words, key string }{{"data set %s", "dataset"}, {"temperature %s", "sampling.temperature"},
			{"at most %s new tokens", "sampling.max_tokens"}, {"sampling seed %s", "sampling.seed"}, {"timed: %s", "timed"}, {"items per type: %s", "select.per_type"}} {
			if v, ok := man.Settings[at+f.key]; ok {
				facts = append(facts, fmt.Sprintf(f.words, v))
			}
		}
		var asked []string
		for _, rubric := range slices.Sorted(maps.Keys(man.Rubrics[study])) {
			asked = append(asked, rubric+" by "+strings.Join(man.Rubrics[study][rubric], ", "))
		}
		if len(asked) > 0 {
			facts = append(facts, "judged: "+strings.Join(asked, "; "))
		}
		say("Study %s: %s.", study, strings.Join(facts, "; "))
	}
	for _, name := range slices.Sorted(maps.Keys(man.Judges)) {
		say("Judge %s: %s.", name, man.Judges[name])
	}
	if len(man.Prompts) > 0 {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(man.Prompts)) {
			list = append(list, name+" "+short(man.Prompts[name]))
		}
		say("Prompts, by digest: %s.", strings.Join(list, ", "))
	}
	if len(man.Host) > 0 {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(man.Host)) {
			list = append(list, name+" "+man.Host[name])
		}
		say("Host: %s.", strings.Join(list, ", "))
	}
	s := results.Section{Name: "methods", Title: "Methods", Intro: strings.Join(par, "\n")}
	text := func(v string) results.Cell { return results.Cell{Text: v} }
	if len(man.Models) > 0 {
		t := results.Table{Name: "methods-models", Title: "Models as their servers describe them", Columns: columns("Model", "Server", "Version", "Name there", "Weights", "Quantisation", "Parameters", "Think")}
		for _, name := range slices.Sorted(maps.Keys(man.Models)) {
			id := man.Models[name]
			server := id.Server
			if id.Synthetic {
				server += " (phantom)"
			}
			t.Rows = append(t.Rows, []results.Cell{text(name), text(server), text(id.Version), text(id.Model), text(short(results.Digest(id.Digest))),
				text(id.Quantisation), text(id.Parameters), text(man.Settings["models."+name+".think"])})
		}
		s.Tables = append(s.Tables, t)
	}
	if full && len(man.Settings) > 0 {
		t := results.Table{Name: "methods-settings", Title: "Settings", Columns: columns("Setting", "Value")}
		for _, path := range slices.Sorted(maps.Keys(man.Settings)) {
			t.Rows = append(t.Rows, []results.Cell{text(path), text(man.Settings[path])})
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

func columns(titles ...string) []results.Column {
	var out []results.Column
	for _, t := range titles {
		out = append(out, results.Column{Name: strings.ToLower(strings.ReplaceAll(t, " ", "_")), Title: t})
	}
	return out
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// short is the first twelve digits of a digest, which tell versions apart.
func short(d results.Digest) string {
	s := strings.TrimPrefix(string(d), "sha256:")
	if len(s) > 12 {
		s = s[:12]
	}
	return or(s, "unknown")
}
