package predictions

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"assay/harness/score"
)

// accuracy is the score that says whether an answer is right.
const accuracy = "accuracy"

// doc is the question that doc_hash is of.
type doc struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Options  []string `json:"options"`
	Answer   string   `json:"answer"`
}

// LMMSEval writes {model}/{date}_results.json and {date}_samples_{task}.jsonl, a task
// for each prompting strategy. A sample is an answer; failures are left out and counted,
// because the format has no word for them. Its metrics are the scores that are known of it;
// "score" is accuracy once more, for lmms-eval to compare by.
func (s Source) LMMSEval(dir string) ([]File, error) {
	groups, err := s.groups()
	if err != nil {
		return nil, err
	}
	date := s.Created.UTC().Format("20060102_150405")
	var out []File
	var models []string
	of := map[string][]*group{}
	for _, g := range groups {
		if len(of[g.model]) == 0 {
			models = append(models, g.model)
		}
		of[g.model] = append(of[g.model], g)
	}
	for _, model := range models {
		folder := filepath.Join(dir, of[model][0].name)
		results, whole := s.results(model, date), File{Path: filepath.Join(folder, date+"_results.json"), Means: true}
		for _, g := range of[model] {
			lines, hash, f, err := s.samples(g)
			if err != nil {
				return nil, err
			}
			f.Path = filepath.Join(folder, date+"_samples_"+g.task+".jsonl")
			if err := create(f.Path, func(w *os.File) error { _, err := w.Write(lines); return err }); err != nil {
				return nil, err
			}
			out = append(out, f)
			whole.Answers, whole.Failures = whole.Answers+f.Answers, whole.Failures+f.Failures
			results.add(g, hash, len(s.Sets[g.study].Items), f.Answers, s.Better)
		}
		b, err := jsonOf(results, "  ")
		if err != nil {
			return nil, err
		}
		if err := create(whole.Path, func(w *os.File) error { _, err := w.Write(b); return err }); err != nil {
			return nil, err
		}
		out = append(out, whole)
	}
	return out, nil
}

// jsonOf is JSON as Python's json.dumps(ensure_ascii=False) writes it.
func jsonOf(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// samples are a group's lines and the hash of all their questions.
func (s Source) samples(g *group) (lines []byte, hash string, f File, err error) {
	set := s.Sets[g.study]
	place := map[string]int{}
	for i, it := range set.Items {
		place[it.ID] = i
	}
	var all bytes.Buffer
	for _, t := range g.trials {
		if t.failure != "" {
			f.Failures++
			continue
		}
		it := set.Items[place[t.item]]
		_, texts, _ := options(it)
		d, err := jsonOf(doc{it.ID, it.Question, texts, it.Answer}, "  ")
		if err != nil {
			return nil, "", f, err
		}
		sample := map[string]any{"doc_id": place[t.item], "doc_hash": fmt.Sprintf("%x", sha256.Sum256(d)), "target": it.Answer, "input": it.Question, "filtered_resps": t.answer}
		for name, v := range t.metrics {
			if _, taken := sample[name]; !taken {
				sample[name] = v
			}
		}
		line, err := jsonOf(sample, "")
		if err != nil {
			return nil, "", f, err
		}
		if right, ok := t.metrics[accuracy]; ok { // ahead of others: lmms-eval's --baseline takes the first key with this word
			first, err := jsonOf(right, "")
			if err != nil {
				return nil, "", f, err
			}
			line = slices.Concat([]byte(`{"score":`), first, []byte(","), line[1:])
		}
		fmt.Fprintf(&all, "sample_%d%s", f.Answers, sample["doc_hash"])
		lines = append(append(lines, line...), '\n')
		f.Answers++
	}
	return lines, fmt.Sprintf("%x", sha256.Sum256(all.Bytes())), f, nil
}

// lmmsResults is a results file. What a run of assay does not have is null.
type lmmsResults struct {
	Results  map[string]map[string]any `json:"results"`
	Subtasks map[string][]string       `json:"group_subtasks"`
	Configs  map[string]map[string]any `json:"configs"`
	Versions map[string]string         `json:"versions"`
	Shots    map[string]*int           `json:"n-shot"` // not known here: null
	Higher   map[string]map[string]any `json:"higher_is_better"`
	Samples  map[string]map[string]int `json:"n-samples"`
	Config   map[string]any            `json:"config"`
	Date     string                    `json:"date"`
	Hashes   map[string]string         `json:"task_hashes"`
	Source   string                    `json:"model_source"`
	Name     string                    `json:"model_name"`
	Plain    string                    `json:"model_name_sanitized"`
	System   *string                   `json:"system_instruction"`
	SystemID *string                   `json:"system_instruction_sha"`
	Turns    *bool                     `json:"fewshot_as_multiturn"`
	Template *string                   `json:"chat_template"`
	TemplID  *string                   `json:"chat_template_sha"`
	Begun    *float64                  `json:"start_time"`
	Ended    *float64                  `json:"end_time"`
	Took     *string                   `json:"total_evaluation_time_seconds"`
}

func (s Source) results(model, date string) *lmmsResults {
	return &lmmsResults{Results: map[string]map[string]any{}, Subtasks: map[string][]string{}, Configs: map[string]map[string]any{}, Versions: map[string]string{}, Shots: map[string]*int{},
		Higher: map[string]map[string]any{}, Samples: map[string]map[string]int{}, Hashes: map[string]string{}, Date: date, Source: "assay", Name: model, Plain: plain(model),
		Config: map[string]any{"model": s.Names[model], "model_args": nil, "limit": nil, "random_seed": s.Seed}}
}

// add adds a task: each metric's mean over the samples that have it, and the standard
// error of that mean.
func (r *lmmsResults) add(g *group, hash string, items, answers int, better map[string]score.Better) {
	values := map[string][]float64{}
	for _, t := range g.trials {
		if t.failure == "" {
			for name, v := range t.metrics {
				values[name] = append(values[name], v)
			}
		}
	}
	of, higher := map[string]any{"alias": g.task}, map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		mean, se, ok := meanOf(values[name])
		of[name+",none"], of[name+"_stderr,none"] = mean, se
		if !ok {
			of[name+"_stderr,none"] = "N/A" // as lmms-eval writes it
		}
		switch better[name] {
		case score.Higher:
			higher[name] = true
		case score.Lower:
			higher[name] = false
		}
	}
	r.Results[g.task], r.Subtasks[g.task], r.Higher[g.task] = of, []string{}, higher
	r.Configs[g.task] = map[string]any{"task": g.task, "dataset": g.study, "arm": g.arm, "condition": g.condition, "repeat": g.repeat}
	r.Versions[g.task], r.Shots[g.task], r.Hashes[g.task] = "Yaml", nil, hash
	r.Samples[g.task] = map[string]int{"original": items, "effective": answers}
}

// meanOf is a mean and its standard error, of n-1; false: of one value there is none.
func meanOf(v []float64) (mean, se float64, ok bool) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	if len(v) < 2 {
		return mean, 0, false
	}
	return mean, math.Sqrt(se / float64(len(v)-1) / float64(len(v))), true
}
