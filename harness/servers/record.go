package servers

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"assay/harness/machine"
)

// tokenName is the variable of the environment that a server and all that it starts
// inherit: what is left of it is known by that, wherever it moved.
const tokenName = "ASSAY_SERVER"

// record is what the next start needs to know of a server whose assay was killed.
type record struct {
	Owner   machine.Process `json:"owner"`   // the assay that started it
	Server  machine.Process `json:"server"`  // PID 0: killed before it could be told
	Command string          `json:"command"` // of Server, as the kernel has it
	Token   string          `json:"token"`
	Cgroup  string          `json:"cgroup,omitempty"` // folder of the control group that it alone is in; "": there is none
	Boot    string          `json:"boot"`             // process numbers and their starts count within one
	Backend string          `json:"backend"`
	Store   string          `json:"store"` // whose lock its owner had
}

func newRecord() record {
	owner, _ := machine.Processes().Process(os.Getpid()) // elsewhere than on Linux there is no telling
	return record{Owner: owner, Token: rand.Text(), Boot: bootID()}
}

// keep writes the record beside the run; without it only the next start is poorer.
func (r record) keep(path string) {
	if path == "" || r.Owner.PID == 0 {
		return
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic("servers: internal error: " + err.Error())
	}
	_ = os.WriteFile(path, b, 0o600)
}

// left reads the record of a server whose owner has ended. taken: its owner lives,
// and the record is not to be touched.
func left(path string) (r record, found, taken bool) {
	b, err := os.ReadFile(path)
	if path == "" || err != nil || json.Unmarshal(b, &r) != nil || r.Token == "" {
		return record{}, false, false
	}
	if r.Boot != bootID() {
		return record{}, false, false
	}
	owner, err := machine.Processes().Process(r.Owner.PID)
	if err == nil && owner.Same(r.Owner) && owner.PID != os.Getpid() {
		return r, false, true
	}
	return r, true, false
}

// recordEnd is behind the name of a server's log.
const recordEnd = ".server"

// Left are the servers that a run of a store left when it was killed, and how many
// processes of theirs live, in words.
func Left(store string) (out []string) {
	for _, r := range remains(store) {
		out = append(out, fmt.Sprintf("the server of backend %s (%d processes)", r.Backend, len(r.members())))
	}
	return out
}

// Reap ends what Left found, and says so. The caller has the store's lock.
func Reap(store string, notes io.Writer) {
	for path, r := range remains(store) {
		fmt.Fprintf(notes, "note: ended %d processes of the server of backend %s, which a run that was killed had left\n", r.reap(), r.Backend)
		_ = os.Remove(path)
	}
}

// remains are the records of a store's servers that live without their assay, by file.
func remains(store string) map[string]record {
	out := map[string]record{}
	dir, name := filepath.Split(strings.TrimSuffix(store, filepath.Ext(store)))
	entries, _ := os.ReadDir(filepath.Clean(dir))
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name+"-") || !strings.HasSuffix(e.Name(), recordEnd) {
			continue
		}
		if r, found, _ := left(filepath.Join(dir, e.Name())); found && r.Store == absolute(store) && len(r.members()) > 0 {
			out[filepath.Join(dir, e.Name())] = r
		}
	}
	return out
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(b)
}
