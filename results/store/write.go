package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

// PutManifest writes or replaces the manifest.
func (s *Store) PutManifest(ctx context.Context, m results.Manifest) error {
	if m.Checksums = ""; s.file.Checksummed() {
		m.Checksums = "CRC-32C of every page"
	}
	b, err := json.Marshal(m)
	if err != nil {
		return s.file.Fail("storing the manifest", err)
	}
	var synthetic any
	if len(m.Synthetic) > 0 {
		synthetic = marshal(m.Synthetic)
	}
	return s.file.Put(ctx, "storing the manifest", true, func(t *Tx) error {
		return t.Exec(`INSERT OR REPLACE INTO run (id, name, created_ns, seed, config, config_digest, assay_version, git_revision, synthetic, manifest)
			VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, m.Name, instant(m.Created), fmt.Sprint(m.Seed), m.Config, string(m.Digest),
			m.Version, text(m.Revision), synthetic, string(b))
	})
}

// PutItems writes the facts of items; an item that is stored must be equal, but for
// facts that the assay which stored it did not know.
func (s *Store) PutItems(ctx context.Context, items []results.Item) error {
	for _, it := range items {
		must(it.Study != "" && it.ID != "", "an item without a study or an id")
		must(it.Facts == nil || json.Valid(it.Facts), "facts that are not JSON")
	}
	return s.file.Put(ctx, "storing items", true, changing(func(t *Tx) error {
		for _, it := range items {
			row := []any{it.Study, it.ID, it.Type, text(it.Task), text(it.Modality), text(string(it.Facts))}
			var same, all bool
			found, err := t.Scan(`SELECT type = ?3 AND task IS ?4 AND modality IS ?5 AND (facts IS ?6 OR coalesce(json_patch(?6, facts) = json(?6), 0)), facts IS ?6
				FROM item WHERE study = ?1 AND id = ?2`, row, &same, &all)
			if err != nil {
				return err
			}
			if found && !same {
				return fmt.Errorf("item %s of study %s is stored with other facts: the data set has changed; give another path under store: in bench.yaml", it.ID, it.Study)
			}
			if found && all {
				continue
			}
			if err := t.Exec("INSERT INTO item (study, id, type, task, modality, facts) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (study, id) DO UPDATE SET facts = excluded.facts", row...); err != nil {
				return err
			}
		}
		return nil
	}))
}

// PutTrial writes a trial, or replaces it when attempts were added: then the
// cases made of it are unlinked, since its answer may be another. When it
// returns, the trial is durable. It panics on a trial that breaks the invariants
// of Trial and Attempt.
func (s *Store) PutTrial(ctx context.Context, tr results.Trial) error {
	checkKey(tr.Key)
	last, ok := tr.Last()
	must(ok, "a trial without attempts")
	for _, a := range tr.Attempts {
		checkAttempt(a)
	}
	k, sum := tr.Key, sumOf(last)
	key := []any{k.Study, k.Model, k.Item, k.Arm, k.Condition, k.Repeat}
	columns := []any{text(string(tr.Inputs)), len(tr.Attempts), outcome(last), kind(last), sum.ttft, sum.latency, sum.decode,
		sum.promptTokens, sum.completionTokens, sum.serverTotal, flags(last.Flags)}
	columns = append(append(columns, cacheColumns(last)...), invalid(tr.Attempts), sum.firstTokens, sum.ttftAtMost, sum.latencyAtMost)
	paces := last.Paces()
	for _, d := range paces.Spans() {
		columns = append(columns, ns(*d))
	}
	columns = append(columns, paces.CachedTokens)
	traces := encodeAttempts(tr.Attempts)
	return s.file.Put(ctx, "storing a trial", true, changing(func(t *Tx) error {
		var id int64
		var attempts int
		found, err := t.Scan("SELECT id, attempts FROM trial WHERE "+whereKey, key, &id, &attempts)
		switch {
		case err != nil:
			return err
		case found && attempts > len(tr.Attempts):
			return fmt.Errorf("trial %+v is stored with %d attempts and was to be replaced by one with %d; another run has added to it", k, attempts, len(tr.Attempts))
		case found:
			err = errors.Join(t.Exec("DELETE FROM attempt WHERE trial = ?", id), t.Exec("DELETE FROM case_of WHERE trial = ?", id),
				t.Exec(`UPDATE trial SET inputs = ?, attempts = ?, outcome = ?, failure_kind = ?, ttft_ns = ?, latency_ns = ?, decode_ns = ?,
				prompt_tokens = ?, completion_tokens = ?, server_total_ns = ?, flags = ?,
				cache_policy = ?, cache_state = ?, cache_note = ?, invalid = ?,
				first_tokens = ?, ttft_at_most = ?, latency_at_most = ?, first_answer_ns = ?, gap_median_ns = ?, gap_p95_ns = ?, gap_p99_ns = ?,
				server_prompt_ns = ?, server_decode_ns = ?, cached_tokens = ? WHERE `+whereKey, append(columns[:len(columns):len(columns)], key...)...))
		default:
			if _, err := t.Scan("SELECT coalesce(max(id), 0) + 1 FROM trial", nil, &id); err != nil {
				return err
			}
			err = t.Exec("INSERT INTO trial VALUES ("+strings.Repeat("?, ", 31)+"?)",
				append(append([]any{id}, key...), columns...)...)
		}
		if err != nil {
			return err
		}
		return putAttempts(t, id, nil, tr.Attempts, attempts, s.session.Load(), traces)
	}))
}

const whereKey = "study = ? AND model = ? AND item = ? AND arm = ? AND condition = ? AND repeat = ?"

// encodeAttempts encodes the traces by attempt and turn, outside the transaction.
func encodeAttempts(attempts []results.Attempt) [][][]byte {
	out := make([][][]byte, len(attempts))
	for i, a := range attempts {
		for _, u := range a.Turns {
			out[i] = append(out[i], trace(u.Trace))
		}
	}
	return out
}

// putAttempts writes the attempts of a trial or of a judgment. Those from the
// first new one on belong to a session, unless they name their own; 0: to none.
func putAttempts(t *Tx, trial, judgment any, attempts []results.Attempt, firstNew int, session int64, traces [][][]byte) error {
	for n, a := range attempts {
		row := []any{trial, judgment, n, instant(a.Started), outcome(a), nil, nil, nil, kind(a), nil, nil, nil, flags(a.Flags), nil, nil, nil}
		if a.Session == 0 && n >= firstNew {
			a.Session = session
		}
		if a.Session != 0 {
			row[15] = a.Session
		}
		if a.Cache != nil {
			row[13] = marshal(a.Cache)
		}
		if a.Served != "" {
			var by int64
			found, err := t.Scan("SELECT id FROM served WHERE digest = ?", []any{string(a.Served)}, &by)
			if err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("an attempt was served by %s, which is not stored", a.Served)
			}
			row[14] = by
		}
		if o := a.Output; o != nil {
			// The text of the last turn is not stored twice.
			if i := len(a.Turns) - 1; i < 0 || a.Turns[i].Answer != o.Answer || a.Turns[i].Reasoning != o.Reasoning || a.Turns[i].Finish != o.Finish {
				row[5], row[6], row[7] = o.Answer, text(o.Reasoning), text(string(o.Finish))
			}
		}
		if f := a.Failure; f != nil {
			row[9], row[11] = f.Message, text(f.Partial)
			if f.Status != 0 {
				row[10] = f.Status
			}
		}
		var id int64
		if _, err := t.Scan(`INSERT INTO attempt (trial, judgment, n, started_ns, outcome, answer, reasoning, finish,
			failure_kind, failure_message, failure_status, failure_partial, flags, cache, served, session)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, row, &id); err != nil {
			return err
		}
		for m, u := range a.Turns {
			if err := t.Exec("INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				id, m, u.Answer, text(u.Reasoning), text(string(u.Finish)), text(string(u.Sent)),
				known(u.Trace.Upload()), known(u.Trace.TTFT()), known(u.Trace.Decode()), known(u.Trace.Latency()),
				u.Usage.PromptTokens, u.Usage.CompletionTokens, u.Usage.CachedTokens, u.Usage.ReasoningTokens,
				ns(u.Server.Total), ns(u.Server.Load), ns(u.Server.Prompt), ns(u.Server.Decode), ns(u.Server.Queue),
				text(string(u.Server.Raw)), traces[n][m],
				firstTokens(u), atMost(u.Trace, timing.FirstContent), atMost(u.Trace, timing.LastContent)); err != nil {
				return err
			}
		}
	}
	return nil
}

// PutCase stores a case and that it belongs to a trial, which must be stored. It
// is durable when a later PutJudgment, PutTrial or Close has returned; an error
// may come from the next call instead of this one.
func (s *Store) PutCase(ctx context.Context, k results.Key, c results.Case) error {
	checkKey(k)
	must(c.Digest != "" && c.Rubric != "" && json.Valid(c.Fields), "a case without a digest, a rubric or fields")
	return s.file.Put(ctx, "storing a case", false, changing(func(t *Tx) error {
		var trial, id int64
		found, err := t.Scan("SELECT id FROM trial WHERE "+whereKey, []any{k.Study, k.Model, k.Item, k.Arm, k.Condition, k.Repeat}, &trial)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("a case belongs to trial %+v, which is not stored", k)
		}
		if found, err = t.Scan("SELECT id FROM cases WHERE digest = ?", []any{string(c.Digest)}, &id); err != nil {
			return err
		}
		if !found {
			if _, err := t.Scan("INSERT INTO cases (digest, rubric, fields) VALUES (?, ?, ?) RETURNING id",
				[]any{string(c.Digest), c.Rubric, string(c.Fields)}, &id); err != nil {
				return err
			}
		}
		return t.Exec("INSERT OR IGNORE INTO case_of VALUES (?, ?)", trial, id)
	}))
}

func must(ok bool, what string) {
	if !ok {
		panic("store: internal error: " + what)
	}
}

func checkKey(k results.Key) {
	must(k.Study != "" && k.Model != "" && k.Item != "" && k.Arm != "" && k.Condition != "" && k.Repeat >= 0, fmt.Sprintf("an incomplete key %+v", k))
}

func checkAttempt(a results.Attempt) {
	must((a.Output == nil) != (a.Failure == nil), "an attempt must have either an output or a failure")
	must(a.Failure == nil || a.Failure.Kind != "", "a failure without a kind")
	for _, f := range a.Flags {
		must(f != "", "an empty flag")
	}
	if c := a.Cache; c != nil {
		must(c.Policy != "", "a cache state without a policy")
		must((c.State == "") == (a.Failure != nil) && c.State != backends.CacheTimed, "an answer without a cache state, or a failure with one")
		must((c.Reason != "") == (c.State == backends.CacheUnverified), "an unverified cache state without a reason, or another with one")
	}
	for _, u := range a.Turns {
		must(u.Server.Raw == nil || json.Valid(u.Server.Raw), "server timings that are not JSON")
	}
}

// sums are over the turns of an attempt; nil: a turn lacks it, or there is none.
type sums struct {
	ttft, latency, decode, serverTotal, promptTokens, completionTokens, firstTokens any
	ttftAtMost, latencyAtMost                                                       any // 1 where one turn's is
}

// firstTokens is how many tokens the first chunk of a turn holds; nil: unknown.
func firstTokens(u results.Turn) *int {
	return u.Trace.Tokens(u.Usage.CompletionTokens, u.Finish == backends.FinishStop).First
}

// atMost is whether the time at which e happened is an upper bound; nil: it did not.
func atMost(t timing.Trace, e timing.Event) *int {
	if _, ok := t.At(e); !ok {
		return nil
	}
	n := 0
	if t.AtMost(e) {
		n = 1
	}
	return &n
}

func sumOf(a results.Attempt) sums {
	add := func(of func(results.Turn) (int64, bool)) any {
		var total int64
		for _, u := range a.Turns {
			v, ok := of(u)
			if !ok {
				return nil
			}
			total += v
		}
		if len(a.Turns) == 0 {
			return nil
		}
		return total
	}
	span := func(of func(timing.Trace) (time.Duration, bool)) any {
		return add(func(u results.Turn) (int64, bool) { d, ok := of(u.Trace); return int64(d), ok })
	}
	count := func(of func(results.Turn) *int) any {
		return add(func(u results.Turn) (int64, bool) {
			if p := of(u); p != nil {
				return int64(*p), true
			}
			return 0, false
		})
	}
	bound := func(e timing.Event) any {
		n := count(func(u results.Turn) *int { return atMost(u.Trace, e) })
		if v, ok := n.(int64); ok {
			return min(v, 1)
		}
		return n
	}
	return sums{
		firstTokens: count(firstTokens), ttftAtMost: bound(timing.FirstContent), latencyAtMost: bound(timing.LastContent),
		ttft: span(timing.Trace.TTFT), latency: span(timing.Trace.Latency), decode: span(timing.Trace.Decode),
		serverTotal:      ns(a.Sum(func(u results.Turn) *time.Duration { return u.Server.Total })),
		promptTokens:     count(func(u results.Turn) *int { return u.Usage.PromptTokens }),
		completionTokens: count(func(u results.Turn) *int { return u.Usage.CompletionTokens }),
	}
}

func outcome(a results.Attempt) string {
	if a.Failure != nil {
		return "failure"
	}
	return "answer"
}

func kind(a results.Attempt) any {
	if a.Failure != nil {
		return a.Failure.Kind
	}
	return nil
}

// cacheColumns are policy, state and note of an attempt.
func cacheColumns(a results.Attempt) []any {
	c := a.Cache
	if c == nil {
		return []any{nil, nil, nil}
	}
	note := c.Reason
	if note == "" {
		note = c.Field
	}
	return []any{string(c.Policy), text(string(c.State)), text(note)}
}

// invalid is the disqualifying flags of each attempt that has any.
func invalid(attempts []results.Attempt) any {
	var all [][]results.Flag
	for _, a := range attempts {
		if f := a.Invalid(); len(f) > 0 {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return marshal(all)
}

func flags(f []results.Flag) any {
	if len(f) == 0 {
		return nil
	}
	return marshal(f)
}

// marshal is the JSON of what JSON can hold.
func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("store: internal error: " + err.Error())
	}
	return string(b)
}

// text is NULL for an empty string that means unknown or none.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func ns(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return int64(*d)
}

func known(d time.Duration, ok bool) any {
	if !ok {
		return nil
	}
	return int64(d)
}
