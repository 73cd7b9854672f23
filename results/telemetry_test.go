package results

import (
	"reflect"
	"testing"
	"time"

	"assay/timing"
)

func TestSessionsComeBack(t *testing.T) {
	s := openStore(t)
	a := &Session{Origin: time.Unix(100, 5).UTC(), Hz: 20, Problems: []string{"nvml: no driver"}, Places: map[string]Place{"m": PlaceLocal},
		Devices: []Watched{{Source: "nvml", ID: "GPU-1", Name: "x", Kind: "gpu", About: []byte(`{"id":"GPU-1"}`)}, {Source: "phantom", ID: "p", Name: "y", Kind: "gpu", Synthetic: true, About: []byte("{}")}}}
	b := &Session{Origin: time.Unix(200, 0).UTC(), Places: map[string]Place{}}
	for _, ses := range []*Session{a, b} {
		if err := s.PutSession(bg, ses); err != nil {
			t.Fatal(err)
		}
	}
	if a.ID == b.ID || a.ID == 0 {
		t.Fatalf("sessions have IDs %d and %d", a.ID, b.ID)
	}
	a.Devices[1].Baseline = &timing.Baseline{Power: &timing.Level{Median: 25_000}}
	a.Devices[1].Stats = &WatchStats{Samples: 7, Gaps: 1, Failures: []string{"gone"}}
	if err := s.PutDevice(bg, a.ID, 1, a.Devices[1]); err != nil {
		t.Fatal(err)
	}
	chunks := []Chunk{{From: 1, To: 5, N: 2, Bytes: []byte("ab")}, {From: 6, To: 6, N: 1, Bytes: []byte("c")}}
	for _, c := range chunks {
		if err := s.PutChunks(bg, a.ID, 1, []Chunk{c}); err != nil {
			t.Fatal(err)
		}
	}
	e := Event{Session: a.ID, At: time.Unix(300, 1).UTC(), Kind: EventDied, Subject: "llama", Text: "exit status 1"}
	if err := s.PutEvent(bg, e); err != nil {
		t.Fatal(err)
	}
	got, err := s.Sessions(bg)
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got[0], *a) || got[1].Hz != 0 || len(got[1].Devices) != 0 {
		t.Errorf("sessions %+v, %v", got, err)
	}
	if got := collect(t, s.Chunks(bg, a.ID, 1)); !reflect.DeepEqual(got, chunks) {
		t.Errorf("chunks %+v", got)
	}
	if got := collect(t, s.Chunks(bg, a.ID, 0)); len(got) != 0 {
		t.Errorf("chunks of the other device %+v", got)
	}
	if got, err := s.Events(bg); err != nil || !reflect.DeepEqual(got, []Event{e}) {
		t.Errorf("events %+v, %v", got, err)
	}
	err = s.PutChunks(bg, 99, 0, chunks)
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
	k := Key{Study: "cot", Model: "m", Item: "i", Arm: "direct", Condition: "baseline"}
	tr := answered(k, "yes", time.Second)
	other := k
	other.Item = "j"
	for _, x := range []Trial{tr, answered(other, "no", time.Second)} {
		if err := s.PutTrial(bg, x); err != nil {
			t.Fatal(err)
		}
	}
	ses := &Session{Origin: tr.Attempts[0].Started, Places: map[string]Place{}}
	if err := s.PutSession(bg, ses); err != nil {
		t.Fatal(err)
	}
	spans := collect(t, s.Flights(bg, ses.Origin))
	if len(spans) != 2 || spans[0].Key != k || !spans[0].Last || !spans[0].Whole || spans[0].Turns[0] != (timing.Window{From: time.Second, To: 2 * time.Second}) {
		t.Fatalf("on the wire: %+v", spans)
	}
	if got := collect(t, s.Flights(bg, ses.Origin.Add(1))); len(got) != 0 {
		t.Errorf("%d attempts from before the session", len(got))
	}
	net, netU := timing.Millijoules(800), timing.Millijoules(30)
	known := Use{Held: time.Second, Devices: ptr(1), Energy: timing.Energy{Gross: 1000, Uncertainty: 20, Net: &net, NetUncertainty: &netU,
		Method: timing.ByCounter, Ticks: 9, LowConfidence: true, Flags: []timing.EnergyFlag{timing.FlagGap}}}
	unknown := Use{Held: time.Second, Energy: timing.Energy{Unknown: "no GPU was watched"}}
	block := Block{Session: ses.ID, Study: "cot", Model: "m", Part: PartGPU, Devices: ptr(1), Energy: timing.Block{Energy: timing.Energy{Gross: 5}, Trials: 2}, Busy: &net}
	if err := s.PutUses(bg, ses.ID, []TrialUse{{spans[0].Trial, 1, PartGPU, known}, {spans[0].Trial, 1, PartCPU, unknown}}, []Block{block}); err != nil {
		t.Fatal(err)
	}
	rows := collect(t, s.Rows(bg, "cot"))
	if len(rows) != 2 || !reflect.DeepEqual(rows[0].GPU, &known) || !reflect.DeepEqual(rows[0].CPU, &unknown) || rows[1].GPU != nil {
		t.Errorf("rows %+v %+v", rows[0].GPU, rows[0].CPU)
	}
	if got, err := s.Blocks(bg); err != nil || !reflect.DeepEqual(got, []Block{block}) {
		t.Errorf("blocks %+v, %v", got, err)
	}
	if got, err := s.Sessions(bg); err != nil || !got[0].Measured {
		t.Errorf("sessions %+v, %v", got, err)
	}
	tr.Attempts = append(tr.Attempts, tr.Attempts[0])
	if err := s.PutTrial(bg, tr); err != nil {
		t.Fatal(err)
	}
	if rows := collect(t, s.Rows(bg, "cot")); rows[0].GPU != nil || rows[0].Attempts != 2 {
		t.Errorf("after another attempt: %+v", rows[0].GPU)
	}
}
