package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"assay/results"
)

// Both are answered by an index: verdicts are most of a store.
const (
	judgmentCounts = `SELECT version, sum(judgments) AS judgments, sum(usable) AS usable
		FROM (SELECT version, count(*) AS judgments, sum(verdict IS NOT NULL) AS usable FROM judgment GROUP BY repeat, version) GROUP BY version`
	judgedAgain = "SELECT case_id, version FROM judgment WHERE repeat = 1"
)

// Versions is every version of every judge, with what it judged, in the order in
// which they came.
func (s *Store) Versions(ctx context.Context) ([]results.Version, error) {
	out := []results.Version{} // none is a count, too
	for v, err := range Query(ctx, s.file, "reading the judges' versions", `SELECT v.rubric, v.judge, v.digest, v.about, v.current, coalesce(j.judgments, 0), coalesce(j.usable, 0)
		FROM judge_version v LEFT JOIN (`+judgmentCounts+`) j ON j.version = v.id ORDER BY v.id`, nil, func(row func(...any) error) (results.Version, error) {
		var v results.Version
		var about *string
		err := row(&v.Rubric, &v.Judge, &v.Digest, &about, &v.Current, &v.Judgments, &v.Usable)
		if err == nil && about != nil {
			if json.Unmarshal([]byte(*about), &v.About) != nil {
				err = fmt.Errorf("%w: what judge %s was reads %.200q", results.FaultDamaged, v.Judge, *about)
			}
		}
		return v, err
	}) {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// PutVersions says what judges are now: what else the store has of the same judges
// under the same rubrics is no longer current. was is what their judgments are of
// that have no known version; those of a judge that it does not name keep none.
func (s *Store) PutVersions(ctx context.Context, now, was []results.Version) error {
	for _, v := range slices.Concat(now, was) {
		must(v.Rubric != "" && v.Judge != "" && v.Digest != "" && v.About != nil, "a judge's version without a rubric, a judge, a digest or settings")
	}
	return s.file.Put(ctx, "storing the judges' versions", true, func(t *Tx) error {
		for _, v := range was {
			if err := t.Exec("UPDATE OR IGNORE judge_version SET digest = ?, about = ? WHERE rubric = ? AND judge = ? AND digest = ''",
				string(v.Digest), marshal(v.About), v.Rubric, v.Judge); err != nil {
				return err
			}
			if err := changed(t); err != nil { // of what is counted of versions
				return err
			}
		}
		for _, v := range now {
			if err := t.Exec("UPDATE judge_version SET current = 0 WHERE rubric = ? AND judge = ? AND current = 1 AND digest <> ?", v.Rubric, v.Judge, string(v.Digest)); err != nil {
				return err
			}
			if err := changed(t); err != nil {
				return err
			}
		}
		for _, v := range now {
			if err := t.Exec(`INSERT INTO judge_version (rubric, judge, digest, about, current) VALUES (?, ?, ?, ?, 1)
				ON CONFLICT (rubric, judge, digest) DO UPDATE SET current = 1 WHERE current = 0`, v.Rubric, v.Judge, string(v.Digest), marshal(v.About)); err != nil {
				return err
			}
			if err := changed(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// versionOf is the row of a judge's version; a judge that was never declared is what
// its first judgment says.
func versionOf(t *Tx, j results.Judgment) (int64, error) {
	var id int64
	found, err := t.Scan("SELECT id FROM judge_version WHERE rubric = ? AND judge = ? AND digest = ?", []any{j.Rubric, j.Judge, string(j.By)}, &id)
	if found || err != nil {
		return id, err
	}
	_, err = t.Scan(`INSERT INTO judge_version (rubric, judge, digest, current)
		SELECT ?1, ?2, ?3, NOT EXISTS (SELECT 1 FROM judge_version WHERE rubric = ?1 AND judge = ?2 AND current = 1) RETURNING id`,
		[]any{j.Rubric, j.Judge, string(j.By)}, &id)
	return id, err
}

// PutJudgment writes a judgment, replacing an earlier one of the same key; the
// case must be stored. It is durable when it returns. It panics on a judgment that
// breaks the invariants of Judgment.
func (s *Store) PutJudgment(ctx context.Context, j results.Judgment) error {
	must(j.Case != "" && j.Rubric != "" && j.Judge != "" && j.Status != "" && j.Repeat >= 0, "a judgment without a case, a rubric, a judge or a status")
	must((j.Verdict != nil) == j.Status.Usable(), "a verdict without a usable status, or the reverse")
	must(j.Verdict == nil || json.Valid(j.Verdict), "a verdict that is not JSON")
	for _, a := range j.Attempts {
		checkAttempt(a)
	}
	traces := encodeAttempts(j.Attempts)
	return s.file.Put(ctx, "storing a judgment", true, changing(func(t *Tx) error {
		var of, id int64
		found, err := t.Scan("SELECT id FROM cases WHERE digest = ?", []any{string(j.Case)}, &of)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("a judgment is of case %s, which is not stored", j.Case)
		}
		by, err := versionOf(t, j)
		if err != nil {
			return err
		}
		if err := t.Exec("DELETE FROM judgment WHERE case_id = ? AND version = ? AND repeat = ?", of, by, j.Repeat); err != nil {
			return err
		}
		if _, err := t.Scan("INSERT INTO judgment (case_id, version, repeat, status, detail, verdict) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
			[]any{of, by, j.Repeat, string(j.Status), text(j.Detail), text(string(j.Verdict))}, &id); err != nil {
			return err
		}
		return putAttempts(t, nil, id, j.Attempts, len(j.Attempts), 0, traces)
	}))
}

// Reply is the last thing that a judge, as it is now, wrote of a trial under a rubric;
// false: it wrote nothing.
func (s *Store) Reply(ctx context.Context, trial int64, rubric, judge string) (string, bool, error) {
	var said string
	found, err := s.file.One(ctx, "reading a judge's reply", `SELECT coalesce(u.answer, '') FROM case_of o JOIN judgment j ON j.case_id = o.case_id JOIN judge_version v ON v.id = j.version
		JOIN attempt a ON a.judgment = j.id JOIN turn u ON u.attempt = a.id
		WHERE o.trial = ? AND v.rubric = ? AND v.judge = ? AND v.current = 1 AND j.repeat = 0 ORDER BY j.id DESC, a.n DESC, u.n DESC LIMIT 1`, []any{trial, rubric, judge}, &said)
	return said, found, err
}

// Costs is what a judge's requests have cost by currency, as they were priced when they
// were made (by package hosted), in all its versions.
func (s *Store) Costs(ctx context.Context, judge string) (map[string]float64, error) {
	type row struct {
		currency string
		sum      float64
	}
	out := map[string]float64{}
	for r, err := range Query(ctx, s.file, "reading what a judge has cost", `SELECT u.server_raw ->> 'currency', sum(u.server_raw ->> 'cost')
		FROM judge_version v JOIN judgment j ON j.version = v.id JOIN attempt a ON a.judgment = j.id JOIN turn u ON u.attempt = a.id
		WHERE v.judge = ? AND u.server_raw ->> 'cost' IS NOT NULL GROUP BY 1`, []any{judge},
		func(scan func(...any) error) (row, error) {
			var r row
			return r, scan(&r.currency, &r.sum)
		}) {
		if err != nil {
			return nil, err
		}
		out[r.currency] = r.sum
	}
	return out, nil
}

// Judgment finds a stored judgment with the judge's own attempts; false: there
// is none.
func (s *Store) Judgment(ctx context.Context, k results.JudgmentKey) (results.Judgment, bool, error) {
	type row struct {
		id int64
		results.Judgment
	}
	for r, err := range Query(ctx, s.file, "reading a judgment", `SELECT j.id, `+judgmentColumns+` FROM judgment j JOIN cases c ON c.id = j.case_id JOIN judge_version v ON v.id = j.version
		WHERE c.digest = ? AND v.rubric = ? AND v.judge = ? AND v.digest = ? AND j.repeat = ?`, []any{string(k.Case), k.Rubric, k.Judge, string(k.By), k.Repeat},
		func(scan func(...any) error) (row, error) {
			var r row
			return r, scanJudgment(&r.Judgment, scan, &r.id)
		}) {
		if err != nil {
			return results.Judgment{}, false, err
		}
		for p, err := range Query(ctx, s.file, "reading a judgment", "SELECT "+attemptColumns+", "+turnColumns+
			" FROM attempt a LEFT JOIN turn u ON u.attempt = a.id WHERE a.judgment = ? ORDER BY a.n, u.n", []any{r.id},
			func(scan func(...any) error) (*part, error) {
				var p part
				return &p, scan(p.dest()...)
			}) {
			if err == nil {
				r.Attempts, err = p.add(r.Attempts)
			}
			if err != nil {
				return results.Judgment{}, false, s.file.Fail("reading a judgment", err)
			}
		}
		return r.Judgment, true, nil
	}
	return results.Judgment{}, false, nil
}

const (
	judgmentColumns = "c.digest, v.rubric, v.judge, v.digest, j.repeat, j.status, j.detail, j.verdict"
	judgmentTables  = ` FROM trial t CROSS JOIN case_of o ON o.trial = t.id CROSS JOIN cases c ON c.id = o.case_id
		CROSS JOIN judgment j ON j.case_id = c.id CROSS JOIN judge_version v ON v.id = j.version`
)

func scanJudgment(j *results.Judgment, row func(...any) error, before ...any) error {
	var detail, verdict *string
	err := row(append(before, &j.Case, &j.Rubric, &j.Judge, &j.By, &j.Repeat, &j.Status, &detail, &verdict)...)
	j.Detail, j.Verdict = str(detail), raw(verdict)
	return err
}

// Judgments iterates over a study's judgments by judges as they are now, once per
// trial they belong to, in Key, rubric, judge order, without the judges' own
// Attempts.
func (s *Store) Judgments(ctx context.Context, study string) iter.Seq2[results.Judged, error] {
	names := results.Names{}
	where, args := ofStudy(study)
	return func(yield func(results.Judged, error) bool) {
		// A case that was just put may still be on its way.
		if err := s.file.Flush(ctx); err != nil {
			yield(results.Judged{}, err)
			return
		}
		Query(ctx, s.file, "reading the judgments", "SELECT "+keyColumns+", "+judgmentColumns+judgmentTables+orWhere(where)+
			" j.repeat = 0 AND v.current = 1 ORDER BY "+keyColumns+", v.rubric, v.judge, c.digest", args,
			func(row func(...any) error) (results.Judged, error) {
				var j results.Judged
				err := scanJudgment(&j.Judgment, row, keyDest(&j.Key)...)
				names.Key(&j.Key)
				j.Rubric, j.Judge, j.By = names.Of(j.Rubric), names.Of(j.Judge), results.Digest(names.Of(string(j.By)))
				return j, err
			})(yield)
	}
}

// JudgmentsOf is what was said of one trial by judges as they are now, in rubric
// and judge order, without the judges' own Attempts.
func (s *Store) JudgmentsOf(ctx context.Context, k results.Key) ([]results.Said, error) {
	return s.judgmentsOf(ctx, k, "j.repeat = 0 AND v.current = 1")
}

// PastJudgmentsOf is what else was said of one trial: by judges as they were
// before, and when they judged it again.
func (s *Store) PastJudgmentsOf(ctx context.Context, k results.Key) ([]results.Said, error) {
	return s.judgmentsOf(ctx, k, "NOT (j.repeat = 0 AND v.current = 1)")
}

func (s *Store) judgmentsOf(ctx context.Context, k results.Key, which string) ([]results.Said, error) {
	var out []results.Said
	for v, err := range Query(ctx, s.file, "reading the judgments of a trial", "SELECT c.fields, "+judgmentColumns+judgmentTables+
		" WHERE t.study = ? AND t.model = ? AND t.item = ? AND t.arm = ? AND t.condition = ? AND t.repeat = ? AND "+which+
		" ORDER BY v.rubric, v.judge, v.id, j.repeat, c.digest",
		[]any{k.Study, k.Model, k.Item, k.Arm, k.Condition, k.Repeat}, scanSaid) {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// SaidBy iterates over what a version of a judge said of each case the first time, also of cases
// that no trial has any more, without the judge's own Attempts.
func (s *Store) SaidBy(ctx context.Context, rubric, judge string, by results.Digest) iter.Seq2[results.Said, error] {
	return Query(ctx, s.file, "reading what a judge said", "SELECT c.fields, "+judgmentColumns+` FROM judge_version v CROSS JOIN judgment j ON j.version = v.id
		CROSS JOIN cases c ON c.id = j.case_id WHERE v.rubric = ? AND v.judge = ? AND v.digest = ? AND j.repeat = 0 ORDER BY c.digest`,
		[]any{rubric, judge, string(by)}, scanSaid)
}

func scanSaid(row func(...any) error) (results.Said, error) {
	var v results.Said
	var fields string
	err := scanJudgment(&v.Judgment, row, &fields)
	v.Fields = json.RawMessage(fields)
	return v, err
}

// JudgedTwice iterates over the cases of a study's trials that a judge, as it is now,
// judged a second time, in rubric, judge and case order.
func (s *Store) JudgedTwice(ctx context.Context, study string) iter.Seq2[results.Twice, error] {
	return func(yield func(results.Twice, error) bool) {
		if err := s.file.Flush(ctx); err != nil {
			yield(results.Twice{}, err)
			return
		}
		again := false
		for _, err := range Query(ctx, s.file, "looking for what was judged twice", judgedAgain+" LIMIT 1", nil, func(row func(...any) error) (n int, err error) { return n, row(&n, &n) }) {
			if err != nil {
				yield(results.Twice{}, err)
				return
			}
			again = true
		}
		if !again {
			return
		}
		Query(ctx, s.file, "reading what was judged twice", `WITH again AS MATERIALIZED (`+judgedAgain+`),
			of AS MATERIALIZED (SELECT o.case_id, min(t.item) AS item FROM trial t CROSS JOIN case_of o ON o.trial = t.id
				WHERE t.study = ? AND o.case_id IN (SELECT case_id FROM again) GROUP BY o.case_id)
			SELECT of.item, v.rubric, v.judge, a.status, a.verdict, b.status, b.verdict
			FROM again CROSS JOIN judge_version v ON v.id = again.version AND v.current = 1
			CROSS JOIN judgment a ON a.case_id = again.case_id AND a.version = again.version AND a.repeat = 0
			CROSS JOIN judgment b ON b.case_id = again.case_id AND b.version = again.version AND b.repeat = 1
			JOIN of ON of.case_id = again.case_id CROSS JOIN cases c ON c.id = again.case_id
			ORDER BY v.rubric, v.judge, c.digest`, []any{study}, func(row func(...any) error) (results.Twice, error) {
			var v results.Twice
			var first, second *string
			err := row(&v.Item, &v.Rubric, &v.Judge, &v.First.Status, &first, &v.Second.Status, &second)
			v.First.Verdict, v.Second.Verdict = raw(first), raw(second)
			return v, err
		})(yield)
	}
}
