package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"
)

func tick(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// TestGoldenEventStreams: the events of each stream, when each is known, and that
// neither depends on how the stream was cut into reads.
func TestGoldenEventStreams(t *testing.T) {
	b, err := os.ReadFile("testdata/sse.json")
	if err != nil {
		t.Fatal(err)
	}
	type event struct {
		Type       string
		Data       string
		ID         string `json:"last_event_id"`
		CompleteAt int    `json:"complete_at"`
	}
	var file struct {
		Cases []struct {
			ID     string
			Stream []byte `json:"stream_base64"`
			Cuts   [][]int
			Out    struct {
				Events []event
				ID     string `json:"last_event_id"`
				Retry  *uint64
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 42 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		each := make([]int, len(c.Stream)) // one byte at a time
		for i := range each {
			each[i] = i
		}
		for _, cuts := range append(c.Cuts, nil, each) {
			buffer := record(t, c.Stream, cuts)
			var got []event
			for e := range buffer.Events() {
				if e.Name == "" {
					e.Name = "message"
				}
				got = append(got, event{Type: e.Name, Data: string(e.Data), ID: e.ID})
			}
			s := newEvents(buffer.Body)
			for i := 0; ; i++ {
				_, end, ok := s.next()
				if !ok {
					break
				}
				got[i].CompleteAt = end
			}
			if len(got) != len(c.Out.Events) {
				t.Fatalf("%s cut at %v: %d events, want %d: %+v", c.ID, cuts, len(got), len(c.Out.Events), got)
			}
			for i, want := range c.Out.Events {
				if got[i] != want {
					t.Errorf("%s cut at %v: event %d is %+v, want %+v", c.ID, cuts, i, got[i], want)
				}
			}
			if s.id != c.Out.ID {
				t.Errorf("%s: last id %q, want %q", c.ID, s.id, c.Out.ID)
			}
			if (s.retry == nil) != (c.Out.Retry == nil) || s.retry != nil && *s.retry != *c.Out.Retry {
				t.Errorf("%s: retry %v, want %v", c.ID, s.retry, c.Out.Retry)
			}
		}
	}
}

// record takes a body onto a buffer in reads that end at the cuts, each at its own
// time, and checks that each event has the time of the read that completed it.
func record(t *testing.T, body []byte, cuts []int) *Buffer {
	t.Helper()
	s := &stream{buffer: &Buffer{Body: make([]byte, 0, 1<<10)}, content: func() {}}
	read := func(from, to, at int) {
		copy(s.buffer.room(), body[from:to])
		if _, err := s.take(to-from, arrival{at: tick(at)}); err != nil {
			t.Fatal(err)
		}
	}
	from := 0
	for i, cut := range append(cuts[:len(cuts):len(cuts)], len(body)) {
		if cut > from {
			read(from, cut, i)
			from = cut
		}
	}
	if !bytes.Equal(s.buffer.Body, body) {
		t.Fatalf("the buffer holds %q", s.buffer.Body)
	}
	reader := newEvents(body)
	for e := range s.buffer.Events() {
		_, end, _ := reader.next()
		want := 0
		for want < len(cuts) && cuts[want] < end {
			want++
		}
		if e.At != tick(want) {
			t.Errorf("cut at %v: event %q, complete at %d, arrived at %v, want %v", cuts, e.Data, end, e.At, tick(want))
		}
	}
	return s.buffer
}
