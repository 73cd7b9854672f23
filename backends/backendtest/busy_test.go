package backendtest_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/timing"
)

// TestBusyServersSayWhenToComeBack: through every adapter, in both ways of asking,
// and with one request on the wire.
func TestBusyServersSayWhenToComeBack(t *testing.T) {
	refusal := func(status int, body, after string) backendtest.Recording {
		r := backendtest.Reply(status, "application/json", body)
		r.Bytes = bytes.Replace(r.Bytes, []byte("Connection:"), []byte("Retry-After: "+after+"\r\nConnection:"), 1)
		r.Reads = []backendtest.Read{{At: time.Millisecond, End: len(r.Bytes)}}
		return r
	}
	// A bubble's clock begins at midnight UTC on 2000-01-01.
	const date = "Sat, 01 Jan 2000 00:01:30 GMT"
	queue := load(t, "ollama-0.17.4-queue/cold-burst-3")
	for name, c := range map[string]struct {
		reply backendtest.Recording
		apis  []string
		kind  backends.Kind
		after time.Duration // -1: not said
	}{
		"429, seconds":           {refusal(429, `{"error":"slow down"}`, "7"), nil, backends.ErrBusy, 7 * time.Second},
		"429, a date":            {refusal(429, `{"error":{"message":"slow down"}}`, date), nil, backends.ErrBusy, 90 * time.Second},
		"429, a page":            {refusal(429, "<html><title>429 Too Many Requests</title>", "3"), nil, backends.ErrBusy, 3 * time.Second},
		"429, nothing said":      {backendtest.Reply(429, "application/json", `{"error":"slow down"}`), nil, backends.ErrBusy, -1},
		"503 of Ollama's queue":  {queue, []string{"ollama"}, backends.ErrBusy, -1},
		"503, overloaded":        {refusal(503, `{"error":{"message":"Server overloaded"}}`, "1"), []string{"openai", "llamacpp", "vllm"}, backends.ErrBusy, time.Second},
		"503, loading":           {refusal(503, `{"error":{"message":"Loading model"}}`, "1"), nil, backends.ErrLoading, time.Second},
		"llama-server's slots":   {refusal(503, `{"error":{"message":"no slot available"}}`, "1"), []string{"llamacpp"}, backends.ErrBusy, time.Second},
		"400 with a Retry-After": {refusal(400, `{"error":{"message":"no"}}`, "7"), nil, backends.ErrRefused, -1},
	} {
		apis := c.apis
		if apis == nil {
			apis = []string{"ollama", "openai", "llamacpp", "vllm"}
		}
		for _, api := range apis {
			t.Run(name+"/"+api, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()[api].chat: c.reply}}
					r, err := connect(t, api, n).Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock()))
					e := backendtest.Typed(t, r, err, c.kind)
					if (e.After != nil) != (c.after >= 0) || e.After != nil && (*e.After-c.after).Abs() > 10*time.Millisecond {
						t.Errorf("asks to come back after %v, want %v", show(e.After), c.after)
					}
					if n.Dials() != 1 {
						t.Errorf("%d requests, want one attempt", n.Dials())
					}
				})
			})
		}
	}
}
