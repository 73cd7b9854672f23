package phantom_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

// order is the shapes of a stream's chunks in order; equal neighbours count once, so
// that streams of different lengths can be compared.
func order(t *testing.T, e exchange) []string {
	var out []string
	for _, in := range events(t, e) {
		if s := fmt.Sprint(in); len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	return out
}

// TestStreamsComeInTheRecordedOrder: every chunk of whole streams of all recorded
// servers, of each its kind and place.
func TestStreamsComeInTheRecordedOrder(t *testing.T) {
	const recordings = "../backendtest/testdata/recordings"
	readers := []phantom.Profile{quick("tiny-vlm", true)}
	ollama := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "ollama", Readers: readers})
	llama := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "llamacpp", Readers: readers, Loaded: "tiny-vlm"})
	chat := `{"model":"tiny-vlm","messages":[{"role":"user","content":"Describe this image.","images":["` + picture(224, 112) + `"]}],"stream":true`
	ask := `{"model":"tiny-vlm","max_tokens":48,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"Describe this image."},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture(224, 112) + `"}}]}]`
	compared := map[string]int{}
	for pattern, c := range map[string]struct{ url, path, body string }{
		"ollama-*/chat-stream-image-warm":                   {ollama, "/api/chat", chat + `,"options":{"num_predict":48}}`},
		"ollama-*/chat-stream-length":                       {ollama, "/api/chat", chat + `,"options":{"num_predict":5}}`},
		"ollama-*/chat-schema-stream":                       {ollama, "/api/chat", chat + `,"format":` + catSchema + `}`},
		"ollama-*-queue/cold-burst-1":                       {ollama, "/api/chat", chat + `,"options":{"num_predict":8}}`},
		"llama-server-b10573/chat-stream-image-nocache":     {llama, "/v1/chat/completions", ask + `,"stream_options":{"include_usage":true},"cache_prompt":false}`},
		"llama-server-b10573/chat-stream-no-usage":          {llama, "/v1/chat/completions", ask + `}`},
		"llama-server-b10573/chat-stream-timings-per-token": {llama, "/v1/chat/completions", ask + `,"timings_per_token":true}`},
	} {
		files, err := filepath.Glob(filepath.Join(recordings, filepath.FromSlash(pattern)+".response.http"))
		if err != nil || len(files) == 0 {
			t.Errorf("no recording %s: %v", pattern, err)
		}
		got := order(t, send(t, c.url, "POST", c.path, c.body))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			want := order(t, parse(t, bufio.NewReader(bytes.NewReader(b))))
			if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
				t.Errorf("%s: chunks\n%s\nrecorded\n%s", f, a, b)
			}
			compared[filepath.Base(filepath.Dir(f))]++
		}
	}
	if len(compared) != 6 {
		t.Errorf("compared with %v, want six sets", compared)
	}
}
