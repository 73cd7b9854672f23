// Methods writes what a methods section says of a run: sentences, each
// with where it comes from.

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/results"
	"assay/results/text"
)

// paragraphs is a methods section ready to paste, from the manifest, from what is
// counted in the store and from what sections say of how they were measured: one
// paragraph per string. What none of them knows is not claimed.
func paragraphs(r results.Run, sections ...results.Section) []string {
	var out []string
	for _, paragraph := range sentences(r, sections...) {
		var texts []string
		for _, s := range paragraph {
			texts = append(texts, s.text)
		}
		out = append(out, strings.Join(texts, " "))
	}
	return out
}

// sentence is one of a methods section, with where it comes from.
type sentence struct{ text, source string }

// Where sentences come from.
const (
	fromRecord  = "the store's manifest, as the latest call of run left it"
	fromServer  = "what the server said of itself when its block began"
	fromSetting = "bench.yaml, as the store holds it"
	fromProgram = "how assay computes"
)

// sentences are the methods section in paragraphs; none is empty.
func sentences(r results.Run, sections ...results.Section) [][]sentence {
	man := r.Manifest
	var out [][]sentence
	say := func(list ...sentence) {
		var paragraph []sentence
		for _, s := range list {
			if s.text != "" {
				paragraph = append(paragraph, sentence{text.Visible(s.text), text.Visible(s.source)})
			}
		}
		if len(paragraph) > 0 {
			out = append(out, paragraph)
		}
	}
	if r.Synthetic() {
		say(sentence{"The results are synthetic (" + strings.Join(man.Synthetic, "; ") + "): they test the instrument and say nothing of any real model.", fromRecord})
	}
	if s := r.Unfinished(); s != "" {
		say(sentence{"The run is not at its end: " + s + " (" + r.Lacking() + ").", "trials counted in the store, against the plan of bench.yaml"})
	}
	say(sentence{said("made", man), fromRecord}, sentence{hostSentence(man.Host), fromRecord})

	var models []sentence
	for _, name := range slices.Sorted(maps.Keys(man.Models)) {
		models = append(models, modelSentences(man, name)...)
	}
	say(models...)

	for _, d := range man.Datasets {
		say(sentence{said("data", man.Sizes(d)), "the data set as it was read, and its section of bench.yaml"})
	}
	for _, study := range slices.Sorted(maps.Keys(man.Rubrics)) {
		say(studySentences(r, study)...)
	}
	var measured []sentence
	for _, s := range sections {
		for _, says := range s.Methods {
			if !slices.ContainsFunc(measured, func(have sentence) bool { return have.text == says }) {
				measured = append(measured, sentence{says, "the store's sessions and trials, by section " + s.Name})
			}
		}
	}
	say(measured...)
	say(append(judgeSentences(man), formerJudges(r)...)...)
	var prompts []string
	for _, name := range slices.Sorted(maps.Keys(man.Prompts)) {
		prompts = append(prompts, name+" "+man.Prompts[name].Short())
	}
	if len(prompts) > 0 {
		say(sentence{"The prompts had these digests: " + strings.Join(prompts, ", ") + ".", fromRecord})
	}
	say(sentence{"Values are given with 95 % CIs and the number of cases they rest on. Failures and cases without a usable verdict are left out and counted; none is replaced by a default.", fromProgram},
		sentence{"Digests are the first twelve digits of SHA-256.", fromProgram})
	return out
}

// modelSentences say what a model was, or where its answers come from.
func modelSentences(man results.Manifest, key string) (out []sentence) {
	id := man.Models[key]
	name := cmp.Or(id.Model, "a model without a name")
	for _, i := range importsOf(man, key) {
		out = append(out, sentence{said("imported", struct {
			results.Import
			Key, Name string
		}{i, key, name}), fromRecord})
	}
	if len(out) > 0 {
		return out
	}
	asked, _ := man.Asked(key)
	return []sentence{{said("model", struct {
		Is                          any
		Key, Name, Weights, Options string
		Think                       *bool
	}{id, key, name, results.Digest(id.Digest).Short(), string(asked.Options), asked.Think}), fromServer}}
}

// judgeSentences say what the judges are.
func judgeSentences(man results.Manifest) []sentence {
	var judges []sentence
	for _, name := range slices.Sorted(maps.Keys(man.Judges)) {
		asked, _ := man.AskedJudge(name)
		judges = append(judges, sentence{said("judge", struct {
			results.ModelSetting
			Name, Kind string
		}{asked, name, man.Judges[name]}), fromSetting})
	}
	return judges
}

// importsOf are the files that a model's answers come from.
func importsOf(man results.Manifest, model string) []results.Import {
	return slices.DeleteFunc(slices.Clone(man.Imported), func(i results.Import) bool { return i.Model != model })
}

// studySentences say what was asked of a study, which its settings tell, and
// what became of it, which only its trials do.
func studySentences(r results.Run, study string) []sentence {
	man, how := r.Manifest, r.Manifest.Study(study)
	all := askedOf(r, study)
	counted := results.Count(all.Stored(), "trial", "trials") + " of the study in the store"
	if all.imported > 0 && all.imported >= all.Answers {
		how.Sampling = nil
	}
	list := []sentence{{said("study", struct {
		results.StudySetting
		Name  string
		Whole bool
		Items int
	}{how, study, all.whole(), all.Items}), fromSetting + "; items: " + counted}}
	if s := changedSentence(man, study); s != "" {
		list = append(list, sentence{s, fromRecord})
	}
	for _, s := range timeSentences(man, study, all) {
		list = append(list, sentence{s, counted})
	}
	return append(list, judgedSentences(r, study)...)
}

// changedSentence says under which changes of the input a study asked its questions; "": none.
func changedSentence(man results.Manifest, study string) string {
	levels := map[string][]float64{} // by condition, and what of it is swept
	for name, raw := range man.Conditions[study] {
		var c struct {
			Kind, Param, Program string
			Level                float64
			Cell                 *struct{ Columns, Rows int }
		}
		if json.Unmarshal(raw, &c) != nil || c.Kind == "" || c.Kind == "baseline" || c.Kind == "load" || c.Kind == "shots" {
			continue
		}
		name, _, _ = strings.Cut(name, "@")
		switch {
		case c.Cell != nil:
			name = fmt.Sprintf("%s (%d x %d cells)", name, c.Cell.Columns, c.Cell.Rows)
		case c.Param != "":
			levels[name+" at "+c.Param] = append(levels[name+" at "+c.Param], c.Level)
			continue
		}
		if c.Program != "" {
			name += " (content " + results.Digest(c.Program).Short() + ")"
		}
		levels[name] = nil
	}
	if len(levels) == 0 {
		return ""
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		if at := levels[name]; at != nil {
			slices.Sort(at)
			name += " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(at), " ", ", "), "[]")
		}
		list = append(list, name)
	}
	return "Its questions were also asked with one thing changed: " + strings.Join(list, "; ") + " (assay perturb --list says what each does)."
}

// asked is what became of all that was asked of a study.
type asked struct {
	results.Extent
	planned  *int // trials; nil: not known of every model
	imported int  // answers that were made elsewhere
}

// whole says whether every planned trial is stored.
func (a asked) whole() bool { return a.planned != nil && a.Stored() == *a.planned }

func askedOf(r results.Run, study string) asked {
	all := asked{planned: new(int)}
	for _, e := range r.Extents {
		if e.Study != study {
			continue
		}
		if len(importsOf(r.Manifest, e.Model)) > 0 {
			all.imported, e.Timed, e.Warm, e.Proven, e.Hit, e.Unverified = all.imported+e.Answers, 0, 0, 0, 0, 0
		}
		all.Answers, all.Failures, all.Timed, all.Warm = all.Answers+e.Answers, all.Failures+e.Failures, all.Timed+e.Timed, all.Warm+e.Warm
		all.Items = max(all.Items, e.Items)
		all.Proven, all.Hit, all.Unverified = all.Proven+e.Proven, all.Hit+e.Hit, all.Unverified+e.Unverified
		if e.Planned == nil || all.planned == nil {
			all.planned = nil
		} else {
			*all.planned += *e.Planned
		}
	}
	return all
}

// timeSentences say how many answers were timed, and how many requests were new to caches.
func timeSentences(man results.Manifest, study string, all asked) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if all.Timed > 0 {
		beside := "one request in flight"
		if man.LoadSweep(study) {
			beside = "with one or several requests in flight, as its load sweep asks"
		}
		say("%s timed, "+beside+": times are the client's, from the first byte of the request to the last chunk of text.", results.Count(all.Timed, "answer was", "answers were"))
	}
	if n := all.Answers - all.Timed - all.imported; n > 0 && all.Timed > 0 {
		say("%s not timed: requests may have run beside each other.", results.Count(n, "answer was", "answers were"))
	} else if n > 0 {
		say("The study was not timed: requests may have run beside each other.")
	}
	if n := all.Timed - all.Warm; n > 0 {
		if all.Proven == n {
			say("Each of %s was proven new to the server's caches.", results.Count(n, "timed request", "timed requests"))
		} else {
			var parts []string
			if all.Hit > 0 {
				parts = append(parts, fmt.Sprintf("%d met a cache", all.Hit))
			}
			if all.Unverified > 0 {
				parts = append(parts, fmt.Sprintf("for %d it could not be told", all.Unverified))
			}
			say("Of %s that were to be new to the server's caches, %d %s proven so; %s.", results.Count(n, "timed request", "timed requests"), all.Proven, wasWere(all.Proven), strings.Join(parts, ", "))
		}
	}
	if all.Warm > 0 {
		say("For %s the server's caches were left as they were.", results.Count(all.Warm, "timed answer", "timed answers"))
	}
	return list
}

// judgedSentences say who judged answers, and who did not yet.
func judgedSentences(r results.Run, study string) []sentence {
	if r.Versions == nil {
		return nil // they could not be counted
	}
	var list []sentence
	var asked, open []string
	for _, rubric := range slices.Sorted(maps.Keys(r.Manifest.Rubrics[study])) {
		var by []string
		for _, judge := range r.Manifest.Rubrics[study][rubric] {
			if judged(r, rubric, judge) {
				by = append(by, judge)
			} else {
				open = append(open, rubric+" by "+judge)
			}
		}
		if len(by) > 0 {
			asked = append(asked, rubric+" by "+strings.Join(by, " and "))
		}
	}
	if len(asked) > 0 {
		list = append(list, sentence{"Answers were judged for " + strings.Join(asked, ", ") + ".", "judgments counted in the store"})
	}
	if len(open) > 0 {
		list = append(list, sentence{"Not judged yet: " + strings.Join(open, ", ") + ".", "judgments counted in the store"})
	}
	return list
}

// judged says whether a judge judged anything as it is now.
func judged(r results.Run, rubric, judge string) bool {
	return slices.ContainsFunc(r.Versions, func(v results.Version) bool {
		return v.Rubric == rubric && v.Judge == judge && v.Current && v.Judgments > 0
	})
}

// formerJudges says what else the store has of judges that were mended.
func formerJudges(r results.Run) []sentence {
	var parts []string
	for _, v := range r.Versions {
		if !v.Current && v.Judgments > 0 {
			version := "unknown"
			if v.Digest != "" {
				version = v.Digest.Short()
			}
			parts = append(parts, fmt.Sprintf("%s by %s as of version %s (%s, %d with a verdict)", v.Rubric, v.Judge, version, results.Count(v.Judgments, "judgment", "judgments"), v.Usable))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []sentence{{"Kept and not used here, because the judge or its prompt was changed since: " + strings.Join(parts, ", ") + ".", "judgments counted in the store"}}
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
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
	return "The machine had " + strings.Join(parts, ", ") + "."
}

// section is the section that says what was run. Lines of its Intro are
// paragraphs. full adds every setting.
func section(r results.Run, full bool, sections ...results.Section) results.Section {
	man := r.Manifest
	s := results.Section{Name: "methods", Title: "Methods", Intro: strings.Join(paragraphs(r, sections...), "\n"), Main: []string{"methods-models", "methods-imported"}}
	cell := func(v string) results.Cell { return results.Cell{Text: v} }
	if len(man.Models) > 0 {
		t := results.Table{Name: "methods-models", Title: "Models as their servers describe them", Columns: methodsColumns("Model", "Server", "Version", "Name there", "Weights", "Quantisation", "Parameters", "Think")}
		for _, name := range slices.Sorted(maps.Keys(man.Models)) {
			id := man.Models[name]
			server := id.Server
			if id.Synthetic {
				server += " (phantom)"
			}
			t.Rows = append(t.Rows, []results.Cell{cell(name), cell(server), cell(id.Version), cell(id.Model), cell(results.Digest(cmp.Or(id.Digest, id.Weights)).Short()),
				cell(id.Quantisation), cell(id.Parameters), cell(think(man, name))})
		}
		s.Tables = append(s.Tables, t)
	}
	if len(man.Imported) > 0 {
		t := results.Table{Name: "methods-imported", Title: "Answers that were made elsewhere", Columns: methodsColumns("Model", "Study", "File", "Format", "Content", "Answers", "Failures")}
		for _, i := range man.Imported {
			t.Rows = append(t.Rows, []results.Cell{cell(i.Model), cell(i.Study), cell(i.File), cell(i.Format), cell(i.Digest.Short()), cell(strconv.Itoa(i.Answers)), cell(strconv.Itoa(i.Failures))})
		}
		s.Tables = append(s.Tables, t)
	}
	if full {
		t := results.Table{Name: "methods-sources", Title: "Where each sentence comes from", Columns: methodsColumns("Source", "Sentence")}
		for _, paragraph := range sentences(r, sections...) {
			for _, one := range paragraph {
				t.Rows = append(t.Rows, []results.Cell{cell(one.source), cell(one.text)})
			}
		}
		s.Tables = append(s.Tables, t)
	}
	if full && len(man.Settings) > 0 {
		t := results.Table{Name: "methods-settings", Title: "Settings", Columns: methodsColumns("Setting", "Value")}
		for _, path := range slices.Sorted(maps.Keys(man.Settings)) {
			t.Rows = append(t.Rows, []results.Cell{cell(path), cell(man.Settings[path])})
		}
		if !man.Created.IsZero() {
			t.Notes = append(t.Notes, "The run was created at "+man.Created.UTC().Format(time.RFC3339)+".")
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

// think says how a model was asked to; "": the store does not tell.
func think(man results.Manifest, model string) string {
	switch asked, ok := man.Asked(model); {
	case !ok:
		return ""
	case asked.Think == nil:
		return "the model's own"
	default:
		return strconv.FormatBool(*asked.Think)
	}
}

func methodsColumns(titles ...string) []results.Column {
	var out []results.Column
	for _, t := range titles {
		out = append(out, results.Column{Name: strings.ToLower(strings.ReplaceAll(t, " ", "_")), Title: t})
	}
	return out
}
