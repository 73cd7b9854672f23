package phantom

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Entry is the truth behind one reply. A line of a ledger is one of them.
type Entry struct {
	// Sent is the digest of the request's body as a store of results has it for
	// every turn: of its length, eight bytes from the least, and of itself. So an
	// entry belongs to the turns whose Sent is the same.
	Sent     string    `json:"sent"`
	Protocol string    `json:"protocol"`
	Reader   string    `json:"reader"`
	Fault    FaultKind `json:"fault,omitempty"` // what went wrong on the way
	Cut      bool      `json:"cut,omitempty"`   // the token limit was reached

	Truth
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

// ReadLedger reads what Options.Ledger was written.
func ReadLedger(r io.Reader) ([]Entry, error) {
	var out []Entry
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	for {
		var e Entry
		err := d.Decode(&e)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err == nil && (e.Sent == "" || e.Reader == ""):
			err = errors.New("expected an entry with sent and reader, found one without")
		}
		if err != nil {
			return out, fmt.Errorf("phantom: read ledger, line %d: %w", len(out)+1, err) // an entry is a line
		}
		out = append(out, e)
	}
}
