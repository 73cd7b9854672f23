package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"assay/backends"
	"assay/backends/wire"
)

// Is knows an Ollama by its front page.
func Is(get func(path string) *wire.Reply) bool {
	return bytes.HasPrefix(bytes.TrimSpace(get("/").Body), []byte("Ollama is running"))
}

// List asks a server for the names of its models, sorted.
func List(ctx context.Context, w wire.Config) ([]string, error) {
	client, err := wire.New(w)
	if err != nil {
		return nil, err
	}
	reply, err := client.Get(ctx, "/api/tags")
	if err != nil {
		return nil, err
	}
	if reply.Status != http.StatusOK {
		return nil, reply.Fail(backends.ErrRefused, backends.Excerpt(reply.Body), "is this an Ollama server?")
	}
	names, err := readTags(reply.Body)
	if err != nil {
		return nil, reply.Fail(backends.ErrMalformed, err.Error(), "")
	}
	return names, nil
}

// readTags reads the names in the list of models.
func readTags(body []byte) ([]string, error) {
	var list api.ListResponse
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("the list of models is not JSON: %w; is this an Ollama server?", err)
	}
	var names []string
	for _, m := range list.Models {
		if name := strings.TrimSuffix(m.Model, ":latest"); name != "" { // which the server takes as the same
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// oneSlot makes a server work on one request at a time.
const oneSlot = "OLLAMA_NUM_PARALLEL=1"

// Start advises on the command, and the environment, that a server is to be started with.
func Start(command []string, getenv func(string) string, timed bool) []backends.Advice {
	name, value, _ := strings.Cut(oneSlot, "=")
	if !timed || strings.Contains(strings.Join(command, " "), oneSlot) || getenv(name) == value {
		return nil
	}
	return []backends.Advice{{Level: backends.Warning, Text: "it may work on several requests at once",
		Do: "for timed studies give it one slot: command: [env, " + oneSlot + ", " + strings.Join(command, ", ") + "]", Flag: oneSlot}}
}

// Advise says what to change of a server for timed studies.
func Advise(c backends.Checkup) []backends.Advice {
	var all []backends.Advice
	say := func(l backends.Level, text, do string) {
		all = append(all, backends.Advice{Level: l, Text: text, Do: do})
	}
	if _, ok := c.Options["num_ctx"]; !ok {
		all = append(all, backends.Advice{Level: backends.Warning, Text: "num_ctx is not given: the server's default may cut long prompts, and a change of it reloads the model",
			Do: "give options: {num_ctx: 8192} to backend " + c.Backend, Flag: "options: {num_ctx: N}"})
	}
	if unloads(c.Options["keep_alive"]) {
		say(backends.Problem, "keep_alive is 0: the model is loaded anew for every request", "give options: {keep_alive: 30m} to backend "+c.Backend)
	}
	if c.Identity.Slots == nil {
		say(backends.Note, "no field shows how many requests this Ollama works on at once; with two, equal requests differed by a quarter", "for timed studies start it with "+oneSlot+" in its environment")
	}
	if newer(c.Identity.Version, 0, 30) {
		say(backends.Note, "this Ollama runs llama-server, whose prompt cache in RAM no field shows", "start it with LLAMA_ARG_CACHE_RAM=0 in its environment")
	}
	if c.Loaded == nil {
		return all
	}
	if c.Asked && !slices.ContainsFunc(c.Loaded, func(l backends.Loaded) bool { return l.Is(c.Model) }) {
		say(backends.Problem, "it left the server's memory right after a request: the model is loaded anew for every one", "set OLLAMA_KEEP_ALIVE=30m for the server, or options: {keep_alive: 30m}")
	}
	for _, l := range c.Loaded {
		switch {
		case !l.Is(c.Model):
			say(backends.Warning, fmt.Sprintf("%s is in memory, too (%.1f GB)", l.Model, float64(l.Bytes)/1e9), "run "+l.Stop)
		case l.BytesVRAM < l.Bytes:
			say(backends.Note, fmt.Sprintf("%.1f of %.1f GB are on a GPU; the rest runs on the CPU", float64(l.BytesVRAM)/1e9, float64(l.Bytes)/1e9), "")
		default:
			say(backends.Fine, fmt.Sprintf("all %.1f GB are on the GPU", float64(l.Bytes)/1e9), "")
		}
	}
	return all
}

// unloads says whether a keep_alive takes a model out of memory after each request.
func unloads(keep any) bool {
	switch v := keep.(type) {
	case nil:
		return false
	case string:
		d, err := time.ParseDuration(v)
		return v == "0" || err == nil && d == 0
	}
	return fmt.Sprint(keep) == "0"
}

// newer says whether a version is major.minor or later; false where it cannot be read.
func newer(version string, major, minor int) bool {
	a, rest, _ := strings.Cut(version, ".")
	b, _, _ := strings.Cut(rest, ".")
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	return err1 == nil && err2 == nil && (x > major || x == major && y >= minor)
}
