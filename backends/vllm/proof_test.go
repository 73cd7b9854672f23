package vllm

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/timing"
)

func counted(n ...float64) counters {
	c := counters{value: map[string]float64{}}
	for i, v := range n {
		c.value[[]string{promptTokens, prefixHits, pictureHits}[i]] = v
	}
	return c
}

func number(n int) *int { return &n }

// TestUnverifiedProof: what each cache needs as proof, and what is no proof. It
// follows vLLM's source: no live server was at hand.
func TestUnverifiedProof(t *testing.T) {
	const tokens, hits, pics = "usage.prompt_tokens_details.cached_tokens", "growth of vllm:prefix_cache_hits_total", "growth of vllm:mm_cache_hits_total"
	for name, c := range map[string]struct {
		cached        *int
		pictures      bool
		before, after counters
		want          backends.Cache
	}{
		"text, counted in the reply":      {number(0), false, counters{}, counters{}, backends.Cache{State: backends.CacheCold, Field: tokens, Value: "0"}},
		"text, hit":                       {number(16), false, counters{}, counters{}, backends.Cache{State: backends.CacheHit, Field: tokens, Value: "16"}},
		"picture, both":                   {number(0), true, counted(5, 3, 2), counted(9, 3, 2), backends.Cache{State: backends.CacheCold, Field: tokens + ", " + pics, Value: "0, 0"}},
		"picture, its cache hit":          {number(0), true, counted(5, 3, 2), counted(9, 3, 4), backends.Cache{State: backends.CacheHit, Field: tokens + ", " + pics, Value: "0, 2"}},
		"prompt hit, no counters":         {number(16), true, counters{why: "gone"}, counters{why: "gone"}, backends.Cache{State: backends.CacheHit, Field: tokens, Value: "16"}},
		"counters alone":                  {nil, true, counted(5, 3, 2), counted(9, 3, 2), backends.Cache{State: backends.CacheCold, Field: hits + ", " + pics, Value: "0, 0"}},
		"counters alone, text":            {nil, false, counted(5, 3), counted(9, 3), backends.Cache{State: backends.CacheCold, Field: hits, Value: "0"}},
		"counters alone, hit":             {nil, true, counted(5, 3, 2), counted(9, 35, 2), backends.Cache{State: backends.CacheHit, Field: hits + ", " + pics, Value: "32, 0"}},
		"nothing":                         {nil, false, counters{why: "HTTP 404"}, counters{why: "HTTP 404"}, backends.Cache{State: backends.CacheUnverified, Reason: "the reply has no " + tokens + " (--enable-prompt-tokens-details), and HTTP 404"}},
		"no counter of pictures":          {number(0), true, counted(5, 3), counted(9, 3), backends.Cache{State: backends.CacheUnverified, Reason: "/metrics has no " + pictureHits}},
		"counters that lag":               {number(0), true, counted(5, 3, 2), counted(5, 3, 2), backends.Cache{State: backends.CacheUnverified, Reason: "/metrics had not counted the request when its answer was complete"}},
		"a server that was started anew":  {number(0), true, counted(5, 3, 2), counted(9, 0, 0), backends.Cache{State: backends.CacheUnverified, Reason: pictureHits + " went backwards: the server was started anew"}},
		"read before but not after":       {nil, false, counted(5, 3), counters{why: "lost"}, backends.Cache{State: backends.CacheUnverified, Reason: "the reply has no " + tokens + " (--enable-prompt-tokens-details), and lost"}},
		"without the counter of requests": {number(0), true, counters{value: map[string]float64{pictureHits: 1}}, counters{value: map[string]float64{pictureHits: 1}}, backends.Cache{State: backends.CacheUnverified, Reason: "/metrics has no " + promptTokens}},
	} {
		if got := proof(c.cached, c.pictures, c.before, c.after); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestCountersAreSummedOverEngines(t *testing.T) {
	page := `# HELP vllm:prefix_cache_hits_total Prefix cache hits
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="a } b"} 16.0
vllm:prefix_cache_hits_total{engine="1",model_name="m"} 1.6e1 1700000000
vllm:prefix_cache_hits_created{engine="1"} 7
vllm:mm_cache_hits_total 3
vllm:prompt_tokens_total{engine="0"} NaN
vllm:prompt_tokens_total -1
vllm:prompt_tokens_total
`
	if got, want := parseCounters([]byte(page)), map[string]float64{prefixHits: 32, pictureHits: 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestUnverifiedColdRequests: salt and names go out, the counters are read only where the
// reply has no proof, and never inside the trace.
func TestUnverifiedColdRequests(t *testing.T) {
	reply := func(usage string) backendtest.Recording {
		return backendtest.Reply(200, "text/event-stream",
			`data: {"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":"stop"}]}`+"\n\n",
			`data: {"choices":[],"usage":{"prompt_tokens":9`+usage+"}}\n\ndata: [DONE]\n\n")
	}
	const details = `,"prompt_tokens_details":{"cached_tokens":0}`
	for name, c := range map[string]struct {
		usage    string
		pictures int
		reads    string // of /metrics around each of three requests
		state    backends.CacheState
	}{
		"text, counted":    {details, 0, "2 0 0", backends.CacheCold}, // the first does not know yet
		"text, uncounted":  {"", 0, "2 2 2", backends.CacheUnverified},
		"picture, counted": {details, 2, "2 2 2", backends.CacheUnverified},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &backendtest.Network{Routes: map[string]backendtest.Recording{chat: reply(c.usage), "GET /metrics": backendtest.Reply(200, "text/plain",
				"vllm:prompt_tokens_total 9\nvllm:prefix_cache_hits_total 0\nvllm:mm_cache_hits_total 0\n")}}
			b := connect(t, n)
			var reads []string
			for range 3 {
				before := len(n.Seen())
				req := backendtest.Ask("m", "?", []backends.Image{backendtest.Picture(8, 8, 1), backendtest.Picture(8, 8, 1)}[:c.pictures]...)
				req.Cold, req.Prove = backends.NonceOf("x"), true
				rec := timing.NewRecorder(timing.NewClock())
				r, err := b.Generate(t.Context(), req, rec)
				if err != nil {
					t.Fatal(err)
				}
				if r.Cache.State != c.state {
					t.Errorf("%s: %+v", name, r.Cache)
				}
				reads = append(reads, fmt.Sprint(len(n.Seen())-before-1))
				if !bytes.Contains(r.Sent, []byte(`"cache_salt":"`+string(req.Cold)+`"`)) || bytes.Contains(r.Sent, []byte("system")) {
					t.Errorf("%s: %.300s", name, r.Sent)
				}
				for i := range c.pictures {
					if n := strings.Count(string(r.Sent), `"uuid":"`+req.Cold.ImageID(i)+`"`); n != 1 {
						t.Errorf("%s: picture %d is named %d times", name, i, n)
					}
				}
			}
			if got := strings.Join(reads, " "); got != c.reads {
				t.Errorf("%s: /metrics was read %s times, want %s", name, got, c.reads)
			}
			before := len(n.Seen())
			if r, err := b.Generate(t.Context(), backendtest.Ask("m", "?"), timing.NewRecorder(timing.NewClock())); err != nil || len(n.Seen()) != before+1 || r.Cache.State != "" || bytes.Contains(r.Sent, []byte("salt")) {
				t.Errorf("%s: an untimed request: %+v, %v", name, r, err)
			}
		})
	}
}

// Some versions count reused tokens only where there are any. What is not there then was
// not looked at either, and proves nothing.
func TestUnverifiedCountsOfHitsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &backendtest.Network{Routes: map[string]backendtest.Recording{}}
		b := connect(t, n)
		var got []string
		for _, details := range []string{`,"prompt_tokens_details":{"cached_tokens":16}`, "", `,"prompt_tokens_details":{"cached_tokens":0}`, ""} {
			n.Routes[chat] = backendtest.Reply(200, "text/event-stream",
				`data: {"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":"stop"}]}`+"\n\n",
				`data: {"choices":[],"usage":{"prompt_tokens":32`+details+"}}\n\ndata: [DONE]\n\n")
			req := backendtest.Ask("m", "?")
			req.Cold, req.Prove = backends.NonceOf("x"), true
			r, err := b.Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(r.Cache.State))
		}
		if want := []string{"hit", "unverified", "cold", "unverified"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// FuzzCounters: a counter is a number, never below nothing.
func FuzzCounters(f *testing.F) {
	files, err := filepath.Glob("testdata/fuzz/FuzzCounters/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		got := parseCounters(page)
		for name, v := range got {
			if !(v >= 0) || len(got) > 3 || !bytes.Contains(page, []byte(name)) {
				t.Fatalf("%s is %v", name, v)
			}
		}
	})
}
