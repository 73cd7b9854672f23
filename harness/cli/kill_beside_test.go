package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

// counted are requests to a server by their bodies. Each takes a while, so that a kill comes
// while others are on their way.
type counted struct {
	mu   sync.Mutex
	of   map[string]int
	left int // requests until kill is called; 0: it is not
	kill func()
}

func (c *counted) add(body []byte) {
	c.mu.Lock()
	c.of[string(body)]++
	if c.left--; c.left == 0 {
		time.AfterFunc(10*time.Millisecond, c.kill)
	}
	c.mu.Unlock()
	time.Sleep(20 * time.Millisecond)
}

// known is how many bodies came.
func (c *counted) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of)
}

// take are all requests, and those of them that were not the first of their body; it forgets them.
func (c *counted) take() (all, again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.of {
		all, again = all+n, again+n-1
	}
	clear(c.of)
	return all, again
}

// What is asked beside a run, of models and of a judge of leaks, goes on after a kill at any
// moment as a run does: what comes of it is the same, and nothing is asked twice but for what
// was on its way.
func TestKilledAtAnyMomentWhatIsAskedBesideARunGoesOn(t *testing.T) {
	const inFlight = 2
	asked := &counted{of: map[string]int{}}
	p, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: "ollama", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	to, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of requests whose sender was killed
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Body = io.NopCloser(bytes.NewReader(body)); r.URL.Path == "/api/generate" {
			asked.add(body)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer models.Close()
	// The judge finds that every other text leaks, by its first word.
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.add(body)
		var sent struct{ Messages []struct{ Content any } }
		_ = json.Unmarshal(body, &sent)
		prompt := fmt.Sprint(sent.Messages)
		_, text, _ := strings.Cut(prompt, "\"\"\"\n")
		verdict := map[string]any{"leaks": false, "quotes": []string{}, "why": "nothing tells it"}
		if word, _, _ := strings.Cut(text, " "); len(prompt)%2 == 0 {
			verdict = map[string]any{"leaks": true, "quotes": []string{word}, "why": "it says so"}
		}
		said, _ := json.Marshal(verdict)
		reply, _ := json.Marshal(string(said))
		fmt.Fprintf(w, `{"model":"judge-1","choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, reply)
	}))
	defer judge.Close()
	bench := []byte(fmt.Sprintf(`name: k
seed: 7
store: k.sqlite
datasets: {cases: {kind: phantom, items: 20, images: 2, size: 256}}
backends: {p: {kind: ollama, url: %q}}
models: {heart: {backend: p, model: memoriser}}
judges:
  lexical: {kind: lexical}
  gpt: {kind: hosted, provider: openai, url: %q, model: judge-1, api_key_file: key, in_flight: %d}
studies: {diagnosis: {dataset: cases, arms: [mcq], in_flight: %d, rubrics: {accuracy: [lexical, gpt]}}}
`, models.URL, judge.URL, inFlight, inFlight))
	for _, c := range []struct {
		name string
		args func(n int) []string
		ends func(n int) string // the file that holds what came of it
	}{
		{"contamination", func(int) []string { return []string{"dataset", "contamination"} }, func(int) string { return "k-contamination/texts.csv" }},
		{"leaks", func(n int) []string {
			return []string{"dataset", "filter", "--leak-judge", "gpt", "--out", fmt.Sprint("kept", n)}
		},
			func(n int) string { return fmt.Sprintf("kept%d/removed.csv", n) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := func() string {
				dir := t.TempDir()
				put(t, filepath.Join(dir, "bench.yaml"), bench)
				put(t, filepath.Join(dir, "key"), []byte("sk-0123456789abcdefghijkl\n"))
				return dir
			}
			quiet := folder()
			assay(t, quiet, 0, c.args(0)...)
			want, err := os.ReadFile(filepath.Join(quiet, c.ends(0)))
			if err != nil {
				t.Fatal(err)
			}
			all, again := asked.take()
			if all < 15 || again > 0 || bytes.Count(want, []byte("\n")) < 3 {
				t.Fatalf("undisturbed it asks %d times, %d of them again:\n%s", all, again, want)
			}
			rng := rand.New(rand.NewPCG(7, 21))
			dir, kills, n := folder(), 0, 0
			for killed := true; killed; n++ {
				ctx, kill := context.WithCancel(t.Context())
				asked.mu.Lock()
				asked.left, asked.kill = 1+rng.IntN(6), kill
				asked.mu.Unlock()
				cmd := exec.CommandContext(ctx, "assay", c.args(n)...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if killed = ctx.Err() != nil; killed {
					kills++
				} else if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				kill()
			}
			got, err := os.ReadFile(filepath.Join(dir, c.ends(n-1)))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("after %d kills (%v):\n%s\nundisturbed:\n%s", kills, err, got, want)
			}
			sum, again := asked.take()
			t.Logf("%d kills; %d requests, undisturbed %d", kills, sum, all)
			if sum-again != all || again > kills*inFlight || kills < 3 {
				t.Errorf("%d requests of %d, %d of them again, after %d kills", sum, all, again, kills)
			}
			if assay(t, dir, 0, c.args(n)...); asked.known() > 0 {
				t.Errorf("when all is done, %d are asked again", asked.known())
			}
		})
	}
}
