package hosted

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"

	"assay/backends"
)

// provider is a kind of API.
type provider struct {
	name   string
	url    string // its own
	bearer bool   // langchaingo gives it no key
	client func(b *Backend, key string) (llms.Model, error)
	// dataURL is a picture as a URL; otherwise it goes as bytes.
	dataURL bool
}

// providers are all of them. Whatever langchaingo would read from the environment is
// said, so that it does not.
func providers() []provider {
	return []provider{
		{name: "openai", url: "https://api.openai.com/v1", dataURL: true, client: func(b *Backend, key string) (llms.Model, error) {
			return openai.New(openai.WithToken(key), openai.WithModel(b.set.Model), openai.WithBaseURL(b.base), openai.WithOrganization(""), openai.WithAPIType(openai.APITypeOpenAI), openai.WithHTTPClient(b.http))
		}},
		{name: "anthropic", url: "https://api.anthropic.com/v1", client: func(b *Backend, key string) (llms.Model, error) {
			return anthropic.New(anthropic.WithToken(key), anthropic.WithModel(b.set.Model), anthropic.WithBaseURL(b.base), anthropic.WithHTTPClient(b.http))
		}},
		{name: "ollama", url: "https://ollama.com", bearer: true, client: func(b *Backend, _ string) (llms.Model, error) {
			return ollama.New(ollama.WithServerURL(b.base), ollama.WithModel(b.set.Model), ollama.WithHTTPClient(b.http))
		}},
	}
}

// Providers are the names of the kinds of APIs.
func Providers() []string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.name)
	}
	return names
}

// Unsent is a setting that langchaingo leaves out of requests without a word.
type Unsent struct {
	Key  string // as in bench.yaml: "top_p", "sampling.seed"
	Want string // what may be asked instead: "none: ..."
}

// Unsent are the settings that would not reach the provider.
func (s Settings) Unsent(sampling backends.Sampling) (out []Unsent) {
	none := "none, because langchaingo does not send it to " + s.Provider
	switch seed := sampling.Seed; {
	case seed == nil:
	case s.Provider == "anthropic":
		out = append(out, Unsent{"sampling.seed", none})
	case *seed < 1: // repeats count up from it
		out = append(out, Unsent{"sampling.seed", "1 or more, because langchaingo does not send 0"})
	}
	if s.TopP != nil && s.Provider == "openai" {
		out = append(out, Unsent{"top_p", none})
	}
	fixed := strings.HasPrefix(s.Model, "gpt-5") || strings.HasPrefix(s.Model+"-", "o3-") || strings.HasPrefix(s.Model, "o1-")
	if s.Provider == "openai" && fixed && sampling.Temperature != 1 {
		out = append(out, Unsent{"sampling.temperature", fmt.Sprintf("1, because langchaingo sends none for %s, which has no other", s.Model)})
	}
	return out
}

// talk is a request as langchaingo has it. A schema goes into the prompt: langchaingo's
// form of schemas cannot hold them whole.
func (b *Backend) talk(req *backends.Request) (out []llms.MessageContent, opts []llms.CallOption) {
	roles := map[backends.Role]llms.ChatMessageType{backends.System: llms.ChatMessageTypeSystem, backends.User: llms.ChatMessageTypeHuman, backends.Assistant: llms.ChatMessageTypeAI}
	for i, m := range req.Messages {
		if req.Schema != nil && i == len(req.Messages)-1 {
			m.Text += "\n\nReply with nothing but JSON that follows this JSON Schema:\n" + string(req.Schema)
		}
		c := llms.MessageContent{Role: roles[m.Role], Parts: []llms.ContentPart{llms.TextContent{Text: m.Text}}}
		for _, img := range m.Images {
			if b.provider.dataURL { // its BinaryPart is not what the API reads
				c.Parts = append(c.Parts, llms.ImageURLPart("data:"+img.MIME+";base64,"+base64.StdEncoding.EncodeToString(img.Bytes)))
			} else {
				c.Parts = append(c.Parts, llms.BinaryPart(img.MIME, img.Bytes))
			}
		}
		out = append(out, c)
	}
	opts = []llms.CallOption{llms.WithModel(b.set.Model), llms.WithTemperature(req.Sampling.Temperature), llms.WithMaxTokens(req.Sampling.MaxTokens)}
	if req.Sampling.Seed != nil {
		opts = append(opts, llms.WithSeed(int(*req.Sampling.Seed)))
	}
	if b.set.TopP != nil {
		opts = append(opts, llms.WithTopP(*b.set.TopP))
	}
	if req.Schema != nil {
		opts = append(opts, llms.WithJSONMode())
	}
	return out, opts
}
