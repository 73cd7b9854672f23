package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/results"
)

// judgedCase stores a trial with a case, which it returns.
func judgedCase(t *testing.T, s *Store, item string) results.Case {
	t.Helper()
	c := results.Case{Digest: results.DigestOf([]byte(item)), Rubric: "accuracy", Fields: json.RawMessage(`{"answer":"left"}`)}
	if err := s.PutTrial(bg, answered(key(item), "left", time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := s.PutCase(bg, key(item), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// What a judge said before it was mended stays, and tables are made of what it says now.
func TestAJudgesVersionsStandBesideEachOther(t *testing.T) {
	s := openStore(t)
	c := judgedCase(t, s, "1")
	before := results.VersionOf("accuracy", "j", map[string]string{"prompt": "a"})
	after := results.VersionOf("accuracy", "j", map[string]string{"prompt": "b"})
	other := results.VersionOf("accuracy", "other", map[string]string{"kind": "lexical"})
	said := func(v results.Version, repeat int, verdict string) results.Judgment {
		return results.Judgment{Case: c.Digest, Rubric: v.Rubric, Judge: v.Judge, By: v.Digest, Repeat: repeat, Status: results.StatusClean, Verdict: json.RawMessage(`{"verdict":"` + verdict + `"}`)}
	}
	put := func(js ...results.Judgment) {
		t.Helper()
		for _, j := range js {
			if err := s.PutJudgment(bg, j); err != nil {
				t.Fatal(err)
			}
		}
	}
	declare := func(now ...results.Version) {
		t.Helper()
		if err := s.PutVersions(bg, now, nil); err != nil {
			t.Fatal(err)
		}
	}
	// check compares every way to read with what is to be current, and what is not.
	check := func(when string, now, past []results.Judgment) {
		t.Helper()
		var rows, all, of, old []results.Judgment
		for _, r := range collect(t, s.JudgedRows(bg, "cot", false)) {
			rows = append(rows, r.Judgments...)
		}
		for _, j := range collect(t, s.Judgments(bg, "cot")) {
			all = append(all, j.Judgment)
		}
		one, err := s.JudgmentsOf(bg, key("1"))
		two, err2 := s.PastJudgmentsOf(bg, key("1"))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, v := range one {
			of = append(of, v.Judgment)
		}
		for _, v := range two {
			old = append(old, v.Judgment)
		}
		var brief []results.Judgment
		for _, j := range now {
			brief = append(brief, results.Judgment{Rubric: j.Rubric, Judge: j.Judge, Status: j.Status, Verdict: j.Verdict})
		}
		if !reflect.DeepEqual(rows, brief) || !reflect.DeepEqual(all, now) || !reflect.DeepEqual(of, now) || !reflect.DeepEqual(old, past) {
			t.Errorf("%s: rows %+v\nall %+v\nof one %+v, past %+v\nwant %+v, past %+v", when, rows, all, of, old, now, past)
		}
	}
	declare(before, other)
	a, b, again := said(before, 0, "correct"), said(after, 0, "incorrect"), said(after, 1, "correct")
	lex := said(other, 0, "correct")
	put(a, lex)
	check("before", []results.Judgment{a, lex}, nil)
	declare(after, other)
	check("mended", []results.Judgment{lex}, []results.Judgment{a})
	put(b, again)
	check("judged anew, and again", []results.Judgment{b, lex}, []results.Judgment{a, again})
	if got := plain(t, s, "SELECT judge, accuracy_percent FROM v_accuracy ORDER BY judge"); got != "j|0\nother|100" {
		t.Errorf("v_accuracy: %q", got)
	}
	if got := plain(t, s, "SELECT count(*), sum(current), sum(judged_again) FROM v_judgments_by_version"); got != "4|3|1" {
		t.Errorf("v_judgments_by_version: %q", got)
	}
	before.Judgments, before.Usable = 1, 1
	after.Judgments, after.Usable, after.Current = 2, 2, true
	other.Judgments, other.Usable, other.Current = 1, 1, true
	if got, err := s.Versions(bg); err != nil || !reflect.DeepEqual(got, []results.Version{before, other, after}) {
		t.Errorf("%+v %v", got, err)
	}
	declare(before)
	check("the mend taken back", []results.Judgment{a, lex}, []results.Judgment{b, again})
	for _, j := range []results.Judgment{a, b, again, lex} {
		if got, ok, err := s.Judgment(bg, j.Key()); err != nil || !ok || !reflect.DeepEqual(got, j) {
			t.Errorf("%+v: %+v %v %v", j, got, ok, err)
		}
	}
	// What a version said stays when the trial has another answer and no case any more.
	more := answered(key("1"), "left", time.Second)
	more.Attempts = append(more.Attempts, more.Attempts[0])
	if err := s.PutTrial(bg, more); err != nil {
		t.Fatal(err)
	}
	check("another answer", nil, nil)
	if got := collect(t, s.SaidBy(bg, "accuracy", "j", after.Digest)); len(got) != 1 || !reflect.DeepEqual(got[0], results.Said{Judgment: b, Fields: c.Fields}) {
		t.Errorf("%+v", got)
	}
}

// A store of an older assay has judgments of judges of which it does not say what
// they were. They stay with all that belongs to them, count, and can be told later;
// the older file stays beside it.
func TestJudgmentsOfAnOlderStore(t *testing.T) {
	for old := 1; old < len(schema()); old++ {
		if old >= remade {
			continue
		}
		path := filepath.Join(t.TempDir(), "run.sqlite")
		oldStore(t, path, old)
		asked := answered(key("1"), "{}", time.Second).Attempts[0]
		db := openSqlite(path)
		for _, q := range []struct {
			sql  string
			args []any
		}{
			{"INSERT INTO cases VALUES (5, 'sha256:c', 'accuracy', '{}')", nil},
			{"INSERT INTO case_of VALUES (7, 5)", nil},
			{"INSERT INTO judgment VALUES (9, 5, 'accuracy', 'j', 'clean', NULL, '{\"verdict\":\"correct\"}')", nil},
			{"INSERT INTO attempt (id, judgment, n, started_ns, outcome) VALUES (4, 9, 0, ?, 'answer')", []any{asked.Started.UnixNano()}},
			{"INSERT INTO turn (attempt, n, answer, finish, prompt_tokens, completion_tokens, trace) VALUES (4, 0, '{}', 'stop', 100, 11, ?)", []any{trace(asked.Turns[0].Trace)}},
		} {
			if _, err := db.Exec(q.sql, q.args...); err != nil {
				t.Fatalf("%s: %v", q.sql, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(bg, path)
		if err != nil {
			t.Fatal(err)
		}
		var version, judgments int
		kept := openSqlite(path + ".schema-" + fmt.Sprint(old))
		if err := kept.QueryRow("SELECT user_version, (SELECT count(*) FROM judgment WHERE rubric = 'accuracy') FROM pragma_user_version").Scan(&version, &judgments); err != nil || version != old || judgments != 1 {
			t.Errorf("schema %d: the copy is of schema %d with %d judgments: %v", old, version, judgments, err)
		}
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
		want := results.Judgment{Case: "sha256:c", Rubric: "accuracy", Judge: "j", Status: results.StatusClean, Verdict: json.RawMessage(`{"verdict":"correct"}`), Attempts: []results.Attempt{asked}}
		if got, ok, err := s.Judgment(bg, want.Key()); err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("schema %d: %+v %v %v\nwant %+v", old, got, ok, err, want)
		}
		if rows := collect(t, s.JudgedRows(bg, "", false)); len(rows) != 1 || len(rows[0].Judgments) != 1 {
			t.Errorf("schema %d: %+v", old, rows)
		}
		was := results.VersionOf("accuracy", "j", map[string]string{"prompt": "a"})
		if err := s.PutVersions(bg, []results.Version{results.VersionOf("accuracy", "j", map[string]string{"prompt": "b"})}, []results.Version{was}); err != nil {
			t.Fatal(err)
		}
		want.By = was.Digest
		if got, ok, err := s.Judgment(bg, want.Key()); err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("schema %d, told: %+v %v %v", old, got, ok, err)
		}
		if rows := collect(t, s.JudgedRows(bg, "", false)); len(rows) != 1 || len(rows[0].Judgments) != 0 {
			t.Errorf("schema %d: of the former version: %+v", old, rows)
		}
		// What refers to a judgment still goes with it.
		if err := s.file.Put(bg, "forgetting the judgments", true, func(t *Tx) error { return t.Exec("DELETE FROM judgment") }); err != nil {
			t.Fatal(err)
		}
		if got := plain(t, s, "SELECT count(*) FROM attempt WHERE judgment IS NOT NULL"); got != "0" {
			t.Errorf("schema %d: %s attempts of no judgment", old, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is asked of all judgments is answered by an index: their verdicts are most of a
// store.
func TestJudgmentsAreCountedWithoutTheirVerdicts(t *testing.T) {
	s := openStore(t)
	for query, want := range map[string]string{judgmentCounts: "USING COVERING INDEX judgment_counts", judgedAgain: "USING INDEX judgment_counts (repeat=?)"} {
		plan := ""
		for line, err := range Query(bg, s.file, "explaining", "EXPLAIN QUERY PLAN "+query, nil, func(row func(...any) error) (line string, err error) {
			var a, b, c int
			return line, row(&a, &b, &c, &line)
		}) {
			if err != nil {
				t.Fatal(err)
			}
			plan += line + "\n"
		}
		if !strings.Contains(plan, want) {
			t.Errorf("%s:\n%s", query, plan)
		}
	}
}
