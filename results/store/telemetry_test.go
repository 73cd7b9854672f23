package store

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/results"
	"assay/timing"
)

func TestSessionsComeBack(t *testing.T) {
	s := openStore(t)
	a := &results.Session{Origin: time.Unix(100, 5).UTC(), Hz: 20, Host: &results.Host{Name: "box", Cores: 8, GPUs: []results.HostGPU{{ID: "GPU-1", Name: "x", Driver: "550.1"}}}, Problems: []string{"nvml: no driver"}, Places: map[string]results.Place{"m": results.PlaceLocal},
		Devices: []results.Watched{{Source: "nvml", ID: "GPU-1", Name: "x", Kind: "gpu", About: []byte(`{"id":"GPU-1"}`)}, {Source: "phantom", ID: "p", Name: "y", Kind: "gpu", Synthetic: true, About: []byte("{}")}}}
	b := &results.Session{Origin: time.Unix(200, 0).UTC(), Places: map[string]results.Place{}}
	for _, ses := range []*results.Session{a, b} {
		if err := s.PutSession(bg, ses); err != nil {
			t.Fatal(err)
		}
	}
	if a.ID == b.ID || a.ID == 0 {
		t.Fatalf("sessions have IDs %d and %d", a.ID, b.ID)
	}
	a.Devices[1].Baseline = &timing.Baseline{Power: &timing.Level{Median: 25_000}}
	a.Devices[1].Stats = &results.WatchStats{Samples: 7, Gaps: 1, Failures: []string{"gone"}}
	if err := s.PutDevice(bg, a.ID, 1, a.Devices[1]); err != nil {
		t.Fatal(err)
	}
	bundles := []results.SampleBundle{{From: 1, To: 5, N: 2, Bytes: []byte("ab")}, {From: 6, To: 6, N: 1, Bytes: []byte("c")}}
	// The first one was stored as it began.
	for _, c := range [][]results.SampleBundle{{{From: 1, To: 1, N: 1, Bytes: []byte("a")}}, bundles, nil} {
		if err := s.PutSampleBundles(bg, a.ID, 1, c); err != nil {
			t.Fatal(err)
		}
	}
	slew := -12.5
	a.Clocks = &results.Clocks{Span: time.Hour, Slept: time.Minute, Slew: &slew}
	if err := s.PutClocks(bg, a.ID, *a.Clocks); err != nil {
		t.Fatal(err)
	}
	a.Host.Clock = &results.ClockOffset{Offset: -3 * time.Millisecond, Bound: time.Millisecond}
	if err := s.PutHost(bg, a.ID, *a.Host); err != nil {
		t.Fatal(err)
	}
	e := results.Event{Session: a.ID, At: time.Unix(300, 1).UTC(), Kind: results.EventDied, Subject: "llama", Text: "exit status 1"}
	if err := s.PutEvent(bg, e); err != nil {
		t.Fatal(err)
	}
	got, err := s.Sessions(bg)
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got[0], *a) || got[1].Hz != 0 || got[1].Host != nil || len(got[1].Devices) != 0 {
		t.Errorf("sessions %+v, %v", got, err)
	}
	for _, want := range got {
		if one, err := s.Sessions(bg, want.ID); err != nil || len(one) != 1 || !reflect.DeepEqual(one[0], want) {
			t.Errorf("session %d is %+v, %v", want.ID, one, err)
		}
	}
	if none, err := s.Sessions(bg, 99); err != nil || len(none) != 0 {
		t.Errorf("session 99 is %+v, %v", none, err)
	}
	if got := collect(t, s.SampleBundles(bg, a.ID, 1)); !reflect.DeepEqual(got, bundles) {
		t.Errorf("bundles %+v", got)
	}
	if got := collect(t, s.SampleBundles(bg, a.ID, 0)); len(got) != 0 {
		t.Errorf("bundles of the other device %+v", got)
	}
	if got, err := s.Events(bg); err != nil || !reflect.DeepEqual(got, []results.Event{e}) {
		t.Errorf("events %+v, %v", got, err)
	}
	err = s.PutSampleBundles(bg, 99, 0, bundles)
	if err == nil { // it was not waited for: the next call that waits tells
		_, err = s.Sessions(bg)
	}
	if err == nil {
		t.Error("samples of a session that is not there were stored")
	}
}

// What a trial took is that of its last attempt: another attempt makes it unknown.
func TestUsesBelongToTheLastAttempt(t *testing.T) {
	s := openStore(t)
	k := results.Key{Study: "cot", Model: "m", Item: "i", Arm: "direct", Condition: "baseline"}
	tr := answered(k, "yes", time.Second)
	other := k
	other.Item = "j"
	ses := &results.Session{Origin: tr.Attempts[0].Started, Places: map[string]results.Place{}}
	if err := s.PutSession(bg, ses); err != nil {
		t.Fatal(err)
	}
	for _, x := range []results.Trial{tr, answered(other, "no", time.Second)} {
		if err := s.PutTrial(bg, x); err != nil {
			t.Fatal(err)
		}
	}
	spans := collect(t, s.Flights(bg, *ses))
	if len(spans) != 2 || spans[0].Key != k || !spans[0].Last || !spans[0].Whole || spans[0].Turns[0] != (timing.Window{From: time.Second, To: 2 * time.Second}) {
		t.Fatalf("on the wire: %+v", spans)
	}
	net, netU := timing.Millijoules(800), timing.Millijoules(30)
	known := results.Use{Held: ptr(time.Second), Devices: ptr(1), Energy: timing.Energy{Gross: 1000, Uncertainty: 20, Net: &net, NetUncertainty: &netU,
		Method: timing.ByCounter, Ticks: 9, LowConfidence: true, Flags: []timing.EnergyFlag{timing.FlagGap}}}
	unknown := results.Use{Energy: timing.Energy{Unknown: "no GPU was watched"}}
	block := results.Block{Session: ses.ID, Study: "cot", Model: "m", Part: results.PartGPU, Devices: ptr(1), Energy: timing.Block{Energy: timing.Energy{Gross: 5}, Trials: 2}, Busy: &net}
	if err := s.PutUses(bg, ses.ID, []results.TrialUse{{Trial: spans[0].Trial, Attempts: 1, Part: results.PartGPU, Use: known}, {Trial: spans[0].Trial, Attempts: 1, Part: results.PartCPU, Use: unknown}}, []results.Block{block}); err != nil {
		t.Fatal(err)
	}
	rows := collect(t, s.Rows(bg, "cot"))
	if len(rows) != 2 || !reflect.DeepEqual(rows[0].GPU, &known) || !reflect.DeepEqual(rows[0].CPU, &unknown) || rows[1].GPU != nil {
		t.Errorf("rows %+v %+v", rows[0].GPU, rows[0].CPU)
	}
	if got, err := s.Blocks(bg); err != nil || !reflect.DeepEqual(got, []results.Block{block}) {
		t.Errorf("blocks %+v, %v", got, err)
	}
	if got, err := s.Sessions(bg); err != nil || !got[0].Measured {
		t.Errorf("sessions %+v, %v", got, err)
	}
	sessions := collect(t, s.TrialSessions(bg, "cot"))
	if want := []results.TrialSession{{Key: k, Session: ses.ID}, {Key: other, Session: ses.ID}}; !reflect.DeepEqual(sessions, want) {
		t.Errorf("sessions of trials %+v, want %+v", sessions, want)
	}
	if err := s.PutSession(bg, ses); err != nil {
		t.Fatal(err)
	}
	tr.Attempts = append(tr.Attempts, tr.Attempts[0])
	if err := s.PutTrial(bg, tr); err != nil {
		t.Fatal(err)
	}
	if rows := collect(t, s.Rows(bg, "cot")); rows[0].GPU != nil || rows[0].Attempts != 2 {
		t.Errorf("after another attempt: %+v", rows[0].GPU)
	}
	if got := collect(t, s.TrialSessions(bg, "")); len(got) != 2 || got[0].Session != ses.ID || got[1] != sessions[1] {
		t.Errorf("after another attempt in another session: %+v", got)
	}
	if got := collect(t, s.Ended(bg, "")); len(got) != 2 || got[0].Session != ses.ID || got[1].Session != sessions[1].Session || got[0].Session == got[1].Session {
		t.Errorf("how the trials ended, after another attempt in another session: %+v", got)
	}
}

// Attempts belong to the session that made them, whatever wall clocks say.
func TestFlightsBelongToTheirSession(t *testing.T) {
	s := openStore(t)
	at := func(item string, after time.Duration, from time.Duration) results.Trial {
		tr := answered(results.Key{Study: "cot", Model: "m", Item: item, Arm: "direct", Condition: "baseline"}, item, 4*time.Second)
		tr.Attempts[0].Started = tr.Attempts[0].Started.Add(after)
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, from)
		rec.Chunks([]timing.Chunk{{At: from + 4*time.Second, Runes: 1, Answer: true}}, timing.StampsUser)
		tr.Attempts[0].Turns[0].Trace = rec.Trace()
		return tr
	}
	origin := at("", 0, 0).Attempts[0].Started
	put := func(trs ...results.Trial) {
		t.Helper()
		for _, tr := range trs {
			if err := s.PutTrial(bg, tr); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := func(origin time.Time) results.Session {
		t.Helper()
		ses := results.Session{Origin: origin, Places: map[string]results.Place{}}
		if err := s.PutSession(bg, &ses); err != nil {
			t.Fatal(err)
		}
		return ses
	}
	before := at("before", time.Second, time.Second) // as older stores have it
	put(before)
	a := begin(origin)
	put(at("straight", time.Second, time.Second), at("set back", -time.Hour, 6*time.Second), at("set on", time.Hour, 12*time.Second))
	b := begin(origin.Add(-time.Minute)) // by a clock that was set back
	again, _, err := s.Trial(bg, at("straight", 0, 0).Key)
	if err != nil || again.Attempts[0].Session != a.ID {
		t.Fatalf("attempt of session %d, want %d; %v", again.Attempts[0].Session, a.ID, err)
	}
	again.Attempts = append(again.Attempts, at("straight", 0, 20*time.Second).Attempts[0])
	before.Attempts = append(before.Attempts, at("before", 0, 30*time.Second).Attempts[0])
	put(again, before)
	flights := func(ses results.Session) string {
		var out []string
		for _, f := range collect(t, s.Flights(bg, ses)) {
			if len(f.Turns) != 1 || !f.Whole {
				out = append(out, f.Key.Item+": unknown")
				continue
			}
			out = append(out, fmt.Sprintf("%s: %v %v", f.Key.Item, f.Turns[0].From, f.Last))
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s\nwant %s", what, got, want)
		}
	}
	expect("the first session", flights(a), "set back: 6s true, set on: 12s true, straight: 1s false")
	expect("the second session", flights(b), "before: 30s true, straight: 20s true")

	// In a store of before, wall time tells: what it cannot tell is unknown.
	for _, q := range []string{"UPDATE attempt SET session = NULL", "UPDATE session SET linked = 0"} {
		if err := s.file.Put(bg, "making an old store", true, func(t *Tx) error { return t.Exec(q) }); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Sessions(bg)
	if err != nil || all[0].ID != a.ID || all[0].Linked || all[1].Linked {
		t.Fatalf("%+v, %v", all, err)
	}
	expect("an old store", flights(all[0]), "before: 1s false, before: unknown, set on: unknown, straight: 1s false, straight: unknown")
}
