package managed

import (
	"crypto/rand"
	"encoding/json"
	"os"

	"assay/harness/process"
)

// tokenName is the variable of the environment that a server and all that it starts
// inherit: what is left of it is known by that, wherever it moved.
const tokenName = "ASSAY_SERVER"

// record is what the next start needs to know of a server whose assay was killed.
type record struct {
	Owner  process.Process `json:"owner"`  // the assay that started it
	Server process.Process `json:"server"` // PID 0: killed before it could be told
	Token  string          `json:"token"`
	Boot   string          `json:"boot"` // process numbers and their starts count within one
}

func newRecord() record {
	owner, _ := process.Here().Process(os.Getpid()) // elsewhere than on Linux there is no telling
	return record{Owner: owner, Token: rand.Text(), Boot: bootID()}
}

// keep writes the record beside the run; without it only the next start is poorer.
func (r record) keep(path string) {
	if path == "" || r.Owner.PID == 0 {
		return
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic("managed: internal error: " + err.Error())
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
	owner, err := process.Here().Process(r.Owner.PID)
	if err == nil && owner.Same(r.Owner) && owner.PID != os.Getpid() {
		return r, false, true
	}
	return r, true, false
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(b)
}
