package tinymodel_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/backends/backendtest/tinymodel"
)

// file is a GGUF file as another program would read it.
type file struct {
	meta    map[string]any
	tensors map[string]tensor
	data    int // where tensor data starts
	size    int
}

type tensor struct {
	shape  []uint64
	offset uint64
}

// read follows the format's description, not the writer's code.
func read(t *testing.T, b []byte) file {
	t.Helper()
	r := bytes.NewReader(b)
	get := func(v any) {
		if err := binary.Read(r, binary.LittleEndian, v); err != nil {
			t.Fatalf("GGUF ends early: %v", err)
		}
	}
	u32 := func() (n uint32) { get(&n); return n }
	u64 := func() (n uint64) { get(&n); return n }
	str := func() string {
		s := make([]byte, u64())
		if _, err := io.ReadFull(r, s); err != nil {
			t.Fatalf("GGUF ends early: %v", err)
		}
		return string(s)
	}
	var value func(kind uint32) any
	value = func(kind uint32) any {
		switch kind {
		case 4:
			return u32()
		case 5:
			return int32(u32())
		case 6:
			var f float32
			get(&f)
			return f
		case 7:
			var v bool
			get(&v)
			return v
		case 8:
			return str()
		case 9:
			of, n := u32(), u64()
			list := make([]any, n)
			for i := range list {
				list[i] = value(of)
			}
			return list
		}
		t.Fatalf("GGUF value type %d", kind)
		return nil
	}
	magic := make([]byte, 4)
	get(magic)
	if string(magic) != "GGUF" || u32() != 3 {
		t.Fatal("not a GGUF file of version 3")
	}
	f := file{meta: map[string]any{}, tensors: map[string]tensor{}, size: len(b)}
	tensors, entries := u64(), u64()
	for range entries {
		key := str()
		if _, twice := f.meta[key]; twice {
			t.Errorf("metadata %q twice", key)
		}
		f.meta[key] = value(u32())
	}
	for range tensors {
		name := str()
		one := tensor{shape: make([]uint64, u32())}
		get(one.shape)
		if kind := u32(); kind != 0 {
			t.Errorf("tensor %s has type %d, not F32", name, kind)
		}
		one.offset = u64()
		f.tensors[name] = one
	}
	f.data = len(b) - r.Len()
	f.data += -f.data & 31
	return f
}

func models() map[string][]byte {
	return map[string][]byte{"vlm": tinymodel.VLM(), "text": tinymodel.Text(), "reader": tinymodel.Reader()}
}

func TestTensorsFillTheFileWithoutOverlap(t *testing.T) {
	for name, b := range models() {
		t.Run(name, func(t *testing.T) {
			f := read(t, b)
			used := 0
			for name, one := range f.tensors {
				n := uint64(4)
				for _, d := range one.shape {
					n *= d
				}
				if one.offset%32 != 0 {
					t.Errorf("%s starts at %d, not on a multiple of 32", name, one.offset)
				}
				if end := uint64(f.data) + one.offset + n; end > uint64(f.size) {
					t.Errorf("%s ends at %d of %d bytes", name, end, f.size)
				}
				used += int(n + -n&31)
			}
			if f.data+used != f.size {
				t.Errorf("tensors need %d bytes from %d on, the file has %d", used, f.data, f.size)
			}
			if f.size > 2<<20 {
				t.Errorf("%d bytes; a tiny model has fewer than 2 MiB", f.size)
			}
		})
	}
}

func TestVocabularyIsWhatTheEngineExpects(t *testing.T) {
	for name, b := range models() {
		t.Run(name, func(t *testing.T) {
			f := read(t, b)
			tokens := f.meta["tokenizer.ggml.tokens"].([]any)
			if got, want := f.tensors["token_embd.weight"].shape[1], uint64(len(tokens)); got != want {
				t.Errorf("embeddings for %d tokens, vocabulary of %d", got, want)
			}
			number := map[string]int{}
			for i, token := range tokens {
				s := token.(string)
				if _, twice := number[s]; twice {
					t.Errorf("token %q twice", s)
				}
				if !utf8.ValidString(s) {
					t.Errorf("token %q is not UTF-8", s)
				}
				number[s] = i
			}
			// The engine finds these by number.
			for s, want := range map[string]int{"<s>": 1, "</s>": 2, "[IMG]": 10, "[IMG_BREAK]": 12, "[IMG_END]": 13} {
				if got, ok := number[s]; !ok || got != want {
					t.Errorf("token %s is number %d, want %d", s, got, want)
				}
			}
			for _, m := range f.meta["tokenizer.ggml.merges"].([]any) {
				left, right, ok := strings.Cut(m.(string), " ")
				if !ok {
					t.Fatalf("merge %q", m)
				}
				for _, part := range []string{left, right, left + right} {
					if _, known := number[part]; !known {
						t.Errorf("merge %q needs token %q", m, part)
					}
				}
			}
		})
	}
}

func TestModelsAreTheSameBytesEverywhere(t *testing.T) {
	want := map[string]string{
		"vlm":    "a2e052b688a723a3c67116d97f29a78560fb90e1eb8bdaab68bb6c42b8749684",
		"text":   "0a6cc1a5ad2b21436e213cd9ca9b91b7008cb81712113c57830413b5d82b98e2",
		"reader": "83bc7cb4f329759f84ab169ef39163cc428e6e82db20e6a9bcc7684244abf10a",
	}
	for name, b := range models() {
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != want[name] {
			t.Errorf("%s: sha256 %s, want %s: a new model makes older figures incomparable", name, got, want[name])
		}
	}
}

func TestInstallUploadsOnlyWhatIsMissing(t *testing.T) {
	have := map[string]bool{fmt.Sprintf("sha256:%x", sha256.Sum256(tinymodel.Text())): true}
	var log []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest, blob := strings.CutPrefix(r.URL.Path, "/api/blobs/")
		switch {
		case blob && r.Method == http.MethodHead:
			if !have[digest] {
				w.WriteHeader(http.StatusNotFound)
			}
		case blob:
			body, err := io.ReadAll(r.Body)
			if err != nil || fmt.Sprintf("sha256:%x", sha256.Sum256(body)) != digest {
				t.Errorf("upload of %s: %d other bytes, %v", digest, len(body), err)
			}
			log = append(log, "upload")
			w.WriteHeader(http.StatusCreated)
		case r.URL.Path == "/api/create":
			body, _ := io.ReadAll(r.Body)
			if !bytes.Contains(body, []byte(`"num_thread":1`)) || !bytes.Contains(body, []byte(`"num_ctx":4096`)) {
				t.Errorf("created with %s", body)
			}
			log = append(log, "create")
			fmt.Fprintln(w, `{"status":"success"}`)
		}
	}))
	defer srv.Close()
	if err := tinymodel.Install(context.Background(), srv.URL); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(log, " "); got != "upload create create" {
		t.Errorf("requests: %s", got)
	}
}

func TestInstallSaysWhatTheServerRefused(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/create" {
			http.Error(w, `{"error":"no room left"}`, http.StatusInsufficientStorage)
		}
	}))
	defer srv.Close()
	err := tinymodel.Install(context.Background(), srv.URL)
	if err == nil || !strings.Contains(err.Error(), "no room left") || !strings.Contains(err.Error(), tinymodel.VLMName) {
		t.Errorf("error %v", err)
	}
}
