package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/backends"
)

// owned are the request fields that follow from the typed parts of a Request;
// an option of the same name would make the stored request a lie.
var owned = [...]string{"messages", "model", "stream", "stream_options", "temperature", "seed", "max_tokens", "max_completion_tokens", "n_predict", "response_format"}

// Omittable are the fields that may be left out of requests for servers that refuse them.
func Omittable() []string {
	return []string{"temperature", "seed", "stream_options", "response_format", "chat_template_kwargs"}
}

// Body encodes a request. The same request gives the same bytes. Images stand
// before the text of their message.
func (b *Backend) Body(req *backends.Request) ([]byte, error) {
	fields := map[string]any{}
	messages := req.Messages
	if req.Cold != "" && !b.dialect.Salted {
		messages = req.Cold.Talk(messages)
	}
	if b.dialect.Fields != nil {
		b.dialect.Fields(req, fields)
	}
	if req.Think != nil {
		fields["chat_template_kwargs"] = map[string]any{"enable_thinking": *req.Think}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Options)) {
		v := req.Options[name]
		if slices.Contains(owned[:], name) {
			return nil, b.invalid(fmt.Sprintf("option %q is set by the request itself", name), "remove it from options and use sampling, think or the model's name")
		}
		if _, ok := fields[name]; ok && req.Cold != "" && strings.HasPrefix(name, "cache_") {
			return nil, b.invalid(fmt.Sprintf("option %q is set by cache: cold", name), "remove it from options, or set cache: warm in the study")
		}
		if own, ok := fields[name].(map[string]any); ok {
			more, ok := v.(map[string]any)
			if !ok {
				return nil, b.invalid(fmt.Sprintf("option %q must be a map", name), "")
			}
			for k, v := range more {
				if _, ok := own[k]; ok {
					return nil, b.invalid(fmt.Sprintf("option %q sets %q, which think sets already", name, k), "remove one of the two")
				}
				own[k] = v
			}
			continue
		}
		fields[name] = v
	}
	fields["model"] = req.Model
	fields["stream"] = true
	fields["stream_options"] = map[string]any{"include_usage": true}
	fields["temperature"] = req.Sampling.Temperature
	fields[b.limitField(req.Model)] = req.Sampling.MaxTokens
	if req.Sampling.Seed != nil {
		fields["seed"] = *req.Sampling.Seed
	}
	if req.Schema != nil {
		fields["response_format"] = map[string]any{
			"type":        "json_schema",
			"json_schema": map[string]any{"name": "answer", "strict": true, "schema": req.Schema},
		}
	}
	for _, name := range b.omit {
		delete(fields, name)
	}
	if req.Schema != nil && fields["response_format"] == nil {
		messages = inWords(messages, req.Schema)
	}
	rest, err := encode(fields)
	if err != nil {
		return nil, b.invalid("the request cannot be encoded: "+err.Error(), "check its options and schema")
	}
	size := len(rest) + 256
	for _, m := range messages {
		size += 2*len(m.Text) + 128
		for _, img := range m.Images {
			size += base64.StdEncoding.EncodedLen(len(img.Bytes)) + 256
		}
	}
	// The pictures go in by hand: a JSON encoder would look at each of their
	// megabytes for characters to escape, and base64 has none.
	out := append(make([]byte, 0, size), `{"messages":[`...)
	pictures := 0
	for i, m := range messages {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = b.appendMessage(out, m, req.Cold, pictures); err != nil {
			return nil, b.invalid(fmt.Sprintf("message %d: %v", i+1, err), "")
		}
		pictures += len(m.Images)
	}
	out = append(out, `],`...)
	return append(out, rest[1:]...), nil
}

// inWords asks for a schema at the end of a conversation.
func inWords(messages []backends.Message, schema json.RawMessage) []backends.Message {
	out := slices.Clone(messages)
	if n := len(out); n > 0 {
		out[n-1].Text += "\n\nReply with JSON alone, without any other words. It has to follow this JSON Schema:\n" + string(schema)
	}
	return out
}

func (b *Backend) invalid(message, hint string) error {
	return &backends.Error{Kind: backends.ErrRefused, Op: "encode a request for " + b.dialect.Server, Message: message, Hint: hint}
}

// appendMessage writes a message; pictures is how many came before it.
func (b *Backend) appendMessage(out []byte, m backends.Message, cold backends.Nonce, pictures int) ([]byte, error) {
	text, err := encode(m.Text)
	if err != nil {
		return nil, err
	}
	role, err := encode(string(m.Role))
	if err != nil {
		return nil, err
	}
	out = append(append(out, `{"role":`...), role...)
	if len(m.Images) == 0 {
		return append(append(append(out, `,"content":`...), text...), '}'), nil
	}
	out = append(out, `,"content":[`...)
	for i, img := range m.Images {
		kind, sub, ok := strings.Cut(img.MIME, "/")
		if !ok || kind != "image" || strings.ContainsAny(sub, "\"\\;, ") {
			return nil, fmt.Errorf("an image has the media type %q", img.MIME)
		}
		if cold != "" && !b.dialect.Salted {
			if img, err = cold.Mark(img, pictures+i); err != nil {
				return nil, err
			}
		}
		out = append(out, `{"type":"image_url","image_url":{"url":"`...)
		out = append(appendDataURL(out, img.MIME, img.Bytes), `"}`...)
		if cold != "" && b.dialect.ImageIDs {
			out = append(append(append(out, `,"uuid":"`...), cold.ImageID(pictures+i)...), '"')
		}
		out = append(out, `},`...)
	}
	return append(append(append(out, `{"type":"text","text":`...), text...), `}]}`...), nil
}

// encode is JSON without the escapes meant for web pages, so that the stored
// prompt reads as it was written.
func encode(v any) ([]byte, error) {
	var w bytes.Buffer
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(w.Bytes(), []byte("\n")), nil
}

// DataURL carries a file inside a request.
func DataURL(mime string, file []byte) string { return string(appendDataURL(nil, mime, file)) }

func appendDataURL(out []byte, mime string, file []byte) []byte {
	out = append(append(append(out, "data:"...), mime...), ";base64,"...)
	return base64.StdEncoding.AppendEncode(out, file)
}
