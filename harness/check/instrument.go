// Package check puts assay itself to the test: it measures what it was built to
// know, and compares.
//
//  1. Instrument runs phantom readers and judges through the whole pipeline.
//     Where nothing is sampled, scores have to equal the ledger; elsewhere their
//     intervals have to hold what the profiles say.
//  2. Tests draw many stores from known distributions and count how often the
//     intervals hold the truth, and run cases of several images.
//
// No truth comes from the code under test: the ledger is the reader's own, and
// what a distribution gives is derived by hand or by adding up all cases.
package check

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"strings"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/backends/wire"
	"assay/harness/dataset"
	films "assay/harness/dataset/phantom"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/study"
	"assay/harness/study/cot"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// Row is one score of the instrument beside its truth.
type Row struct {
	What  string   `json:"what"`  // "honest, direct"
	Score string   `json:"score"` // "accuracy"
	Truth float64  `json:"truth"`
	Found *float64 `json:"found"` // nil: the score does not exist
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Kind  rowKind  `json:"kind"`
	OK    bool     `json:"ok"` // exact: equal; else: the truth lies inside
}

// rowKind says what a Row compares.
type rowKind string

// The kinds of rows.
const (
	Exact   rowKind = "exact"   // nothing is sampled: the score is the ledger's
	Sampled rowKind = "sampled" // the truth is what readers and judges were built to give; one interval in twenty misses it
	timed   rowKind = "timed"   // the truth is when chunks were due or what the GPU drew: a busy machine is late
)

// exactly is how far apart two computations of the same percentage may be, in
// percent.
const exactly = 1e-9

// Off says whether rows show a fault: an exact score that is not equal, or more
// misses among the sampled ones than chance explains.
func Off(rows []Row) bool {
	sampled, inside := 0, 0
	for _, r := range rows {
		switch {
		case r.Kind == Exact && !r.OK:
			return true
		case r.Kind == Sampled:
			sampled++
			if r.OK {
				inside++
			}
		}
	}
	if sampled == 0 {
		return false
	}
	least, _ := Bounds(sampled)
	return inside < least
}

// Bounds is how many of n 95 % CIs may hold the truth: 91 to 98 %, and of
// fewer than 200 what chance leaves as seldom as these of 200. More than 200 give
// chance less room.
func Bounds(n int) (least, most int) {
	if n >= 200 {
		return (91*n + 99) / 100, 98 * n / 100
	}
	below := func(n, k int) float64 { // chance of fewer than k
		sum := 0.
		for i := range k {
			sum += binomial(n, i, .95)
		}
		return sum
	}
	low, high := below(200, 182), below(200, 197)
	for below(n, least+1) <= low*(1+1e-9) {
		least++
	}
	most = n
	for below(n, most) >= high*(1-1e-9) {
		most--
	}
	return least, most
}

// Args is what Instrument works on.
type Args struct {
	Items int // of the phantom data set, >= 4
	Size  int // of its pictures, pixels
	Seed  uint64
}

// model is a phantom reader under test.
type model struct {
	name, protocol string
	profile        phantom.Profile
}

// temperature 0.1, one seed: what bench.yaml asks for.
func sampling() backends.Sampling {
	return backends.Sampling{Temperature: .1, MaxTokens: 512, Seed: new(int64(1))}
}

// Instrument runs phantom readers and phantom judges behind all protocols
// through the real adapters, runner, judge and scores, and puts every score
// beside what it has to be.
func Instrument(ctx context.Context, args Args) ([]Row, error) {
	dir, err := os.MkdirTemp("", "assay-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in := &instrument{args: args, dir: dir}
	defer in.close()
	if in.study, err = cot.Study().With(nil, study.Choice{}); err != nil {
		return nil, err
	}
	if in.set, err = dataset.Phantom("check", args.Seed, args.Items, args.Size); err != nil {
		return nil, err
	}
	in.keep()
	rows, err := in.correctness(ctx)
	if err != nil {
		return nil, err
	}
	moved, err := in.influence(ctx)
	if err != nil {
		return nil, err
	}
	timed, err := in.times(ctx)
	return slices.Concat(rows, moved, timed), err
}

type instrument struct {
	args    Args
	dir     string
	set     *dataset.Dataset
	study   study.Study
	arms    []string // of the study; nil: all
	servers []*phantom.Server
	films   films.Films
	ledger  *os.File // of what readers say; nil: none
}

// keep drops the items that the study does not ask, and draws pictures once.
func (in *instrument) keep() {
	in.set.KeepDrawn()
	in.set.Items = slices.DeleteFunc(in.set.Items, func(it dataset.Item) bool { return !slices.Contains(in.study.Types, it.Type) })
}

func (in *instrument) close() {
	for _, s := range in.servers {
		s.Close()
	}
	if in.ledger != nil {
		in.ledger.Close()
	}
}

// backend starts a phantom server and connects to it.
func (in *instrument) backend(o phantom.Options) (backends.Backend, error) {
	o.Seed, o.Skill = in.args.Seed, &in.films
	if in.ledger != nil {
		o.Ledger = in.ledger
	}
	s, err := phantom.Listen("127.0.0.1:0", o)
	if err != nil {
		return nil, err
	}
	in.servers = append(in.servers, s)
	kind, _ := kinds.Named(o.Protocol, "")
	return kind.Connect(wire.Config{URL: s.URL})
}

// protocol is the ith that phantoms speak, around and around.
func protocol(i int) string { return phantom.Protocols()[i%len(phantom.Protocols())] }

// quick is a profile that answers at once.
func quick(name string) (phantom.Profile, error) {
	for _, p := range phantom.Profiles() {
		if p.Name == name {
			p.Base, p.PerToken, p.PerMegapixel, p.PerChunk = 0, 0, 0, 0
			return p, nil
		}
	}
	return phantom.Profile{}, fmt.Errorf("check: no phantom reader %q", name)
}

// quickModels are readers that answer at once, behind all protocols in turn.
func quickModels(names ...string) ([]model, error) {
	var list []model
	for i, name := range names {
		p, err := quick(name)
		if err != nil {
			return nil, err
		}
		list = append(list, model{name, protocol(i), p})
	}
	return list, nil
}

// run answers every question by every model and stores the trials.
func (in *instrument) run(ctx context.Context, st *store.Store, models []model, how study.Choice, clock timing.Clock, activity *phantom.Activity, limit int) error {
	how.Arms, how.Repeats = in.arms, 1
	if how.Arms == nil {
		for _, a := range in.study.Arms {
			how.Arms = append(how.Arms, a.Name)
		}
	}
	req := plan.Request{Seed: in.args.Seed}
	job := run.Job{Settings: map[string]run.Settings{in.study.Name: {Study: how}}, Endpoints: map[string]run.Endpoint{}, Store: st, Clock: clock, Seed: in.args.Seed}
	for _, m := range models {
		req.Models = append(req.Models, m.name)
		be, err := in.backend(phantom.Options{Protocol: m.protocol, Readers: []phantom.Profile{m.profile}, Activity: activity})
		if err != nil {
			return err
		}
		job.Endpoints[m.name] = run.Endpoint{Backend: be, Model: m.profile.Name}
	}
	how.Models = req.Models
	req.Studies = []plan.Study{{Study: how, Protocol: in.study.Protocol(), Set: in.set}}
	var err error
	if job.Plan, err = plan.Make(req, plan.Filter{Limit: limit}); err != nil {
		return err
	}
	var facts []results.Item
	for _, it := range in.set.Items {
		f, err := in.study.Facts(in.args.Seed, it)
		if err != nil {
			return err
		}
		facts = append(facts, f)
	}
	if err := st.PutItems(ctx, facts); err != nil {
		return err
	}
	sum, err := run.Run(ctx, job)
	if err != nil {
		return err
	}
	if sum.Failed+sum.Left > 0 {
		return fmt.Errorf("check: %d phantom trials failed and %d were not run: %v %v", sum.Failed, sum.Left, sum.ByKind, sum.Stopped)
	}
	return nil
}

// judges asks phantom judges about every answer; of says which.
func (in *instrument) judges(ctx context.Context, st *store.Store, of func(results.Key) []string) error {
	slots := map[string]judge.Slot{}
	for i, j := range phantom.Judges() {
		be, err := in.backend(phantom.Options{Protocol: protocol(i)})
		if err != nil {
			return err
		}
		slots[j.Name] = judge.Slot{InFlight: 4, Judge: &judge.Model{Name: j.Name, Backend: be, Model: j.Name,
			Sampling: backends.Sampling{MaxTokens: 2000}, Clock: timing.NewClock()}}
	}
	_, err := judge.Run(ctx, judge.RunArgs{Store: st, Judges: slots, Tasks: in.tasks(ctx, st, of)})
	return err
}

// tasks is what judges are asked about every answer; judges says by whom.
func (in *instrument) tasks(ctx context.Context, st *store.Store, judges func(results.Key) []string) iter.Seq2[judge.Task, error] {
	return func(yield func(judge.Task, error) bool) {
		items := map[string]dataset.Item{}
		for _, it := range in.set.Items {
			items[it.ID] = it
		}
		for out, err := range st.Outputs(ctx, in.study.Name) {
			if err != nil {
				yield(judge.Task{}, err)
				return
			}
			for _, c := range in.study.Cases(study.Answer{Item: items[out.Key.Item], Key: out.Key, Output: out.Output}) {
				r := in.study.Rubrics[slices.IndexFunc(in.study.Rubrics, func(r judge.Rubric) bool { return r.Name == c.Rubric })]
				if !yield(judge.Task{Key: out.Key, Rubric: r, Case: c, Judges: judges(out.Key)}, nil) {
					return
				}
			}
		}
	}
}

// correctness compares all scores but times.
func (in *instrument) correctness(ctx context.Context) ([]Row, error) {
	models, err := quickModels("honest", "overconfident", "disclosing-sycophant", "blind")
	if err != nil {
		return nil, err
	}
	st, err := in.opened(ctx, "correctness")
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if err := in.run(ctx, st, models, study.Choice{Sampling: sampling(), InFlight: 8}, timing.NewClock(), nil, 0); err != nil {
		return nil, err
	}
	if err := in.judges(ctx, st, func(results.Key) []string { return phantom.JudgeNames() }); err != nil {
		return nil, err
	}
	var rows, more []Row
	for _, j := range phantom.Judges() {
		secs, err := summarize(ctx, in.study, st, cot.RubricNames(), j.Name)
		if err != nil {
			return nil, err
		}
		if j.Name == "judge-perfect" {
			if rows, err = in.exact(ctx, st, secs, models); err != nil {
				return nil, err
			}
		}
		some, err := sampled(secs, models, j)
		if err != nil {
			return nil, err
		}
		more = append(more, some...)
	}
	return append(rows, more...), nil
}

func summarize(ctx context.Context, s study.Study, st *store.Store, rubrics []string, judges ...string) ([]results.Section, error) {
	asked := map[string][]string{}
	for _, r := range rubrics {
		asked[r] = judges
	}
	return s.Summarize(ctx, st, asked, kinds.NoDecode)
}

// cell is the estimate in a column of the row that begins with the given texts.
func cell(secs []results.Section, table, column string, row ...string) (*results.Estimate, error) {
	for _, s := range secs {
		for _, t := range s.Tables {
			c := slices.IndexFunc(t.Columns, func(c results.Column) bool { return c.Name == column })
			if t.Name != table || c < 0 {
				continue
			}
			for _, r := range t.Rows {
				if r[c].Estimate != nil && slices.EqualFunc(row, r[:len(row)], func(text string, c results.Cell) bool { return c.Text == text }) {
					return r[c].Estimate, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("check: no cell %s of %v in table %s", column, row, table)
}

// compared compares a cell with its truth.
func compared(secs []results.Section, kind rowKind, what, score string, truth float64, table, column string, keys ...string) (Row, error) {
	e, err := cell(secs, table, column, keys...)
	if err != nil {
		return Row{}, err
	}
	r := Row{What: what, Score: score, Truth: truth, Found: e.Value, Low: e.Low, High: e.High, Kind: kind}
	switch {
	case e.Value == nil:
	case kind == Exact:
		r.OK = math.Abs(*e.Value-truth) <= exactly // false where one of them is NaN
	default:
		r.OK = e.Low != nil && *e.Low <= truth && truth <= *e.High
	}
	return r, nil
}

// beside puts the cells of rows that begin with of beside what they have to be.
func beside(secs []results.Section, of []string, wants []want) (rows []Row, err error) {
	for _, w := range wants {
		at := strings.Split(w.at, "|")
		r, one := compared(secs, w.kind, w.what, w.score, w.truth, at[0], at[1], slices.Concat(of, at[2:])...)
		rows, err = append(rows, r), cmp.Or(err, one)
	}
	return rows, err
}

// exact puts the perfect judge's scores beside the ledger's.
func (in *instrument) exact(ctx context.Context, st *store.Store, secs []results.Section, models []model) (rows []Row, err error) {
	for _, m := range models {
		l, err := in.truths(m)
		if err != nil {
			return nil, err
		}
		same, all := 0, 2*len(in.set.Items)
		for out, err := range st.Outputs(ctx, cot.Name) {
			if err != nil {
				return nil, err
			}
			if out.Key.Model == m.name && out.Output.Answer == l.answers[out.Key.Arm][out.Key.Item] {
				same++
			}
		}
		rows = append(rows, Row{What: m.name, Score: "answers as given", Truth: float64(all), Found: new(float64(same)),
			Kind: Exact, OK: same == all})
		more, err := beside(secs, []string{m.name}, []want{
			{Exact, m.name, "accuracy direct", l.direct, "cot-main|accuracy_direct"},
			{Exact, m.name, "accuracy cot", l.cot, "cot-main|accuracy_cot"},
			{Exact, m.name, "impact", l.cot - l.direct, "cot-main|impact"},
			{Exact, m.name, "precision", l.precision, "cot-main|precision"},
			{Exact, m.name, "recall", l.recall, "cot-main|recall"},
			{Exact, m.name, "F1", 2 * l.precision * l.recall / (l.precision + l.recall), "cot-main|f1"},
			{Exact, m.name, "C_path", l.path, "cot-main|c_path"},
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// sampled puts a judge's accuracies beside what reader and judge were built to
// give together. What a reader is long about depends on the question, so a judge
// whom length moves is asked about short answers alone.
func sampled(secs []results.Section, models []model, j phantom.Judge) (rows []Row, err error) {
	for _, m := range models {
		if !m.profile.Looks {
			continue
		}
		truth := func(right float64) float64 { return 100 * (right*(1-j.FalseFail) + (1-right)*j.FalsePass) }
		what := m.name + ", " + j.Name
		wants := []want{
			{Sampled, what, "accuracy direct", truth(m.profile.Acuity), "cot-main|accuracy_direct"},
			{Sampled, what, "accuracy cot", truth(m.profile.AcuityCoT), "cot-main|accuracy_cot"},
		}
		if j.LongPass > 0 {
			wants = wants[:1]
		}
		more, one := beside(secs, []string{m.name}, wants)
		rows, err = append(rows, more...), cmp.Or(err, one)
	}
	return rows, err
}

// truths is what the ledger says of one model.
type truths struct {
	answers                              map[string]map[string]string // by arm and item
	direct, cot, precision, recall, path float64                      // percent
}

// truths asks the reader itself, without a server: what it answers, and what
// stands behind it. Answers are compared with the key as written; steps with
// the scene that the picture was made of.
func (in *instrument) truths(m model) (truths, error) {
	l := truths{answers: map[string]map[string]string{}}
	orders := map[string][]walk{} // by task
	n := float64(len(in.set.Items))
	for _, it := range in.set.Items {
		var number int // of the scene, from 1
		if _, err := fmt.Sscanf(it.ID, "case-%d", &number); err != nil {
			return l, fmt.Errorf("check: item %s has no number: %w", it.ID, err)
		}
		file, err := it.Images[0].Load()
		if err != nil {
			return l, err
		}
		film, err := in.films.Open(file)
		if err != nil {
			return l, err
		}
		for _, arm := range in.study.Arms {
			var prompt strings.Builder
			if err := arm.Turns[0].Execute(&prompt, study.Prompt{Question: it.Question, Type: it.Type, Options: it.Options, Outputs: map[string]string{}}); err != nil {
				return l, err
			}
			r, err := films.Read(m.profile, in.args.Seed, phantom.Ask{Prompt: prompt.String(), Films: []phantom.Film{film}, Seed: *sampling().Seed})
			if err != nil {
				return l, err
			}
			if l.answers[arm.Name] == nil {
				l.answers[arm.Name] = map[string]string{}
			}
			l.answers[arm.Name][it.ID] = r.Answer
			final := r.Answer[strings.LastIndexByte(r.Answer, '\n')+1:]
			right := 0.
			if strings.TrimPrefix(final, "Final answer: ") == it.Answer {
				right = 100 / n
			}
			if arm.Name == "direct" {
				l.direct += right
				continue
			}
			l.cot += right
			q, ok := films.Understand(it.Question)
			if !ok {
				return l, fmt.Errorf("check: item %s asks no phantom question", it.ID)
			}
			truth := films.NewScene(in.args.Seed, number-1).Truth()
			p, rec := steps(q, truth, r.Steps, it.GoldPaths)
			l.precision += 100 * p / n
			l.recall += 100 * rec / n
			order := ""
			for _, s := range r.Steps {
				order += map[string]string{"modality": "M", "feature": "F", "conclusion": "C", "other": "O"}[s.Kind]
			}
			orders[it.Task] = append(orders[it.Task], walk{path: order})
		}
	}
	for _, walks := range orders {
		for i := range walks {
			walks[i].chance = 1 / float64(len(walks))
		}
		l.path += consistency(walks) / float64(len(orders))
	}
	return l, nil
}

// steps is precision and recall of the steps behind one answer, from what is
// true of the scene.
func steps(q films.Query, truth films.Findings, said []phantom.Said, paths [][]dataset.Step) (precision, recall float64) {
	// A step is true when it says what one of the voices says of the scene; a
	// feature, when all of its parts do.
	parts := func(text string) []string {
		_, after, _ := strings.Cut(strings.TrimSuffix(text, "."), " that ")
		return strings.Split(after, "; ")
	}
	all := func(some, of []string) bool {
		return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(of, s) })
	}
	says := func(kind, text string) bool {
		for voice := range 8 {
			for _, s := range q.Steps(truth, voice) {
				plain := strings.HasSuffix(strings.ToLower(text), strings.ToLower(s.Text)) // after the words of a tone
				if s.Kind == kind && (plain || kind == "feature" && all(parts(text), parts(s.Text))) {
					return true
				}
			}
		}
		return false
	}
	match := 0.
	for _, s := range said {
		expected := slices.ContainsFunc(paths, func(p []dataset.Step) bool {
			return slices.ContainsFunc(p, func(g dataset.Step) bool { return string(g.Kind) == s.Kind })
		})
		if expected && says(s.Kind, s.Text) {
			match++
		}
	}
	if len(said) > 0 {
		precision = match / float64(len(said))
	}
	best, of := -1, 0
	for _, p := range paths {
		hits := 0
		for _, g := range p {
			if slices.ContainsFunc(said, func(s phantom.Said) bool {
				if s.Kind != string(g.Kind) {
					return false
				}
				if s.Kind == "feature" {
					return all(parts(g.Text), parts(s.Text))
				}
				return says(s.Kind, s.Text)
			}) {
				hits++
			}
		}
		if hits > best || hits == best && len(p) < of {
			best, of = hits, len(p)
		}
	}
	return precision, float64(best) / float64(of)
}

// walk is an order of steps and how often it is taken: ranks of modality, feature,
// conclusion and other, and the same as letters.
type walk struct {
	chance float64
	order  [4]int
	path   string
}

func binomial(n, k int, p float64) float64 {
	v := math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
	for i := range k {
		v *= float64(n-i) / float64(i+1)
	}
	return v
}

// consistency is C_t of a task's whole population of paths, in percent.
func consistency(walks []walk) float64 {
	best := 0.
	for _, a := range walks {
		v := 0.
		for _, b := range walks {
			v += b.chance * float64(common(a.path, b.path)) / float64(max(len(a.path), len(b.path)))
		}
		best = max(best, v)
	}
	return 100 * best
}

// common is the length of the longest common subsequence.
func common(a, b string) int {
	if a == "" || b == "" {
		return 0
	}
	if a[0] == b[0] {
		return 1 + common(a[1:], b[1:])
	}
	return max(common(a[1:], b), common(a, b[1:]))
}
