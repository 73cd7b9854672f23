package servers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/machine"
)

// TestWeightsThatAreSwappedUnderOnePathAreNoticed: between two runs of a llama-server on
// this machine, whatever else the server says of the file; of a server elsewhere no file
// of this machine is read.
func TestWeightsThatAreSwappedUnderOnePathAreNoticed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, at time.Time) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	path := "m.gguf"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health":
			fmt.Fprint(w, `{"status":"ok"}`)
		case "/props":
			fmt.Fprintf(w, `{"model_path":%q,"default_generation_settings":{"n_ctx":4096},"build_info":"b1"}`, filepath.Join(dir, path))
		case "/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"m","meta":{"size":4,"n_params":1000}}]}`)
		}
	}))
	defer s.Close()
	srv := func(place string) *Servers {
		return NewServers(machine.Setup{Store: filepath.Join(dir, "s.sqlite"), Servers: []backends.Server{{Name: "b", Kind: "llamacpp", URL: s.URL, Place: place}}})
	}
	identity := func(servers *Servers) backends.Identity {
		t.Helper()
		b, err := servers.Backend("b")
		if err != nil {
			t.Fatal(err)
		}
		id, err := b.Identify(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	now := time.Now().Truncate(time.Second)
	write("m.gguf", "good", now)
	first := srv("")
	was := identity(first)
	if !strings.HasPrefix(was.Weights, "sha256:770e607624d689265ca6c44884d0807d9b054d23c473c106c72be9de08b7376c") {
		t.Errorf("weights %q", was.Weights)
	}
	if far := identity(srv("remote")); far.Weights != "" {
		t.Errorf("of a server elsewhere: %q", far.Weights)
	}
	// What has the same name, size and time is not read again, until it is another file.
	write("m.gguf", "evil", now)
	if kept := identity(first); kept.Weights != was.Weights {
		t.Error("a file that looks the same was read again")
	}
	if diff := identity(srv("")).ChangesFrom(was); len(diff) != 1 || !strings.HasPrefix(diff[0], "weights was") {
		t.Errorf("another process: %v", diff)
	}
	write("new", "evil", now)
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "m.gguf")); err != nil {
		t.Fatal(err)
	}
	if diff := identity(first).ChangesFrom(was); len(diff) != 1 || !strings.HasPrefix(diff[0], "weights was") {
		t.Errorf("another file of the same size and time: %v", diff)
	}
	write("m.gguf", "good", now.Add(time.Minute))
	if diff := identity(first).ChangesFrom(was); len(diff) != 0 {
		t.Errorf("the former file: %v", diff)
	}
	// All parts of weights in several files count.
	path = "m-00001-of-00002.gguf"
	write(path, "one", now)
	write("m-00002-of-00002.gguf", "two", now)
	parts := identity(first)
	write("m-00002-of-00002.gguf", "too", now.Add(time.Minute))
	if diff := identity(first).ChangesFrom(parts); parts.Weights == "" || len(diff) != 1 {
		t.Errorf("another second part: %v", diff)
	}
	path = "gone.gguf"
	if id := identity(first); id.Weights != "" {
		t.Errorf("of a file that is not there: %q", id.Weights)
	}
}
