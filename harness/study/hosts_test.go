package study

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/harness/score"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// session is one of a model on a host with a GPU; "" where either is not known.
func session(host, gpu, driver string) results.Session {
	s := results.Session{Origin: time.Unix(1, 0).UTC(), Places: map[string]results.Place{"m": results.PlaceLocal, "n": results.PlaceLocal}}
	if host != "" {
		s.Host = &results.Host{Name: host, Cores: 8, Version: "v1", GPUs: []results.HostGPU{{ID: "A", Name: gpu, Driver: driver}}}
	}
	if gpu != "" {
		s.Devices = []results.Watched{{Source: "nvml", ID: "A", Name: gpu, Kind: "gpu", About: fmt.Appendf(nil, `{"facts":[{"name":"driver","value":%q}]}`, driver)}}
		s.Holds = map[string]results.Hold{"m": {Known: true, GPUs: []string{"A"}, How: "processes"}}
	}
	return s
}

func TestSeveral(t *testing.T) {
	one := session("a", "H100", "550")
	for _, c := range []struct {
		name string
		also results.Session
		want bool
	}{
		{"the same again", session("a", "H100", "550"), false},
		{"an older assay", session("", "H100", "550"), false},
		{"its GPUs are not known", session("a", "", ""), false},
		{"another host", session("b", "H100", "550"), true},
		{"another kind of GPU in it", session("a", "T4", "550"), true},
		{"another driver", session("a", "H100", "560"), true},
		{"an older assay on another GPU", session("", "T4", "550"), true},
	} {
		if got := severalHosts([]results.Session{one, c.also}); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// hostStore holds, in each session, a trial of model m for each latency, and one of model n in
// the first session alone. Energies are 100 W.
func hostStore(t *testing.T, sessions []results.Session, seconds [][]float64) (*store.Store, []results.Session) {
	t.Helper()
	return hostStoreAt(t, filepath.Join(t.TempDir(), "s.sqlite"), sessions, seconds)
}

func hostStoreAt(t *testing.T, path string, sessions []results.Session, seconds [][]float64) (*store.Store, []results.Session) {
	t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(st.PutManifest(ctx, results.Manifest{Name: "x", Created: time.Unix(1, 0), Seed: 3, Cost: &results.Cost{Currency: "EUR"}}))
	put := func(model, item string, seconds float64) {
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		rec.Chunks([]timing.Chunk{{At: time.Second + time.Duration(seconds*1e9), Runes: 4, Answer: true}}, timing.StampsKernel)
		tr := results.Trial{Key: results.Key{Study: "cot", Model: model, Item: item, Arm: "cot", Condition: "baseline"}, Inputs: "in",
			Attempts: []results.Attempt{{Started: time.Unix(2, 0), Turns: []results.Turn{{Trace: rec.Trace(), Answer: "a"}}, Output: &results.Output{Answer: "a"}}}}
		must(st.PutItems(ctx, []results.Item{{Study: "cot", ID: item, Facts: []byte(`{"picture":"` + item + `"}`)}}))
		must(st.PutTrial(ctx, tr))
	}
	for i := range sessions {
		must(st.PutSession(ctx, &sessions[i]))
		for j, s := range seconds[i] {
			put("m", fmt.Sprintf("item%d%02d", i, j), s)
		}
		if i == 0 {
			put("n", "item000", 7)
		}
		var uses []results.TrialUse
		for f, err := range st.Flights(ctx, sessions[i]) {
			must(err)
			held := f.Turns[0].To - f.Turns[0].From
			one := 1
			uses = append(uses, results.TrialUse{Trial: f.Trial, Attempts: 1, Part: results.PartGPU, Use: results.Use{Held: &held, Devices: &one, Energy: timing.Energy{Gross: timing.Millijoules(held.Seconds() * 100_000), Method: timing.ByCounter}}})
		}
		must(st.PutUses(ctx, sessions[i].ID, uses, nil))
	}
	return st, sessions
}

// sections are as a study makes them: a table of times, one of scores, one by session.
func sections() []results.Section {
	table := func(name, column, unit string, more ...results.Column) results.Table {
		t := results.Table{Name: name, Columns: append([]results.Column{TextColumn("model", "Model"), {Name: column, Unit: unit}}, more...)}
		for _, m := range []string{"m", "n"} {
			row := []results.Cell{Text(m), Value(&results.Estimate{})}
			for range more {
				row = append(row, Value(&results.Estimate{}))
			}
			t.Rows = append(t.Rows, row)
		}
		return t
	}
	groups := table("groups", "latency", "s")
	groups.Columns[0].Name, groups.Notes = "group", []string{"as it was"}
	return []results.Section{{Name: "scores", Tables: []results.Table{table("accuracy", "accuracy", "%"), table("costs", "money", "EUR"), groups}},
		{Name: "times", Tables: []results.Table{table("latency", "latency_median", "s"), table("blocks", "gross", "J", CountColumn("session", "Session", ""))}}}
}

// beside is what a study that lays out sections makes of them.
func beside(t *testing.T, st *store.Store, secs []results.Section) ([]results.Section, error) {
	t.Helper()
	s := Study{Name: "cot", Arms: []Arm{{Name: "cot"}, {Name: "after"}}, Scores: score.Rules{Study: "cot", Score: func(score.Sample) []score.Value { return nil }},
		Design: func(*Basis) (score.Design, Lay, error) {
			return score.Design{}, func(*score.Run) []results.Section { return secs }, nil
		}}
	return s.Summarize(t.Context(), st, nil, nil)
}

// A model that ran on two hosts has a row for each, of that host's trials alone, and no
// table pools over them silently; one that ran on one host is as it was.
func TestHostsAreKeptApart(t *testing.T) {
	st, sessions := hostStore(t, []results.Session{session("fast", "H100", "550"), session("slow", "T4", "550")}, [][]float64{{1, 1.1, 1.2}, {9, 9.1, 9.2, 9.3, 9.4}})
	secs, err := beside(t, st, sections())
	if err != nil {
		t.Fatal(err)
	}
	times := secs[1].Tables
	apart := times[len(times)-1]
	if apart.Name != "cot-hosts" || len(apart.Rows) != 2 {
		t.Fatalf("%+v", apart)
	}
	index := func(name string) int {
		i := slices.IndexFunc(apart.Columns, func(c results.Column) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("no column %s", name)
		}
		return i
	}
	for i, want := range []struct {
		host, gpu string
		n         int
		median    float64
		p95, mean float64
	}{{"fast", "H100", 3, 1.1, 1.19, 110}, {"slow", "T4", 5, 9.2, 9.38, 920}} {
		row := apart.Rows[i]
		median, mean := row[index("latency_median")].Estimate, row[index("mean")].Estimate
		if row[0].Text != "m" || row[1].Text != "cot" || row[2].Text != want.host || row[3].Text != want.gpu || row[4].Text != "550" || *row[index("answers")].Estimate.Value != float64(want.n) {
			t.Errorf("row %d: %+v", i, row)
		}
		if median.Value == nil || *median.Value != want.median || median.N != want.n || median.Low == nil || *median.Low > want.median || *median.High < want.median {
			t.Errorf("%s: median %+v, want %v", want.host, median, want.median)
		}
		for column, v := range map[string]float64{"ttft_median": want.median, "latency_p95": want.p95, "power": 100} {
			if e := row[index(column)].Estimate; e.Value == nil || math.Abs(*e.Value-v) > 1e-9 {
				t.Errorf("%s: %s %+v, want %v", want.host, column, e, v)
			}
		}
		if mean.Value == nil || *mean.Value < want.mean-1e-6 || *mean.Value > want.mean+1e-6 {
			t.Errorf("%s: energy %+v, want %v", want.host, mean, want.mean)
		}
	}
	for _, c := range []struct {
		table results.Table
		says  []string // in the rows of m and n; nil: it is as it was
	}{{secs[0].Tables[0], nil}, {secs[0].Tables[2], nil}, {secs[0].Tables[1], []string{"2 hosts", ""}}, {times[0], []string{"2 hosts", ""}}, {times[1], nil}} {
		last := len(c.table.Columns) - 1
		if c.says == nil {
			if c.table.Columns[last].Name == "pooled_over" {
				t.Errorf("%s is marked", c.table.Name)
			}
			continue
		}
		if c.table.Columns[last].Name != "pooled_over" || c.table.Rows[0][last].Text != c.says[0] || c.table.Rows[1][last].Text != c.says[1] {
			t.Errorf("%s: %+v", c.table.Name, c.table)
		}
	}
	if n := secs[0].Tables[2].Notes; !slices.Equal(n, []string{"as it was", "Times, rates, energies and prices are pooled over machines for m (2 hosts); the table cot-hosts has each apart."}) {
		t.Errorf("a mean over models, of which one ran on two hosts: %q", n)
	}
	if w := secs[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "m was timed on different hardware (fast: H100, driver 550; slow: T4, driver 550)") {
		t.Errorf("warnings %q", w)
	}
	table, _, methods, several := MachineTable(sessions)
	if !several || len(table.Rows) != 2 || len(table.Rows[0]) != len(table.Columns) || table.Rows[1][6].Text != "T4" || len(methods) != 1 {
		t.Errorf("%+v, %q", table, methods)
	}
}

// TestWhatDependsOnTheMachineIsMarked: times, energies, rates, prices; no shares and counts.
func TestWhatDependsOnTheMachineIsMarked(t *testing.T) {
	st, _ := hostStore(t, []results.Session{session("a", "H100", "550"), session("b", "T4", "550")}, [][]float64{{1}, {2}})
	for unit, want := range map[string]bool{"s": true, "ms": true, "h": true, "J": true, "W": true, "kWh": true, "tokens/s": true, "steps/J": true, "EUR": true, "%": false, "": false, "tokens": false, "1": false} {
		tables := []results.Table{{Name: "x", Columns: []results.Column{TextColumn("model", "Model"), {Name: "v", Unit: unit}}, Rows: [][]results.Cell{{Text("m"), Value(&results.Estimate{})}}}}
		secs, err := beside(t, st, []results.Section{{Name: "x", Tables: tables}})
		if err != nil {
			t.Fatal(err)
		}
		if cols := secs[0].Tables[0].Columns; (cols[len(cols)-1].Name == results.PooledOver) != want {
			t.Errorf("a table in %q is marked: %t, want %t", unit, !want, want)
		}
	}
}

// Equal machines are no reason to distrust; the rows still say that there are two.
func TestEqualHostsAreNoWarning(t *testing.T) {
	st, _ := hostStore(t, []results.Session{session("a", "H100", "550"), session("b", "H100", "550")}, [][]float64{{1}, {2}})
	secs, err := beside(t, st, sections())
	if err != nil || len(secs[0].Warnings) != 0 || len(secs[1].Tables) != 3 {
		t.Errorf("%+v, %v", secs, err)
	}
}

func TestOneHostChangesNothing(t *testing.T) {
	st, sessions := hostStore(t, []results.Session{session("a", "H100", "550"), session("a", "H100", "550"), session("", "", "")}, [][]float64{{1}, {2}, {3}})
	secs, err := beside(t, st, sections())
	if err != nil || !reflect.DeepEqual(secs, sections()) {
		t.Errorf("%+v, %v", secs, err)
	}
	if table, warnings, _, several := MachineTable(sessions); several || len(table.Rows) != 0 || warnings != nil {
		t.Errorf("one host: %+v, %q", table, warnings)
	}
}

// Versions that differ, and clocks where they were compared.
func TestMachines(t *testing.T) {
	a, b := session("a", "H100", "550"), session("b", "H100", "550")
	b.Host.Version = "v2"
	b.Host.Clock = &results.ClockOffset{Offset: -2 * time.Millisecond, Bound: time.Millisecond}
	later, last := b, b // the last that was compared counts, and one that was not says nothing
	later.Host, last.Host = new(*b.Host), new(*b.Host)
	b.Host.Clock = &results.ClockOffset{Offset: 7 * time.Millisecond, Bound: 2 * time.Millisecond}
	last.Host.Clock = nil
	a.Host.Memory = 96 << 30
	table, warnings, _, _ := MachineTable([]results.Session{a, b, later, last, a})
	if !slices.Equal(warnings, []string{"Hosts ran different versions of assay: v1 on a; v2 on b."}) {
		t.Errorf("%q", warnings)
	}
	end := len(table.Columns) - 1
	if cores, memory, unknown := table.Rows[0][4].Estimate, table.Rows[0][5].Estimate, table.Rows[1][5].Estimate; *cores.Value != 8 || *memory.Value != 96 || unknown.Value != nil {
		t.Errorf("%v cores, %v GiB, and %+v", *cores.Value, *memory.Value, unknown)
	}
	if e := table.Rows[0][end-1].Estimate; e.Value != nil || e.Why == "" {
		t.Errorf("a clock that nobody compared is off by %+v", e)
	}
	if e, n := table.Rows[1][end-1].Estimate, table.Rows[0][1].Estimate; e.Value == nil || *e.Value != -2 || *table.Rows[1][end].Estimate.Value != 1 || *n.Value != 2 {
		t.Errorf("%+v, %+v", e, n)
	}
}

// Arms stand in the order of the study's own tables, not by name.
func TestArmsStandAsInOtherTables(t *testing.T) {
	st, _ := hostStore(t, []results.Session{session("a", "H100", "550"), session("b", "T4", "550")}, [][]float64{{1, 2}, {3}})
	tr := results.Trial{Key: results.Key{Study: "cot", Model: "m", Item: "item000", Arm: "after", Condition: "baseline"}, Inputs: "in",
		Attempts: []results.Attempt{{Started: time.Unix(2, 0), Failure: &results.Failure{Kind: "stalled", Message: "no"}}}}
	if err := st.PutTrial(t.Context(), tr); err != nil {
		t.Fatal(err)
	}
	secs := sections()
	secs[1].Tables = append(secs[1].Tables, results.Table{Name: "counts", Columns: []results.Column{TextColumn("model", "Model"), TextColumn("arm", "Arm")},
		Rows: [][]results.Cell{{Text("m"), Text("cot")}, {Text("m"), Text("after")}}})
	secs, err := beside(t, st, secs)
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, row := range secs[1].Tables[len(secs[1].Tables)-1].Rows {
		arms = append(arms, row[1].Text+" on "+row[2].Text)
	}
	if want := []string{"cot on a", "cot on b", "after on b"}; !slices.Equal(arms, want) {
		t.Errorf("%v, want %v", arms, want)
	}
	last := secs[1].Tables[len(secs[1].Tables)-1]
	i := slices.IndexFunc(last.Columns, func(c results.Column) bool { return c.Name == "answers" })
	if n := last.Rows[2][i].Estimate; *n.Value != 0 || *last.Rows[0][i].Estimate.Value != 2 {
		t.Errorf("a failure is %v answers", *n.Value)
	}
}

// TestDamagedSessionsLeaveTheStudy: whose scores need none of them.
func TestDamagedSessionsLeaveTheStudy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sqlite")
	st, _ := hostStoreAt(t, path, []results.Session{session("a", "H100", "550"), session("b", "T4", "550")}, [][]float64{{1, 2}, {3}})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?_pragma=checksum_verification(0)") // writes none of ours
	if err == nil {
		_, err = db.Exec("UPDATE session SET hz = 7")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if st, err = store.OpenReader(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Sessions(t.Context()); !errors.Is(err, results.FaultDamaged) {
		t.Fatalf("the sessions are not damaged: %v", err)
	}
	if secs, err := beside(t, st, sections()); err != nil || !reflect.DeepEqual(secs, sections()) {
		t.Errorf("%+v, %v", secs, err)
	}
}

// TestTrialsThatAreNotShownAreSkipped: sessions come of all trials of a study, those of models that
// bench.yaml has no more among them.
func TestTrialsThatAreNotShownAreSkipped(t *testing.T) {
	key := func(model string) results.Key { return results.Key{Study: "cot", Model: model} }
	all := []results.TrialSession{{Key: key("a"), Session: 1}, {Key: key("b"), Session: 2}, {Key: key("d"), Session: 3}}
	w := whereabouts{hardware: func(session int64, _ string) results.Hardware { return results.Hardware{Host: fmt.Sprint(session)} },
		next: func() (s results.TrialSession, err error, more bool) {
			if len(all) > 0 {
				s, all, more = all[0], all[1:], true
			}
			return s, nil, more
		}}
	if on := w.of(key("b")); on.Host != "2" || w.err != nil {
		t.Errorf("timed on %q, %v", on.Host, w.err)
	}
	if on := w.of(key("c")); on.Host != "" || w.err == nil {
		t.Errorf("a trial without a session was timed on %q", on.Host)
	}
}
