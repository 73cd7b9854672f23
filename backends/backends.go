// Package backends says what assay asks of a model server and what it gets back.
// There is no HTTP here: package wire posts and stamps, and one package per
// protocol (openai, llamacpp, vllm, ollama) maps to and from these types.
package backends

import (
	"context"
	"encoding/json"
	"time"

	"assay/timing"
)

// Backend is one model server.
type Backend interface {
	// Identify asks the server who it is and what it knows of a model.
	Identify(ctx context.Context, model string) (Identity, error)
	// Generate makes exactly one attempt at one turn, always streaming. A stream
	// that stops early is ErrTruncated, never success. Errors are *Error.
	Generate(ctx context.Context, req *Request, rec *timing.Recorder) (*Response, error)
}

// Seer is a Backend that can find out by a request of its own whether a model sees,
// where the server does not say.
type Seer interface {
	// Sees is nil where that cannot be told; said is what was asked and answered.
	Sees(ctx context.Context, model string) (sees *bool, said string, err error)
}

// Limiter is a Backend that can find out by a request of its own whether a server keeps
// to the limit of an answer, where servers differ in how they are told.
type Limiter interface {
	// Limits says what was asked and given. ErrDropped: the limit does not hold, and
	// nothing is to be sent. Other errors: it could not be found out.
	Limits(ctx context.Context, model string, options map[string]any) (said string, err error)
}

// Teller is a Backend that can say how likely the first token of an answer was.
type Teller interface {
	// Likely answers a request untimed, without streaming.
	Likely(ctx context.Context, req *Request) (Likely, error)
}

// Likely is an answer, and the likeliest tokens in the place of its first one.
type Likely struct {
	Answer string
	First  map[string]float64 // their log-probabilities by their text; nil: the server does not say
}

// Identity is what a server says of itself and of one model. A nil or empty
// field means the server does not say.
type Identity struct {
	Server       string `json:"server"`                 // "ollama", "llama.cpp", "vllm", "openai"
	Version      string `json:"version,omitempty"`      // as the server prints it
	Model        string `json:"model"`                  // the name that requests carry
	Digest       string `json:"digest,omitempty"`       // of what the server calls the model; Ollama's manifest differs between servers for equal weights
	Weights      string `json:"weights,omitempty"`      // digest of the files of the weights, where the server says it or they can be read here
	Template     string `json:"template,omitempty"`     // of what the server puts around a prompt: chat template, system text, its own parameters
	Path         string `json:"path,omitempty"`         // the file of the weights, as the server names it
	Bytes        *int64 `json:"bytes,omitempty"`        // of that file
	Quantisation string `json:"quantisation,omitempty"` // "Q4_K_M"
	Family       string `json:"family,omitempty"`
	Parameters   string `json:"parameters,omitempty"` // "4.3B"
	Vision       *bool  `json:"vision,omitempty"`
	Thinking     *bool  `json:"thinking,omitempty"`
	Context      *int   `json:"context,omitempty"`   // tokens
	Slots        *int   `json:"slots,omitempty"`     // requests the server works on at once
	Synthetic    bool   `json:"synthetic,omitempty"` // a phantom answered: header Assay-Phantom was present
}

// PhantomHeader is on every response of a phantom reader, so that synthetic
// results are labelled however the server was addressed.
const PhantomHeader = "Assay-Phantom"

// Role of a message's author.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// Image is an encoded picture as it will be sent.
type Image struct {
	Bytes []byte
	MIME  string // "image/png", "image/jpeg"
}

// Message is one turn of the conversation so far.
type Message struct {
	Role   Role
	Text   string
	Images []Image
}

// Sampling is sent explicitly with every request.
type Sampling struct {
	Temperature float64 `json:"temperature" yaml:"temperature" range:"0..2"`
	MaxTokens   int     `json:"max_tokens" yaml:"max_tokens" range:"1..10000000"`
	Seed        *int64  `json:"seed,omitempty" yaml:"seed" range:"0..2147483647" or:"none"` // nil: not sent; servers keep it in 32 bits
}

// Timeouts of one attempt; zero means none.
type Timeouts struct {
	Connect      time.Duration `json:"connect" yaml:"connect" or:"none"`
	FirstContent time.Duration `json:"first_content" yaml:"first_content" or:"none"` // from Start to the first content
	Stall        time.Duration `json:"stall" yaml:"stall" or:"none"`                 // between reads after the first content
	Total        time.Duration `json:"total" yaml:"total" or:"none"`
	// Busy is how long a turn waits in all for a server that says it is busy, between
	// attempts. An adapter makes one attempt and never waits; see Patiently.
	Busy time.Duration `json:"busy" yaml:"busy"`
}

// Request is one turn.
type Request struct {
	Model    string
	Messages []Message
	Sampling Sampling
	Schema   json.RawMessage // JSON Schema that the answer must follow; nil: free text
	Think    *bool           // nil: the model's own default
	Timeouts Timeouts
	Options  map[string]any // passed through as the server's own options (num_ctx, keep_alive, ...)
	// Cold keeps the server's caches out of the answer, by whatever the server
	// offers for that: a flag, a salt, or the nonce itself in the prompt and in the
	// pictures' files. "": its caches are left alone.
	Cold Nonce
	// Prove asks for Response.Cache, also where that takes further requests; they
	// go out before Start and after End.
	Prove bool
}

// Finish says why a complete answer ended.
type Finish string

const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // the token limit or the context was reached
	FinishOther  Finish = "other"
)

// Response is a complete answer.
type Response struct {
	Answer    string
	Reasoning string // the reasoning channel, where the server splits it off
	Finish    Finish
	Usage     Usage
	Server    Timings
	Sent      []byte // the request body exactly as sent
	Cache     Cache  // what the server's caches did; no State: it was not asked for
	Served    string // the model that the reply names; "": none
	Unended   bool   // the stream was closed after a finish reason, without its end mark
	Odd       Odds   // figures that cannot be true: unknown above, as received in Server.Raw
}

// Usage is token counts as received; nil: the server did not say.
type Usage struct {
	PromptTokens     *int `json:"prompt_tokens,omitempty"`
	CompletionTokens *int `json:"completion_tokens,omitempty"`
	CachedTokens     *int `json:"cached_tokens,omitempty"`
	ReasoningTokens  *int `json:"reasoning_tokens,omitempty"`
}

// Timings is the server's own clock as received, stored beside the client's and
// never mixed with it. nil: the server did not say.
type Timings struct {
	Total  *time.Duration `json:"total_ns,omitempty"`
	Load   *time.Duration `json:"load_ns,omitempty"`
	Prompt *time.Duration `json:"prompt_ns,omitempty"`
	Decode *time.Duration `json:"decode_ns,omitempty"`
	Queue  *time.Duration `json:"queue_ns,omitempty"`
	// Raw is the server's timing object, unchanged. Where a figure of the usage is
	// odd it is {"usage":..., "timings":...}, both unchanged.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Unbuffer is what to do where something between server and client holds streams back.
const Unbuffer = "switch off the buffering of replies in the proxy before the server (nginx: proxy_buffering off; Apache: flushpackets=on; Caddy: flush_interval -1), or give url: the server's own address"

// Smaller is what to do about HTTP 413.
const Smaller = "the request is larger than the server or a proxy before it takes: raise its limit (nginx: client_max_body_size), or scale pictures down with max_side"
