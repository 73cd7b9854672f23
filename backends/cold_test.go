package backends

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNoncesHaveOneLengthAndDependOnEveryWord(t *testing.T) {
	seen := map[Nonce][]string{}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.String()).Draw(t, "words")
		n := NonceOf(words...)
		if len(n) != nonceLen || strings.Trim(string(n), "0123456789") != "" || n != NonceOf(words...) {
			t.Fatalf("nonce %q", n)
		}
		if other, ok := seen[n]; ok && !reflect.DeepEqual(fmt.Sprintf("%q", other), fmt.Sprintf("%q", words)) {
			t.Fatalf("%q and %q share %s", other, words, n)
		}
		seen[n] = words
		if len(n.System()) != len(NonceOf().System()) || !strings.HasPrefix(n.System(), string(n)) || len(n.ImageID(7)) != len(n.ImageID(1234)) {
			t.Fatalf("%q, %q", n.System(), n.ImageID(7))
		}
	})
	if NonceOf("a", "b") == NonceOf("ab") || NonceOf("a", "") == NonceOf("a") {
		t.Error("where one word ends makes no difference")
	}
	if NonceOf("trial", "7") != "396311087168254323345046" {
		t.Errorf("the nonces of a stored run are others now: %s", NonceOf("trial", "7"))
	}
}

func TestTheNonceStandsFirst(t *testing.T) {
	n := NonceOf("x")
	user := Message{Role: User, Text: "u", Images: []Image{{Bytes: []byte{1}}}}
	for _, c := range []struct{ talk, want []Message }{
		{[]Message{user}, []Message{{Role: System, Text: n.System()}, user}},
		{[]Message{{Role: System, Text: "Be brief."}, user}, []Message{{Role: System, Text: n.System() + "\nBe brief."}, user}},
		{nil, []Message{{Role: System, Text: n.System()}}},
	} {
		before := fmt.Sprint(c.talk)
		if got := n.Talk(c.talk); !reflect.DeepEqual(got, c.want) || fmt.Sprint(c.talk) != before {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// anyFile draws a picture file of every kind that is sent.
func anyFile() *rapid.Generator[Image] {
	return rapid.Custom(func(t *rapid.T) Image {
		r := image.Rect(0, 0, rapid.IntRange(1, 9).Draw(t, "w"), rapid.IntRange(1, 9).Draw(t, "h"))
		fill := func(pix []byte) {
			copy(pix, rapid.SliceOfN(rapid.Byte(), len(pix), len(pix)).Draw(t, "pixels"))
		}
		var img image.Image
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			m := image.NewGray(r)
			fill(m.Pix)
			img = m
		case 1:
			m := image.NewGray16(r)
			fill(m.Pix)
			img = m
		case 2:
			m := image.NewNRGBA(r)
			fill(m.Pix)
			img = m
		default:
			m := image.NewPaletted(r, color.Palette{color.NRGBA{1, 2, 3, 4}, color.Black, color.White})
			fill(m.Pix)
			for i := range m.Pix {
				m.Pix[i] %= 3
			}
			img = m
		}
		var b bytes.Buffer
		if rapid.Bool().Draw(t, "png") {
			if err := png.Encode(&b, img); err != nil {
				t.Fatal(err)
			}
			return Image{b.Bytes(), "image/png"}
		}
		if err := jpeg.Encode(&b, img, nil); err != nil {
			t.Fatal(err)
		}
		file := b.Bytes()
		if rapid.Bool().Draw(t, "application segments") {
			exif := append([]byte{0xff, 0xe1, 0, 10}, "Exif\x00\x00ab"...)
			jfif := append([]byte{0xff, 0xe0, 0, 16}, "JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00"...)
			file = append(append(append(bytes.Clone(file[:2]), jfif...), exif...), file[2:]...)
		}
		return Image{file, "image/jpeg"}
	})
}

// TestMarkedPicturesShowTheSame: other bytes, same pixels, always as many bytes
// more; the pixels are compared by image/png and image/jpeg, which know nothing
// of nonces.
func TestMarkedPicturesShowTheSame(t *testing.T) {
	more := map[string]int{"image/png": 12 + len("Comment\x00") + nonceLen + 5, "image/jpeg": 4 + nonceLen + 5}
	rapid.Check(t, func(t *rapid.T) {
		file := anyFile().Draw(t, "file")
		before := bytes.Clone(file.Bytes)
		n := NonceOf(rapid.String().Draw(t, "nonce"))
		got, err := n.Mark(file, 3)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file.Bytes, before) {
			t.Fatal("the picture itself was changed")
		}
		if got.MIME != file.MIME || len(got.Bytes) != len(file.Bytes)+more[file.MIME] {
			t.Fatalf("%s, %d bytes more, want %d", got.MIME, len(got.Bytes)-len(file.Bytes), more[file.MIME])
		}
		for _, other := range []func() (Image, error){
			func() (Image, error) { return n.Mark(file, 4) },
			func() (Image, error) { return NonceOf("other", string(n)).Mark(file, 3) },
		} {
			if o, err := other(); err != nil || bytes.Equal(o.Bytes, got.Bytes) || len(o.Bytes) != len(got.Bytes) {
				t.Fatalf("another nonce: %v", err)
			}
		}
		was, kind, err := image.Decode(bytes.NewReader(file.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		is, kind2, err := image.Decode(bytes.NewReader(got.Bytes))
		if err != nil || kind != kind2 || !reflect.DeepEqual(was, is) {
			t.Fatalf("decoded as %s, then as %s (%v), and not the same", kind, kind2, err)
		}
	})
}

// TestWhereTheMarkStands: behind what readers want first.
func TestWhereTheMarkStands(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	n := NonceOf("x")
	got, err := n.Mark(Image{b.Bytes(), "image/png"}, 0)
	if err != nil || string(got.Bytes[37:49]) != "tEXtComment\x00" || string(got.Bytes[49:78]) != string(n)+"-0000" || binary.BigEndian.Uint32(got.Bytes[33:]) != 37 {
		t.Errorf("%q, %v", got.Bytes, err)
	}
	head := "\xff\xd8\xff\xe0\x00\x04ab\xff\xe1\x00\x02"
	got, err = n.Mark(Image{[]byte(head + "\xff\xdb\x00\x02\xff\xd9"), "image/jpeg"}, 12)
	if want := head + "\xff\xfe\x00\x1f" + string(n) + "-0012\xff\xdb\x00\x02\xff\xd9"; err != nil || string(got.Bytes) != want {
		t.Errorf("%q, %v", got.Bytes, err)
	}
	for _, c := range []struct{ file, mime, want string }{
		{"RIFF", "image/webp", "image/png or image/jpeg"},
		{"GIF89a", "image/png", "47 49 46"},
		{"\x89PNG\r\n\x1a\n", "image/png", "does not begin like one"},
		{"\xff\xd8", "image/jpeg", "does not begin like one"},
		{"\xff\xd8\xff\xe0\xff\xff", "image/jpeg", "does not begin like one"},
	} {
		if _, err := n.Mark(Image{[]byte(c.file), c.mime}, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.file, err)
		}
	}
}

func TestCacheOf(t *testing.T) {
	zero, some := 0, 17
	for _, c := range []struct {
		n    *int
		want Cache
	}{
		{nil, Cache{State: CacheUnverified, Reason: "the reply has no timings.cache_n"}},
		{&zero, Cache{State: CacheCold, Field: "timings.cache_n", Value: "0"}},
		{&some, Cache{State: CacheHit, Field: "timings.cache_n", Value: "17"}},
	} {
		if got := CacheOf("timings.cache_n", c.n); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// FuzzMark: whatever the file, a mark is put in or it is refused; a file that
// could be decoded still can, to the same pixels.
func FuzzMark(f *testing.F) {
	files, err := filepath.Glob("testdata/fuzz/FuzzMark/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds under testdata/fuzz/FuzzMark (%v)", err)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, mime := range []string{"image/png", "image/jpeg"} {
			got, err := NonceOf("x").Mark(Image{file, mime}, 0)
			if err != nil {
				continue
			}
			if len(got.Bytes) <= len(file) {
				t.Fatalf("%d bytes of %d", len(got.Bytes), len(file))
			}
			c, kind, err := image.DecodeConfig(bytes.NewReader(file))
			if err != nil || c.Width*c.Height > 1<<16 || "image/"+kind != mime {
				continue
			}
			was, _, err := image.Decode(bytes.NewReader(file))
			if err != nil {
				continue
			}
			if is, _, err := image.Decode(bytes.NewReader(got.Bytes)); err != nil || !reflect.DeepEqual(was, is) {
				t.Fatalf("the marked file shows something else (%v)", err)
			}
		}
	})
}
