package wire

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"assay/backends"
	"assay/timing"
)

func TestStreamOverTCP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, s := range []string{"data: a\n\n", "data: b\ndata: c\n\n", ": hi\n\ndata: [DONE]\n\n"} {
			w.Write([]byte(s))
			w.(http.Flusher).Flush()
		}
	}))
	defer srv.Close()
	c, err := New(Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	rec := timing.NewRecorder(timing.NewClock())
	tape, err := c.Stream(context.Background(), "/x", []byte("{}"), backends.Timeouts{}, rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range tape.Events() {
		got = append(got, string(e.Data))
	}
	if len(got) != 3 || got[1] != "b\nc" {
		t.Fatalf("%q", got)
	}
	t.Log(tape.Stamps, tape.marks)
	for _, e := range []timing.Event{timing.Start, timing.Sent, timing.FirstByte, timing.End} {
		at, ok := rec.Trace().At(e)
		t.Log(e, at, ok)
		if !ok {
			t.Error("no mark", e)
		}
	}
}
