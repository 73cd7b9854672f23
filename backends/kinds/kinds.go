// Package kinds is the table of the kinds of servers: all that is to be known of one
// beside how it is spoken to. Config, init, doctor, run and show read it; nothing else
// tells kinds apart. To add one: its package, and an entry in All.
package kinds

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/backends"
	"assay/backends/llamacpp"
	"assay/backends/ollama"
	"assay/backends/openai"
	"assay/backends/vllm"
	"assay/backends/wire"
)

// Kind is a kind of server.
type Kind struct {
	Name   string // in bench.yaml
	Called string // for people, with its article
	URL    string // where it listens unless it is told otherwise
	Get    string // the command that gives it a model
	// Phantom servers are started inside the run, and speak as another kind.
	Phantom bool
	// Imported answers were made elsewhere and are brought in: nobody is asked.
	Imported bool

	New func(wire.Config) (backends.Backend, error)
	// List asks a server for the names of its models, sorted.
	List    func(context.Context, wire.Config) ([]string, error)
	Is      func(get func(path string) *wire.Reply) bool // see wire.Sign
	ChatURL func(base string) string                     // where chats are posted

	// NoDecode is why the server's own figure of decoding is not shown; "": it is.
	NoDecode  string
	Thinks    bool     // it can be told whether to think
	Omits     []string // fields of requests that may be left out
	ReadsWebP bool     // beside PNG and JPEG, which all of them read
	Unloads   bool     // its backends are backends.Unloader
	// Silent servers may load a model only when it is asked, and do not say so.
	Silent bool

	// ContextOption sets how many tokens the server works with, LeastContext being
	// those of every version without it; "": the server says itself.
	ContextOption string
	LeastContext  int
	// Options are those that init writes, in YAML; tokens are the context's. nil: none.
	Options func(tokens int) string

	// Start advises on the command that a server is to be started with.
	Start func(command []string, getenv func(string) string, timed bool) []backends.Advice
	// Missing are the flags that would have a server say what a reply lacks; nil: none.
	Missing func(*backends.Response) []string
	// Advise says what to change of a running server for timed studies.
	Advise func(backends.Checkup) []backends.Advice
}

// All are the kinds, in the order in which they are named to people.
func All() []Kind {
	return []Kind{
		{
			Name: ollama.Name, Called: "an Ollama", URL: "http://127.0.0.1:11434", Get: "ollama pull",
			New:  func(w wire.Config) (backends.Backend, error) { return ollama.New(w) },
			List: ollama.List, Is: ollama.Is, ChatURL: ollama.ChatURL,
			Unloads: true, Thinks: true,
			NoDecode:      "Ollama's own figure of decoding leaves out sampling in several versions",
			ContextOption: "num_ctx", LeastContext: 2048,
			// Another num_ctx in the middle of a run would load the model anew.
			Options: func(tokens int) string { return fmt.Sprintf("num_ctx: %d, keep_alive: 30m", tokens) },
			Start:   ollama.Start, Advise: ollama.Advise,
		},
		{
			Name: llamacpp.Name, Called: "a llama-server", URL: "http://127.0.0.1:8080", Get: "llama-server -m",
			New:  func(w wire.Config) (backends.Backend, error) { return llamacpp.New(w) },
			List: openai.List, Is: llamacpp.Is, ChatURL: openai.ChatURL,
			Thinks: true, Omits: openai.Omittable(),
			Start: lacks(llamacpp.Flags()), Advise: llamacpp.Advise,
		},
		{
			Name: vllm.Name, Called: "vLLM", URL: "http://127.0.0.1:8000", Get: "vllm serve",
			New:  func(w wire.Config) (backends.Backend, error) { return vllm.New(w) },
			List: openai.List, Is: vllm.Is, ChatURL: openai.ChatURL,
			Thinks: true, Omits: openai.Omittable(), ReadsWebP: true,
			Start: lacks(vllm.Flags()), Missing: vllm.Missing, Advise: vllm.Advise,
		},
		{
			Name: openai.Name, Called: "an OpenAI-style server", URL: "http://127.0.0.1:8000",
			New:  func(w wire.Config) (backends.Backend, error) { return openai.New(w) },
			List: openai.List, ChatURL: openai.ChatURL,
			Silent: true, Omits: openai.Omittable(),
			Advise: openai.Advise,
		},
		{Name: "phantom", Called: "a phantom", Phantom: true},
		{Name: "imported", Called: "answers made elsewhere", Imported: true},
	}
}

// Named is a kind by name; false: there is none. A phantom has what its protocol, the
// name of another kind, gives it, but for what a real server reads and leaves unsaid.
func Named(name, protocol string) (Kind, bool) {
	all := All()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	if !all[i].Phantom || protocol == "" {
		return all[i], true
	}
	k, ok := Named(protocol, "")
	k.Name, k.Called, k.Phantom, k.ReadsWebP, k.Unloads, k.Silent, k.LeastContext = all[i].Name, all[i].Called, true, false, false, false, 0
	return k, ok
}

// Server is a kind by name, the zero Kind where there is none.
func Server(name, protocol string) Kind {
	k, _ := Named(name, protocol)
	return k
}

// Names are the names of all kinds, or of those alone that listen somewhere.
func Names(phantoms bool) []string {
	var names []string
	for _, k := range All() {
		if phantoms || !k.Phantom && !k.Imported {
			names = append(names, k.Name)
		}
	}
	return names
}

// Connect makes the backend of a server, which names servers of other kinds.
func (k Kind) Connect(w wire.Config) (backends.Backend, error) {
	w.Signs = Signs()
	return k.New(w)
}

// Models lists a server's models by name. Where the server is of another kind the
// error says which. Beside another error are those that came before it.
func (k Kind) Models(ctx context.Context, w wire.Config) ([]string, error) {
	w.Signs = Signs()
	client, err := wire.New(w)
	if err != nil {
		return nil, err
	}
	names, err := k.List(ctx, w)
	if err != nil {
		return names, client.Told(ctx, k.Name, err)
	}
	if k.Is != nil { // others may list their models in the same way
		if hint := client.NotKind(ctx, k.Name); hint != "" {
			return nil, &backends.Error{Kind: backends.ErrRefused, Op: "ask " + w.URL + " for its models", Message: "it is no " + k.Name + " server", Hint: hint}
		}
	}
	return names, nil
}

// FindServer finds out within wire.KindWithin what kind of server answers, and which models it
// has: by what only one kind says, or else by a list of models of OpenAI's form. Beside an
// error are the models that came before it.
func FindServer(ctx context.Context, w wire.Config) (k Kind, names []string, err error) {
	short, cancel := context.WithTimeout(ctx, wire.KindWithin)
	defer cancel()
	w.Signs = Signs()
	client, err := wire.New(w)
	if err != nil {
		return k, nil, err
	}
	listed := make(chan struct{})
	go func() {
		defer close(listed)
		names, err = openai.List(short, w)
	}()
	sign, ok := client.Kind(short)
	<-listed
	if !ok {
		sign.Kind = openai.Name
	}
	k, _ = Named(sign.Kind, "")
	if ok {
		names, err = k.List(ctx, w)
	}
	return k, names, err
}

// Context is how many tokens a server surely works with, which it does not say
// itself. 0: it says, or nothing is sure.
func (k Kind) Context(options map[string]any) int {
	if k.ContextOption == "" {
		return 0
	}
	switch n := options[k.ContextOption].(type) {
	case int:
		return n
	case int64:
		return int(n)
	case uint64:
		return int(n)
	case float64:
		return int(n)
	}
	return k.LeastContext
}

// Signs are what kinds are known by. What any server may say is asked for last.
func Signs() []wire.Sign {
	var all []wire.Sign
	for _, k := range All() {
		all = append(all, wire.Sign{Kind: k.Name, Called: k.Called, Is: k.Is})
	}
	slices.Reverse(all)
	return all
}

// lacks advises on a command that lacks flags.
func lacks(flags []string) func([]string, func(string) string, bool) []backends.Advice {
	return func(command []string, _ func(string) string, _ bool) []backends.Advice {
		var all []backends.Advice
		for _, flag := range flags {
			if !strings.Contains(strings.Join(command, " "), flag) {
				all = append(all, backends.Advice{Level: backends.Warning, Text: "its command lacks " + flag, Do: "add it for timed studies", Flag: flag})
			}
		}
		return all
	}
}

// NoDecode is why the own figure of decoding of a server, as a run's manifest calls it
// ("phantom ollama"), is not shown; "": it is.
func NoDecode(server string) string {
	for _, k := range All() {
		if k.NoDecode != "" && strings.Contains(server, k.Name) {
			return k.NoDecode
		}
	}
	return ""
}
