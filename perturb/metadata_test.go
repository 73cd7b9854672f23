package perturb

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"
)

const patient = "DOE^JANE 1961-05-04"

func pngChunkOf(kind, data string) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

func jpegSegment(marker byte, data string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(data)+2)), data...)
}

func webPChunk(kind, data string) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data)))
	out = append(out, data...)
	if len(data)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

// named are image files that say who the patient is, beside the same without.
func named(t *testing.T) map[string][2][]byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 23, 17))
	for i := range img.Pix {
		img.Pix[i] = uint8(i * 7)
	}
	plain, err := EncodePNG(img)
	if err != nil {
		t.Fatal(err)
	}
	after := len(pngSignature) + 25 // IHDR
	colour := pngChunkOf("gAMA", "\x00\x00\xb1\x8f")
	clean := slices.Concat(plain[:after], colour, plain[after:])
	dirty := slices.Concat(plain[:after], colour, pngChunkOf("tEXt", "Patient\x00"+patient), pngChunkOf("eXIf", "II*\x00"+patient), pngChunkOf("prIv", patient),
		pngChunkOf("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+patient), pngChunkOf("tIME", "\x07\xb9\x05\x04\x00\x00\x00"), plain[after:], []byte(patient))
	out := map[string][2][]byte{"png": {clean, dirty}}

	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	j := b.Bytes()
	kept := slices.Concat(jpegSegment(0xe0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"), jpegSegment(0xe2, "ICC_PROFILE\x00\x01\x01profile"), jpegSegment(0xee, "Adobe\x00\x64\x00\x00\x00\x00\x00"))
	out["jpeg"] = [2][]byte{slices.Concat(j[:2], kept, j[2:]),
		slices.Concat(j[:2], kept, jpegSegment(0xe1, "Exif\x00\x00"+patient), jpegSegment(0xe1, "http://ns.adobe.com/xap/1.0/\x00"+patient), jpegSegment(0xe0, "JFXX\x00"+patient),
			jpegSegment(0xe2, "MPF\x00"+patient), jpegSegment(0xed, "Photoshop 3.0\x00"+patient), jpegSegment(0xfe, patient), j[2:], []byte(patient))}

	w := webPFile(23, 17, 90)
	riff := func(chunks ...[]byte) []byte {
		body := slices.Concat(chunks...)
		return slices.Concat([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(len(body)+4)), []byte("WEBP"), body)
	}
	vp8x := func(flags byte) []byte { return webPChunk("VP8X", string([]byte{flags, 0, 0, 0, 22, 0, 0, 16, 0, 0})) }
	out["webp"] = [2][]byte{riff(vp8x(0), w[12:]), append(riff(vp8x(0x0c), w[12:], webPChunk("EXIF", patient), webPChunk("XMP ", patient), webPChunk("priv", patient)), patient...)}
	return out
}

// TestMetadataStaysHere: what a file says of its patient is not sent, everything
// that the picture looks like is, and a file that says nothing is sent as it is.
func TestMetadataStaysHere(t *testing.T) {
	for format, f := range named(t) {
		clean, dirty := f[0], f[1]
		if !bytes.Contains(dirty, []byte(patient)) {
			t.Fatalf("%s: the test names nobody", format)
		}
		got, mime, err := encode(dirty, Picture{WebP: true})
		if err != nil || mime != "image/"+format {
			t.Fatalf("%s: %s, %v", format, mime, err)
		}
		if bytes.Contains(got, []byte(patient)) {
			t.Errorf("%s: the patient's name is sent", format)
		}
		if !bytes.Equal(got, clean) {
			t.Errorf("%s: %d bytes are sent, not the %d that make the picture", format, len(got), len(clean))
		}
		same, err1 := Decode(got)
		want, err2 := Decode(dirty)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: %v, %v", format, err1, err2)
		}
		samePixels(t, same, want)
		if again, _, err := encode(got, Picture{WebP: true}); err != nil || &again[0] != &got[0] {
			t.Errorf("%s: a file without metadata is copied: %v", format, err)
		}
		if kept, _, err := encode(dirty, Picture{WebP: true, Metadata: true}); err != nil || !bytes.Equal(kept, dirty) {
			t.Errorf("%s: metadata: keep changes the file: %v", format, err)
		}
	}
}

// FuzzStrip: stripping keeps a file whole, its pixels and its format, and what is
// stripped once has nothing more to lose.
func FuzzStrip(f *testing.F) {
	for _, seed := range named(&testing.T{}) {
		f.Add(seed[0])
		f.Add(seed[1])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		format, w, h, err := Config(b)
		if err != nil || !strings.Contains("png jpeg webp", format) || w*h > 1<<16 {
			return
		}
		before, broken := Decode(b)
		got := stripped(format, bytes.Clone(b))
		if len(got) > len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(got))
		}
		if again := stripped(format, got); !bytes.Equal(again, got) {
			t.Fatal("stripping twice is not stripping once")
		}
		if broken != nil {
			return
		}
		after, err := Decode(got)
		if err != nil {
			t.Fatalf("a %s lost its picture: %v", format, err)
		}
		samePixels(t, after, before)
	})
}
