package hosted

import (
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
	name           string
	url            string // its own
	header, scheme string // what carries the key, and what stands there before it
	client         func(b *Backend) (llms.Model, error)
	dataURL        bool // pictures go as URLs, not as bytes
	reply          form
}

// form is where a provider's replies, or their lines, have what is read of them: paths of keys,
// "0" being the first of a list. Texts may also be parts in a list.
type form struct {
	end                     string   // what is there, and not false, where the reply ends
	text, finish, refusal   string   // "": it has none
	reasoning, alias        string   // servers with two names for it say the same in both
	prompt                  []string // parts of the number of its tokens, not known without the first
	answer, thought, cached string   // numbers of tokens
}

// providers are all of them. Whatever langchaingo would read from the environment is
// said, so that it does not; it is not told the key.
func providers() []provider {
	const noKey = "none" // it wants some
	const auth, bearer = "Authorization", "Bearer "
	const message = "choices.0.message."
	return []provider{
		{name: "openai", url: "https://api.openai.com/v1", header: auth, scheme: bearer, dataURL: true,
			client: func(b *Backend) (llms.Model, error) {
				return openai.New(openai.WithToken(noKey), openai.WithModel(b.set.Model), openai.WithBaseURL(b.base),
					openai.WithOrganization(""), openai.WithAPIType(openai.APITypeOpenAI), openai.WithHTTPClient(b.http))
			},
			reply: form{
				end: "choices.0", text: message + "content", finish: "choices.0.finish_reason", refusal: message + "refusal",
				reasoning: message + "reasoning", alias: message + "reasoning_content",
				prompt: []string{"usage.prompt_tokens"}, answer: "usage.completion_tokens",
				thought: "usage.completion_tokens_details.reasoning_tokens", cached: "usage.prompt_tokens_details.cached_tokens",
			}},
		{name: "anthropic", url: "https://api.anthropic.com/v1", header: "X-Api-Key",
			client: func(b *Backend) (llms.Model, error) {
				return anthropic.New(anthropic.WithToken(noKey), anthropic.WithModel(b.set.Model), anthropic.WithBaseURL(b.base),
					anthropic.WithHTTPClient(b.http))
			},
			reply: form{
				end: "content", text: "content", finish: "stop_reason", reasoning: "content", answer: "usage.output_tokens",
				prompt: []string{"usage.input_tokens", "usage.cache_read_input_tokens", "usage.cache_creation_input_tokens"},
				cached: "usage.cache_read_input_tokens",
			}},
		{name: "ollama", url: "https://ollama.com", header: auth, scheme: bearer,
			client: func(b *Backend) (llms.Model, error) {
				return ollama.New(ollama.WithServerURL(b.base), ollama.WithModel(b.set.Model), ollama.WithHTTPClient(b.http))
			},
			reply: form{
				end: "done", text: "message.content", finish: "done_reason", reasoning: "message.thinking",
				prompt: []string{"prompt_eval_count"}, answer: "eval_count",
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

// Unsent are the settings that langchaingo would leave out of requests without a word, by
// their keys in bench.yaml, and what may be asked instead.
func (s Settings) Unsent(sampling backends.Sampling) map[string]string {
	out := map[string]string{}
	none := "none, because langchaingo does not send it to " + s.Provider
	switch seed := sampling.Seed; {
	case seed == nil:
	case s.Provider == "anthropic":
		out["sampling.seed"] = none
	case *seed < 1: // repeats count up from it
		out["sampling.seed"] = "1 or more, because langchaingo does not send 0"
	}
	if s.TopP != nil && s.Provider == "openai" {
		out["top_p"] = none
	}
	of := func(name string) bool { return strings.HasPrefix(s.Model, name) }
	fixed := of("gpt-5") || of("o1-") || of("o3-") || s.Model == "o3"
	if s.Provider == "openai" && fixed && sampling.Temperature != 1 {
		out["sampling.temperature"] = fmt.Sprintf("1, because langchaingo sends none for %s, which has no other", s.Model)
	}
	return out
}

// talk is a request as langchaingo has it. A schema goes into the prompt: langchaingo's
// form of schemas cannot hold them whole.
func (b *Backend) talk(req *backends.Request) (out []llms.MessageContent, set llms.CallOption) {
	roles := map[backends.Role]llms.ChatMessageType{
		backends.System: llms.ChatMessageTypeSystem, backends.User: llms.ChatMessageTypeHuman,
		backends.Assistant: llms.ChatMessageTypeAI,
	}
	for i, m := range req.Messages {
		if req.Schema != nil && i == len(req.Messages)-1 {
			m.Text += "\n\nReply with nothing but JSON that follows this JSON Schema:\n" + string(req.Schema)
		}
		c := llms.MessageContent{Role: roles[m.Role], Parts: []llms.ContentPart{llms.TextContent{Text: m.Text}}}
		for _, img := range m.Images {
			part := llms.BinaryPart(img.MIME, img.Bytes)
			if b.provider.dataURL { // its BinaryPart is not what the API reads
				c.Parts = append(c.Parts, llms.ImageURLPart(part.String()))
			} else {
				c.Parts = append(c.Parts, part)
			}
		}
		out = append(out, c)
	}
	return out, func(o *llms.CallOptions) {
		s := req.Sampling
		o.Model, o.Temperature, o.MaxTokens, o.JSONMode = b.set.Model, s.Temperature, s.MaxTokens, req.Schema != nil
		if s.Seed != nil {
			o.Seed = int(*s.Seed)
		}
		if b.set.TopP != nil {
			o.TopP = *b.set.TopP
		}
	}
}
