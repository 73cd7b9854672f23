package fleet

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestUnpackHasALimit: a small bundle cannot fill a disk.
func TestUnpackHasALimit(t *testing.T) {
	packed, err := Pack(io.LimitReader(zeros{}, 300<<20))
	if err != nil {
		t.Fatal(err)
	}
	var n counted
	err = unpackStore(&n, packed)
	t.Logf("%d bytes, limit %d: %d were written: %v", len(packed), unpacked(len(packed)), n, err)
	if err == nil || !strings.Contains(err.Error(), "expected at most") || int64(n) > unpacked(len(packed)) {
		t.Errorf("%d bytes of %d were written: %v", n, len(packed), err)
	}
	text := strings.Repeat("an answer ", 1000)
	if packed, err = Pack(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := unpackStore(&b, packed); err != nil || b.String() != text {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

type counted int64

func (c *counted) Write(b []byte) (int, error) {
	*c += counted(len(b))
	return len(b), nil
}
