//go:build realollama

package realollama_test

import (
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/backendtest/tinymodel"
	"assay/backends/ollama"
	"assay/backends/wire"
	"assay/harness/dataset/datasettest"
	"assay/perturb"
	"assay/results"
	"assay/timing"
)

const (
	within = 0.15 // of the time of requests that the server really never saw
	rounds = 21   // settled before any is looked at: a machine too busy to tell fails
)

// noise is a picture that no server has seen: 448 x 448 pixels, 256 tokens.
func noise(seed uint64) (backends.Image, error) {
	r := rand.New(rand.NewPCG(seed, 1))
	img := image.NewGray(image.Rect(0, 0, 448, 448))
	for i := range img.Pix {
		img.Pix[i] = color.Gray{Y: uint8(r.Uint32())}.Y
	}
	file, err := perturb.EncodePNG(img)
	return backends.Image{Bytes: file, MIME: "image/png"}, err
}

// series are the times of one kind of request: TTFT - load_duration.
type series struct {
	name  string
	times []time.Duration
}

func (s series) median() time.Duration {
	t := slices.Sorted(slices.Values(s.times))
	return (t[(len(t)-1)/2] + t[len(t)/2]) / 2
}

func (s series) fastest() time.Duration { return slices.Min(s.times) }

// TestRealOllamaCaches: an identical request is answered from the caches and
// takes a fraction of the time; the two nonces bring the cold time back, and
// cost every request the same number of prompt tokens.
func TestRealOllamaCaches(t *testing.T) {
	for _, g := range targets(t) {
		if err := tinymodel.Install(t.Context(), g.url); err != nil {
			t.Fatal(err)
		}
		b, err := ollama.New(wire.Config{URL: g.url})
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now().UnixNano() // an earlier run of this test must not have warmed anything
		counts := map[string]map[int]bool{}
		ask := func(s *series, pic backends.Image, text string, cold backends.Nonce) {
			t.Helper()
			seed := int64(1)
			req := &backends.Request{Model: tinymodel.VLMName, Cold: cold, Prove: true,
				Messages: []backends.Message{{Role: backends.User, Text: text, Images: []backends.Image{pic}}},
				Sampling: backends.Sampling{Temperature: 0.8, MaxTokens: 4, Seed: &seed}, Options: map[string]any{"num_ctx": 4096, "num_thread": 1, "keep_alive": "30m"}}
			rec := timing.NewRecorder(timing.NewClock())
			resp, err := b.Generate(t.Context(), req, rec)
			if err != nil {
				t.Fatal(err)
			}
			ttft, ok := rec.Trace().TTFT()
			if !ok || resp.Server.Load == nil || resp.Usage.PromptTokens == nil {
				t.Fatalf("no time to first token, load_duration or prompt_eval_count: %+v", resp)
			}
			s.times = append(s.times, ttft-*resp.Server.Load)
			if counts[s.name] == nil {
				counts[s.name] = map[int]bool{}
			}
			counts[s.name][*resp.Usage.PromptTokens] = true
		}
		fresh, first, repeat, nonced := &series{name: "new"}, &series{name: "warm-up"}, &series{name: "repeated"}, &series{name: "repeated with nonces"}
		known, err := noise(uint64(started))
		if err != nil {
			t.Fatal(err)
		}
		text := func(n int) string { return fmt.Sprintf("%09d. ", n) + strings.Repeat("Describe the picture. ", 36) }
		ask(first, known, text(0), "")
		ratio := func(of func(series) time.Duration) float64 { return float64(of(*nonced))/float64(of(*fresh)) - 1 }
		// The two of a round ran one after the other, so other work on the machine met
		// both: the median of the rounds' own ratios minds it least.
		apart := func() float64 {
			var each []float64
			for i := range fresh.times {
				each = append(each, float64(nonced.times[i])/float64(fresh.times[i])-1)
			}
			slices.Sort(each)
			return (each[(len(each)-1)/2] + each[len(each)/2]) / 2
		}
		for n := 1; n <= rounds; n++ {
			other, err := noise(uint64(started) + uint64(n))
			if err != nil {
				t.Fatal(err)
			}
			// The same work in either order, so that a drift of the machine favours none.
			ways := []func(){
				func() { ask(fresh, other, text(n), "") },
				func() { ask(nonced, known, text(0), backends.NonceOf(fmt.Sprint(started), fmt.Sprint(n))) },
			}
			ways[n%2]()
			ways[1-n%2]()
			ask(first, known, text(0), "")
			ask(repeat, known, text(0), "")
		}
		for _, kind := range []struct {
			name string
			of   func(series) time.Duration
		}{{"fastest", series.fastest}, {"medians", series.median}} {
			fmt.Printf("real Ollama caches: TTFT - load_duration, %s of %d: new %.1f ms, identical %.1f ms (%.1f times faster), with two nonces %.1f ms (%+.1f %% of new)\n",
				kind.name, len(fresh.times), milliseconds(kind.of(*fresh)), milliseconds(kind.of(*repeat)), float64(kind.of(*fresh))/float64(kind.of(*repeat)),
				milliseconds(kind.of(*nonced)), 100*ratio(kind.of))
		}
		fmt.Printf("real Ollama caches: with two nonces %+.1f %% of new, median of %d rounds (bound %.0f %%)\n", 100*apart(), len(fresh.times), 100*within)
		fmt.Printf("real Ollama caches: prompt_eval_count: new %v, identical %v, with nonces %v\n", counts["new"], counts["repeated"], counts["repeated with nonces"])
		if repeat.median() > fresh.median()/2 {
			t.Error("an identical request is not faster: nothing is shown of nonces")
		}
		if a := apart(); a > within || a < -within {
			t.Errorf("with nonces a request takes %+.1f %% of the time of a new one, more than %.0f %%", 100*a, 100*within)
		}
		for name, c := range counts {
			if len(c) != 1 {
				t.Errorf("%s: prompt_eval_count varies: %v", name, c)
			}
		}
		// The caches do not show in the count: that is why time has to tell.
		for n := range counts["new"] {
			if !counts["repeated"][n] {
				t.Errorf("prompt_eval_count shows a hit: %v", counts)
			}
		}
	}
}

// TestRealOllamaFindsHits: assay itself, asked the same question again and again.
// Left alone the server answers from its caches, and every such answer is found;
// kept cold none is.
func TestRealOllamaFindsHits(t *testing.T) {
	for _, g := range targets(t) {
		if err := tinymodel.Install(t.Context(), g.url); err != nil {
			t.Fatal(err)
		}
		for policy, want := range map[results.CachePolicy]backends.CacheState{results.PolicyWarm: backends.CacheHit, results.PolicyCold: backends.CacheCold} {
			dir := t.TempDir()
			if err := datasettest.WriteM3CoTBench(filepath.Join(dir, "data"), items); err != nil {
				t.Fatal(err)
			}
			const asked = 6
			text := strings.NewReplacer("temperature: 0.8, max_tokens: 256", "temperature: 0.8, max_tokens: 8",
				"arms: [direct, cot]", fmt.Sprintf("arms: [direct]\n    repeats: %d\n    repeats_of_invalid: 0\n    cache: %s", asked, policy),
				"[lexical, same]", "[lexical]").Replace(bench(g.url, tinymodel.VLMName))
			text = text[:strings.Index(text, "  same:")] + text[strings.Index(text, "studies:"):]
			// A long prompt: what is saved has to be more than a busy machine adds.
			prompt := strings.Repeat("Look at all of the picture with care. ", 40) + "{{.Question}}"
			for name, content := range map[string]string{"bench.yaml": text + "prompts: {direct: long.tmpl}\n", "long.tmpl": prompt} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if code, out := g.run(t, dir, "run", "-c", "bench.yaml", "--limit", "1"); code > 1 {
				t.Fatalf("status %d: %s", code, out)
			}
			n := map[backends.CacheState]int{}
			for trial, err := range stored(t, dir).Trials(t.Context(), "cot") {
				if err != nil {
					t.Fatal(err)
				}
				a, _ := trial.Last()
				if a.Cache == nil || a.Cache.Policy != policy {
					t.Fatalf("%+v: %+v", trial.Key, a.Cache)
				}
				state := a.Cache.State
				n[state]++
				fmt.Printf("real Ollama, cache: %s, asked for the %d. time: %s (%s: %s) %s\n", policy, trial.Key.Repeat+1, state, a.Cache.Field, a.Cache.Value, a.Cache.Reason)
				switch first := trial.Key.Repeat == 0; {
				case first && state == backends.CacheHit:
					t.Errorf("%+v is no repeat and was found to be a hit", trial.Key)
				case !first && policy == results.PolicyWarm && state != want, policy == results.PolicyCold && state == backends.CacheHit:
					t.Errorf("%+v: %s", trial.Key, state)
				}
			}
			if n[want] < asked-1 {
				t.Errorf("cache: %s: %v of %d", policy, n, asked)
			}
		}
	}
}
