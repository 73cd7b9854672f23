package backendtest_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/timing"
)

// fixture is one hand-written reply: see testdata/UNVERIFIED-vllm/README.md.
func fixture(t *testing.T, name string, status int) backendtest.Recording {
	t.Helper()
	b, err := os.ReadFile("testdata/UNVERIFIED-vllm/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".json") {
		return backendtest.Reply(status, "application/json", string(b))
	}
	return backendtest.Reply(status, "text/event-stream; charset=utf-8", strings.SplitAfter(strings.TrimSuffix(string(b), "\n\n")+"\n\n", "\n\n")...)
}

func TestUnverifiedVLLMAnswers(t *testing.T) {
	ms := func(v float64) *time.Duration { d := time.Duration(v * float64(time.Millisecond)); return &d }
	for name, want := range map[string]struct {
		answer, reasoning string
		finish            backends.Finish
		usage             backends.Usage
		server            backends.Timings
		firstAnswer       time.Duration // of the reply's chunks, one per millisecond
	}{
		"stream-reasoning.sse": {"A.", "Two discs, both left.", backends.FinishStop,
			backends.Usage{PromptTokens: number(212), CompletionTokens: number(9), CachedTokens: number(0)},
			backends.Timings{Prompt: ms(41.5), Decode: ms(63.25), Queue: ms(0.125)}, 4 * time.Millisecond},
		"stream-reasoning-content.sse": {"B", "One disc.", backends.FinishLength,
			backends.Usage{PromptTokens: number(210), CompletionTokens: number(4)}, backends.Timings{}, 3 * time.Millisecond},
		"stream-without-usage.sse": {"Left half", "", backends.FinishStop, backends.Usage{}, backends.Timings{}, 2 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()["vllm"].chat: fixture(t, name, 200)}}
				rec := timing.NewRecorder(timing.NewClock())
				resp, err := connect(t, "vllm", n).Generate(t.Context(), backendtest.Ask("seer", "Which half?", backendtest.Picture(32, 32, 1)), rec)
				if err != nil {
					t.Fatal(err)
				}
				if resp.Answer != want.answer || resp.Reasoning != want.reasoning || resp.Finish != want.finish {
					t.Errorf("answer %q, reasoning %q, finish %s", resp.Answer, resp.Reasoning, resp.Finish)
				}
				for what, pair := range map[string][2]any{
					"prompt tokens":     {show(resp.Usage.PromptTokens), show(want.usage.PromptTokens)},
					"completion tokens": {show(resp.Usage.CompletionTokens), show(want.usage.CompletionTokens)},
					"cached tokens":     {show(resp.Usage.CachedTokens), show(want.usage.CachedTokens)},
					"prompt":            {show(resp.Server.Prompt), show(want.server.Prompt)},
					"decode":            {show(resp.Server.Decode), show(want.server.Decode)},
					"queue":             {show(resp.Server.Queue), show(want.server.Queue)},
					"total":             {show(resp.Server.Total), show(want.server.Total)},
				} {
					if pair[0] != pair[1] {
						t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
					}
				}
				tr := rec.Trace()
				start, _ := tr.At(timing.Start)
				if at, ok := tr.At(timing.FirstAnswer); !ok || at-start != want.firstAnswer {
					t.Errorf("the answer begins after %v (%v), want %v", at-start, ok, want.firstAnswer)
				}
				if d, ok := tr.TTFT(); !ok || d != 2*time.Millisecond {
					t.Errorf("first content after %v (%v), want 2ms", d, ok)
				}
				if err := backendtest.CheckOrder(tr); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestUnverifiedVLLMFailures(t *testing.T) {
	for _, f := range []struct {
		name    string
		status  int
		kind    backends.Kind
		says    string
		partial string
	}{
		{"error-midstream.sse", 200, backends.ErrServer, "EngineCore", "The disc"},
		{"no-end-mark.sse", 200, backends.ErrTruncated, "[DONE]", "The disc is"},
		{"end-mark-without-finish.sse", 200, backends.ErrTruncated, "finish", "The disc"},
		{"err-unknown-model.json", 404, backends.ErrUnknownModel, "does not exist", ""},
		{"err-context.json", 400, backends.ErrContextExceeded, "4096 tokens", ""},
		{"err-no-vision.json", 400, backends.ErrNoVision, "not a multimodal model", ""},
		{"err-server.json", 500, backends.ErrServer, "Internal server error", ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{adapters()["vllm"].chat: fixture(t, f.name, f.status)}}
				resp, err := connect(t, "vllm", n).Generate(t.Context(), backendtest.Ask("seer", "?", backendtest.Picture(32, 32, 1)), timing.NewRecorder(timing.NewClock()))
				e := backendtest.Typed(t, resp, err, f.kind)
				if !strings.Contains(e.Error(), f.says) || e.Partial != f.partial {
					t.Errorf("%v, partial text %q; want %q, %q", e, e.Partial, f.says, f.partial)
				}
			})
		})
	}
}

func TestUnverifiedVLLMIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		probe  backendtest.Recording
		vision bool
	}{
		"sees":  {fixture(t, "probe.json", 200), true},
		"blind": {fixture(t, "err-no-vision.json", 400), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &backendtest.Network{Routes: map[string]backendtest.Recording{
					"GET /version": fixture(t, "version.json", 200), "GET /v1/models": fixture(t, "models.json", 200), adapters()["vllm"].chat: c.probe}}
				b := connect(t, "vllm", n)
				id, err := b.Identify(t.Context(), "seer")
				if err != nil || id.Server != "vllm" || id.Version != "0.99.0" || id.Context == nil || *id.Context != 4096 || id.Vision == nil || *id.Vision != c.vision {
					t.Errorf("identity %+v, %v", id, err)
				}
				_, err = b.Identify(t.Context(), "nope")
				backendtest.Typed(t, nil, err, backends.ErrUnknownModel)
			})
		})
	}
}
