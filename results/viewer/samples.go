package viewer

import (
	"compress/gzip"
	"encoding/binary"
	"image"
	"image/color"
	"io"
	"net/http"
	"strings"
)

// Samples sends a picture's samples as they are, which picture.js shows: a browser's own
// decoder cuts 16 bits to 8. Grey stays grey, everything else is red, green and blue; what
// is transparent stands on black. The body is "ASP1", width and height (uint32), channels
// (1 or 3), bits (8 or 16), two bytes of nothing, then rows of samples, all little-endian.
func Samples(w http.ResponseWriter, r *http.Request, img image.Image) error {
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	var out io.Writer = w
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		head.Set("Content-Encoding", "gzip")
		head.Set("Vary", "Accept-Encoding")
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			panic("viewer: internal error: " + err.Error())
		}
		if err := encode(z, img); err != nil {
			return err
		}
		return z.Close()
	}
	return encode(out, img)
}

func encode(w io.Writer, img image.Image) error {
	b := img.Bounds()
	channels, bits := depth(img)
	head := append([]byte("ASP1"), make([]byte, 12)...)
	binary.LittleEndian.PutUint32(head[4:], uint32(b.Dx()))
	binary.LittleEndian.PutUint32(head[8:], uint32(b.Dy()))
	head[12], head[13] = byte(channels), byte(bits)
	if _, err := w.Write(head); err != nil {
		return err
	}
	row := make([]byte, 0, b.Dx()*channels*bits/8)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row = row[:0]
		if g, ok := img.(*image.Gray); ok {
			at := g.PixOffset(b.Min.X, y)
			row = append(row, g.Pix[at:at+b.Dx()]...)
		} else {
			for x := b.Min.X; x < b.Max.X; x++ {
				row = sample(row, img.At(x, y), channels, bits)
			}
		}
		if _, err := w.Write(row); err != nil {
			return err
		}
	}
	return nil
}

func sample(row []byte, c color.Color, channels, bits int) []byte {
	red, green, blue, _ := c.RGBA()
	for _, v := range []uint32{red, green, blue}[:channels] {
		if bits == 16 {
			row = binary.LittleEndian.AppendUint16(row, uint16(v))
		} else {
			row = append(row, byte(v>>8))
		}
	}
	return row
}

// depth is how many channels of how many bits a picture has.
func depth(img image.Image) (channels, bits int) {
	switch m := img.(type) {
	case *image.Gray:
		return 1, 8
	case *image.Gray16:
		return 1, 16
	case *image.RGBA64, *image.NRGBA64:
		return 3, 16
	case *image.Paletted:
		for _, c := range m.Palette {
			if r, g, b, _ := c.RGBA(); r != g || g != b {
				return 3, 8
			}
		}
		return 1, 8
	}
	return 3, 8
}
