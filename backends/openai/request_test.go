package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/backends"
)

func TestRequestBody(t *testing.T) {
	seed, no := int64(-3), false
	for name, c := range map[string]struct {
		dialect Dialect
		req     backends.Request
		want    string
	}{
		"least": {Dialect{MaxTokens: "max_tokens"},
			backends.Request{Model: "m", Messages: []backends.Message{{Role: backends.User, Text: "a <b> & \"é\"\n"}}, Sampling: backends.Sampling{MaxTokens: 5}},
			`{"messages":[{"role":"user","content":"a <b> & \"é\"\n"}],"max_tokens":5,"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0}`},
		"all": {Dialect{MaxTokens: "max_completion_tokens", Fields: func(r *backends.Request, f map[string]any) { f["extra"] = r.Model }},
			backends.Request{Model: "m", Messages: []backends.Message{
				{Role: backends.System, Text: "s"},
				{Role: backends.User, Text: "u", Images: []backends.Image{{Bytes: []byte{0, 255, 62}, MIME: "image/png"}, {Bytes: []byte("j"), MIME: "image/jpeg"}}},
				{Role: backends.Assistant, Text: "a"},
				{Role: backends.User}},
				Sampling: backends.Sampling{Temperature: 0.1, MaxTokens: 5, Seed: &seed}, Think: &no,
				Schema:  json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`),
				Options: map[string]any{"cache_prompt": false, "chat_template_kwargs": map[string]any{"x": 1}}},
			`{"messages":[{"role":"system","content":"s"},` +
				`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AP8+"}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,ag=="}},{"type":"text","text":"u"}]},` +
				`{"role":"assistant","content":"a"},{"role":"user","content":""}],` +
				`"cache_prompt":false,"chat_template_kwargs":{"enable_thinking":false,"x":1},"extra":"m","max_completion_tokens":5,"model":"m",` +
				`"response_format":{"json_schema":{"name":"answer","schema":{"type":"object","properties":{"z":{},"a":{}}},"strict":true},"type":"json_schema"},` +
				`"seed":-3,"stream":true,"stream_options":{"include_usage":true},"temperature":0.1}`},
		"no message": {Dialect{MaxTokens: "n"}, backends.Request{Model: "m"},
			`{"messages":[],"model":"m","n":0,"stream":true,"stream_options":{"include_usage":true},"temperature":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Backend{dialect: c.dialect}
			got, err := b.Body(&c.req)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestRequestsThatAreNotSent(t *testing.T) {
	yes := true
	user := func(img ...backends.Image) []backends.Message {
		return []backends.Message{{Role: backends.User, Images: img}}
	}
	for says, req := range map[string]backends.Request{
		`option "seed" is set by the request`:                        {Options: map[string]any{"seed": 1}},
		`option "stream" is set by the request`:                      {Options: map[string]any{"stream": false}},
		`sets "enable_thinking", which think sets already`:           {Think: &yes, Options: map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": false}}},
		`option "chat_template_kwargs" must be a map`:                {Think: &yes, Options: map[string]any{"chat_template_kwargs": 1}},
		`message 1: an image has the media type ""`:                  {Messages: user(backends.Image{})},
		`message 1: an image has the media type "image/\"x"`:         {Messages: user(backends.Image{MIME: `image/"x`})},
		`message 1: an image has the media type "application/dicom"`: {Messages: user(backends.Image{MIME: "application/dicom"})},
		"cannot be encoded":                                          {Schema: json.RawMessage("{")},
	} {
		_, err := (&Backend{dialect: Dialect{Server: "s", MaxTokens: "max_tokens"}}).Body(&req)
		var e *backends.Error
		if !errors.As(err, &e) || e.Kind != backends.ErrRefused || !strings.Contains(e.Error(), says) || e.Sent != nil {
			t.Errorf("%q: error %v", says, err)
		}
	}
}

// TestBodyCarriesTheRequest reads bodies back, whatever is in the request.
func TestBodyCarriesTheRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var req backends.Request
		req.Model = rapid.String().Draw(t, "model")
		req.Sampling = backends.Sampling{Temperature: rapid.Float64Range(0, 2).Draw(t, "temperature"), MaxTokens: rapid.IntRange(1, 1e9).Draw(t, "limit")}
		var texts, pictures []string
		for range rapid.IntRange(0, 3).Draw(t, "messages") {
			m := backends.Message{Role: backends.User, Text: rapid.String().Draw(t, "text")}
			texts = append(texts, m.Text)
			for range rapid.IntRange(0, 2).Draw(t, "pictures") {
				b := rapid.SliceOf(rapid.Byte()).Draw(t, "picture")
				m.Images = append(m.Images, backends.Image{Bytes: b, MIME: "image/png"})
				pictures = append(pictures, string(b))
			}
			req.Messages = append(req.Messages, m)
		}
		b := &Backend{dialect: Dialect{MaxTokens: "limit"}}
		body, err := b.Body(&req)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := b.Body(&req); !bytes.Equal(body, again) {
			t.Fatal("the same request gives other bytes")
		}
		var got struct {
			Model       string
			Temperature float64
			Limit       int
			Messages    []struct{ Content any }
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		var gotTexts, gotPictures []string
		for _, m := range got.Messages {
			if s, ok := m.Content.(string); ok {
				gotTexts = append(gotTexts, s)
				continue
			}
			for _, p := range m.Content.([]any) {
				part := p.(map[string]any)
				if s, ok := part["text"].(string); ok {
					gotTexts = append(gotTexts, s)
					continue
				}
				url := part["image_url"].(map[string]any)["url"].(string)
				file, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:image/png;base64,"))
				if err != nil {
					t.Fatal(err)
				}
				gotPictures = append(gotPictures, string(file))
			}
		}
		if got.Model != req.Model || got.Temperature != req.Sampling.Temperature || got.Limit != req.Sampling.MaxTokens ||
			!reflect.DeepEqual(gotTexts, texts) || !reflect.DeepEqual(gotPictures, pictures) {
			t.Fatalf("%s came from %+v", body, req)
		}
	})
}

func TestProblems(t *testing.T) {
	b := &Backend{}
	for _, c := range []struct {
		status int
		body   string
		kind   backends.Kind
		says   string
	}{
		{400, `{"error":{"message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}}`, backends.ErrContextExceeded, "longer context"},
		{400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, backends.ErrContextExceeded, "too long"},
		{400, `{"error":{"message":"m is not a multimodal model"}}`, backends.ErrNoVision, "model that can see"},
		{404, `{"error":{"message":"The model 'm' does not exist.","type":"NotFoundError","code":404}}`, backends.ErrUnknownModel, "/v1/models"},
		{404, `{"error":{"code":"model_not_found"}}`, backends.ErrUnknownModel, ""},
		{404, `{"detail":"Not Found"}`, backends.ErrRefused, "without a path"},
		{404, "404 page not found", backends.ErrRefused, "404 page not found"},
		{401, "", backends.ErrRefused, "Unauthorized; check the API key"},
		{403, `{"error":"no"}`, backends.ErrRefused, "check the API key"},
		{429, `{"error":{"message":"slow down"}}`, backends.ErrBusy, "fewer requests"},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, backends.ErrRefused, "field required"},
		{503, `{"error":{"message":"Loading model"}}`, backends.ErrLoading, "wait"},
		{503, `{"error":{"message":"overloaded"}}`, backends.ErrBusy, "overloaded"},
		{503, `{"error":{"message":"no backend"}}`, backends.ErrServer, "no backend"},
		{408, `{"error":{"message":"too slow"}}`, backends.ErrServer, "fewer requests"},
		{500, `{"object":"error","message":"boom","type":"InternalServerError","code":500}`, backends.ErrServer, "boom"},
		{500, `{"error":{"message":""}}`, backends.ErrServer, `{"message":""}`},
		{500, strings.Repeat("x", 2000), backends.ErrServer, strings.Repeat("x", 500) + ";"},
		{302, "moved", backends.ErrServer, "moved"},
	} {
		p := b.Problem(c.status, []byte(c.body))
		err := p.error(func(k backends.Kind, m, h string) *backends.Error {
			return &backends.Error{Kind: k, Status: p.Status, Message: m, Hint: h}
		})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), fmt.Sprintf("HTTP %d", c.status)) {
			t.Errorf("%d %.80s: %v, want %s: %s", c.status, c.body, err, c.kind, c.says)
		}
	}
	b.dialect.Classify = func(p Problem) (backends.Kind, string) {
		if p.Type == "odd" {
			return backends.ErrLoading, "own hint"
		}
		return "", ""
	}
	if p := b.Problem(400, []byte(`{"error":{"message":"m","type":"odd"}}`)); p.kind != backends.ErrLoading || p.hint != "own hint" {
		t.Errorf("the dialect's word does not count: %+v", p)
	}
	if p := b.Problem(400, []byte(`{"error":{"message":"m"}}`)); p.kind != backends.ErrRefused {
		t.Errorf("%+v", p)
	}
}

// TestOmittedFieldsAreLeftOut: of every request; a schema that cannot be sent stands in the
// prompt, and a refusal says how to leave a field out.
func TestOmittedFieldsAreLeftOut(t *testing.T) {
	seed := int64(1)
	req := &backends.Request{Model: "m", Messages: []backends.Message{{Role: backends.User, Text: "Rate it."}}, Think: new(bool),
		Sampling: backends.Sampling{MaxTokens: 5, Seed: &seed}, Schema: json.RawMessage(`{"type":"object"}`)}
	b := &Backend{dialect: Dialect{MaxTokens: "max_tokens"}, omit: Omittable()}
	got, err := b.Body(req)
	want := `{"messages":[{"role":"user","content":"Rate it.\n\nReply with JSON alone, without any other words. It has to follow this JSON Schema:\n{\"type\":\"object\"}"}],"max_tokens":5,"model":"m","stream":true}`
	if err != nil || string(got) != want || req.Messages[0].Text != "Rate it." {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
	for body, hint := range map[string]string{
		`{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`:                 "write omit: [seed, stream_options] at the backend",
		`{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs"}]}`:  "write omit: [seed, response_format] at the backend",
		`{"error":{"message":"Unsupported value: 'temperature' does not support 0.1 with this model."}}`: "write omit: [seed, temperature] at the backend",
		`{"error":{"message":"chat_template_kwargs: Extra inputs are not permitted"}}`:                   "write omit: [seed, chat_template_kwargs] at the backend",
		`{"error":{"message":"seed is not supported"}}`:                                                  "", // it is not sent
		`{"error":{"message":"messages must not be empty"}}`:                                             "",
	} {
		b := &Backend{omit: []string{"seed"}}
		p := b.Problem(400, []byte(body))
		if !strings.Contains(p.hint, hint) || hint == "" && p.hint != "" || p.kind != backends.ErrRefused {
			t.Errorf("%s: %s, %q, want %q", body, p.kind, p.hint, hint)
		}
	}
}
