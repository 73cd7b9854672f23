package curate

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/servers"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
)

// leakPrompt is what a judge of leaks is asked, as a template of leakFields.
//
//go:embed leak.tmpl
var leakPrompt string

// leakFields are what a judge of leaks is shown.
type leakFields struct {
	Where   string   `json:"where"` // "history" or "question"
	Text    string   `json:"text"`
	Options []string `json:"options"`
	Answer  string   `json:"answer"`
}

// leakVerdict is what it says.
type leakVerdict struct {
	Leaks  bool     `json:"leaks"`
	Quotes []string `json:"quotes"`
	Why    string   `json:"why"`
}

const leakSchema = `{"type":"object","additionalProperties":false,"required":["leaks","quotes","why"],
	"properties":{"leaks":{"type":"boolean"},"quotes":{"type":"array","items":{"type":"string","minLength":1}},"why":{"type":"string"}}}`

// leakRubric asks for leaks; a quote has to stand in the text.
func leakRubric(prompt string) (judge.Rubric, error) {
	t, err := template.New("leak").Option("missingkey=error").Parse(prompt)
	if err == nil {
		const text, answer = "\x00text\x00", "\x00answer\x00"
		var b strings.Builder
		if err = t.Execute(&b, leakFields{Where: "question", Text: text, Options: []string{"a", "b"}, Answer: answer}); err == nil && (!strings.Contains(b.String(), text) || !strings.Contains(b.String(), answer)) {
			err = errors.New("expected it to use {{.Text}} and {{.Answer}}")
		}
	}
	if err != nil {
		return judge.Rubric{}, fmt.Errorf("the prompt of the judge of leaks: %w", err)
	}
	return judge.Rubric{Name: "leak", Template: t, Schema: json.RawMessage(leakSchema), Check: judge.Checked(func(f leakFields, v leakVerdict) (results.Status, string) {
		for _, q := range v.Quotes {
			if !strings.Contains(f.Text, q) {
				return results.StatusEvidence, fmt.Sprintf("the text does not have the quote %q", q)
			}
		}
		if v.Leaks && len(v.Quotes) == 0 {
			return results.StatusEvidence, "a leak without a quote"
		}
		return results.StatusClean, ""
	})}, nil
}

// Judged is what a judge said of leaks.
type Judged struct {
	Judge  string
	by     map[string]leakVerdict // by item
	shown  map[string]leakFields
	silent int // items without a usable verdict
}

// leaking are the items that the judge says leak. One without a verdict stays.
func (j *Judged) leaking(items []dataset.Item) (gone []removed, note string) {
	for _, it := range items {
		v, ok := j.by[it.ID]
		if !ok || !v.Leaks {
			continue
		}
		f := j.shown[it.ID]
		var spans []span
		for _, q := range v.Quotes {
			from := utf8.RuneCountInString(f.Text[:strings.Index(f.Text, q)])
			spans = append(spans, span{Text: f.Where, From: from, To: from + utf8.RuneCountInString(q), Says: q})
		}
		gone = append(gone, removed{Item: it.ID, Level: "judge", Spans: spans, Why: v.Why})
	}
	note = "by judge " + j.Judge
	if j.silent > 0 {
		note += fmt.Sprintf("; %d items without a usable verdict stay", j.silent)
	}
	return gone, note
}

// leakAsking is how a judge is asked about leaks.
type leakAsking struct {
	Slot   judge.Slot
	Name   string // in bench.yaml
	By     string // digest of what the judge is: another one is asked anew
	Prompt string // "": leakPrompt
	Data   string // name of the data set
	Store  *store.Store
	Path   string // of Store
	Notes  io.Writer
}

// uselessReplies end a judge none of whose replies was a verdict.
const uselessReplies = 20

// AskJudge asks a judge about all items that have an answer in words, as it is asked about
// answers: what it said before is in the store; what could not be reached is asked again.
// To the store the text of an item is an answer that the data set gave.
func AskJudge(ctx context.Context, items []dataset.Item, a leakAsking) (*Judged, error) {
	prompt := a.Prompt
	if prompt == "" {
		prompt = leakPrompt
	}
	rubric, err := leakRubric(prompt)
	if err != nil {
		return nil, err
	}
	stored, err := a.Store.Outcomes(ctx)
	if err != nil {
		return nil, err
	}
	by := results.DigestOf([]byte(a.By), []byte(prompt))
	out := &Judged{Judge: a.Name, by: map[string]leakVerdict{}, shown: map[string]leakFields{}}
	var tasks []judge.Task
	for _, it := range items {
		gold, others := goldOf(it)
		if len(content(gold)) == 0 {
			continue // no text can give it away
		}
		fields := leakFields{Where: "question", Text: stem(it.Question), Answer: gold, Options: append([]string{gold}, others...)}
		if it.Case != nil {
			fields.Where, fields.Text = "history", it.Case.History
		}
		slices.Sort(fields.Options) // the right one does not stand first
		out.shown[it.ID] = fields
		t := judge.Task{Key: results.Key{Study: "leaks", Model: a.Data, Item: it.ID, Arm: fields.Where, Condition: perturb.Baseline().Name},
			Rubric: rubric, Case: judge.Case{Rubric: rubric.Name, Fields: fields}, Judges: []string{a.Name}, By: map[string]results.Digest{a.Name: by}}
		if _, ok := stored[t.Key]; !ok {
			if err := a.Store.PutTrial(ctx, results.Trial{Key: t.Key, Attempts: []results.Attempt{{Output: &results.Output{Answer: fields.Text}}}}); err != nil {
				return nil, err
			}
		}
		tasks = append(tasks, t)
	}
	tally, err := judge.Run(ctx, judge.RunArgs{Store: a.Store, Judges: map[string]judge.Slot{a.Name: a.Slot}, StopAt: uselessReplies,
		Tasks: func(yield func(judge.Task, error) bool) {
			for _, t := range tasks {
				if !yield(t, nil) {
					return
				}
			}
		},
		Progress: func(p judge.Progress) {
			if p.Done%100 == 0 || p.Done == len(tasks) {
				fmt.Fprintf(a.Notes, "judge %s: %d of %d items looked at for leaks\n", a.Name, p.Done, len(tasks))
			}
		}})
	if err != nil {
		return nil, err
	}
	if n := tally.Left[a.Name]; n > 0 {
		fmt.Fprintf(a.Notes, "judge %s was given up: %d items are left and stay; the same command asks about them\n", a.Name, n)
		if s, ok := tally.Stops[a.Name]; ok {
			fmt.Fprint(a.Notes, s)
		}
	}
	said := map[results.Digest]json.RawMessage{}
	for j, err := range a.Store.SaidBy(ctx, rubric.Name, a.Name, by) {
		if err != nil {
			return nil, err
		}
		said[j.Case] = j.Verdict
	}
	for _, t := range tasks {
		shown, err := t.Case.Stored()
		if err != nil {
			return nil, err
		}
		var v leakVerdict
		if b := said[shown.Digest]; b == nil || json.Unmarshal(b, &v) != nil {
			out.silent++
			continue
		}
		out.by[t.Key.Item] = v
	}
	return out, nil
}

// ConnectJudge makes a judge of bench.yaml that is a model, and opens the store of what it
// says; end closes that, and ends the server that was started for it.
func ConnectJudge(ctx context.Context, b *experiment.Bench, name string) (a leakAsking, end func(), err error) {
	cfg := b.Config
	i := slices.IndexFunc(cfg.Judges, func(j config.Judge) bool { return j.Name == name })
	if i < 0 {
		return a, nil, fmt.Errorf("%s has no judge %q", cfg.File, name)
	}
	j := cfg.Judges[i]
	settings, ok := cfg.AskedJudge(j)
	if !ok {
		return a, nil, fmt.Errorf("judge %s is of kind %s: leaks are judged by a model", name, j.Kind)
	}
	about, err := json.Marshal(settings)
	if err != nil {
		return a, nil, err
	}
	a = leakAsking{Name: name, By: string(about), Path: beside(cfg.Store, "leaks")}
	former := strings.TrimSuffix(a.Path, ".sqlite") + ".jsonl"
	if _, err := os.Stat(former); err == nil {
		return a, nil, fmt.Errorf("%s has what judges said to an earlier assay; this one keeps that in %s: move the file away to have them asked anew", former, a.Path)
	}
	if a.Store, err = store.Open(ctx, a.Path); err != nil {
		return a, nil, err
	}
	srv := servers.NewServers(experiment.Setup(cfg))
	end = func() { srv.Close(); a.Store.Close() }
	j.Repeats, j.RepeatShare = 0, 0 // one verdict on each item is used
	if a.Slot, err = b.Slot(ctx, a.Store, srv, j); err != nil {
		end()
	}
	return a, end, err
}
