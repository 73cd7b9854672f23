// Package recovery puts what study diagnosis finds of phantom cases beside what readers
// and a judge were built to give: accuracies, the image that matters, errors of steps,
// discussions. Truths follow from profiles and rates by hand, none from the code that
// scores.
package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/backends/phantom/judges"
	"assay/harness/config/bench"
	"assay/harness/dataset/formats"
	"assay/harness/dataset/phantom/check"
	"assay/harness/experiment"
	"assay/harness/managed"
	"assay/harness/plan"
	"assay/harness/studies"
	"assay/harness/study"
	"assay/results"
	"assay/results/sqlite"
)

// Args is what Cases works on.
type Args struct {
	Items  int // cases, >= 4
	Images int // of each, 2 to 12
	Seed   uint64
}

const (
	diagnosis = "diagnosis"
	guess     = .2 // of five options
	judge     = "cases"
)

// readers are those under test: one that looks at all images, one at the first, one at
// none.
func readers() []string { return []string{"honest", "overconfident", "blind"} }

// experimentOf is the run as a bench.yaml.
func experimentOf(a Args) string {
	var models []string
	for i, r := range readers() {
		models = append(models, fmt.Sprintf("  %s: {backend: %s, model: %s}", r, phantom.Protocols()[i%len(phantom.Protocols())], r))
	}
	var servers []string
	for _, p := range phantom.Protocols() {
		servers = append(servers, fmt.Sprintf("  %s: {kind: phantom, protocol: %s}", p, p))
	}
	return fmt.Sprintf(`name: recovery
seed: %d
store: run.sqlite
datasets: {cases: {kind: phantom, items: %d, images: %d, size: 256}}
backends:
%s
models:
%s
judges:
  lexical: {kind: lexical}
  %s: {kind: model, backend: %s, model: %s, in_flight: 16, sampling: {temperature: 0, max_tokens: 4000, seed: 1}}
studies:
  diagnosis:
    dataset: cases
    conditions: [all, LOO, ORDER, DS]
    sampling: {temperature: 0, max_tokens: 1024, seed: 1}
    in_flight: 32
    needs_from: {steps: lexical}
    rubrics: {accuracy: [lexical], steps: [lexical], step_errors: [%s], sentences: [%s], criteria: [%s]}
`, a.Seed, a.Items, a.Images, strings.Join(servers, "\n"), strings.Join(models, "\n"), judge, phantom.Protocols()[0], phantom.CaseJudge().Name, judge, judge, judge)
}

// Cases runs all arms and conditions and compares. Where nothing is sampled, scores have
// to equal the truth; of the other intervals one in twenty misses it.
func Cases(ctx context.Context, a Args) ([]check.Row, error) {
	dir, err := os.MkdirTemp("", "assay-recovery-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(experimentOf(a)), 0o600); err != nil {
		return nil, err
	}
	cfg, err := bench.Read(file, experiment.Known())
	if err != nil {
		return nil, err
	}
	b, err := experiment.Assemble(cfg, formats.Library{}) // its cases are made here
	if err != nil {
		return nil, err
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return nil, err
	}
	st, man, err := b.Open(ctx, p, b.Manifest(), io.Discard)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	srv := managed.NewServers(cfg)
	defer srv.Close()
	sum, err := b.Answer(ctx, p, st, &man, experiment.Asking{Servers: srv, Notes: io.Discard})
	if err != nil {
		return nil, err
	}
	if sum.Failed+sum.Left > 0 {
		return nil, fmt.Errorf("recovery: %d phantom trials failed and %d were not run: %v", sum.Failed, sum.Left, sum.ByKind)
	}
	tally, err := b.Judge(ctx, p, st, srv, io.Discard)
	if err != nil {
		return nil, err
	}
	for status, n := range tally {
		if !status.Usable() {
			return nil, fmt.Errorf("recovery: %d judgments are %s", n, status)
		}
	}
	all := studies.All()
	s, err := all[slices.IndexFunc(all, func(d study.Definition) bool { return d.Name == diagnosis })].New(nil, study.Choice{})
	if err != nil {
		return nil, err
	}
	secs, err := s.Summarize(ctx, st, man.Rubrics[diagnosis], kinds.NoDecode)
	if err != nil {
		return nil, err
	}
	keys := map[string]int{}
	for _, d := range b.Sets {
		for _, it := range d.Items {
			keys[it.ID] = it.AnswerLeaking().Key
		}
	}
	c := comparing{secs: secs, images: a.Images}
	for _, name := range readers() {
		at := slices.IndexFunc(phantom.Profiles(), func(p phantom.Profile) bool { return p.Name == name })
		c.answers(phantom.Profiles()[at])
		c.judged(name, *phantom.CaseJudge().Cases)
	}
	other, err := movedByOthers(ctx, st, keys)
	if err != nil {
		return nil, err
	}
	c.rows = append(c.rows, check.Row{What: readers()[0], Score: "answers moved by an image that does not decide", Found: &other, Kind: check.Exact, OK: other == 0})
	slices.SortStableFunc(c.rows, func(a, b check.Row) int { return strings.Compare(string(a.Kind), string(b.Kind)) }) // exact ones first
	return c.rows, errors.Join(c.errs...)
}

// comparing collects cells beside their truths.
type comparing struct {
	secs   []results.Section
	images int
	rows   []check.Row
	errs   []error
}

// add compares a cell of a reader; truths of 0 and of 100 that chance has no part in are
// exact.
func (c *comparing) add(kind check.Kind, reader, score string, truth float64, table, column string, keys ...string) {
	r, err := check.Compare(c.secs, kind, reader, score, truth, diagnosis+"-"+table, column, append([]string{reader}, keys...)...)
	c.rows, c.errs = append(c.rows, r), append(c.errs, err)
}

// seen is the chance that a reader looks at the image that decides.
func (c *comparing) seen(p phantom.Profile) float64 {
	switch {
	case !p.Looks:
		return 0
	case p.Images == 0:
		return 1
	}
	return min(1, float64(p.Images)/float64(c.images))
}

// answers compares accuracies and what images do. The image that decides stands at each
// place equally often; who does not look at it guesses; what captions and findings say
// is seen by who looks as well as the image, and taken at its word by who does not.
func (c *comparing) answers(p phantom.Profile) {
	k, right := float64(c.images), p.AcuityCoT
	mix := func(seen float64) float64 { return 100 * (seen*right + (1-seen)*guess) }
	alone, seen := mix(c.seen(p)), c.seen(p)
	c.add(check.Sampled, p.Name, "accuracy, images alone", alone, "accuracy", "accuracy", "images alone")
	for _, text := range []string{"hint", "summary", "both"} {
		if p.Looks {
			c.add(check.Sampled, p.Name, "accuracy, expert-"+text, 100*right, "accuracy", "accuracy", "expert-"+text)
		} else {
			c.add(check.Exact, p.Name, "accuracy, expert-"+text, 100, "accuracy", "accuracy", "expert-"+text)
		}
		c.add(check.Exact, p.Name, "gain, self-"+text, 0, "accuracy", "gain", "self-"+text)
	}
	c.add(check.Exact, p.Name, "gain, smaller images", 0, "which", "gain", "DS@max_side_px=512")
	c.add(check.Sampled, p.Name, "accuracy, another order", alone, "which", "accuracy", "ORDER@1")
	// Right and then a wrong guess, or the other way round; two guesses.
	flip, guesses := right*(1-guess)+(1-right)*guess, 2*guess*(1-guess)
	less := alone
	switch {
	case seen == 1:
		less = mix((k - 1) / k)
		for i := range c.images {
			c.add(check.Sampled, p.Name, fmt.Sprintf("moved, without image %d", i+1), 100*flip/k, "which", "moved", fmt.Sprintf("LOO@%d", i+1))
		}
	case seen > 0: // the second image becomes the first
		c.add(check.Sampled, p.Name, "moved, without image 1", 100*(2*flip+(k-2)*guesses)/k, "which", "moved", "LOO@1")
	}
	for i := range c.images {
		if seen == 0 || seen < 1 && i > 0 {
			c.add(check.Exact, p.Name, fmt.Sprintf("moved, without image %d", i+1), 0, "which", "moved", fmt.Sprintf("LOO@%d", i+1))
		}
	}
	c.add(check.Sampled, p.Name, "accuracy, one image less", less, "which", "accuracy", "one image less")
	if seen == 0 {
		c.add(check.Exact, p.Name, "points per image", 0, "marginal", "gain", "all")
	} else {
		c.add(check.Sampled, p.Name, "points per image", alone-less, "marginal", "gain", "all")
	}
}

// judged compares what the judge's rates have to give.
func (c *comparing) judged(reader string, r judges.CaseRates) {
	for answers, wrong := range map[string]float64{"right": r.WrongIfRight, "wrong": r.WrongIfWrong} {
		for _, steps := range []string{"all", "critical"} {
			c.add(check.Sampled, reader, fmt.Sprintf("not factual, %s answers, %s steps", answers, steps), 100*wrong, "steps", "wrong", answers, steps)
		}
	}
	slices.SortFunc(c.rows[len(c.rows)-4:], func(a, b check.Row) int { return strings.Compare(a.Score, b.Score) })
	none := 1.
	for _, t := range r.Types {
		none *= 1 - t
	}
	for i, name := range judges.ErrorTypes() {
		truth := r.Types[i]
		if name == "other" { // also that of steps without a type
			truth += none
		}
		c.add(check.Sampled, reader, "errors of type "+name, 100*truth, "steps", name, "all", "all")
		c.add(check.Sampled, reader, "critical errors of type "+name, 100*truth, "steps", name, "all", "critical")
	}
	for _, section := range []string{"background", "clinical", "imaging", "outcome", "take-home", "pooled"} {
		c.add(check.Sampled, reader, "factual sentences, "+section, 100*r.Factual, "sentences", section)
	}
	total := 0.
	for i, name := range judges.Criteria() {
		mean := r.Grades[i][0] + 2*r.Grades[i][1]
		total += mean
		c.add(check.Sampled, reader, "criterion "+name, mean, "criteria", name)
	}
	c.add(check.Sampled, reader, "criteria, total", total, "criteria", "criteria_total")
}

// movedByOthers counts the answers of the reader that looks at all images which became
// right or wrong without an image that does not decide; keys are those that do.
func movedByOthers(ctx context.Context, st *sqlite.Store, keys map[string]int) (float64, error) {
	right := map[results.Key]bool{}
	for j, err := range st.Judgments(ctx, diagnosis) {
		if err != nil {
			return 0, err
		}
		var v struct{ Verdict string }
		if j.Rubric == "accuracy" && j.Key.Model == readers()[0] && json.Unmarshal(j.Verdict, &v) == nil {
			right[j.Key] = v.Verdict == "correct"
		}
	}
	n := 0.
	for k, ok := range right {
		var without int
		if _, err := fmt.Sscanf(k.Condition, "LOO@%d", &without); err != nil || without == keys[k.Item] {
			continue
		}
		all := k
		all.Condition = "baseline"
		if right[all] != ok {
			n++
		}
	}
	return n, nil
}
