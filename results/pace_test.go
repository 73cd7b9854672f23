package results

import (
	"testing"
	"time"

	"assay/backends"
	"assay/timing"
)

// An attempt's paces are of all its turns, and one that a turn lacks is not known.
func TestPacesOfAnAttempt(t *testing.T) {
	turn := func(start time.Duration, answerFrom int, at ...time.Duration) Turn {
		r := timing.NewRecorder(timing.NewClock())
		r.MarkAt(timing.Start, start)
		var chunks []timing.Chunk
		for i, a := range at {
			chunks = append(chunks, timing.Chunk{At: start + a, Runes: 1, Answer: i >= answerFrom})
		}
		r.Chunks(chunks, timing.StampsKernel)
		ten, cached := time.Duration(10), 3
		return Turn{Trace: r.Trace(), Usage: backends.Usage{CachedTokens: &cached}, Server: backends.Timings{Prompt: &ten, Decode: &ten}}
	}
	a := Attempt{Turns: []Turn{turn(0, 1, 100, 110, 130), turn(1000, 0, 50, 53)}}
	p := a.Paces()
	want := []time.Duration{110 + 50, 10, 19, 20, 20, 20}
	for i, d := range p.Spans() {
		if *d == nil || **d != want[i] {
			t.Errorf("time %d is %v, want %v", i, *d, want[i])
		}
	}
	if p.CachedTokens == nil || *p.CachedTokens != 6 {
		t.Errorf("cached: %v", p.CachedTokens)
	}
	thinking := turn(0, 9, 1, 2) // no answer came
	thinking.Server.Prompt, thinking.Usage.CachedTokens = nil, nil
	a.Turns = append(a.Turns, thinking)
	if p = a.Paces(); p.FirstAnswer != nil || p.ServerPrompt != nil || p.CachedTokens != nil || p.ServerDecode == nil {
		t.Errorf("%+v", p)
	}
	at := make([]time.Duration, 9) // all in one read
	if p = (Attempt{Turns: []Turn{turn(0, 0, at...)}}).Paces(); p.GapMedian != nil || p.FirstAnswer != nil {
		t.Errorf("of a buffered stream: %+v", p)
	}
	if p = (Attempt{}).Paces(); p != (Paces{}) {
		t.Errorf("of nothing: %+v", p)
	}
}
