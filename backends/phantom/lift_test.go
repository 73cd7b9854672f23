package phantom

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// parsed parses a body, lifted or not, as a protocol does.
func parsed(body []byte, list bool, raised bool) (seen any, n int, err error) {
	var files lifted
	if raised {
		was := string(body)
		if body, files = lift(body); bytes.Contains(body, []byte(was)) == (len(files) > 0) {
			return nil, 0, fmt.Errorf("%d pictures lifted from %.200s: %.200s", len(files), was, body)
		}
	}
	if list {
		var v struct {
			Messages []struct {
				Content string
				Images  [][]byte
			}
		}
		err = json.Unmarshal(body, &v)
		for _, m := range v.Messages {
			for i, f := range m.Images {
				m.Images[i] = files.file(f)
			}
		}
		return v, len(files), err
	}
	var v struct {
		Messages []struct {
			Content []struct {
				Text  string
				Image struct {
					URL  string
					file []byte
				} `json:"image_url"`
			}
		}
	}
	err = json.Unmarshal(body, &v)
	for _, m := range v.Messages {
		for i := range m.Content {
			p := &m.Content[i].Image
			head, data, _ := strings.Cut(p.URL, ";base64,")
			file, wrong := base64.StdEncoding.AppendDecode(nil, []byte(data))
			p.URL, p.file = fmt.Sprint(head, wrong), files.file(file)
		}
	}
	return v, len(files), err
}

// sameLifted fails unless a body is read as it is without lifting.
func sameLifted(t *testing.T, body []byte, list bool) (n int) {
	t.Helper()
	want, _, err1 := parsed(body, list, false)
	got, n, err2 := parsed(body, list, true)
	if fmt.Sprint(err1) != fmt.Sprint(err2) || err1 == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.300q is read as\n%.300v, %v; without lifting as\n%.300v, %v", body, got, err2, want, err1)
	}
	return n
}

func TestLift(t *testing.T) {
	pic := func(n int) string {
		return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(n), 0xFB, 0xFF}, 400+n))
	}
	url := func(p string) string {
		return `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + p + `"}},{"type":"text","text":"and"}`
	}
	for _, c := range []struct {
		what   string
		list   bool
		body   string
		lifted int
	}{
		{"a list", true, `{"messages":[{"content":"","images":["` + pic(1) + `","` + pic(2) + `"]},{"content":"x"},{"images":["` + pic(3) + `"]}]}`, 3},
		{"short ones", true, `{"messages":[{"images":["aGk=","` + pic(1) + `"]}]}`, 1},
		{"a short one later", true, `{"messages":[{"images":["` + pic(1) + `","aGk=","` + pic(1) + `"]}]}`, 2},
		{"spaces", true, `{"messages":[{"images": ["` + pic(1) + `"]}]}`, 1},
		{"a line end inside", true, `{"messages":[{"images":["` + pic(1) + "\n" + pic(1) + `"]}]}`, 0},
		{"an escape inside", true, `{"messages":[{"images":["` + pic(1) + `\n` + pic(1) + `"]}]}`, 0},
		{"no base64", true, `{"messages":[{"images":["` + strings.Repeat("-", 2000) + `"]}]}`, 0},
		{"no end", true, `{"messages":[{"images":["` + pic(1), 0},
		{"JSON broken later", true, `{"messages":[{"images":["` + pic(1) + `"}]}`, 1},
		{"words about it", true, `{"messages":[{"content":"say \"images\":[\"` + pic(1) + `\"","images":["` + pic(2) + `"]}]}`, 1},
		{"an imitation", true, `{"messages":[{"images":["` + base64.StdEncoding.EncodeToString([]byte(stem+"0")) + `","` + pic(2) + `"]},{"images":["` + pic(2) + `"]}]}`, 0},
		{"nothing", true, ``, 0},
		{"URLs", false, `{"messages":[{"content":[` + url(pic(1)) + `,` + url(pic(2)) + `]},{"content":[` + url(pic(2)) + `]}]}`, 3},
		{"a URL elsewhere", false, `{"messages":[{"content":[{"image_url":{"url":"http://x"}},` + url(pic(2)) + `]}]}`, 1},
		{"a URL without a file", false, `{"messages":[{"content":[{"image_url":{"url":"data:"}},` + url(pic(2)) + `]}]}`, 1},
		{"a URL that is broken off", false, `{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,` + pic(1), 0},
	} {
		before := strings.Clone(c.body)
		body := []byte(c.body)
		if n := sameLifted(t, body, c.list); n != c.lifted {
			t.Errorf("%s: %d pictures lifted, want %d", c.what, n, c.lifted)
		}
		if string(body) != before {
			t.Errorf("%s: the body was changed", c.what)
		}
	}
}

// Whatever comes is read as it is without lifting. A run of tildes stands for a
// long picture, which is no help to a fuzzer.
func FuzzLift(f *testing.F) {
	seeds, err := filepath.Glob("testdata/fuzz/FuzzLift/*")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("the seed corpus is empty: %v", err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body := []byte(strings.ReplaceAll(text, "~~", strings.Repeat("iVBOR/+A", 1<<7)))
		sameLifted(t, body, true)
		sameLifted(t, body, false)
	})
}
