package openai

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// seeded fails a fuzz test whose committed corpus is gone.
func seeded(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", f.Name(), "*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds under testdata/fuzz/%s (%v)", f.Name(), err)
	}
}

// FuzzDecode checks what holds of any reply: only a finish reason makes an answer,
// the chunks are the text, and a failure is typed.
func FuzzDecode(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		buffer := &wire.Buffer{Status: 200, Body: body, Sent: []byte("{}")}
		r, chunks, err := (&Backend{}).decode(buffer, timing.NewRecorder(timing.NewClock()))
		runes := 0
		for _, p := range chunks {
			if p.Runes < 1 {
				t.Fatalf("an empty chunk: %+v", p)
			}
			runes += p.Runes
		}
		if n := utf8.RuneCountInString(r.Answer) + utf8.RuneCountInString(r.Reasoning); n != runes {
			t.Fatalf("%d code points of text, %d in chunks", n, runes)
		}
		var e *backends.Error
		switch {
		case err == nil && (r.Finish == "" || !r.Unended && !bytes.Contains(body, []byte("[DONE]"))):
			t.Fatalf("an answer without its end: %+v", r)
		case err != nil && (!errors.As(err, &e) || e.Kind == "" || e.Message == "" || r.Finish != ""):
			t.Fatalf("error %#v beside %+v", err, r)
		}
	})
}

// FuzzLiveLook holds the cheap look against the decoder: of an event whose delta
// is written the way servers write it, both say the same.
func FuzzLiveLook(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, key uint8, text string) {
		if !utf8.ValidString(text) {
			return
		}
		line := thought([]string{"content", "reasoning", "reasoning_content"}[key%3], text)
		_, chunks, _ := (&Backend{}).decode(&wire.Buffer{Status: 200, Body: []byte(line)}, timing.NewRecorder(timing.NewClock()))
		if got := hasContent([]byte(line)); got != (len(chunks) > 0) {
			t.Fatalf("%s: look says %t, decoder finds %d chunks", line, got, len(chunks))
		}
	})
}

// FuzzProblem checks that any refusal becomes a kind with words.
func FuzzProblem(f *testing.F) {
	seeded(f)
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		s := 300 + int(status)%300
		p := (&Backend{}).Problem(s, body)
		if p.kind == "" || p.Status != s {
			t.Fatalf("%+v", p)
		}
		if utf8.RuneCountInString(p.Message) > 500 && !bytes.Contains(body, []byte("error")) && !bytes.Contains(body, []byte("detail")) {
			t.Fatalf("a page of %d characters became the message", utf8.RuneCountInString(p.Message))
		}
	})
}
