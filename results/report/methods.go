package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/results"
)

// Methods is a methods section ready to paste, from the manifest and from what
// sections say of how they were measured: one paragraph per string. What neither
// knows is not claimed.
func Methods(m Meta, sections ...results.Section) []string {
	man := m.Manifest
	var out []string
	say := func(sentences ...string) {
		if s := strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " "); s != "" {
			out = append(out, visible(s))
		}
	}
	if m.synthetic() {
		say("The results are synthetic (" + strings.Join(man.Synthetic, "; ") + "): they test the instrument and say nothing of any real model.")
	}
	made := "All measurements were made with assay " + or(man.Version, "(version unknown)")
	if man.Revision != "" {
		made += ", revision " + man.Revision
	}
	if man.Name != "" {
		made += ", in the run " + man.Name
	}
	if !man.Created.IsZero() {
		made += " of " + man.Created.UTC().Format("2 January 2006")
	}
	made += " (seed " + strconv.FormatUint(man.Seed, 10)
	if man.Digest != "" {
		made += ", configuration " + short(man.Digest)
	}
	say(made+").", hostSentence(man.Host))

	var models []string
	for _, name := range slices.Sorted(maps.Keys(man.Models)) {
		id := man.Models[name]
		where := or(id.Server, "a server of unknown kind") + " " + or(id.Version, "of unknown version")
		if id.Synthetic {
			where = "a phantom that speaks as " + where
		}
		facts := []string{"weights " + short(results.Digest(id.Digest)), or(id.Quantisation, "unknown") + " quantisation"}
		if id.Parameters != "" {
			facts = append(facts, id.Parameters+" parameters")
		}
		if o := man.Settings["models."+name+".backend.options"]; o != "" && o != "{}" {
			facts = append(facts, "server options "+o)
		}
		if t := man.Settings["models."+name+".think"]; t == "true" || t == "false" {
			facts = append(facts, "thinking switched "+map[string]string{"true": "on", "false": "off"}[t])
		}
		models = append(models, fmt.Sprintf("%s was %s on %s (%s).", name, or(id.Model, "a model without a name"), where, strings.Join(facts, "; ")))
	}
	say(models...)

	for _, d := range man.Datasets {
		s := fmt.Sprintf("Data set %s: %s, %d items, content %s", d.Name, kindOf(d.Kind), d.Items, short(d.Digest))
		if side := man.Settings["datasets."+d.Name+".max_side"]; side != "" && side != "0" {
			s += "; pictures with a side above " + side + " pixels were scaled down to it"
		} else if side == "0" {
			s += "; no picture was scaled"
		}
		say(s + ".")
	}
	for _, study := range slices.Sorted(maps.Keys(man.Rubrics)) {
		say(studySentences(man, study)...)
	}
	var measured []string
	for _, s := range sections {
		for _, sentence := range s.Methods {
			if !slices.Contains(measured, sentence) {
				measured = append(measured, sentence)
			}
		}
	}
	say(measured...)
	var judges []string
	for _, name := range slices.Sorted(maps.Keys(man.Judges)) {
		what := man.Judges[name]
		if what == "lexical" {
			what = "rules on words, without a model"
		}
		s := fmt.Sprintf("Judge %s: %s", name, what)
		if t := man.Settings["judges."+name+".sampling.temperature"]; t != "" {
			s += sampling(man.Settings, "judges."+name)
		}
		judges = append(judges, s+".")
	}
	say(judges...)
	var prompts []string
	for _, name := range slices.Sorted(maps.Keys(man.Prompts)) {
		prompts = append(prompts, name+" "+short(man.Prompts[name]))
	}
	if len(prompts) > 0 {
		say("Prompts by digest: " + strings.Join(prompts, ", ") + ".")
	}
	say("Values are given with 95 % intervals and the number of cases they rest on. Failures and cases without a usable verdict are left out and counted; none is replaced by a default.",
		"Digests are the first twelve digits of SHA-256.")
	return out
}

func sampling(settings map[string]string, at string) string {
	s := fmt.Sprintf(", temperature %s, at most %s new tokens", settings[at+".sampling.temperature"], settings[at+".sampling.max_tokens"])
	if seed := settings[at+".sampling.seed"]; seed != "" && seed != "none" {
		s += ", sampling seed " + seed
	}
	return s
}

func studySentences(man results.Manifest, study string) []string {
	at := "studies." + study
	s := "Study " + study
	if d := man.Settings[at+".dataset"]; d != "" {
		s += " on " + d
	}
	if per := man.Settings[at+".select.per_type"]; per == "all" {
		s += ", all items"
	} else if per != "" {
		s += ", " + per + " items of each type, drawn by seed"
	}
	if _, ok := man.Settings[at+".sampling.temperature"]; ok {
		s += sampling(man.Settings, at)
	}
	list := []string{s + "."}
	switch man.Settings[at+".timed"] {
	case "true":
		list = append(list, "Times are the client's, from the first byte of the request to the last piece of text, one request in flight.")
	case "false":
		list = append(list, "The study was not timed: requests may have run beside each other.")
	}
	switch c := man.Settings[at+".cache"]; c {
	case "cold":
		list = append(list, "Every request was new to the server's caches.")
	case "warm":
		list = append(list, "The server's caches were left as they were.")
	case "":
	default:
		list = append(list, "Cache policy: "+c+".")
	}
	var asked []string
	for _, rubric := range slices.Sorted(maps.Keys(man.Rubrics[study])) {
		if by := man.Rubrics[study][rubric]; len(by) > 0 {
			asked = append(asked, rubric+" by "+strings.Join(by, " and "))
		}
	}
	if len(asked) > 0 {
		list = append(list, "Judged were "+strings.Join(asked, ", ")+".")
	}
	return list
}

func kindOf(kind string) string {
	if kind == "phantom" {
		return "phantom cases"
	}
	return "kind " + kind
}

// hostSentence says what machine it was; keys that it does not know are named
// as they are.
func hostSentence(host map[string]string) string {
	var parts []string
	used := map[string]bool{}
	take := func(key, format string) {
		if v := host[key]; v != "" {
			parts = append(parts, fmt.Sprintf(format, v))
			used[key] = true
		}
	}
	take("cpu", "%s")
	take("cores", "%s cores")
	if n, err := strconv.ParseInt(host["memory_bytes"], 10, 64); err == nil {
		parts = append(parts, fmt.Sprintf("%.1f GB of memory", float64(n)/1e9))
		used["memory_bytes"] = true
	}
	for _, key := range slices.Sorted(maps.Keys(host)) {
		if !used[key] && key != "go" {
			parts = append(parts, strings.ReplaceAll(key, "_", " ")+" "+host[key])
		}
	}
	take("go", "%s")
	if len(parts) == 0 {
		return ""
	}
	return "The machine: " + strings.Join(parts, ", ") + "."
}

// methods is the section that says what was run. Lines of its Intro are
// paragraphs. full adds every setting.
func methods(m Meta, full bool, sections ...results.Section) results.Section {
	man := m.Manifest
	s := results.Section{Name: "methods", Title: "Methods", Intro: strings.Join(Methods(m, sections...), "\n")}
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
		if !man.Created.IsZero() {
			t.Notes = append(t.Notes, "The run was created at "+man.Created.UTC().Format(time.RFC3339)+".")
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
