package kinds_test

import (
	"slices"
	"strings"
	"testing"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/backends/wire"
)

// TestEveryKindIsWhole: an entry that lacks something fails here, not in a run.
func TestEveryKindIsWhole(t *testing.T) {
	var names []string
	for _, k := range kinds.All() {
		names = append(names, k.Name)
		if k.Name == "" || k.Called == "" {
			t.Errorf("%+v has no name", k)
		}
		if k.Phantom || k.Imported {
			continue
		}
		if k.New == nil || k.List == nil || k.ChatURL == nil || k.Advise == nil || k.URL == "" {
			t.Errorf("%s is not whole: %+v", k.Name, k)
			continue
		}
		be, err := k.Connect(wire.Config{URL: k.URL})
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		if _, ok := be.(backends.Unloader); ok != k.Unloads {
			t.Errorf("%s: unloads %v, its backend %v", k.Name, k.Unloads, ok)
		}
		if (k.ContextOption == "") != (k.LeastContext == 0) {
			t.Errorf("%s: option %q, %d tokens without it", k.Name, k.ContextOption, k.LeastContext)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(kinds.All()) {
		t.Errorf("a name stands twice in %v", names)
	}
	if _, ok := kinds.Named("none", ""); ok {
		t.Error("a kind that is not there was found")
	}
	if slices.Contains(kinds.Names(false), "phantom") || slices.Contains(kinds.Names(false), "imported") || !slices.Contains(kinds.Names(true), "imported") || !slices.Contains(kinds.Names(true), "phantom") {
		t.Error(kinds.Names(false), kinds.Names(true))
	}
}

// TestAPhantomSpeaksAsItsProtocol, and is no real server: it reads what ours sends,
// has no memory to leave, and says how much it takes.
func TestAPhantomSpeaksAsItsProtocol(t *testing.T) {
	for _, protocol := range phantom.Protocols() {
		as, ok := kinds.Named(protocol, "")
		k, known := kinds.Named("phantom", protocol)
		if !ok || !known || k.Name != "phantom" || !k.Phantom || as.Phantom {
			t.Fatalf("%s: %+v", protocol, k)
		}
		if k.ChatURL("x") != as.ChatURL("x") || k.ContextOption != as.ContextOption {
			t.Errorf("%s: it speaks otherwise", protocol)
		}
		if k.ReadsWebP || k.Unloads || k.Silent || k.Context(nil) != 0 {
			t.Errorf("%s: taken for a real server: %+v", protocol, k)
		}
	}
	if _, ok := kinds.Named("phantom", "none"); ok {
		t.Error("a phantom speaks what nobody does")
	}
}

func TestContextOfTheOptions(t *testing.T) {
	k, _ := kinds.Named("ollama", "")
	other, _ := kinds.Named("llamacpp", "")
	for _, c := range []struct {
		kind    kinds.Kind
		options map[string]any
		want    int
	}{{k, nil, 2048}, {k, map[string]any{"num_ctx": 8192}, 8192}, {k, map[string]any{"num_ctx": uint64(4096)}, 4096}, {k, map[string]any{"num_ctx": 1e3}, 1000},
		{k, map[string]any{"num_ctx": int64(7)}, 7}, {k, map[string]any{"num_ctx": "8192"}, 2048}, {other, map[string]any{"num_ctx": 8192}, 0}, {kinds.Kind{}, nil, 0}} {
		if got := c.kind.Context(c.options); got != c.want {
			t.Errorf("%s with %v: %d, want %d", c.kind.Name, c.options, got, c.want)
		}
	}
}

// Ollama's own clock of decoding says nothing, its phantom's too; others' do.
func TestWhoseOwnDecodingIsNotShown(t *testing.T) {
	for server, want := range map[string]bool{"ollama": true, "phantom ollama with caches": true, "llamacpp": false, "phantom vllm": false, "": false} {
		if why := kinds.NoDecode(server); strings.Contains(why, "sampling") != want {
			t.Errorf("%q: %q", server, why)
		}
	}
}
