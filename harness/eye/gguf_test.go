package eye

import (
	"slices"
	"strings"
	"testing"
)

func TestDamagedFilesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		says   string
	}{
		{"another format", func(b []byte) []byte { return append([]byte("GGML"), b[4:]...) }, `expected GGUF, found "GGML"`},
		{"version 2", func(b []byte) []byte { b[4] = 2; return b }, "byte 8: expected version 3, found 2"},
		{"cut in the head", func(b []byte) []byte { return b[:100] }, "found the end of the file"},
		{"cut in the weights", func(b []byte) []byte { return b[:len(b)-100] }, "found the end of the file"},
		{"empty", func([]byte) []byte { return nil }, "byte 0: expected 4 bytes more, found the end of the file after 0"},
		{"a tensor too few", func(b []byte) []byte { b[8]--; return b }, "expected "},
	} {
		if _, err := read(c.change(slices.Clone(text)), projector); err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "model: ") && !strings.HasPrefix(err.Error(), "expected ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := read(projector, text); err == nil || !strings.Contains(err.Error(), "expected token_embd.weight in the model's files, found none that fits") {
		t.Errorf("files exchanged: %v", err)
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"Which side?\nA. left\nB. right":  "Which| side|?\n|A|.| left|\n|B|.| right",
		`{"answer": "left"}`:              `{"|answer|":| "|left|"}`,
		"012 (number of it)\n\nGive  two": "0|1|2| (|number| of| it|)\n\n|Give| | two",
		"JSON McDonald's (none, mild)":    "JSON| Mc|Donald|'s| (|none|,| mild|)",
		"  \n x  ":                        "  \n| x|  ",
		"":                                "",
	} {
		if got := strings.Join(Split(text), "|"); got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}
