package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

// repairMade is a closed store with trials of two attempts and two turns, judged.
func repairMade(t *testing.T, trials int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.sqlite")
	ctx := context.Background()
	s, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutManifest(ctx, results.Manifest{Name: "made"}); err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		k := results.Key{Study: "cot", Model: fmt.Sprint("m", i%3), Item: fmt.Sprint(i), Arm: "cot", Condition: "baseline"}
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		rec.Chunks([]timing.Chunk{{At: 2 * time.Second, Runes: 4, Answer: true}}, timing.StampsKernel)
		text := strings.Repeat("word ", 20+i*7%300)
		turn := results.Turn{Trace: rec.Trace(), Answer: text, Finish: backends.FinishStop}
		at := time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		tr := results.Trial{Key: k, Attempts: []results.Attempt{
			{Started: at, Failure: &results.Failure{Kind: "stalled", Message: "no"}},
			{Started: at, Turns: []results.Turn{{Answer: "first", Finish: backends.FinishStop}, turn}, Output: &results.Output{Answer: text, Finish: backends.FinishStop}}}}
		c := results.Case{Digest: results.DigestOf(fmt.Append(nil, i)), Rubric: "accuracy", Fields: []byte(`{}`)}
		if err := errors.Join(s.PutTrial(ctx, tr), s.PutCase(ctx, k, c), s.PutJudgment(ctx, results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "lexical",
			Status: results.StatusClean, Verdict: []byte(`{"verdict":"correct"}`)})); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// trials are all trials of a store by key, with its judged rows.
func trials(t *testing.T, path string) (map[results.Key]results.Trial, map[results.Key]results.JudgedRow) {
	t.Helper()
	s, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, rows := map[results.Key]results.Trial{}, map[results.Key]results.JudgedRow{}
	for tr, err := range s.Trials(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		out[tr.Key] = tr
	}
	for r, err := range s.JudgedRows(t.Context(), "", false) {
		if err != nil {
			t.Fatal(err)
		}
		rows[r.Key] = r
	}
	return out, rows
}

func TestAWholeStoreIsWhole(t *testing.T) {
	path := repairMade(t, 60)
	got, err := Check(t.Context(), path)
	if err != nil || !got.Whole || !got.Checksums || got.Trials != 60 || got.Judgments != 60 || got.Pages < 20 || len(got.Problems) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	to := filepath.Join(t.TempDir(), "copy.sqlite")
	saved, err := Salvage(t.Context(), path, to)
	if err != nil || saved.Lost() || !saved.Checksums {
		t.Fatalf("%+v, %v", saved, err)
	}
	a, ra := trials(t, path)
	b, rb := trials(t, to)
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(ra, rb) {
		t.Error("the copy is not equal")
	}
	if _, err := Salvage(t.Context(), path, to); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over a file: %v", err)
	}
	if _, err := Check(t.Context(), to+"none"); !errors.Is(err, results.FaultMissing) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Salvage(t.Context(), filepath.Dir(path), to+"2"); !errors.Is(err, results.FaultForeign) {
		t.Errorf("a folder: %v", err)
	}
}

// TestSalvageSavesWhatIsWhole: of stores with damaged pages every trial that is saved
// is the one that was stored, what is lost is said, and most is saved.
func TestSalvageSavesWhatIsWhole(t *testing.T) {
	path := repairMade(t, 120)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, wantRows := trials(t, path)
	rng := rand.New(rand.NewPCG(3, 4))
	pages := len(good) / pageSize
	kept, most := 0, 0
	for round := range 8 {
		b := bytes.Clone(good)
		var hit []int64
		for range 1 + rng.IntN(3) {
			p := 1 + rng.IntN(pages-1) // not the first, without which nothing is found
			b[p*pageSize+rng.IntN(pageSize)] ^= 0x10
			if n := int64(p + 1); !slices.Contains(hit, n) {
				hit = append(hit, n)
			}
		}
		slices.Sort(hit)
		bad, to := filepath.Join(t.TempDir(), "bad.sqlite"), filepath.Join(t.TempDir(), "saved.sqlite")
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		checked, err := Check(t.Context(), bad)
		if err != nil || checked.Whole || !slices.Equal(checked.BadPages, hit) {
			t.Errorf("round %d: pages %v are damaged: %+v, %v", round, hit, checked, err)
		}
		saved, err := Salvage(t.Context(), bad, to)
		if err != nil {
			if _, left := os.Stat(to); !errors.Is(err, results.FaultDamaged) || !strings.Contains(err.Error(), "where its tables are") || left == nil {
				t.Errorf("round %d: %v", round, err)
			}
			most += len(want)
			continue
		}
		got, rows := trials(t, to)
		for k, tr := range got {
			if !reflect.DeepEqual(tr, want[k]) {
				t.Errorf("round %d: trial %v was changed", round, k)
			}
			r := wantRows[k]
			if len(rows[k].Judgments) == 0 {
				r.Judgments = nil
			}
			if !reflect.DeepEqual(rows[k], r) {
				t.Errorf("round %d: row %v was changed: %+v, want %+v", round, k, rows[k], r)
			}
		}
		if len(got) < len(want) && !saved.Lost() {
			t.Errorf("round %d: %d of %d trials, and nothing said: %+v", round, len(got), len(want), saved)
		}
		if c, err := Check(t.Context(), to); err != nil || !c.Whole && len(got) > 0 && c.Problems[0] != "it has no manifest: no run has begun in it" {
			t.Errorf("round %d: the new store: %+v, %v", round, c, err)
		}
		if now, err := os.ReadFile(bad); err != nil || !bytes.Equal(now, b) {
			t.Errorf("round %d: the damaged store was changed", round)
		}
		kept += len(got)
		most += len(want)
	}
	if kept*2 < most {
		t.Errorf("%d of %d trials saved", kept, most)
	}
	t.Logf("%d of %d trials saved", kept, most)
}

// TestSalvageSaysWhatItDropped: judgments whose case is gone are left out and counted, and that is a loss.
func TestSalvageSaysWhatItDropped(t *testing.T) {
	path := repairMade(t, 60)
	db, err := sql.Open("sqlite3", "file:"+path+"?"+VFS()+"&_pragma=foreign_keys(0)")
	if err != nil {
		t.Fatal(err)
	}
	var all, gone int64
	if err := db.QueryRowContext(t.Context(), "SELECT count(*), sum(case_id = (SELECT min(case_id) FROM judgment)) FROM judgment").Scan(&all, &gone); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM cases WHERE id = (SELECT min(case_id) FROM judgment)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	saved, err := Salvage(t.Context(), path, filepath.Join(t.TempDir(), "saved.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range saved.Tables {
		if tab.Name == "judgment" && (tab.Rows != all-gone || tab.Dropped != gone || tab.Unreadable != 0) {
			t.Errorf("%d judgments, %d of a case that is gone: %+v", all, gone, tab)
		}
	}
	if gone == 0 || !saved.Lost() {
		t.Errorf("%d judgments dropped, and lost: %v", gone, saved.Lost())
	}
}

// TestSalvageOfAnOlderStoreLeavesItsScores: they are made anew of what is saved, also
// where their table had another name.
func TestSalvageOfAnOlderStoreLeavesItsScores(t *testing.T) {
	ctx, from := t.Context(), filepath.Join(t.TempDir(), "old.sqlite")
	to := from + ".saved"
	if err := newBlank(ctx, from, 15); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+from+"?"+VFS())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO score_chunk VALUES ('cot', 'm', 0, x'00')"); err != nil {
		t.Fatal(err)
	}
	if _, err := Salvage(ctx, from, to); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	saved, err := sql.Open("sqlite3", "file:"+to+"?"+VFS())
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	var left int
	if err := saved.QueryRowContext(ctx, "SELECT count(*) FROM score_bundle").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d bundles of scores were saved, %v", left, err)
	}
}

// TestASecondNameIsNotDamaged: a run was killed, its log lies beside its store's first name. Under
// a hard link nothing can be said of the store, least of all that it is damaged.
func TestASecondNameIsNotDamaged(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "run.sqlite")
	running := repairMade(t, 3)
	st, err := Open(t.Context(), running)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.PutManifest(t.Context(), results.Manifest{Name: "made"}); err != nil {
		t.Fatal(err)
	}
	// As kill -9 leaves it: marked as written to, with a log.
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(running + end)
		if err == nil {
			err = os.WriteFile(left+end, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	second := filepath.Join(dir, "second.sqlite")
	if err := os.Link(left, second); err != nil {
		t.Fatal(err)
	}
	if found, err := Check(t.Context(), second); !errors.Is(err, results.FaultInUse) {
		t.Errorf("%v, problems %q", err, found.Problems)
	}
	if found, err := Check(t.Context(), left); err != nil || !found.Whole {
		t.Errorf("under its own name: %v, %+v", err, found)
	}
}

// TestWhatIsMissingIsNoticed: rows that have lost a part, each of which SQLite finds well; and a file that
// ends within a page.
func TestWhatIsMissingIsNoticed(t *testing.T) {
	for change, want := range map[string]string{
		"DELETE FROM attempt WHERE trial = 2 AND n = 0":          "1 trials lack attempts", // the program ended in a panic
		"DELETE FROM turn WHERE attempt IN (2, 4, 6)":            "3 attempts lack their answer",
		"DELETE FROM trial WHERE id = 3":                         "2 attempts have no trial",
		"DELETE FROM cases WHERE id IN (1, 5)":                   "2 judgments have no case",
		"DELETE FROM attempt WHERE trial = 4 AND n = 1":          "2 turns have no attempt",
		"UPDATE trial SET attempts = attempts + 1 WHERE id <= 2": "2 trials lack attempts",
	} {
		path := repairMade(t, 6)
		db, err := sql.Open("sqlite3", "file:"+path+"?"+VFS()+"&_pragma=foreign_keys(0)")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := Check(t.Context(), path)
		if err != nil || got.Whole || !slices.Contains(got.Problems, want) {
			t.Errorf("%s: %q, %v, want %q", change, got.Problems, err, want)
		}
	}
	path := repairMade(t, 6)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(make([]byte, 100))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := Check(t.Context(), path)
	if want := fmt.Sprintf("the file ends within a page, 100 bytes after page %d", got.Pages); err != nil || got.Whole || !slices.Contains(got.Problems, want) {
		t.Errorf("%q, %v, want %q", got.Problems, err, want)
	}
}

// TestWhatStandsBesideWholePagesIsNoticed: a store in which no run has begun, and a log of which not the
// last transaction is damaged.
func TestWhatStandsBesideWholePagesIsNoticed(t *testing.T) {
	blank := filepath.Join(t.TempDir(), "blank.sqlite")
	st, err := Open(t.Context(), blank)
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := Check(t.Context(), blank); err != nil || got.Whole || !slices.Equal(got.Problems, []string{"it has no manifest: no run has begun in it"}) {
		t.Errorf("no run: %+v, %v", got, err)
	}

	running, left := repairMade(t, 3), filepath.Join(t.TempDir(), "left.sqlite")
	if st, err = Open(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, name := range []string{"made", "made once more"} {
		if err := st.PutManifest(t.Context(), results.Manifest{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(running + end)
		if err == nil {
			if end != "" {
				b[32+24+100] ^= 1 // in the first page of the log
			}
			err = os.WriteFile(left+end, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Check(t.Context(), left); err != nil || got.Whole || !slices.ContainsFunc(got.Problems, func(p string) bool {
		return strings.Contains(p, "frame 1 of its write-ahead log does not match its checksum")
	}) {
		t.Errorf("a damaged log: %+v, %v", got, err)
	}
}
