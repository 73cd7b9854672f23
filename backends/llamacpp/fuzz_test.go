package llamacpp

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"assay/backends"
)

// FuzzTimings: whatever rides on an event, what is kept is a time or nothing,
// and the raw object is kept as it came.
func FuzzTimings(f *testing.F) {
	files, err := filepath.Glob("testdata/fuzz/FuzzTimings/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		var r backends.Response
		if err := timings(event, &r); err != nil {
			if r.Server.Raw != nil || r.Usage.CachedTokens != nil {
				t.Fatalf("error %v beside %+v", err, r)
			}
			return
		}
		for _, d := range []int64{0, 1} {
			p := r.Server.Prompt
			if d == 1 {
				p = r.Server.Decode
			}
			if p != nil && *p < 0 {
				t.Fatalf("a time of %v", *p)
			}
		}
		if r.Server.Raw == nil && (r.Server.Prompt != nil || r.Usage.PromptTokens != nil) {
			t.Fatalf("figures from nowhere: %+v", r)
		}
		if r.Server.Raw != nil && !json.Valid(r.Server.Raw) {
			t.Fatalf("raw %s", r.Server.Raw)
		}
	})
}
