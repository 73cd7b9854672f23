package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestVisibleSink: for people, what steers a terminal is shown; line ends and tabs are kept.
func TestVisibleSink(t *testing.T) {
	for visible, want := range map[bool]string{true: "a\tb [U+001B][2J\nnext [U+009B] é\n", false: "a\tb \x1b[2J\nnext \u009b é\n"} {
		var out strings.Builder
		s := &sink{W: &out, Visible: visible}
		if n, err := fmt.Fprint(s, "a\tb \x1b[2J\nnext \u009b é\n"); err != nil || n != 20 {
			t.Errorf("%d bytes, %v", n, err)
		}
		if out.String() != want || s.Raw() != &out {
			t.Errorf("expected %q, found %q", want, out.String())
		}
	}
}
