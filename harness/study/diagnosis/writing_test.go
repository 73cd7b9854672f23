package diagnosis

import (
	"reflect"
	"strings"
	"testing"
)

// TestCaptionsIn: captions as models write them, by number; what was thought is none.
func TestCaptionsIn(t *testing.T) {
	if got := captionsIn("<think>Image 1: no</think>Image 1: left.\n**Image 2:** right\n3. none\nIn all, 4 things."); !reflect.DeepEqual(got, map[int]string{1: "left.", 2: "right", 3: "none"}) {
		t.Errorf("captions %v", got)
	}
}

// FuzzCaptions: whatever a model writes, captions have numbers and words.
func FuzzCaptions(f *testing.F) {
	for _, s := range []string{"", "Image 1: a\nImage 01 - b", "<think>1. x</think>2) y", "**Image 3:** z\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for n, c := range captionsIn(s) {
			if n < 0 || n > 99 || strings.TrimSpace(c) == "" {
				t.Errorf("%q: caption %d %q", s, n, c)
			}
		}
	})
}
