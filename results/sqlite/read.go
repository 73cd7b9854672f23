package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/file"
	"assay/results/pack"
)

// Manifest is the run's manifest; false: the store is new.
func (s *Store) Manifest(ctx context.Context) (results.Manifest, bool, error) {
	var b string
	found, err := s.file.One(ctx, "reading the manifest", "SELECT manifest FROM run", nil, &b)
	if err != nil || !found {
		return results.Manifest{}, false, err
	}
	var m results.Manifest
	if err := json.Unmarshal([]byte(b), &m); err != nil {
		return results.Manifest{}, false, s.file.Fail("reading the manifest", err)
	}
	if s.rules != "" {
		if m.Settings == nil {
			m.Settings = map[string]string{}
		}
		m.Settings["rules"] = s.rules
	}
	return m, true, nil
}

// Under has the manifest say that the run went by other rules (results.Rules), so that
// everything that is computed from now on does. Call it on a reader, before anything is read.
func (s *Store) Under(rules string) { s.rules = rules }

// Items iterates over a study's items in the order they were put.
func (s *Store) Items(ctx context.Context, study string) iter.Seq2[results.Item, error] {
	return file.Query(ctx, s.file, "reading the items", "SELECT study, id, type, coalesce(task, ''), coalesce(modality, ''), facts FROM item WHERE study = ? ORDER BY seq",
		[]any{study}, func(row func(...any) error) (results.Item, error) {
			var it results.Item
			var facts *string
			err := row(&it.Study, &it.ID, &it.Type, &it.Task, &it.Modality, &facts)
			it.Facts = raw(facts)
			return it, err
		})
}

// Answers counts the stored answers of each study.
func (s *Store) Answers(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	type row struct {
		study string
		n     int
	}
	for r, err := range file.Query(ctx, s.file, "counting the answers", "SELECT study, count(*) FROM trial WHERE outcome = 'answer' GROUP BY study", nil,
		func(scan func(...any) error) (r row, err error) { return r, scan(&r.study, &r.n) }) {
		if err != nil {
			return nil, err
		}
		out[r.study] = r.n
	}
	return out, nil
}

// Outcomes is every stored trial.
func (s *Store) Outcomes(ctx context.Context) (map[results.Key]results.Outcome, error) {
	blocks, err := s.blocks(ctx)
	out := map[results.Key]results.Outcome{}
	for _, b := range blocks {
		for o, err := range s.OutcomesOf(ctx, b[0], b[1]) {
			if err != nil {
				return nil, err
			}
			out[o.Key] = o.Outcome
		}
	}
	return out, err
}

// Models are those that have trials of a study, in Key order.
func (s *Store) Models(ctx context.Context, study string) ([]string, error) {
	var out []string
	for model := ""; ; {
		found, err := s.file.One(ctx, "listing the models", "SELECT model FROM trial WHERE study = ? AND model > ? ORDER BY model LIMIT 1", []any{study, model}, &model)
		if err != nil || !found {
			return out, err
		}
		out = append(out, model)
	}
}

// blocks is each study and model that has trials, by steps along the key; with an
// error, those up to it.
func (s *Store) blocks(ctx context.Context) ([][2]string, error) {
	var out [][2]string
	next, args := "SELECT study, model FROM trial ORDER BY study, model LIMIT 1", []any(nil)
	for {
		var b [2]string
		if found, err := s.file.One(ctx, "listing the models", next, args, &b[0], &b[1]); err != nil || !found {
			return out, err
		}
		out = append(out, b)
		next, args = "SELECT study, model FROM trial WHERE (study, model) > (?, ?) ORDER BY study, model LIMIT 1", []any{b[0], b[1]}
	}
}

// OutcomesOf iterates over the trials of a study and a model. It makes next to nothing
// anew for a row: of a million, that would be most of the memory.
func (s *Store) OutcomesOf(ctx context.Context, study, model string) iter.Seq2[results.KeyedOutcome, error] {
	names := results.Names{}
	// Few different flags are said of many trials; they are read once.
	type said struct {
		failed         bool
		flags, invalid string
	}
	const most = 1000
	read := map[said]results.Outcome{}
	var u pack.Row
	var flags, invalid *string
	dest := []any{&u.Rest, &flags, &invalid}
	text := func() string { s, _ := u.Text(); return names.Of(s) }
	number := func() int { v, _ := u.Int(); return int(v) }
	return file.Query(ctx, s.file, "reading the trials", "SELECT "+pack.Columns("t.item!, t.arm!, t.condition!, t.repeat!, attempts!, failure_kind")+
		", CASE WHEN invalid IS NOT NULL THEN flags END, invalid FROM trial t WHERE study = ? AND model = ?", []any{study, model}, func(row func(...any) error) (results.KeyedOutcome, error) {
		err := row(dest...)
		o := results.KeyedOutcome{Key: results.Key{Study: study, Model: model, Item: text(), Arm: text(), Condition: text(), Repeat: number()}}
		o.Attempts = number()
		o.Kind, o.Failed = u.Text()
		o.Kind = names.Of(o.Kind)
		if err == nil {
			err = u.Err
		}
		if err != nil || invalid == nil {
			return o, err
		}
		of := said{o.Failed, str(flags), *invalid}
		known, ok := read[of]
		if !ok {
			if err := readOutcome(&known, !o.Failed, flags, invalid); err != nil {
				return o, err
			}
			if len(read) < most {
				read[of] = known
			}
		}
		o.Invalids, o.Invalid, o.Cut = known.Invalids, known.Invalid, known.Cut
		return o, nil
	})
}

// readOutcome reads the columns flags and invalid.
func readOutcome(o *results.Outcome, answered bool, flags, invalid *string) error {
	of, err := readInvalid(invalid)
	if err != nil {
		return err
	}
	last, err := readFlags(flags)
	o.Invalids = len(of)
	o.Invalid = answered && slices.ContainsFunc(last, results.Flag.Disqualifies)
	o.Cut = answered && slices.ContainsFunc(last, results.Flag.Cuts)
	return err
}

const (
	keyColumns = "t.study, t.model, t.item, t.arm, t.condition, t.repeat"
	packedKey  = "t.study!, t.model!, t.item!, t.arm!, t.condition!, t.repeat!"
	// The order in which the planner is to join is the order of the tables.
	trialTables = ` FROM trial t CROSS JOIN attempt a ON a.trial = t.id LEFT JOIN turn u ON u.attempt = a.id`
)

func keyDest(k *results.Key) []any {
	return []any{&k.Study, &k.Model, &k.Item, &k.Arm, &k.Condition, &k.Repeat}
}

// keyIn is the columns of keyColumns.
func keyIn(u *pack.Row, n results.Names) results.Key {
	next := func() string { s, _ := u.Text(); return n.Of(s) }
	k := results.Key{Study: next(), Model: next(), Item: next(), Arm: next(), Condition: next()}
	repeat, _ := u.Int()
	k.Repeat = int(repeat)
	return k
}

// Trial reads one whole trial; false: there is none.
func (s *Store) Trial(ctx context.Context, k results.Key) (results.Trial, bool, error) {
	for t, err := range s.trials(ctx, " WHERE t.study = ? AND t.model = ? AND t.item = ? AND t.arm = ? AND t.condition = ? AND t.repeat = ?",
		k.Study, k.Model, k.Item, k.Arm, k.Condition, k.Repeat) {
		return t, err == nil, err
	}
	return results.Trial{}, false, nil
}

// Trials iterates over the trials of a study ("" = all) in Key order.
func (s *Store) Trials(ctx context.Context, study string) iter.Seq2[results.Trial, error] {
	where, args := ofStudy(study)
	return s.trials(ctx, where, args...)
}

func ofStudy(study string) (where string, args []any) { return of(study, "") }

// of is a condition on trials t; "" is any study or model.
func of(study, model string) (where string, args []any) {
	if study != "" {
		where, args = " WHERE t.study = ?", []any{study}
	}
	if model != "" {
		where, args = orWhere(where)+" t.model = ?", append(args, model)
	}
	return where, args
}

// attemptColumns and turnColumns are read by part.dest.
const (
	attemptColumns = `a.n, a.started_ns, a.answer, a.reasoning, a.finish, a.failure_kind, a.failure_message, a.failure_status, a.failure_partial, a.flags, a.cache, a.session,
		(SELECT digest FROM served WHERE id = a.served)`
	turnColumns = `u.n, u.answer, u.reasoning, u.finish, u.sent, u.prompt_tokens, u.completion_tokens, u.cached_tokens, u.reasoning_tokens,
		u.server_total_ns, u.server_load_ns, u.server_prompt_ns, u.server_decode_ns, u.server_queue_ns, u.server_raw, u.trace`
)

// part is one attempt with one of its turns; turn nil: it has none.
type part struct {
	n                                                int
	started, session                                 *int64
	answer, reasoning, finish, kind, message, flags  *string
	cache, served                                    *string
	partial                                          *string
	status                                           *int
	turn                                             *int
	turnAnswer, turnReasoning, turnFinish, sent, raw *string
	usage                                            backends.Usage
	server                                           backends.Timings
	trace                                            []byte
}

func (p *part) dest() []any {
	return []any{&p.n, &p.started, &p.answer, &p.reasoning, &p.finish, &p.kind, &p.message, &p.status, &p.partial, &p.flags, &p.cache, &p.session, &p.served,
		&p.turn, &p.turnAnswer, &p.turnReasoning, &p.turnFinish, &p.sent,
		&p.usage.PromptTokens, &p.usage.CompletionTokens, &p.usage.CachedTokens, &p.usage.ReasoningTokens,
		&p.server.Total, &p.server.Load, &p.server.Prompt, &p.server.Decode, &p.server.Queue, &p.raw, &p.trace}
}

// add appends the part to the attempts that it continues.
func (p *part) add(to []results.Attempt) ([]results.Attempt, error) {
	if p.n == len(to) {
		a := results.Attempt{Served: results.Digest(str(p.served))}
		var err error
		if a.Flags, err = readFlags(p.flags); err != nil {
			return nil, err
		}
		if p.cache != nil {
			if err := json.Unmarshal([]byte(*p.cache), &a.Cache); err != nil {
				return nil, fmt.Errorf("%w: cache state %.200q", results.FaultDamaged, *p.cache)
			}
		}
		if p.started != nil {
			a.Started = time.Unix(0, *p.started).UTC()
		}
		if p.session != nil {
			a.Session = *p.session
		}
		if p.kind != nil {
			a.Failure = &results.Failure{Kind: *p.kind, Message: str(p.message), Partial: str(p.partial)}
			if p.status != nil {
				a.Failure.Status = *p.status
			}
		} else {
			a.Output = &results.Output{Answer: str(p.answer), Reasoning: str(p.reasoning), Finish: backends.Finish(str(p.finish))}
		}
		to = append(to, a)
	}
	if p.turn == nil {
		return to, nil
	}
	a := &to[len(to)-1]
	u := results.Turn{Usage: p.usage, Server: p.server, Sent: results.Digest(str(p.sent)), Answer: str(p.turnAnswer), Reasoning: str(p.turnReasoning), Finish: backends.Finish(str(p.turnFinish))}
	u.Server.Raw = raw(p.raw)
	var err error
	if u.Trace, err = pack.ReadTrace(p.trace); err != nil {
		return nil, err
	}
	a.Turns = append(a.Turns, u)
	if a.Output != nil && p.answer == nil {
		*a.Output = results.Output{Answer: u.Answer, Reasoning: u.Reasoning, Finish: u.Finish}
	}
	return to, nil
}

func (s *Store) trials(ctx context.Context, where string, args ...any) iter.Seq2[results.Trial, error] {
	type row struct {
		key    results.Key
		inputs *string
		part   part
	}
	return func(yield func(results.Trial, error) bool) {
		var t results.Trial
		for r, err := range file.Query(ctx, s.file, "reading the trials", "SELECT "+keyColumns+", t.inputs, "+attemptColumns+", "+turnColumns+trialTables+where+
			" ORDER BY "+keyColumns+", a.n, u.n", args, func(scan func(...any) error) (*row, error) {
			var r row
			return &r, scan(append(append(keyDest(&r.key), &r.inputs), r.part.dest()...)...)
		}) {
			if err != nil {
				yield(results.Trial{}, err)
				return
			}
			if r.key != t.Key {
				if len(t.Attempts) > 0 && !yield(t, nil) {
					return
				}
				t = results.Trial{Key: r.key, Inputs: results.Digest(str(r.inputs))}
			}
			if t.Attempts, err = r.part.add(t.Attempts); err != nil {
				yield(results.Trial{}, s.file.Fail(fmt.Sprintf("reading trial %+v", t.Key), err))
				return
			}
		}
		if len(t.Attempts) > 0 {
			yield(t, nil)
		}
	}
}

// Rows iterates over the trials of a study ("" = all) in Key order, without
// texts and traces.
func (s *Store) Rows(ctx context.Context, study string) iter.Seq2[results.Row, error] {
	return func(yield func(results.Row, error) bool) {
		for r, err := range s.rows(ctx, study, "", beside{}) {
			if !yield(r.Row, err) {
				return
			}
		}
	}
}

// beside is what is read along with rows: a column, which take reads.
type beside struct {
	column string
	take   func(*results.JudgedRow, []byte) error
}

// rows reads rows, with their ids where more is read along.
func (s *Store) rows(ctx context.Context, study, model string, more beside) iter.Seq2[results.JudgedRow, error] {
	names := results.Names{}
	where, args := of(study, model)
	columns, tables := "", ""
	var measured bool
	if _, err := s.file.One(ctx, "reading the energies", "SELECT EXISTS (SELECT 1 FROM energy)", nil, &measured); err != nil {
		return func(yield func(results.JudgedRow, error) bool) { yield(results.JudgedRow{}, err) }
	}
	if more.column != "" {
		columns = ", t.id, " + more.column
	}
	if measured {
		columns += ", " + useOf("g") + ", " + useOf("c")
		tables = ` LEFT JOIN energy g ON g.trial = t.id AND g.part = 'gpu' AND g.attempts = t.attempts
			LEFT JOIN energy c ON c.trial = t.id AND c.part = 'cpu' AND c.attempts = t.attempts`
	}
	var packed string
	var id int64
	var column sql.RawBytes
	var gpu, cpu use
	dest := []any{&packed}
	if more.take != nil {
		dest = append(dest, &id, &column)
	}
	if measured {
		dest = append(append(dest, gpu.dest()...), cpu.dest()...)
	}
	known := map[string][]results.Flag{} // few lists are said of many trials
	return file.Query(ctx, s.file, "reading the trials", "SELECT "+pack.Columns(packedKey+`, t.attempts!, failure_kind, ttft_ns, latency_ns, decode_ns, server_total_ns,
		prompt_tokens, completion_tokens, t.flags, cache_policy, cache_state, cache_note, invalid, first_tokens, ttft_at_most, latency_at_most,
		first_answer_ns, gap_median_ns, gap_p95_ns, gap_p99_ns, server_prompt_ns, server_decode_ns, cached_tokens`)+columns+` FROM trial t`+tables+where+" ORDER BY "+keyColumns, args, func(row func(...any) error) (results.JudgedRow, error) {
		var r results.JudgedRow
		gpu, cpu = use{}, use{}
		if err := row(dest...); err != nil {
			return r, err
		}
		r.ID = id
		u := pack.Row{Rest: packed}
		r.Key = keyIn(&u, names)
		attempts, _ := u.Int()
		kind, failed := u.Text()
		r.Attempts, r.Failed, r.Kind = int(attempts), failed, names.Of(kind)
		r.TTFT, r.Latency, r.Decode, r.ServerTotal = pack.Number[time.Duration](&u), pack.Number[time.Duration](&u), pack.Number[time.Duration](&u), pack.Number[time.Duration](&u)
		r.PromptTokens, r.CompletionTokens = pack.Number[int](&u), pack.Number[int](&u)
		flags, policy, state, note, invalid := pack.Text(&u), pack.Text(&u), pack.Text(&u), pack.Text(&u), pack.Text(&u)
		r.FirstTokens, r.TTFTAtMost, r.LatencyAtMost = pack.Number[int](&u), pack.Bool(&u), pack.Bool(&u)
		for _, d := range r.Paces.Spans() {
			*d = pack.Number[time.Duration](&u)
		}
		r.CachedTokens = pack.Number[int](&u)
		r.CachePolicy, r.CacheState, r.CacheNote = results.CachePolicy(names.Of(str(policy))), backends.CacheState(names.Of(str(state))), names.Of(str(note))
		err := u.Err
		if flags != nil && err == nil {
			var ok bool
			if r.Flags, ok = known[*flags]; !ok {
				r.Flags, err = readFlags(flags)
				known[strings.Clone(*flags)] = r.Flags
			}
		}
		if err == nil {
			r.Invalid, err = readInvalid(invalid)
		}
		if err == nil {
			r.GPU, err = gpu.value()
		}
		if err == nil {
			r.CPU, err = cpu.value()
		}
		if err == nil && more.take != nil {
			err = more.take(&r, column)
		}
		return r, err
	})
}

// Outputs iterates over the answers of a study ("" = all) in Key order, without
// traces and without the trials that failed.
func (s *Store) Outputs(ctx context.Context, study string) iter.Seq2[results.Answered, error] {
	where, args := ofStudy(study)
	return file.Query(ctx, s.file, "reading the answers", "SELECT "+keyColumns+`, a.answer, a.reasoning, a.finish, u.answer, u.reasoning, u.finish`+trialTables+
		` AND u.n = (SELECT max(n) FROM turn WHERE attempt = a.id)`+orWhere(where)+` a.n = t.attempts - 1 AND t.outcome = 'answer' ORDER BY `+keyColumns, args,
		func(row func(...any) error) (results.Answered, error) {
			var v results.Answered
			var own, last [3]*string
			err := row(append(keyDest(&v.Key), &own[0], &own[1], &own[2], &last[0], &last[1], &last[2])...)
			if own[0] == nil {
				own = last
			}
			v.Output = results.Output{Answer: str(own[0]), Reasoning: str(own[1]), Finish: backends.Finish(str(own[2]))}
			return v, err
		})
}

func orWhere(where string) string {
	if where == "" {
		return " WHERE"
	}
	return where + " AND"
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func raw(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}

// readFlags reads what flags wrote.
func readFlags(s *string) ([]results.Flag, error) {
	if s == nil {
		return nil, nil
	}
	var f []results.Flag
	if err := json.Unmarshal([]byte(*s), &f); err != nil {
		return nil, fmt.Errorf("%w: flags %q", results.FaultDamaged, *s)
	}
	return f, nil
}

// readInvalid reads what invalid wrote.
func readInvalid(s *string) ([][]results.Flag, error) {
	if s == nil {
		return nil, nil
	}
	var f [][]results.Flag
	if err := json.Unmarshal([]byte(*s), &f); err != nil {
		return nil, fmt.Errorf("%w: flags of invalid attempts %q", results.FaultDamaged, *s)
	}
	return f, nil
}
