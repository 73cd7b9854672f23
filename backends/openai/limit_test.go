package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/backends"
	"assay/backends/openai"
	"assay/backends/wire"
)

// TestLimits: the field that a server keeps to is found before the first trial and used
// from then on; a server that keeps to neither, or cuts below the limit, is named.
func TestLimits(t *testing.T) {
	const old, new = "max_tokens", "max_completion_tokens"
	for name, c := range map[string]struct {
		knows   []string // fields that it heeds
		refuses string   // a field that it answers with 400
		least   int      // tokens without a limit that it knows
		cap     int      // tokens at most; 0: no such limit
		uncount bool     // it sends no usage
		field   string   // that is found; "": none
		says    string   // of the error
		asked   int
	}{
		"Ollama, LM Studio: old name only":    {knows: []string{old}, least: 300, field: old, asked: 1},
		"vLLM, SGLang: both names":            {knows: []string{old, new}, least: 300, field: old, asked: 1},
		"OpenAI o3: 400 names the field":      {knows: []string{new}, refuses: old, least: 300, field: new, asked: 2},
		"a gateway that drops the old name":   {knows: []string{new}, least: 300, field: new, asked: 2},
		"neither, answers run on":             {least: 300, says: "the server counts 300 tokens in the answer, 4 were allowed", asked: 2},
		"neither, short default":              {least: 16, says: "does not keep to that limit: 16 tokens came", asked: 2},
		"neither, and no usage":               {least: 300, uncount: true, says: "300 words came", asked: 2},
		"kept to, and no usage":               {knows: []string{old}, least: 300, uncount: true, field: old, asked: 1},
		"answers are cut below what is asked": {knows: []string{old}, least: 300, cap: 2, says: "cuts answers below the limit that was asked: 2 tokens came", asked: 2},
		"the model says little":               {least: 3, field: old, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex // the server's goroutines and the test
			asked := 0
			var last map[string]any
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				last = nil
				if err := json.NewDecoder(r.Body).Decode(&last); err != nil {
					t.Error(err)
				}
				if _, sent := last[c.refuses]; sent {
					w.WriteHeader(400)
					fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: '%s' is not supported with this model. Use '%s' instead.","type":"invalid_request_error","param":"%[1]s"}}`, old, new)
					return
				}
				n, finish := c.least, "stop"
				if c.least == 16 {
					finish = "length"
				}
				for _, f := range c.knows {
					if limit, ok := last[f].(float64); ok && int(limit) < n {
						n, finish = int(limit), "length"
					}
				}
				if c.cap > 0 && n > c.cap {
					n, finish = c.cap, "length"
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":%q}]}\n\n", strings.Repeat("one ", n), finish)
				if !c.uncount {
					fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":%d}}\n\n", n)
				}
				fmt.Fprint(w, "data: [DONE]\n\n")
			}))
			defer s.Close()
			b, err := openai.New(wire.Config{URL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time nothing is asked
				said, err := b.Limits(t.Context(), "m", map[string]any{"extra": 1})
				if c.says == "" && (err != nil || !strings.Contains(said, c.field)) || c.says != "" && (!errors.Is(err, backends.ErrDropped) || !strings.Contains(err.Error(), c.says)) {
					t.Errorf("%q, %v", said, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if asked != c.asked || last["extra"] != 1.0 {
				t.Errorf("%d requests, want %d; the last one was %v", asked, c.asked, last)
			}
			body, err := b.Body(&backends.Request{Model: "m", Sampling: backends.Sampling{MaxTokens: 77}})
			var sent map[string]any
			if err != nil || json.Unmarshal(body, &sent) != nil {
				t.Fatal(err)
			}
			for _, f := range []string{old, new} {
				if _, ok := sent[f]; ok != (f == c.field || c.field == "" && f == old) {
					t.Errorf("then sent: %v", sent)
				}
			}
			if slices.Contains(c.knows, c.field) && sent[c.field] != 77.0 {
				t.Errorf("then sent: %v", sent)
			}
		})
	}
}
