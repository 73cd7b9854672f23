package openai

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
	"assay/timing"
)

func pixel(t *testing.T) backends.Image {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return backends.Image{Bytes: b.Bytes(), MIME: "image/png"}
}

// TestColdBodies: where the nonce of a cold request goes, by dialect.
func TestColdBodies(t *testing.T) {
	pic, n := pixel(t), backends.NonceOf("x")
	marked := func(i int) string {
		m, err := n.Mark(pic, i)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(m.Bytes)
	}
	plain := base64.StdEncoding.EncodeToString(pic.Bytes)
	req := backends.Request{Model: "m", Cold: n, Messages: []backends.Message{
		{Role: backends.User, Text: "u", Images: []backends.Image{pic, pic}}, {Role: backends.Assistant, Text: "a"},
		{Role: backends.User, Text: "v", Images: []backends.Image{pic}}}}
	salt := func(r *backends.Request, f map[string]any) { f["cache_salt"] = string(r.Cold) }
	picture := func(file, more string) string {
		return `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + file + `"}` + more + `},`
	}
	uuid := func(i int) string { return fmt.Sprintf(`,"uuid":"%s-%04d"`, n, i) }
	talk := func(one, two, three string) string {
		return `{"role":"user","content":[` + one + two + `{"type":"text","text":"u"}]},{"role":"assistant","content":"a"},{"role":"user","content":[` + three + `{"type":"text","text":"v"}]}],`
	}
	rest := `"max_tokens":0,"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0}`
	for name, c := range map[string]struct {
		dialect Dialect
		want    string
	}{
		"in the prompt and the files": {Dialect{MaxTokens: "max_tokens"},
			`{"messages":[{"role":"system","content":"` + n.System() + `"},` + talk(picture(marked(0), ""), picture(marked(1), ""), picture(marked(2), "")) + rest},
		"in fields": {Dialect{MaxTokens: "max_tokens", Fields: salt, Salted: true},
			`{"messages":[` + talk(picture(plain, ""), picture(plain, ""), picture(plain, "")) + `"cache_salt":"` + string(n) + `",` + rest},
		"in fields and names": {Dialect{MaxTokens: "max_tokens", Fields: salt, Salted: true, ImageIDs: true},
			`{"messages":[` + talk(picture(plain, uuid(0)), picture(plain, uuid(1)), picture(plain, uuid(2))) + `"cache_salt":"` + string(n) + `",` + rest},
	} {
		b := &Backend{dialect: c.dialect}
		got, err := b.Body(&req)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s, %v; want\n%s", name, got, err, c.want)
		}
		// Another nonce, and nothing but its digits differs.
		other := req
		other.Cold = backends.NonceOf("y")
		if again, err := b.Body(&other); err != nil || len(again) != len(got) {
			t.Errorf("%s: %d bytes with one nonce, %d with another (%v)", name, len(got), len(again), err)
		}
		warm := req
		warm.Cold = ""
		if body, err := b.Body(&warm); err != nil || bytes.Contains(body, []byte("uuid")) || bytes.Contains(body, []byte("system")) {
			t.Errorf("%s: a request that leaves the caches alone: %s, %v", name, body, err)
		}
	}
	salted := &Backend{dialect: Dialect{Server: "s", MaxTokens: "max_tokens", Fields: salt, Salted: true}}
	for _, r := range []*backends.Request{
		{Model: "m", Cold: n, Options: map[string]any{"cache_salt": "mine"}},
		{Model: "m", Cold: n, Messages: []backends.Message{{Role: backends.User, Images: []backends.Image{{MIME: "image/webp"}}}}},
	} {
		to := salted
		if r.Options == nil {
			to = &Backend{dialect: Dialect{MaxTokens: "max_tokens"}}
		}
		if _, err := to.Body(r); !errors.Is(err, backends.ErrRefused) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// TestWhatACountOfReusedTokensProves: a nonce cannot reach the template before it.
func TestWhatACountOfReusedTokensProves(t *testing.T) {
	for _, c := range []struct {
		cold   backends.Nonce
		cached string // of the usage; "": none
		want   backends.Cache
	}{
		{backends.NonceOf("x"), `0`, backends.Cache{State: backends.CacheCold, Field: CachedTokens, Value: "0"}},
		{backends.NonceOf("x"), ``, backends.Cache{State: backends.CacheUnverified, Reason: "the reply has no " + CachedTokens}},
		{backends.NonceOf("x"), `32`, backends.Cache{State: backends.CacheUnverified, Field: CachedTokens, Value: "32", Reason: "some reused tokens, which may be the chat template's"}},
		{backends.NonceOf("x"), `33`, backends.Cache{State: backends.CacheHit, Field: CachedTokens, Value: "33"}},
		{"", `1`, backends.Cache{State: backends.CacheHit, Field: CachedTokens, Value: "1"}},
	} {
		for _, prove := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				details := ""
				if c.cached != "" {
					details = `,"prompt_tokens_details":{"cached_tokens":` + c.cached + `}`
				}
				req := *ask
				req.Cold, req.Prove = c.cold, prove
				r, err := backend(t, says(200, "text/event-stream", role, word("A"), `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n",
					`data: {"choices":[],"usage":{"prompt_tokens":500`+details+"}}\n\ndata: [DONE]\n\n")).Generate(t.Context(), &req, timing.NewRecorder(timing.NewClock()))
				if err != nil {
					t.Fatal(err)
				}
				want := c.want
				if !prove {
					want = backends.Cache{}
				}
				if r.Cache != want {
					t.Errorf("%s of %q: %+v, want %+v", c.cached, c.cold, r.Cache, want)
				}
				if c.cold != "" && !strings.Contains(string(r.Sent), string(c.cold)) {
					t.Errorf("no nonce in %s", r.Sent)
				}
			})
		}
	}
}
