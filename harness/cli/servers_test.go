package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/harness/dataset/datasettest"
	"assay/harness/experiment"
)

// create writes a bench.yaml for the server at a URL, whose kind is not said.
func create(t *testing.T, url string, models ...string) (made, string, error) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "q.jsonl")
	if err := os.WriteFile(data, []byte(`{"id":"a","question":"It is.","type":"bool","answer":"True","images":["a.png"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, picture, _ := datasettest.Picture(0)
	if err := os.WriteFile(filepath.Join(dir, "a.png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "bench.yaml")
	made, err := wanted{Study: "cot", URL: url, Dataset: "jsonl", Path: data, Models: models}.Create(t.Context(), out, experiment.Known())
	text, _ := os.ReadFile(out)
	return made, string(text), err
}

// listDraft is a model list of OpenAI's form.
func listDraft(owner string, names ...string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%q,"object":"model","created":1,"owned_by":%q}`, n, owner)
	}
	return `{"object":"list","data":[` + b.String() + `]}`
}

// TestEveryServerIsFound: what a server is follows from what it says, whatever stands at
// the end of its address; models that embed are left out.
func TestEveryServerIsFound(t *testing.T) {
	const props = `{"default_generation_settings":{"n_ctx":4096},"total_slots":1,"model_path":"/m.gguf","modalities":{"vision":true}}`
	for name, c := range map[string]struct {
		says  map[string]string // by path; else 404
		other string            // what is said of other paths, with 200; "": 404
		kind  string
		has   []string
		not   []string
	}{
		"plain":     {map[string]string{"/v1/models": listDraft("me", "a", "b")}, "", "openai", []string{`model: "a"`, `model: "b"`}, nil},
		"LM Studio": {map[string]string{"/v1/models": listDraft("organization_owner", "qwen2.5-vl-7b-instruct", "text-embedding-nomic-embed-text-v1.5")}, `{"error":"Unexpected endpoint or method. (GET /props)"}`, "openai", []string{"qwen2.5-vl"}, []string{"text-embedding"}},
		"SGLang":    {map[string]string{"/v1/models": listDraft("sglang", "Qwen/Qwen2.5-VL-7B-Instruct"), "/health": "", "/get_model_info": "{}"}, "", "openai", []string{"Qwen2.5-VL"}, nil},
		"TGI":       {map[string]string{"/v1/models": listDraft("llava-hf/llava-v1.6", "llava-hf/llava-v1.6"), "/health": "", "/info": "{}"}, "", "openai", []string{"llava"}, nil},
		"LocalAI":   {map[string]string{"/v1/models": listDraft("", "gpt-4o", "bert-embeddings", "jina-reranker-v1"), "/": "<!DOCTYPE html>", "/version": `{"version":"v2.26.0"}`}, "", "openai", []string{"gpt-4o"}, []string{"bert-embeddings", "jina-reranker"}},
		"an empty owner, unknown paths are pages": {map[string]string{"/v1/models": listDraft("", "a")}, "<!DOCTYPE html><title>gateway</title>", "openai", []string{`model: "a"`}, nil},
		"llama.cpp": {map[string]string{"/v1/models": listDraft("llamacpp", "m"), "/props": props, "/health": `{"status":"ok"}`}, "", "llamacpp", []string{`model: "m"`}, nil},
		"vLLM":      {map[string]string{"/v1/models": listDraft("vllm", "v"), "/version": `{"version":"0.11"}`, "/v1/chat/completions": `{"choices":[{"message":{"content":"grey"}}]}`}, "", "vllm", []string{`model: "v"`}, nil},
		"Ollama": {map[string]string{"/": "Ollama is running", "/v1/models": listDraft("library", "o:latest"), "/api/version": `{"version":"0.32.0"}`, "/api/tags": `{"models":[{"name":"o:latest","model":"o:latest"}]}`,
			"/api/show": `{"capabilities":["completion","vision"]}`, "/api/ps": `{"models":[]}`}, "", "ollama", []string{`model: "o"`}, nil},
	} {
		for _, end := range []string{"", "/", "/v1", "/v1/"} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				said, ok := c.says[r.URL.Path]
				if !ok && c.other == "" {
					http.NotFound(w, r)
					return
				}
				if !ok {
					said = c.other
				}
				fmt.Fprint(w, said)
			}))
			_, text, err := create(t, s.URL+end)
			s.Close()
			if want := fmt.Sprintf("kind: %s, url: %q", c.kind, s.URL); err != nil || !strings.Contains(text, want) {
				t.Errorf("%s%s: %v; want %s", name, end, err, want)
				continue
			}
			for _, has := range c.has {
				if !strings.Contains(text, has) {
					t.Errorf("%s%s: no %s in\n%s", name, end, has, text)
				}
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("%s%s: %s in\n%s", name, end, not, text)
				}
			}
		}
	}
}

// TestSlowServersAndLongListsAreBounded: init ends within its time with what was found
// so far, and says what is missing.
func TestSlowServersAndLongListsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as servers are waited for")
	}
	many := make([]string, 300_000)
	for i := range many {
		many[i] = fmt.Sprintf("model-%06d", i)
	}
	short, long := `{"data":[{"id":"`+strings.Join(many, `"},{"id":"`)+`"}]}`, listDraft("x", many...)
	drip := func(w http.ResponseWriter, r *http.Request, text string) {
		for i := 0; ; i++ {
			if i < len(text) {
				fmt.Fprint(w, text[i:i+1])
			} else {
				fmt.Fprint(w, " ")
			}
			w.(http.Flusher).Flush()
			select {
			case <-time.After(10 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
	}
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		within time.Duration
		models int // of the file; 0: there is none
		says   string
	}{
		"every reply drips": {func(w http.ResponseWriter, r *http.Request) { drip(w, r, "") }, 6 * time.Second, 0, "lists its models"},
		"all but the model list drips": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				fmt.Fprint(w, listDraft("x", "a"))
			} else {
				drip(w, r, "")
			}
		}, 6 * time.Second, 1, ""},
		"the model list drips": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				drip(w, r, listDraft("x", "a", "b")+"x")
			} else {
				http.NotFound(w, r)
			}
		}, 11 * time.Second, 2, "2 models"},
		"300,000 models": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				fmt.Fprint(w, short)
			} else {
				http.NotFound(w, r)
			}
		}, 5 * time.Second, 20, "it has 300000"},
		"one model takes long": {func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/v1/models":
				fmt.Fprint(w, listDraft("vllm", "quick", "slow", "third"))
			case r.URL.Path == "/version":
				fmt.Fprint(w, "{}")
			case r.URL.Path == "/v1/chat/completions":
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "slow") {
					drip(w, r, "")
				}
				fmt.Fprint(w, "{}")
			default:
				http.NotFound(w, r)
			}
		}, 11 * time.Second, 3, "10s were over after 1 of 3"},
		"300,000 models in a longer list": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				fmt.Fprint(w, long)
			} else {
				http.NotFound(w, r)
			}
		}, 5 * time.Second, 20, "is cut"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.serve)
			defer s.Close()
			began := time.Now()
			made, text, err := create(t, s.URL)
			took := time.Since(began)
			t.Logf("%.1f s, %d models, %q, %v", took.Seconds(), len(made.Models), made.Unasked, err)
			if took > c.within+2*time.Second { // the machine may be busy
				t.Errorf("it took %v, want at most %v", took, c.within)
			}
			if (err == nil) != (c.models != 0) || c.models > 0 && len(made.Models) != c.models || strings.Count(text, "backend: server, model: \"") != len(made.Models) {
				t.Errorf("%d models in the file, want %d; %v", len(made.Models), c.models, err)
			}
			if said := fmt.Sprint(made.Unasked, " ", err); !strings.Contains(said, c.says) {
				t.Errorf("it says %s, want %s", said, c.says)
			}
		})
	}
}
