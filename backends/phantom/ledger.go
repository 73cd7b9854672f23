package phantom

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"assay/backends/phantom/reader"
)

// Entry is the truth behind one reply. A line of a ledger is one of them.
type Entry struct {
	// Sent is the digest of the request's body as a store of results has it for
	// every turn: of its length, eight bytes from the least, and of itself. So an
	// entry belongs to the turns whose Sent is the same.
	Sent     string           `json:"sent"`
	Protocol string           `json:"protocol"`
	Reader   string           `json:"reader"`
	Fault    reader.FaultKind `json:"fault,omitempty"` // what went wrong on the way
	Cut      bool             `json:"cut,omitempty"`   // the token limit was reached

	Understood bool              `json:"understood"`
	Seen       map[string]string `json:"seen,omitempty"`     // grade by site, of what could be seen
	Believed   map[string]string `json:"believed,omitempty"` // by site, what the reader went by
	Clear      bool              `json:"clear"`              // nothing that matters was misread
	Hidden     bool              `json:"hidden"`             // something that matters was covered
	Own        string            `json:"own,omitempty"`      // the answer it would give by itself
	Answer     string            `json:"answer,omitempty"`   // the one it gives; "": none was wanted yet
	Cues       []reader.Cue      `json:"cues,omitempty"`
	Told       reader.Told       `json:"told,omitempty"` // what it says of cues; "": it does not reason
	Tone       reader.Tone       `json:"tone,omitempty"`
	Steps      []reader.Said     `json:"steps,omitempty"`
}

// sentDigest is a body's digest as results.DigestOf computes it.
func sentDigest(body []byte) string {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(body)))
	h := sha256.New()
	h.Write(n[:])
	h.Write(body)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func entryOf(protocol, sent string, t *take, r reader.Reply) Entry {
	return Entry{Sent: sent, Protocol: protocol, Reader: t.reader.Name, Fault: t.fault, Cut: t.cut,
		Understood: r.Understood, Seen: r.Seen, Believed: r.Believed, Clear: r.Clear, Hidden: r.Hidden, Own: r.Own, Answer: r.Final,
		Cues: r.Cues, Told: r.Told, Tone: r.Tone, Steps: r.Steps}
}

// ReadLedger reads what Options.Ledger was written.
func ReadLedger(r io.Reader) ([]Entry, error) {
	var out []Entry
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		var e Entry
		if err := d.Decode(&e); err != nil {
			return out, fmt.Errorf("phantom: read ledger, line %d: %w", n, err)
		}
		if e.Sent == "" || e.Reader == "" {
			return out, fmt.Errorf("phantom: read ledger, line %d: expected an entry with sent and reader, found %.60q", n, lines.Bytes())
		}
		out = append(out, e)
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("phantom: read ledger: %w", err)
	}
	return out, nil
}
