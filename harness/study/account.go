package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/backends"
	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

// unjudged stands beside the statuses of judgments: there is none.
const unjudged = score.Unjudged

// statuses are all statuses in the order of tables, Unjudged last.
func statuses() []results.Status {
	return []results.Status{results.StatusClean, results.StatusRepaired, results.StatusParse, results.StatusSchema,
		results.StatusEvidence, results.StatusAbstained, results.StatusUnreachable, results.StatusRefused, unjudged}
}

// Account is one model's trials in one arm: what became of them, and what they took.
type Account struct {
	Model, Arm string
	Turns      int // requests of one trial of the arm, 1 or more
	Trials     int // stored, failures too
	Failed     int
	Unread     int           // answers that name no answer to the question
	Unreadable []results.Key // the first of these
	JudgeRead  *int          // of Unread, those that most judges who were asked could read; nil: none was asked
	Retried    int
	Failures   map[string]int // by kind
	Flags      map[results.Flag]int
	Statuses   map[string][]map[results.Status]int // of answers, by rubric and judge

	times                     validity
	ttftAtMost, latencyAtMost marked
	firstSeveral              marked
	assumed                   bool // that one GPU was held
	unattributed              int  // answers that ran beside others, and how time was shared is not known
	methods                   map[timing.Method]int
	odd                       map[timing.EnergyFlag]int
	unknown                   map[string]int // why energies are not known
	low                       int            // answers too short for the counter

	basis    *Basis
	together bool // requests ran beside each other, so that the time and energy of one are its share
	items    []int32
	columns  [quantities][]float64 // by trial
	sample   *score.PairSample
	twos     map[quantity][]*results.Estimate
	made     map[string]*results.Estimate // by measure
	each     []int                        // perItem
	paid     energyOf
}

// marked counts the valid times of which something holds, and those of which it
// is known whether it does.
type marked struct{ n, known int }

func (m *marked) note(holds *bool) {
	if holds == nil {
		return
	}
	m.known++
	if *holds {
		m.n++
	}
}

// cell is the count out of those known, of so many valid times.
func (m marked) cell(timed int) results.Cell {
	if m.known == 0 {
		why := "it is not known of any answer"
		if timed == 0 {
			why = untimed
		}
		return Value(&results.Estimate{Why: why})
	}
	return Counted(m.n, m.known)
}

// NewAccount makes an empty account.
func NewAccount(b *Basis, model, arm string) *Account {
	return &Account{Model: model, Arm: arm, Turns: 1, Failures: map[string]int{}, Flags: map[results.Flag]int{}, Statuses: map[string][]map[results.Status]int{}, times: newValidity(),
		methods: map[timing.Method]int{}, odd: map[timing.EnergyFlag]int{}, unknown: map[string]int{}, basis: b, together: b.Together, twos: map[quantity][]*results.Estimate{}}
}

// Add takes in a trial of an item; judged is, by rubric, what became of each judge's
// judgment, none where the rubric does not apply to the trial. It is not kept. right is how
// right it is (0..1, the mean over judges; nil: not judged), steps how many of its steps are
// (nil: not known).
func (a *Account) Add(item int, r results.Row, judged map[string][]results.Status, right, steps *float64) {
	a.Trials++
	if r.Attempts > 1 {
		a.Retried++
	}
	if r.Failed {
		a.Failed++
		a.Failures[r.Kind]++
	} else {
		for _, f := range r.Flags {
			a.Flags[f]++
		}
		for rubric, by := range judged {
			if len(by) > 0 {
				a.status(rubric, by)
			}
		}
	}
	a.times.add(&r)
	if _, timed := score.Seconds(&r); timed {
		a.mark(&r)
	}
	a.took(item, &r, right, steps)
}

// mark notes what limits the times of a row.
func (a *Account) mark(r *results.Row) {
	if r.TTFT != nil {
		a.ttftAtMost.note(r.TTFTAtMost)
	}
	a.latencyAtMost.note(r.LatencyAtMost)
	var several *bool
	switch {
	case r.FirstTokens != nil:
		several = new(*r.FirstTokens > a.Turns)
	case r.CompletionTokens != nil: // more tokens than chunks, and nothing says where
		several = new(true)
	}
	a.firstSeveral.note(several)
}

func (a *Account) status(rubric string, by []results.Status) {
	if a.Statuses[rubric] == nil {
		a.Statuses[rubric] = make([]map[results.Status]int, len(by))
		for j := range by {
			a.Statuses[rubric][j] = map[results.Status]int{}
		}
	}
	for j, st := range by {
		a.Statuses[rubric][j][st]++
	}
}

// pair is the median and the 95th percentile of a quantity.
func (a *Account) pair(of among, why string, q quantity) []*results.Estimate {
	if a.twos[q] == nil {
		a.twos[q] = a.quantiles(of, why, a.column(q), .5, .95)
	}
	return a.twos[q]
}

// latencies are the measures of a study's first table of times.
func (b *Basis) latencies() []measure {
	pair := func(q quantity, i int) func(*Account) *results.Estimate {
		return func(a *Account) *results.Estimate { return a.pair(ofTrials, untimed, q)[i] }
	}
	median := func(q quantity, why string) func(*Account) *results.Estimate {
		return func(a *Account) *results.Estimate { return a.quantiles(ofTrials, why, a.column(q), .5)[0] }
	}
	return []measure{
		{Column: TextColumn("ttft_of", "TTFT is of"), cell: func(a *Account) results.Cell { return Text(requests(a.Turns)) }},
		{Column: secondsColumn("ttft_median", "TTFT median", "first content - start of the request; of an arm of several turns the sum over their requests"), of: pair(ttft, 0)},
		{Column: secondsColumn("ttft_p95", "TTFT p95", ""), of: pair(ttft, 1)},
		{Column: secondsColumn("latency_median", "T median", "last content - start of the request, summed over turns"), of: pair(latency, 0)},
		{Column: secondsColumn("latency_p95", "T p95", ""), of: pair(latency, 1)},
		{Column: secondsColumn("server_total_median", "Server total median", "as the server timed itself; beside the client's clock, never mixed with it"), of: median(served, "the server reports no total duration")},
		{Column: CountColumn("ttft_at_most", "TTFT at most", "valid times whose first content came in one read with later bytes: it arrived then or before; n: times of which that is known"),
			cell: func(a *Account) results.Cell { return a.ttftAtMost.cell(a.Estimate("ttft_median").N) }},
		{Column: CountColumn("latency_at_most", "T at most", "the same of the last content"), cell: func(a *Account) results.Cell { return a.latencyAtMost.cell(a.timed()) }},
		{Column: CountColumn("first_several", "First of several", "valid times whose first chunk holds several tokens, or may: the server counts more tokens than chunks came; TTFT is then that of more than one token"),
			cell: func(a *Account) results.Cell { return a.firstSeveral.cell(a.timed()) }},
		{Column: results.Column{Name: "tokens_median", Title: "Tokens median", Unit: "tokens", Digits: 1, Help: "completion tokens as the server counts them"}, of: median(tokens, "the server counts no tokens")},
	}
}

// timed is how many answers have a time that counts.
func (a *Account) timed() int { return a.Estimate("latency_median").N }

// requests says which requests a trial's TTFT is of.
func requests(turns int) string {
	if turns > 1 {
		return fmt.Sprintf("%d requests, summed", turns)
	}
	return "the request"
}

// AnswersTable is what became of the trials of accounts, one row each: what was left out and
// why, which times count, what was done again, and what is known of the server's caches.
func AnswersTable(study string, accounts []*Account) results.Table {
	t := results.Table{Name: study + "-answers", Title: "What became of trials", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		CountColumn("trials", "Trials", "stored"), CountColumn("answers", "Answers", ""), CountColumn("failures", "Failures", "left out of every score"),
		TextColumn("failure_kinds", "Kinds of failure"),
		CountColumn("truncated", "Truncated", "cut by the token limit"),
		CountColumn("retried", "Retried", "more than one attempt"),
		CountColumn("valid", "Valid times", "answers whose time counts"),
		TextColumn("left_out", "Times left out"),
		CountColumn("repeated", "Done again", "attempts that were made again because their time did not count"),
		TextColumn("repeated_why", "Why"),
		CountColumn("cold", "Cold", "answers in which the server proves that it reused nothing"),
		CountColumn("unverified", "Unverified", "answers of which that is not known"),
		CountColumn("hit", "Hit", "answers for which the server reused a cache"),
		TextColumn("cache_proof", "Proof, or why there is none"),
	}, Notes: []string{"A time that does not count is left out of every time and ratio; its answer is not. An answer may have several flags."}}
	for _, a := range accounts {
		answers := a.Trials - a.Failed
		row := []results.Cell{Text(a.Model), Text(a.Arm), Counted(a.Trials, a.Trials), Counted(answers, a.Trials), Counted(a.Failed, a.Trials), Text(a.kinds()),
			Counted(a.Flags[results.FlagTruncated], answers), Counted(a.Retried, a.Trials),
			Counted(a.times.valid, answers), Text(byFlag(a.Flags)), Counted(a.times.repeats, answers+a.times.repeats), Text(byFlag(a.times.repeated))}
		var why []string
		for _, s := range []backends.CacheState{backends.CacheCold, backends.CacheUnverified, backends.CacheHit} {
			n, w := a.times.in(s)
			row = append(row, Counted(n, answers))
			if n > 0 {
				why = append(why, fmt.Sprintf("%s: %s", s, w))
			}
		}
		if n := a.times.policies[""]; n > 0 {
			why = append(why, fmt.Sprintf("%d not timed", n))
		}
		if n := a.times.timeless; n > 0 {
			why = append(why, fmt.Sprintf("%d without times", n))
		}
		t.Rows = append(t.Rows, append(row, Text(strings.Join(why, "; "))))
	}
	return t
}

func (a *Account) kinds() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(a.Failures)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, a.Failures[k]))
	}
	return strings.Join(parts, ", ")
}

// Untimed is the account where times are no score: of its flags, those of cut answers.
func (a *Account) Untimed() *Account {
	out := *a
	out.Flags = maps.Clone(a.Flags)
	maps.DeleteFunc(out.Flags, func(f results.Flag, _ int) bool { return !f.Cuts() })
	return &out
}

// Warnings are what a reader must know of an account before trusting a score;
// rubrics gives the order, judges the names.
func (a *Account) Warnings(rubrics []string, judges map[string][]string) []results.Warning {
	var out []results.Warning
	about := func(of results.DoubtOf, n, all int, format string, args ...any) {
		out = append(out, results.Warning{Text: fmt.Sprintf("%s, arm %s: ", a.Model, a.Arm) + fmt.Sprintf(format, args...), Doubt: results.Doubt{Of: of, Share: float64(n) / float64(all)}})
	}
	answers := a.Trials - a.Failed
	if a.Failed > 0 {
		about(results.DoubtAnswers, a.Failed, a.Trials, "%d of %d trials failed and are left out (%s).", a.Failed, a.Trials, a.kinds())
	}
	if a.Unread > 0 {
		said := fmt.Sprintf("%d of %d answers could not be read as an answer to the question; they count as wrong.", a.Unread, answers)
		if a.JudgeRead != nil {
			said += fmt.Sprintf(" A judge read %d of them.", *a.JudgeRead)
		}
		about(results.DoubtUnread, a.Unread, answers, "%s", said)
	}
	warn := func(n int, format string, args ...any) { about(results.DoubtTimes, n, answers, format, args...) }
	if n := a.Flags[results.FlagTruncated]; n > 0 {
		warn(n, "%d of %d answers were cut by the token limit; they count for correctness, not for times.", n, answers)
	}
	if n := a.Flags[results.FlagContextEnd]; n > 0 {
		warn(n, "%d of %d answers were cut by the server below the token limit that was asked; they count for correctness, not for times. Give the server a longer context, or raise the limit of answers that it has of its own.", n, answers)
	}
	for _, w := range []struct {
		flag results.Flag
		why  string
	}{
		{results.FlagLoadInside, "the model was loaded meanwhile"},
		{results.FlagConcurrent, "another request was in flight"},
		{results.FlagCacheHit, "the server reused a cache"},
		{results.FlagClockJump, "the wall clock was set meanwhile"},
		{results.FlagClockSlewed, "the clock was steered by over 0.1 %"},
		{results.FlagStopped, "this program, the machine or the server stood still meanwhile"},
		{results.FlagThrottled, "the GPU lowered its clocks"},
		{results.FlagOtherProcess, "another process worked on the GPU"},
	} {
		if n := a.Flags[w.flag]; n > 0 {
			warn(n, "%d of %d answers have no valid time because %s.", n, answers, w.why)
		}
	}
	if n, why := a.times.in(backends.CacheUnverified); n > 0 {
		warn(n, "cache state unverified for %d of %d answers (%s).", n, answers, why)
	}
	for _, rubric := range rubrics {
		for j, by := range a.Statuses[rubric] {
			name := judges[rubric][j]
			usable, all := usable(by)
			if n := by[unjudged]; n > 0 {
				about(results.DoubtJudges, n, all, "%d of %d answers are not judged yet by %s under %s; `assay judge` goes on.", n, all, name, rubric)
			}
			if 100*usable < 95*all {
				p, _ := stats.Percent(float64(usable), float64(all), 2)
				about(results.DoubtJudges, all-usable, all, "judge %s has a usable %s verdict for %s %% of the answers only (%d of %d).", name, rubric, p, usable, all)
			}
		}
	}
	return out
}

// usable is how many of an arm's answers have a usable verdict, of how many.
func usable(by map[results.Status]int) (n, of int) {
	for st, k := range by {
		if of += k; st.Usable() {
			n += k
		}
	}
	return n, of
}

// told is a difference in points inside a sentence, with its interval: "+17 points,
// 95 % CI +2 to +31".
func told(e *results.Estimate) string {
	v, low, high := results.EstimateWords("points", *e, true)
	if low == "" {
		return v + " points, no interval"
	}
	return v + " points, 95 % CI " + low + " to " + high
}

// significant is the greatest p-value that makes a difference clear.
const significant = 0.05

// Contrast is a paired difference in points, as words tell it.
type Contrast struct {
	Difference *results.Estimate
	P          *results.Estimate // of the test of the difference, n in items; nil or without a value: there is none
	Family     bool              // P is corrected for a family of tests (Holm)
	More       float64           // where there is a test, above 0 where it counts more items for the first side, below for the other
	Of         string            // what the difference's n counts: "pairs of answers"
}

func (c Contrast) tested() bool { return c.P != nil && c.P.Value != nil }

// Known says whether there is anything to tell.
func (c Contrast) Known() bool {
	return c.Difference != nil && c.Difference.Value != nil && (c.tested() || c.Difference.Low != nil)
}

// Way is above 0 where the first side is clearly more, below where it is less, else 0. One
// rule decides everywhere: the test at 5 %, unless its counts contradict the difference; where there
// is none, the interval as it is printed. Equal numbers get equal words.
func (c Contrast) Way() int {
	d := *c.Difference.Value
	sure := leavesOutZero(c.Difference)
	if c.tested() {
		sure = *c.P.Value <= significant && d != 0 && c.More*d >= 0
	}
	switch {
	case !sure:
		return 0
	case d > 0:
		return 1
	}
	return -1
}

// Words are the numbers behind it: "+17 points, 95 % CI +2 to +31, n = 48 items (96
// answers), p = 0.077; the interval excludes 0, but the test decides".
func (c Contrast) Words() string {
	s := told(c.Difference)
	if !c.tested() {
		return fmt.Sprintf("%s, n = %d %s", s, c.Difference.N, c.Of)
	}
	s += fmt.Sprintf(", n = %s", results.Count(c.P.N, "item", "items"))
	if c.Difference.N != c.P.N {
		s += fmt.Sprintf(" (%d %s)", c.Difference.N, c.Of)
	}
	if s += ", "; c.Family {
		s += "Holm "
	}
	s += "p = " + stats.Significant(*c.P.Value, 2)
	switch out := leavesOutZero(c.Difference); {
	case c.Difference.Low == nil || out == (c.Way() != 0):
	case out:
		s += "; the interval excludes 0, but the test decides"
	default:
		s += "; the interval includes 0, but the test decides"
	}
	return s
}

// leavesOutZero says whether an interval, printed with two decimals, lies on one
// side of 0. What is printed as 0.00 is 0: findings are read beside it.
func leavesOutZero(e *results.Estimate) bool {
	if e.Low == nil || e.High == nil {
		return false
	}
	low, high, zero := stats.Fixed(*e.Low, 2), stats.Fixed(*e.High, 2), stats.Fixed(0, 2)
	return *e.Low > 0 && low != zero || *e.High < 0 && high != zero
}

// Cells and columns. Values stand in the unit of their column: a percentage is
// 0..100, a time is in seconds.

// Text is a cell of text.
func Text(s string) results.Cell { return results.Cell{Text: s} }

// Value is a cell with an estimate.
func Value(e *results.Estimate) results.Cell { return results.Cell{Estimate: e} }

// Counted is a cell with a plain number out of n.
func Counted(k, n int) results.Cell {
	return Value(&results.Estimate{Value: new(float64(k)), N: n})
}

// TextColumn is a column of text.
func TextColumn(name, title string) results.Column { return results.Column{Name: name, Title: title} }

// CountColumn is a column of whole numbers.
func CountColumn(name, title, help string) results.Column {
	return results.Column{Name: name, Title: title, Help: help}
}

// PercentColumn is a column of percentages with two decimals.
func PercentColumn(name, title, help string) results.Column {
	return results.Column{Name: name, Title: title, Unit: "%", Digits: 2, Help: help, Better: better(name)}
}

// PercentAxis is an axis of percentages from 0 to 100.
func PercentAxis(title string) results.Axis {
	return results.Axis{Title: title, Unit: "%", Low: new(0.), High: new(100.)}
}

// Percent is a metric of a PercentColumn; Count, Points and Significant likewise.
func Percent(name, title, help string, of score.Kind) score.Metric {
	return score.Metric{Column: PercentColumn(name, title, help), Of: of}
}

// Count is a metric of whole numbers.
func Count(name, title, help string, of score.Kind) score.Metric {
	return score.Metric{Column: CountColumn(name, title, help), Of: of}
}

// Points is a difference of percentages.
func Points(name, title, help string, of score.Kind) score.Metric {
	return score.Metric{Column: results.Column{Name: name, Title: title, Unit: "points", Digits: 2, Help: help}, Of: of}
}

// Significant is a metric of a SignificantColumn.
func Significant(name, title, unit, help string, of score.Kind) score.Metric {
	return score.Metric{Column: SignificantColumn(name, title, unit, help), Of: of}
}

// SignificantColumn is a column of numbers with four significant digits.
func SignificantColumn(name, title, unit, help string) results.Column {
	return results.Column{Name: name, Title: title, Unit: unit, Digits: 4, Significant: true, Help: help, Better: better(name)}
}

// PerColumn is a SignificantColumn of what one of many takes: an answer, a step.
func PerColumn(name, title, unit, per, help string) results.Column {
	c := SignificantColumn(name, title, unit, help)
	c.Per = per
	return c
}

func secondsColumn(name, title, help string) results.Column {
	return results.Column{Name: name, Title: title, Unit: "s", Digits: 3, Help: help, Better: better(name)}
}

// better says of the columns that rank models which values are the better ones.
func better(name string) results.Better {
	switch name {
	case "f1", "precision", "recall", "accuracy", "accuracy_direct", "accuracy_cot", "efficiency", "c_path":
		return results.Higher
	case "silent", "toward_target", "joules", "money", "gpu_seconds", "joules_per_correct", "money_per_correct", "gpu_seconds_per_correct",
		"joules_per_step", "money_per_step", "gpu_seconds_per_step", "tokens_per_step", "latency_ratio", "ttft_median", "ttft_p95", "latency_median", "latency_p95":
		return results.Lower
	}
	return ""
}
