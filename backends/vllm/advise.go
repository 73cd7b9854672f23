package vllm

import (
	"strings"

	"assay/backends"
	"assay/backends/openai"
	"assay/backends/wire"
)

// Is knows a vLLM by the owner of its models.
func Is(get func(path string) *wire.Reply) bool { return openai.Owner(get("/v1/models")) == Name }

// What has a server count reused tokens, and say its own clock.
const (
	sayTokens = "--enable-prompt-tokens-details"
	sayTimes  = "--enable-per-request-metrics"
)

// Flags are what a server is to be started with for timed studies.
func Flags() []string {
	return []string{"--no-enable-prefix-caching", "--mm-processor-cache-gb 0", sayTokens, sayTimes}
}

// Missing are the flags that would have a server say what a reply lacks.
func Missing(r *backends.Response) []string {
	var flags []string
	if r.Usage.CachedTokens == nil {
		flags = append(flags, sayTokens)
	}
	if r.Server.Raw == nil {
		flags = append(flags, sayTimes)
	}
	return flags
}

// Advise says what to change of a server for timed studies.
func Advise(c backends.Checkup) []backends.Advice {
	var all []backends.Advice
	if len(c.Missing) > 0 {
		all = append(all, backends.Advice{Level: backends.Warning, Text: "the server does not say all that a timed study wants to know", Do: "start it with " + strings.Join(c.Missing, " ")})
	}
	return append(all, backends.Advice{Level: backends.Note, Text: "each request is kept out of vLLM's caches by a salt and by the pictures' ids",
		Do: "to switch them off as well: --no-enable-prefix-caching --mm-processor-cache-gb 0"})
}
