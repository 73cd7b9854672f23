package llamacpp

import (
	"encoding/json"
	"fmt"
	"net/http"

	"assay/backends"
	"assay/backends/openai"
	"assay/backends/wire"
)

// Is knows a llama-server by its settings, or the header of its model list or its owner.
func Is(get func(path string) *wire.Reply) bool {
	var props map[string]json.RawMessage
	if reply := get("/props"); reply.Status == http.StatusOK && json.Unmarshal(reply.Body, &props) == nil && props["default_generation_settings"] != nil {
		return true
	}
	models := get("/v1/models")
	return models.Header.Get("Server") == "llama.cpp" || openai.Owner(models) == Name
}

// oneSlot has a server work on one request at a time, and noRAM without a cache of
// prompts in RAM.
const (
	oneSlot = "-np 1"
	noRAM   = "--cache-ram 0"
)

// Flags are what a server is to be started with for timed studies.
func Flags() []string { return []string{oneSlot, noRAM} }

// Advise says what to change of a server for timed studies.
func Advise(c backends.Checkup) []backends.Advice {
	var all []backends.Advice
	if n := c.Identity.Slots; n != nil && *n > 1 {
		all = append(all, backends.Advice{Level: backends.Warning, Text: fmt.Sprintf("the server has %d slots: neighbours slow each other, and an old prompt can hit through another slot", *n),
			Do: "start it with " + oneSlot, Flag: oneSlot})
	}
	return append(all, backends.Advice{Level: backends.Note, Text: "no field shows whether the prompt cache in RAM is on; it costs up to 430 ms of a fresh prompt", Do: "start the server with " + noRAM})
}
