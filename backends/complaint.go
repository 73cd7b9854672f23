package backends

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Complaint is an error as a server puts it into JSON.
type Complaint struct {
	Message string // the server's own words, or whatever JSON stands in their place
	Type    string // "exceed_context_size_error", "NotFoundError", ...
	Code    string // "model_not_found", "400", ...
}

// Says reports whether the message has one of the words, in lower case, whatever its own case.
func (c Complaint) Says(words ...string) bool {
	m := strings.ToLower(c.Message)
	for _, w := range words {
		if strings.Contains(m, w) {
			return true
		}
	}
	return false
}

// ReadComplaint reads an error object: {"error":{message,type,code}}, {"error":"..."},
// {"object":"error","message":...} of older vLLM, {"detail":...} of FastAPI.
func ReadComplaint(data []byte) (Complaint, bool) {
	if !bytes.Contains(data, []byte(`"error"`)) && !bytes.Contains(data, []byte(`"detail"`)) {
		return Complaint{}, false
	}
	type words struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	var e struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
		Object string          `json:"object"`
		words
	}
	if json.Unmarshal(data, &e) != nil {
		return Complaint{}, false
	}
	w := e.words
	switch {
	case len(e.Error) > 0 && string(e.Error) != "null":
		w = words{}
		if json.Unmarshal(e.Error, &w.Message) != nil && (json.Unmarshal(e.Error, &w) != nil || w.Message == "") {
			w.Message = Excerpt(e.Error)
		}
	case e.Object == "error":
	case len(e.Detail) > 0 && string(e.Detail) != "null":
		if json.Unmarshal(e.Detail, &w.Message) != nil {
			w.Message = Excerpt(e.Detail)
		}
	default:
		return Complaint{}, false
	}
	code := strings.Trim(string(w.Code), `"`)
	if code == "null" {
		code = ""
	}
	return Complaint{Message: w.Message, Type: w.Type, Code: code}, true
}
