package perturb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// MaxPixels is the largest image that is decoded: more is refused from the
// header, before any memory is asked for.
const MaxPixels = 100_000_000

var (
	// errTooLarge is an image of more than MaxPixels.
	errTooLarge = errors.New("image too large")
	// errFormat is a file that is no image of a known format.
	errFormat = errors.New("not a PNG, JPEG, WebP, GIF, BMP or TIFF image")
	// errCutShort is an image file that ends before its picture does.
	errCutShort = errors.New("image file is cut short")
)

func checkSize(w, h int) error {
	if w < 1 || h < 1 {
		return fmt.Errorf("image is %dx%d: %w", w, h, errFormat)
	}
	if w > MaxPixels/h {
		return fmt.Errorf("%dx%d is more than %d pixels, scale it down first: %w", w, h, MaxPixels, errTooLarge)
	}
	return nil
}

// Config tells the format of an image file ("png", "jpeg", "webp", "gif", "bmp",
// "tiff") by its bytes, and its size in pixels, from the header. A file that is
// too large, unknown or cut short is an error; pixels are not decoded, so damage
// within them is found by Decode only. EXIF orientation is not looked at.
func Config(src []byte) (format string, w, h int, err error) {
	format, ok := sniff(src)
	if len(src) == 0 {
		return "", 0, 0, fmt.Errorf("the file is empty: %w", errFormat)
	}
	if !ok {
		return "", 0, 0, fmt.Errorf("the file starts with % x: %w", src[:min(8, len(src))], errFormat)
	}
	header, _ := codec(format)
	c, err := header(bytes.NewReader(src))
	if err != nil {
		return "", 0, 0, fmt.Errorf("read the header of a %s image: %w", format, err)
	}
	if err := checkSize(c.Width, c.Height); err != nil {
		return "", 0, 0, err
	}
	if err := complete(format, src); err != nil {
		return "", 0, 0, err
	}
	return format, c.Width, c.Height, nil
}

// codec has the decoders of a format's header and pixels. The formats are called
// by name, not through image.Decode, so that what is imported elsewhere does not
// decide what is read here.
func codec(format string) (header func(io.Reader) (image.Config, error), pixels func(io.Reader) (image.Image, error)) {
	switch format {
	case "png":
		return png.DecodeConfig, png.Decode
	case "jpeg":
		return jpeg.DecodeConfig, jpeg.Decode
	case "gif":
		return gif.DecodeConfig, gif.Decode
	case "webp":
		return webp.DecodeConfig, webp.Decode
	case "bmp":
		return bmp.DecodeConfig, bmp.Decode
	case "tiff":
		return tiff.DecodeConfig, tiff.Decode
	}
	panic("perturb: internal error: sniffed an unknown format " + format)
}

func sniff(src []byte) (format string, ok bool) {
	for _, m := range [...]struct{ format, magic string }{
		{"png", pngSignature}, {"jpeg", "\xff\xd8\xff"}, {"gif", "GIF87a"}, {"gif", "GIF89a"}, {"bmp", "BM"},
		{"tiff", "II*\x00"}, {"tiff", "MM\x00*"},
	} {
		if bytes.HasPrefix(src, []byte(m.magic)) {
			return m.format, true
		}
	}
	if len(src) >= 12 && string(src[:4]) == "RIFF" && string(src[8:12]) == "WEBP" {
		return "webp", true
	}
	return "", false
}

// complete finds files that end too early. Servers fill what is missing with
// grey and say nothing, so the model would be shown half a picture.
func complete(format string, src []byte) error {
	short := func(what string) error { return fmt.Errorf("%s: %w", what, errCutShort) }
	switch format {
	case "png":
		for p := len(pngSignature); p+12 <= len(src); {
			n := int(binary.BigEndian.Uint32(src[p:]))
			if n > len(src)-p-12 {
				break
			}
			kind := string(src[p+4 : p+8])
			if crc32.ChecksumIEEE(src[p+4:p+8+n]) != binary.BigEndian.Uint32(src[p+8+n:]) {
				return fmt.Errorf("PNG chunk %q at byte %d has a wrong check sum: the file is damaged", kind, p)
			}
			if kind == "IEND" {
				return nil
			}
			p += 12 + n
		}
		return short("PNG without IEND")
	case "jpeg":
		// Markers from start to end: an embedded thumbnail has an end marker of its
		// own, so looking for the last one is not enough.
		for p := 2; p+2 <= len(src); {
			if src[p] != 0xff { // inside a scan
				next := bytes.IndexByte(src[p:], 0xff)
				if next < 0 {
					break
				}
				p += next
				continue
			}
			switch m := src[p+1]; {
			case m == 0xd9:
				return nil
			case m == 0xff:
				p++
			case m == 0 || m == 1 || m >= 0xd0 && m <= 0xd8:
				p += 2
			case p+4 > len(src):
				return short("JPEG marker without length")
			case binary.BigEndian.Uint16(src[p+2:]) < 2: // which counts itself
				return fmt.Errorf("JPEG segment at byte %d has a wrong length: the file is damaged", p)
			default:
				p += 2 + int(binary.BigEndian.Uint16(src[p+2:]))
			}
		}
		return short("JPEG without end marker")
	case "webp":
		if want := 8 + int(binary.LittleEndian.Uint32(src[4:])); want > len(src) {
			return short(fmt.Sprintf("WebP of %d bytes has %d", want, len(src)))
		}
	default: // rare enough to decode
		_, err := decode(format, src)
		return err
	}
	return nil
}

// Decode decodes an image file whole. Of several frames or pages, the first.
// EXIF orientation is not applied.
func Decode(src []byte) (image.Image, error) {
	format, _, _, err := Config(src)
	if err != nil {
		return nil, err
	}
	return decode(format, src)
}

func decode(format string, src []byte) (image.Image, error) {
	_, pixels := codec(format)
	m, err := pixels(bytes.NewReader(src))
	if err != nil {
		return nil, fmt.Errorf("decode a %s image: %w", format, err)
	}
	return m, nil
}

// Picture says how a picture is to be sent.
type Picture struct {
	MaxSide int  // scale down to this longest side, in pixels; 0: keep the size
	WebP    bool // the server reads WebP
	// Metadata keeps what a file says beside its picture (texts, EXIF, XMP), which
	// is taken out otherwise: it may name a patient.
	Metadata bool
}

// Render gives the bytes to send for an image file under a condition, and their
// MIME type. A window or a pad at the front comes first, then the image is scaled,
// then come the other ops: thickness and blur are pixels of what the model is
// shown. Scaling down is Catmull-Rom and keeps the aspect; nothing is ever scaled
// up. 16 bit samples stay 16 bit.
//
// A condition without ops sends the file's own bytes less its metadata, or PNG where
// scaling or a format that servers do not read (GIF, BMP, TIFF; WebP unless p says
// otherwise) leaves no choice.
//
// EXIF orientation is not applied: llama.cpp, Ollama and vLLM show the stored
// pixels, and so does the PNG.
func (c Condition) Render(src []byte, p Picture, seed uint64) (out []byte, mime string, err error) {
	return c.RenderFrom(src, p, seed, func() (image.Image, error) { return c.Load(src, p) })
}

// Load is the picture of a file as it is before anything but loading was done to it, scaled down
// to the longest side: the same for all conditions that load alike.
func (c Condition) Load(src []byte, p Picture) (image.Image, error) {
	format, w, h, err := Config(src)
	if err != nil {
		return nil, err
	}
	img, err := decode(format, src)
	if err != nil {
		return nil, err
	}
	if img, err = c.apply(img, 0, c.loading(), 0); err != nil {
		return nil, err
	}
	if p.MaxSide > 0 && max(w, h) > p.MaxSide {
		img = Shrink(img, p.MaxSide)
	}
	return img, nil
}

// Loading are the ops that belong to loading.
func (c Condition) Loading() []Op { return c.Ops[:c.loading()] }

// RenderFrom is Render of a picture that load gives (Load), which is asked for where the file's
// own bytes are not sent.
func (c Condition) RenderFrom(src []byte, p Picture, seed uint64, load func() (image.Image, error)) (out []byte, mime string, err error) {
	if p.MaxSide < 0 {
		return nil, "", fmt.Errorf("longest side %d: must be at least 1, or 0 to keep the size", p.MaxSide)
	}
	format, w, h, err := Config(src)
	if err != nil {
		return nil, "", err
	}
	scale := p.MaxSide > 0 && max(w, h) > p.MaxSide
	if !scale && len(c.Ops) == 0 && c.Kind != KindSham && (format == "png" || format == "jpeg" || format == "webp" && p.WebP) {
		if !p.Metadata {
			src = stripped(format, src)
		}
		return src, "image/" + format, nil
	}
	img, err := load()
	if err != nil {
		return nil, "", err
	}
	if img, err = c.apply(img, c.loading(), len(c.Ops), seed); err != nil {
		return nil, "", err
	}
	out, err = encodePNG(img, c.Kind == KindSham)
	return out, "image/png", err
}

// Shrink scales img down to a longest side, Catmull-Rom, keeping the aspect. Grey
// stays grey, 16 bit stays 16 bit. A smaller image comes back as it is.
func Shrink(img image.Image, maxSide int) image.Image {
	size := img.Bounds().Size()
	to := Shrunk(size, maxSide)
	if to == size {
		return img
	}
	return resize(img, to.X, to.Y)
}

func resize(img image.Image, w, h int) image.Image {
	r := image.Rect(0, 0, w, h)
	switch m := img.(type) {
	case *Pixels: // asking for one colour at a time takes three times as long
		return resize(m.std(), w, h)
	case *image.Gray16, *image.RGBA64, *image.NRGBA64:
		dst := image.NewRGBA64(r)
		draw.CatmullRom.Scale(dst, r, img, img.Bounds(), draw.Src, nil)
		if _, grey := img.(*image.Gray16); !grey {
			return dst
		}
		out := image.NewGray16(r)
		for i := range w * h {
			copy(out.Pix[2*i:2*i+2], dst.Pix[8*i:])
		}
		return out
	}
	// The library's fast path writes RGBA only.
	dst := image.NewRGBA(r)
	draw.CatmullRom.Scale(dst, r, img, img.Bounds(), draw.Src, nil)
	if _, grey := img.(*image.Gray); grey {
		out := image.NewGray(r)
		for i := range out.Pix {
			out.Pix[i] = dst.Pix[4*i]
		}
		return out
	}
	return dst
}
