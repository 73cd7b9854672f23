package phantom_test

import "assay/backends/phantom"

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	films "assay/harness/dataset/phantom"
)

// grey is a picture file of 280 x 280 pixels: 100 tokens.
func grey(shade uint8) []byte {
	img := image.NewGray(image.Rect(0, 0, 280, 280))
	img.SetGray(1, 1, color.Gray{Y: shade})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("test: " + err.Error())
	}
	return b.Bytes()
}

// sent is one request to a caching server.
type sent struct {
	model  string // "": honest
	system string
	shade  uint8
	text   string
	more   map[string]any // fields beside
	uuid   string
}

func (a sent) body(protocol string) []byte {
	if a.model == "" {
		a.model = "honest"
	}
	system := map[string]any{"role": "system", "content": a.system}
	user := map[string]any{"role": "user", "content": a.text, "images": [][]byte{grey(a.shade)}}
	if protocol != "ollama" {
		pic := map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(grey(a.shade))}}
		if a.uuid != "" {
			pic["uuid"] = a.uuid
		}
		user = map[string]any{"role": "user", "content": []any{pic, map[string]any{"type": "text", "text": a.text}}}
	}
	b := map[string]any{"model": a.model, "messages": []any{system, user}, "stream": false}
	for k, v := range a.more {
		b[k] = v
	}
	out, err := json.Marshal(b)
	if err != nil {
		panic("test: " + err.Error())
	}
	return out
}

// TestCachesReuseWhatRealOnesDo: per protocol, what each request of a series
// reuses, and that the server says of it what the real one says.
func TestCachesReuseWhatRealOnesDo(t *testing.T) {
	long := strings.Repeat("word ", 80) // 100 tokens
	fresh := map[string]any{"cache_prompt": false}
	salt := func(s string) map[string]any { return map[string]any{"cache_salt": s} }
	for protocol, series := range map[string][]struct {
		sent
		tokens, pictures int
	}{
		"ollama": {
			{sent{system: "sys", text: long}, 0, 0},
			{sent{system: "sys", text: long}, 200, 1},               // the same again
			{sent{system: "123", text: long}, 0, 1},                 // the picture's embedding is kept by its file
			{sent{system: "sys", text: "not " + long}, 100, 1},      // the same beginning
			{sent{system: "sys", text: long, model: "blind"}, 0, 1}, // another reader's prompts are its own
			{sent{system: "sys", text: long, shade: 1}, 0, 0},       // another picture, before the text
			{sent{system: "456", text: long, shade: 2}, 0, 0},
			{sent{system: "567", text: long, shade: 3}, 0, 0},
			{sent{system: "678", text: long, shade: 4}, 0, 0},
			{sent{system: "789", text: long}, 0, 0}, // four pictures since
		},
		"llamacpp": {
			{sent{system: "sys", text: long}, 0, 0},
			{sent{system: "sys", text: long}, 200, 0},
			{sent{system: "sys", text: long, more: fresh}, 0, 0},
			{sent{system: "123", text: long}, 0, 0},
		},
		"vllm": {
			{sent{system: "sys", text: long}, 0, 0},
			{sent{system: "sys", text: long}, 192, 1}, // whole blocks
			{sent{system: "sys", text: long, more: salt("a")}, 0, 1},
			{sent{system: "sys", text: long, more: salt("b"), uuid: "b"}, 0, 0},
			{sent{system: "sys", text: long, more: salt("b"), uuid: "b"}, 192, 1},
			{sent{system: "sys", text: long, more: salt("c"), uuid: "b", shade: 9}, 0, 1}, // its name counts, not its pixels
		},
	} {
		caches := &phantom.Caches{}
		h, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: protocol, Caches: caches})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(h)
		path := "/v1/chat/completions"
		if protocol == "ollama" {
			path = "/api/chat"
		}
		counts := map[int]bool{}
		hits, pictures := 0, 0
		for i, c := range series {
			resp, err := http.Post(srv.URL+path, "application/json", bytes.NewReader(c.body(protocol)))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s %d: %s %v", protocol, i, b, err)
			}
			got := caches.Log()[i]
			if got.Tokens != c.tokens || got.Pictures != c.pictures || got.Hit() != (c.tokens+c.pictures > 0) {
				t.Errorf("%s, request %d reused %d tokens and %d pictures, want %d and %d", protocol, i+1, got.Tokens, got.Pictures, c.tokens, c.pictures)
			}
			hits, pictures = hits+c.tokens, pictures+c.pictures
			var said struct {
				PromptCount int `json:"prompt_eval_count"`
				Timings     struct {
					Cached int `json:"cache_n"`
					Prompt int `json:"prompt_n"`
				}
				Usage struct {
					Prompt  int `json:"prompt_tokens"`
					Details struct {
						Cached int `json:"cached_tokens"`
					} `json:"prompt_tokens_details"`
				}
			}
			if err := json.Unmarshal(b, &said); err != nil {
				t.Fatal(err)
			}
			switch protocol {
			case "ollama":
				counts[said.PromptCount-len(c.text)/4] = true // nothing shows, least of all here
			case "llamacpp":
				if said.Timings.Cached != c.tokens || said.Timings.Cached+said.Timings.Prompt != said.Usage.Prompt {
					t.Errorf("llama-server says %+v", said)
				}
				fallthrough
			default:
				if said.Usage.Details.Cached != c.tokens {
					t.Errorf("%s says %+v", protocol, said)
				}
			}
		}
		if protocol == "ollama" && len(counts) != 1 {
			t.Errorf("prompt_eval_count varies by %v", counts)
		}
		if protocol == "vllm" {
			resp, err := http.Get(srv.URL + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			for _, line := range []string{fmt.Sprintf("vllm:prefix_cache_hits_total %d\n", hits), fmt.Sprintf("vllm:mm_cache_hits_total %d\n", pictures)} {
				if err != nil || !strings.Contains(string(b), line) {
					t.Errorf("no %q in %s", line, b)
				}
			}
		}
		srv.Close()
	}
}
