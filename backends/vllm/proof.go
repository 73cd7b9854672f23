package vllm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"assay/backends"
	"assay/backends/openai"
)

// The counters that show what the caches did, as /metrics names them. None shows
// a hit in the encoder's cache, which the fresh uuid of a picture has to avoid.
const (
	promptTokens = "vllm:prompt_tokens_total"
	prefixHits   = "vllm:prefix_cache_hits_total"
	pictureHits  = "vllm:mm_cache_hits_total"
)

// counters are values by name, summed over engines and models. A nil map was
// not read, and why says why not.
type counters struct {
	value map[string]float64
	why   string
}

// counters reads /metrics.
func (b *Backend) counters(ctx context.Context) counters {
	reply, err := b.chat.Client.Get(ctx, "/metrics")
	switch {
	case err != nil:
		return counters{why: "/metrics cannot be read: " + err.Error()}
	case reply.Status != http.StatusOK:
		return counters{why: fmt.Sprintf("/metrics cannot be read: HTTP %d", reply.Status)}
	}
	return counters{value: parseCounters(reply.Body)}
}

// parseCounters reads what it knows of a page of metrics in the Prometheus text
// format; other lines, and values that no counter can have, are left alone.
func parseCounters(page []byte) map[string]float64 {
	out := map[string]float64{}
	for line := range bytes.Lines(page) {
		name, rest, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		if at := strings.IndexByte(name, '{'); at >= 0 {
			// A label's value may hold spaces.
			name, rest = name[:at], string(line)
			at = strings.LastIndexByte(rest, '}')
			ok, rest = at >= 0, rest[at+1:]
		}
		if !ok || !slices.Contains([]string{promptTokens, prefixHits, pictureHits}, name) {
			continue
		}
		value := strings.Fields(rest) // a time may follow
		if len(value) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(value[0], 64); err == nil && v >= 0 && !math.IsInf(v, 0) {
			out[name] += v
		}
	}
	return out
}

// proof is the state of the caches in one answer: of the prompt's by the count
// of reused tokens or else the counter of hits, of the pictures' by theirs.
func proof(cached *int, pictures bool, before, after counters) backends.Cache {
	var fields, values []string
	hit := false
	unproven := func(why string) backends.Cache {
		return backends.Cache{State: backends.CacheUnverified, Reason: why}
	}
	if cached != nil {
		fields, values = append(fields, openai.CachedTokens), append(values, strconv.Itoa(*cached))
		hit = *cached > 0
	}
	var counted []string
	if cached == nil {
		counted = append(counted, prefixHits)
	}
	if pictures {
		counted = append(counted, pictureHits)
	}
	for _, name := range counted {
		grew, why := growth(name, before, after)
		if why != "" && !hit {
			if cached == nil {
				why = "the reply has no " + openai.CachedTokens + " (--enable-prompt-tokens-details), and " + why
			}
			return unproven(why)
		}
		if why == "" {
			fields, values = append(fields, "growth of "+name), append(values, strconv.FormatFloat(grew, 'f', -1, 64))
			hit = hit || grew > 0
		}
	}
	state := backends.CacheCold
	if hit {
		state = backends.CacheHit
	}
	return backends.Cache{State: state, Field: strings.Join(fields, ", "), Value: strings.Join(values, ", ")}
}

// growth is how much a counter grew; why: not known. The counter of prompt
// tokens tells whether the others have taken in the answer yet.
func growth(name string, before, after counters) (grew float64, why string) {
	for _, c := range []counters{before, after} {
		if c.value == nil {
			return 0, cmp.Or(c.why, "/metrics was not read, because replies said it before")
		}
		for _, n := range []string{name, promptTokens} {
			if _, ok := c.value[n]; !ok {
				return 0, "/metrics has no " + n
			}
		}
	}
	grew = after.value[name] - before.value[name]
	switch {
	case grew < 0:
		return 0, name + " went backwards: the server was started anew"
	case after.value[promptTokens] <= before.value[promptTokens]:
		return 0, "/metrics had not counted the request when its answer was complete"
	}
	return grew, ""
}

func hasPictures(req *backends.Request) bool {
	return slices.ContainsFunc(req.Messages, func(m backends.Message) bool { return len(m.Images) > 0 })
}
