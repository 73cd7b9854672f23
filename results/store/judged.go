// Judged reads what scores need of trials: their rows, and beside them the answer,
// what judges said, and the energy. Of a million trials nothing is sorted or packed by
// SQLite, and little is made anew.

package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

// beside is what is read along with rows.
type beside struct{ Judgments, Answers bool }

// judgedColumns are those of a trial t that Read reads.
const judgedColumns = `t.study, t.model, t.item, t.arm, t.condition, t.repeat, t.id, t.attempts, failure_kind, ttft_ns, latency_ns, decode_ns, server_total_ns,
	prompt_tokens, completion_tokens, first_tokens, ttft_at_most, latency_at_most, t.flags, cache_policy, cache_state, cache_note, invalid,
	first_answer_ns, gap_median_ns, gap_p95_ns, gap_p99_ns, server_prompt_ns, server_decode_ns, cached_tokens`

// What lies beside trials is read in the order of their numbers, from one on.
const (
	casesFrom = `SELECT trial, case_id FROM case_of WHERE trial >= ?1 ORDER BY trial, case_id`
	// The sign keeps SQLite from seeking by the repeat, which most judgments share.
	saidFrom   = `SELECT case_id, version, status, detail, verdict FROM judgment WHERE case_id >= ?1 AND +repeat = 0 ORDER BY case_id, version`
	energyFrom = `SELECT trial, part, attempts, held_ns, devices, gross_mj, uncertainty_mj, net_mj, net_uncertainty_mj, method, ticks, low_confidence, flags, unknown, absolute_mj, net_absolute_mj
		FROM energy WHERE trial >= ?1 ORDER BY trial`
)

// reader reads rows and what lies beside them.
type reader struct {
	names               results.Names
	flags               map[string][]results.Flag // few lists are said of many trials
	by                  []judgedBy
	output              *said     // nil: not asked for
	energy, cases, said *follower // nil: not asked for, or there is none
	ranked              []ranked  // of one row
	room                []byte    // for texts, which go on with the rows
}

// judgedBy is a row of judge_version; rank is its place in rubric and judge order, from
// 1, and 0 of what a judge was before.
type judgedBy struct {
	rubric, judge string
	rank          int
}

type ranked struct {
	rank int
	results.Judgment
}

// newReader begins to read rows on a connection.
func newReader(conn *sqliteConn, more beside) (*reader, error) {
	r := &reader{names: results.Names{}, flags: map[string][]results.Flag{}}
	for _, p := range []struct {
		to    **follower
		asked bool
		query string
	}{{&r.energy, true, energyFrom}, {&r.cases, more.Judgments, casesFrom}, {&r.said, more.Judgments, saidFrom}} {
		if !p.asked {
			continue
		}
		rows, err := conn.Prepare(p.query)
		if err != nil {
			return nil, err
		}
		*p.to = &follower{sqliteStmt: rows}
	}
	if more.Answers {
		said, err := newSaid(conn, r.names)
		if err != nil {
			return nil, err
		}
		r.output = said
	}
	measured, err := conn.Prepare("SELECT 1 FROM energy LIMIT 1")
	if err != nil {
		return nil, err
	}
	if !measured.Next() {
		r.energy = nil
	}
	versions, err := conn.Prepare("SELECT id, rubric, judge, current FROM judge_version ORDER BY rubric, judge, id")
	if err != nil {
		return nil, err
	}
	for rank := 1; versions.Next(); rank++ {
		id, v := int(versions.Int(0)), judgedBy{rubric: string(versions.Bytes(1)), judge: string(versions.Bytes(2))}
		if versions.Int(3) == 1 {
			v.rank = rank
		}
		for len(r.by) <= id {
			r.by = append(r.by, judgedBy{})
		}
		r.by[id] = v
	}
	return r, cmp.Or(measured.Err(), versions.Err())
}

func (r *reader) name(row *sqliteStmt, column int) string {
	return name(r.names, row.Bytes(column))
}

// Read reads the present row of a query of Columns, and what lies beside it.
func (r *reader) Read(row *sqliteStmt) (results.JudgedRow, error) {
	v, err := r.Row(row)
	if err == nil {
		err = r.Beside(&v)
	}
	return v, err
}

// Row reads the present row of a query of Columns alone.
func (r *reader) Row(row *sqliteStmt) (v results.JudgedRow, err error) {
	v.Key = results.Key{Study: r.name(row, 0), Model: r.name(row, 1), Item: r.name(row, 2), Arm: r.name(row, 3), Condition: r.name(row, 4), Repeat: int(row.Int(5))}
	v.ID, v.Attempts = row.Int(6), int(row.Int(7))
	v.Failed, v.Kind = !row.Null(8), r.name(row, 8)
	to := new(struct { // made together
		spans  [4]time.Duration
		paces  [6]time.Duration
		counts [4]int
		bounds [2]bool
	})
	for i, d := range []**time.Duration{&v.TTFT, &v.Latency, &v.Decode, &v.ServerTotal} {
		if !row.Null(9 + i) {
			to.spans[i], *d = time.Duration(row.Int(9+i)), &to.spans[i]
		}
	}
	for i, n := range []**int{&v.PromptTokens, &v.CompletionTokens, &v.FirstTokens} {
		if !row.Null(13 + i) {
			to.counts[i], *n = int(row.Int(13+i)), &to.counts[i]
		}
	}
	for i, b := range []**bool{&v.TTFTAtMost, &v.LatencyAtMost} {
		if !row.Null(16 + i) {
			to.bounds[i], *b = row.Int(16+i) != 0, &to.bounds[i]
		}
	}
	for i, d := range v.Paces.Spans() {
		if !row.Null(23 + i) {
			to.paces[i], *d = time.Duration(row.Int(23+i)), &to.paces[i]
		}
	}
	if !row.Null(29) {
		to.counts[3], v.CachedTokens = int(row.Int(29)), &to.counts[3]
	}
	if v.Flags, err = r.listed(row.Bytes(18)); err != nil {
		return v, err
	}
	v.CachePolicy, v.CacheState, v.CacheNote = results.CachePolicy(r.name(row, 19)), backends.CacheState(r.name(row, 20)), r.name(row, 21)
	v.Invalid, err = invalids(row.Bytes(22))
	return v, err
}

// Beside reads what lies beside a row: fastest where rows come in the order of their IDs.
func (r *reader) Beside(v *results.JudgedRow) error {
	if r.energy != nil {
		if err := r.energies(v); err != nil {
			return err
		}
	}
	if r.output != nil && !v.Failed {
		var err error
		if v.Output, _, err = r.output.Of(v.ID, v.Attempts, false); err != nil {
			return err
		}
	}
	if r.said == nil {
		return nil
	}
	return r.judgments(v)
}

// listed reads a list of flags.
func (r *reader) listed(b []byte) (f []results.Flag, err error) {
	if b == nil {
		return nil, nil
	}
	f, known := r.flags[string(b)]
	if !known {
		if f, err = readFlags(b); err == nil {
			r.flags[string(b)] = f
		}
	}
	return f, err
}

func (r *reader) energies(v *results.JudgedRow) error {
	e := r.energy
	for there := e.seek(v.ID); there; there = e.next() {
		if int(e.Int(2)) != v.Attempts {
			continue // of an attempt before
		}
		u := new(results.Use)
		switch string(e.Bytes(1)) {
		case string(results.PartGPU):
			v.GPU = u
		case string(results.PartCPU):
			v.CPU = u
		}
		if !e.Null(3) {
			held := time.Duration(e.Int(3))
			u.Held = &held
		}
		if !e.Null(4) {
			n := int(e.Int(4))
			u.Devices = &n
		}
		u.Unknown, u.Method = r.name(e.sqliteStmt, 13), timing.Method(r.name(e.sqliteStmt, 9))
		if b := e.Bytes(12); b != nil {
			if err := json.Unmarshal(b, &u.Flags); err != nil {
				return fmt.Errorf("%w: flags of an energy %q", results.FaultDamaged, b)
			}
		}
		if e.Null(5) {
			if u.Unknown == "" {
				u.Unknown = "it was not stored"
			}
			continue
		}
		u.Gross, u.Uncertainty = timing.Millijoules(e.Float(5)), timing.Millijoules(e.Float(6))
		if !e.Null(7) {
			net, netU := timing.Millijoules(e.Float(7)), timing.Millijoules(e.Float(8))
			u.Net, u.NetUncertainty = &net, &netU
		}
		for i, v := range []**timing.Millijoules{&u.Absolute, &u.NetAbsolute} {
			if !e.Null(14 + i) {
				*v = new(timing.Millijoules(e.Float(14 + i)))
			}
		}
		u.Ticks, u.LowConfidence = int(e.Int(10)), e.Int(11) != 0
	}
	return e.Err()
}

func (r *reader) judgments(v *results.JudgedRow) error {
	r.ranked = r.ranked[:0]
	for there := r.cases.seek(v.ID); there; there = r.cases.next() {
		j := r.said
		for there := j.seek(r.cases.Int(1)); there; there = j.next() {
			by := int(j.Int(1))
			if by >= len(r.by) || r.by[by].rank == 0 {
				continue
			}
			said := ranked{rank: r.by[by].rank, Judgment: results.Judgment{Rubric: r.by[by].rubric, Judge: r.by[by].judge, Status: results.Status(r.name(j.sqliteStmt, 2)), Detail: string(j.Bytes(3)), Verdict: r.keep(j.Bytes(4))}}
			at := len(r.ranked)
			for at > 0 && r.ranked[at-1].rank > said.rank {
				at--
			}
			r.ranked = slices.Insert(r.ranked, at, said)
		}
		if err := j.Err(); err != nil {
			return err
		}
	}
	if len(r.ranked) > 0 {
		v.Judgments = make([]results.Judgment, len(r.ranked))
		for i, said := range r.ranked {
			v.Judgments[i] = said.Judgment
		}
	}
	return r.cases.Err()
}

// keep copies a text that a row has.
func (r *reader) keep(b []byte) []byte {
	const together = 16 << 10
	if b == nil {
		return nil
	}
	if len(b) > cap(r.room)-len(r.room) {
		r.room = make([]byte, 0, max(together, len(b)))
	}
	at := len(r.room)
	r.room = append(r.room, b...)
	return r.room[at:len(r.room):len(r.room)]
}

// name is the kept copy of a text.
func name(n results.Names, b []byte) string {
	if kept, ok := n[string(b)]; ok { // without making a string
		return kept
	}
	return n.Of(string(b))
}

// readOutcome reads what became of a trial from the columns flags and invalid.
func readOutcome(o *results.Outcome, answered bool, flags, invalid []byte) error {
	of, err := invalids(invalid)
	if err != nil {
		return err
	}
	last, err := readFlags(flags)
	o.Invalids = len(of)
	o.Invalid = answered && slices.ContainsFunc(last, results.Flag.Disqualifies)
	o.Cut = answered && slices.ContainsFunc(last, results.Flag.Cuts)
	return err
}

// readFlags reads a list of flags, as JSON.
func readFlags(s []byte) ([]results.Flag, error) {
	if s == nil {
		return nil, nil
	}
	var f []results.Flag
	if err := json.Unmarshal(s, &f); err != nil {
		return nil, fmt.Errorf("%w: flags %q", results.FaultDamaged, s)
	}
	return f, nil
}

// invalids reads the flags of attempts whose time does not count.
func invalids(s []byte) ([][]results.Flag, error) {
	if s == nil {
		return nil, nil
	}
	var f [][]results.Flag
	if err := json.Unmarshal(s, &f); err != nil {
		return nil, fmt.Errorf("%w: flags of invalid attempts %q", results.FaultDamaged, s)
	}
	return f, nil
}
