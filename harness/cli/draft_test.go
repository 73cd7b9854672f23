package cli

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/experiment"
)

// folder is a disk on which every path but a store's is a folder.
type folder struct{}

func (folder) Stat(path string) (fs.FileInfo, error) {
	if strings.HasSuffix(path, ".sqlite") {
		return nil, fs.ErrNotExist
	}
	return os.Stat(".")
}

func (folder) ReadFile(string) ([]byte, error) { return nil, fs.ErrNotExist }

// TestDraftMeansWhatIsWanted: whatever a server calls its models and itself, the
// file holds these models and nothing else, or is refused whole.
func TestDraftMeansWhatIsWanted(t *testing.T) {
	hostile := rapid.OneOf(rapid.StringMatching(`[a-z0-9:./-]{1,12}`), rapid.SampledFrom([]string{
		"a\n  evil: {backend: server, model: x}", `"}`, "x # y", "a\u2028b: c", "&a", "*a", "!!python", "a\tb", "{}", "", "..", "a/../b", "模型", "%s%d"}))
	parsed := 0
	rapid.Check(t, func(t *rapid.T) {
		var ids []backends.Identity
		var want []string
		for range rapid.IntRange(1, 4).Draw(t, "models") {
			id := backends.Identity{Model: hostile.Draw(t, "model"), Quantisation: hostile.Draw(t, "quantisation"), Parameters: hostile.Draw(t, "parameters")}
			sees := rapid.Bool().Draw(t, "vision")
			id.Vision = &sees
			ids = append(ids, id)
			if sees {
				want = append(want, id.Model)
			}
		}
		w := wanted{Name: nameOf(hostile.Draw(t, "out") + rapid.SampledFrom([]string{"", ".yaml", "true.yaml", "1e5.yml"}).Draw(t, "ending")), Study: "cot", Kind: "vllm", URL: "http://127.0.0.1:8000", Dataset: "m3cotbench", Path: hostile.Draw(t, "path")}
		cfg, errs := config.Parse("bench.yaml", []byte(w.Write(ids)), experiment.Known(), folder{})
		if len(errs) > 0 {
			return
		}
		parsed++
		var got []string
		for _, m := range cfg.Models {
			got = append(got, m.Model)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the file has the models %q, want %q", got, want)
		}
		if len(cfg.Backends) != 1 || len(cfg.Judges) != 1 || len(cfg.Studies) != 1 || cfg.Studies[0].Name != "cot" {
			t.Fatalf("something else came in: %+v", cfg)
		}
	})
	if parsed == 0 {
		t.Error("nothing was ever accepted")
	}
}

func TestShare(t *testing.T) {
	for want, n := range map[string][2]int{"the server's one model": {1, 1}, "all 3 of the server's models": {3, 3}, "1 of the server's 3 models": {1, 3}} {
		if got := share(n[0], n[1]); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}

// num_ctx fits the smallest model that is asked, and a key file is named, not read.
func TestWhatIsWrittenFitsTheServer(t *testing.T) {
	n := func(n int) *int { return &n }
	no := false
	for _, c := range []struct {
		ids  []backends.Identity
		want string
	}{
		{[]backends.Identity{{Model: "a", Context: n(4096)}, {Model: "b", Context: n(131072)}}, "num_ctx: 4096"},
		{[]backends.Identity{{Model: "a", Context: n(131072)}, {Model: "b"}, {Model: "c", Vision: &no, Context: n(512)}}, "num_ctx: 8192"},
	} {
		text := wanted{Study: "cot", Kind: "ollama", URL: "http://h", Dataset: "m3cotbench", Path: "d", KeyFile: "../my key"}.Write(c.ids)
		if !strings.Contains(text, c.want+",") || !strings.Contains(text, `api_key_file: "../my key"`) {
			t.Errorf("want %s in\n%s", c.want, text)
		}
	}
}

// TestNameOf: an experiment of that name can be read back, and its store is in .assay.
func TestNameOf(t *testing.T) {
	for out, want := range map[string]string{"bench.yaml": "bench", "a/b/my cot.yaml": "my-cot", "1e5.yml": "1e5", "true.yaml": "true", ".yaml": "bench", "../..": "bench", "été": "t-", "-x.y.yaml": "x.y"} {
		name := nameOf(out)
		if name != want {
			t.Errorf("%q: name %q, want %q", out, name, want)
		}
		w := wanted{Name: name, Study: "cot", Kind: "vllm", URL: "http://127.0.0.1:8000", Dataset: "m3cotbench", Path: "data"}
		yes := true
		cfg, errs := config.Parse("bench.yaml", []byte(w.Write([]backends.Identity{{Model: "m", Vision: &yes}})), experiment.Known(), folder{})
		if len(errs) > 0 || cfg.Name != name || cfg.Store != ".assay/"+name+".sqlite" {
			t.Errorf("%q: %v, %+v", out, errs, cfg)
		}
	}
}
