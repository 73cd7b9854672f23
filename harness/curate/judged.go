package curate

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
	"unicode/utf8"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/servers"
	"assay/results"
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
	return judge.Rubric{Name: "leak", Template: t, Schema: json.RawMessage(leakSchema), Check: func(c judge.Case, verdict json.RawMessage) (results.Status, string) {
		f, err := judge.Fields[leakFields](c)
		var v leakVerdict
		if err = errors.Join(err, json.Unmarshal(verdict, &v)); err != nil {
			return results.StatusSchema, err.Error()
		}
		for _, q := range v.Quotes {
			if !strings.Contains(f.Text, q) {
				return results.StatusEvidence, fmt.Sprintf("the text does not have the quote %q", q)
			}
		}
		if v.Leaks && len(v.Quotes) == 0 {
			return results.StatusEvidence, "a leak without a quote"
		}
		return results.StatusClean, ""
	}}, nil
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
	Judge    judge.Judge
	Name     string // in bench.yaml
	By       string // digest of what the judge is: another one is asked anew
	Prompt   string // "": leakPrompt
	InFlight int    // >= 1
	Path     string // of the file that verdicts are kept in, a line each
	Notes    io.Writer
}

// verdictsFile is where verdicts on leaks are kept, beside a store.
func verdictsFile(store string) string {
	return strings.TrimSuffix(store, filepath.Ext(store)) + "-leaks.jsonl"
}

// keptVerdict is a line of that file.
type keptVerdict struct {
	Case   results.Digest  `json:"case"`
	Judge  string          `json:"judge"`
	By     string          `json:"by"`
	Status results.Status  `json:"status"`
	Detail string          `json:"detail,omitempty"`
	Said   json.RawMessage `json:"verdict,omitempty"`
}

// AskJudge asks a judge about all items that have an answer in words. What it said before
// is read from the file; what could not be reached is asked again.
func AskJudge(ctx context.Context, items []dataset.Item, a leakAsking) (*Judged, error) {
	prompt := a.Prompt
	if prompt == "" {
		prompt = leakPrompt
	}
	rubric, err := leakRubric(prompt)
	if err != nil {
		return nil, err
	}
	by := string(results.DigestOf([]byte(a.By), []byte(prompt)))
	known, err := readVerdicts(a.Path, a.Name, by)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(a.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keeping what the judge of leaks says: %w", err)
	}
	defer f.Close()
	out := &Judged{Judge: a.Name, by: map[string]leakVerdict{}, shown: map[string]leakFields{}}
	type asked struct {
		item string
		c    judge.Case
	}
	var open []asked
	take := func(item string, k keptVerdict) {
		var v leakVerdict
		if k.Said == nil || json.Unmarshal(k.Said, &v) != nil {
			out.silent++
			return
		}
		out.by[item] = v
	}
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
		c := judge.Case{Rubric: rubric.Name, Fields: fields}
		st, err := c.Stored()
		if err != nil {
			return nil, err
		}
		if k, ok := known[st.Digest]; ok {
			take(it.ID, k)
			continue
		}
		open = append(open, asked{it.ID, c})
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	done, slots := 0, make(chan struct{}, max(1, a.InFlight))
	for _, q := range open {
		slots <- struct{}{}
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop {
			<-slots
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			j, err := a.Judge.Judge(ctx, rubric, q.c)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				k := keptVerdict{Case: j.Case, Judge: a.Name, By: by, Status: j.Status, Detail: j.Detail, Said: j.Verdict}
				if !j.Status.Open() {
					err = appendLine(f, k)
				}
				take(q.item, k)
			}
			failed = errors.Join(failed, err)
			if done++; done%100 == 0 || done == len(open) {
				fmt.Fprintf(a.Notes, "judge %s: %d of %d items looked at for leaks\n", a.Name, done, len(open))
			}
		})
	}
	wg.Wait()
	return out, failed
}

func appendLine(f *os.File, k keptVerdict) error {
	b, err := json.Marshal(k)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping what the judge of leaks says: %w", err)
	}
	return nil
}

// readVerdicts are those of one judge as it is now. A line that a kill cut is none.
func readVerdicts(path, name, by string) (map[results.Digest]keptVerdict, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what the judge of leaks said before: %w", err)
	}
	out := map[results.Digest]keptVerdict{}
	for n, line := range bytes.Split(b, []byte("\n")) {
		var k keptVerdict
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &k); err != nil {
			if n == bytes.Count(b, []byte("\n")) {
				// The next line has to stand alone.
				return out, os.Truncate(path, int64(len(b)-len(line)))
			}
			return nil, fmt.Errorf("%s:%d: expected a verdict as JSON, found %.40q; move the file away to ask anew", path, n+1, line)
		}
		if k.Judge == name && k.By == by {
			out[k.Case] = k
		}
	}
	return out, nil
}

// ConnectJudge makes a judge of bench.yaml that is a model; end ends the server that was
// started for it.
func ConnectJudge(cfg *config.Config, name string) (a leakAsking, end func(), err error) {
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
	srv := servers.NewServers(experiment.Setup(cfg))
	m, err := experiment.ModelOf(j, srv)
	if err == nil && j.Hosted != nil {
		m.Backend, err = experiment.ConnectHosted(j, 0)
	}
	if err != nil {
		srv.Close()
		return a, nil, err
	}
	return leakAsking{Judge: m, Name: name, By: string(about), InFlight: max(1, j.InFlight), Path: verdictsFile(cfg.Store)}, func() { srv.Close() }, nil
}
