package backends

import (
	"testing"
)

// Equal weights under another manifest are the same model; an older store that
// knows nothing of templates goes on.
func TestWhatIsNoChange(t *testing.T) {
	was := Identity{Server: "ollama", Digest: "1", Weights: "sha256:w", Model: "a"}
	for what, is := range map[string]Identity{
		"another manifest": {Server: "ollama", Digest: "2", Weights: "sha256:w", Model: "a"},
		"another name":     {Server: "ollama", Digest: "1", Weights: "sha256:w", Model: "b"},
		"a template":       {Server: "ollama", Digest: "1", Weights: "sha256:w", Model: "a", Template: "sha256:t"},
	} {
		if diff := is.ChangesFrom(was); len(diff) > 0 {
			t.Errorf("%s: %v", what, diff)
		}
	}
	if diff := (Identity{Server: "ollama", Digest: "1", Weights: "sha256:x", Model: "a"}).ChangesFrom(was); len(diff) != 1 {
		t.Errorf("other weights under the same manifest: %v", diff)
	}
	old := was
	old.Weights = ""
	if diff := was.ChangesFrom(old); len(diff) > 0 {
		t.Errorf("an older store: %v", diff)
	}
}
