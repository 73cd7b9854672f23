package ollama

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzReadTags: a list that can be read has names, sorted or none at all.
func FuzzReadTags(f *testing.F) {
	for _, seed := range []string{`{"models":[{"name":"b:latest","model":"b:latest"},{"name":"a:4b","model":"a:4b"}]}`, `{"models":null}`, `{}`, `[]`, `{"models":[{"name":"x"}]}`, `{"models":[{"model":":latest"}]}`, "", "<html>", "{\"models\":[{\"model\":\"\u2028\"}]}"} {
		f.Add([]byte(seed))
	}
	if names, err := readTags([]byte(`{"models":[{"model":"b:latest"},{"model":"a:4b"}]}`)); err != nil || !slices.Equal(names, []string{"a:4b", "b"}) {
		f.Fatalf("read %q, %v", names, err)
	}
	if _, err := readTags([]byte("<html>")); err == nil {
		f.Fatal("a web page is no list of models")
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		names, err := readTags(body)
		if err != nil && names != nil || slices.Contains(names, "") {
			t.Fatalf("names %q, error %v", names, err)
		}
		if err == nil && !json.Valid(body) {
			t.Fatal("names from what is not JSON")
		}
	})
}
