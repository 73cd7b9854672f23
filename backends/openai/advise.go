package openai

import (
	"encoding/json"
	"net/http"

	"assay/backends"
	"assay/backends/wire"
)

// Owner is who owns the first model of a reply to /v1/models; "": it does not say.
func Owner(models *wire.Reply) string {
	var list struct {
		Data []struct {
			Owner string `json:"owned_by"`
		}
	}
	if models.Status != http.StatusOK || json.Unmarshal(models.Body, &list) != nil || len(list.Data) == 0 {
		return ""
	}
	return list.Data[0].Owner
}

// Advise says what to know of a server for timed studies.
func Advise(backends.Checkup) []backends.Advice {
	return []backends.Advice{{Level: backends.Note, Text: "nothing is known of this server's caches, so times are unverified"}}
}
