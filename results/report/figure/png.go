package figure

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"
	"math"

	"git.sr.ht/~sbinet/gg"
	"github.com/klauspost/compress/zlib"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"assay/results"
)

// dotsPerInch of PNG files: 1600 pixels for a wide figure.
const dotsPerInch = 240

// PNG writes the figure on white.
func PNG(w io.Writer, f results.Figure, look Look) error {
	high := height(f, look)
	pixels := func(l vg.Length) int { return int(math.Round(l.Dots(dotsPerInch))) }
	// vgimg would copy a picture that it makes itself.
	img := image.NewRGBA(image.Rect(0, 0, pixels(vg.Length(look.Width)), pixels(high)))
	ctx := gg.NewContextForRGBA(img)
	ctx.SetLineCapButt()
	ctx.InvertY()
	c := vgimg.NewWith(vgimg.UseImageWithContext(img, ctx), vgimg.UseDPI(dotsPerInch))
	paint(draw.New(sized{c, vg.Length(look.Width), high}), f, look)
	return encodePNG(w, img)
}

// sized is a canvas whose size is that of the figure, not a whole number of pixels.
type sized struct {
	*vgimg.Canvas
	w, h vg.Length
}

func (s sized) Size() (w, h vg.Length) { return s.w, s.h }

// encodePNG writes an opaque picture as RGB. Rows have no filter: plain colours and lines
// are compressed as well without, in a third of the time of image/png.
func encodePNG(w io.Writer, img *image.RGBA) error {
	var data bytes.Buffer
	z, err := zlib.NewWriterLevel(&data, 2)
	if err != nil {
		return err
	}
	wide := img.Rect.Dx()
	row := make([]byte, 1+3*wide+1) // the first byte says: no filter; the last is of no pixel
	var above []byte
	for y := range img.Rect.Dy() {
		pix := img.Pix[y*img.Stride:][:4*wide]
		if !bytes.Equal(pix, above) { // every other row is as the one above
			for x := range wide { // four bytes at once, the fourth of which the next pixel replaces
				binary.LittleEndian.PutUint32(row[3*x+1:], binary.LittleEndian.Uint32(pix[4*x:]))
			}
		}
		above = pix
		if _, err := z.Write(row[:1+3*wide]); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	const eight, rgb = 8, 2
	head := binary.BigEndian.AppendUint32(nil, uint32(img.Rect.Dx()))
	head = append(binary.BigEndian.AppendUint32(head, uint32(img.Rect.Dy())), eight, rgb, 0, 0, 0)
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, part := range []struct {
		kind string
		data []byte
	}{{"IHDR", head}, {"IDAT", data.Bytes()}, {"IEND", nil}} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part.data)))
		at := len(out)
		out = append(append(out, part.kind...), part.data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[at:]))
	}
	_, err = w.Write(out)
	return err
}
