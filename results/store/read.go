package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"assay/backends"
	"assay/results"
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
	maps.DeleteFunc(m.Models, func(model string, _ backends.Identity) bool { return !s.Shows(model) })
	return m, true, nil
}

// Under has the manifest say that the run went by other rules (results.Rules), so that
// everything that is computed from now on does. Call it on a reader, before anything is read.
func (s *Store) Under(rules string) { s.rules = rules }

// Only leaves every other model out of the manifest, the blocks and what Shows tells;
// nil: none. Call it on a reader, before anything is read.
func (s *Store) Only(models []string) { s.models = models }

// Shows says whether a model is not left out.
func (s *Store) Shows(model string) bool {
	return len(s.models) == 0 || slices.Contains(s.models, model)
}

// Items iterates over a study's items in the order they were put.
func (s *Store) Items(ctx context.Context, study string) iter.Seq2[results.Item, error] {
	return Query(ctx, s.file, "reading the items", "SELECT study, id, type, coalesce(task, ''), coalesce(modality, ''), facts FROM item WHERE study = ? ORDER BY seq",
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
	for r, err := range Query(ctx, s.file, "counting the answers", "SELECT study, count(*) FROM trial WHERE outcome = 'answer' GROUP BY study", nil,
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

const (
	keyColumns = "t.study, t.model, t.item, t.arm, t.condition, t.repeat"
	// The order in which the planner is to join is the order of the tables.
	trialTables = ` FROM trial t CROSS JOIN attempt a ON a.trial = t.id LEFT JOIN turn u ON u.attempt = a.id`
)

func keyDest(k *results.Key) []any {
	return []any{&k.Study, &k.Model, &k.Item, &k.Arm, &k.Condition, &k.Repeat}
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

func ofStudy(study string) (where string, args []any) {
	if study != "" {
		where, args = " WHERE t.study = ?", []any{study}
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
	if p.n != len(to) && p.n != len(to)-1 {
		return nil, fmt.Errorf("%w: attempt %d is missing", results.FaultDamaged, len(to))
	}
	if p.n == len(to) {
		a := results.Attempt{Served: results.Digest(str(p.served))}
		var err error
		if a.Flags, err = readFlags(raw(p.flags)); err != nil {
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
	if u.Trace, err = readTrace(p.trace); err != nil {
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
		for r, err := range Query(ctx, s.file, "reading the trials", "SELECT "+keyColumns+", t.inputs, "+attemptColumns+", "+turnColumns+trialTables+where+
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

// Outputs iterates over the answers of a study ("" = all) in Key order, without
// traces and without the trials that failed.
func (s *Store) Outputs(ctx context.Context, study string) iter.Seq2[results.Answered, error] {
	return func(yield func(results.Answered, error) bool) {
		for e, err := range s.Ended(ctx, study) {
			if (err != nil || !e.Failed) && !yield(e.Answered, err) {
				return
			}
		}
	}
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
