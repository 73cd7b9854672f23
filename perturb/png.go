package perturb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"image"
	"image/color"
	"io"

	"github.com/klauspost/compress/flate"
)

// EncodePNG encodes img losslessly: 8 or 16 bit grey, RGB, RGBA and palette keep
// their kind; everything else becomes 8 bit RGB or RGBA. The same image gives the
// same bytes.
//
// It is several times faster than image/png at about the same size, because a
// medical image is either smooth, where few filters and a match search do all,
// or noisy, where a match search finds nothing and only costs time: each band of
// rows is sampled and gets what its sample asks for.
func EncodePNG(img image.Image) ([]byte, error) { return encodePNG(img, false) }

// EncodeSham encodes the same pixels as EncodePNG to other bytes: every row has
// another filter, and bands are compressed at another level.
func EncodeSham(img image.Image) ([]byte, error) { return encodePNG(img, true) }

// raster is an image in PNG's own layout: rows of whole bytes, big-endian.
type raster struct {
	w, h    int
	depth   byte // 8 or 16
	colour  byte // PNG colour type: 0 grey, 2 RGB, 3 palette, 6 RGBA
	bpp     int  // bytes per pixel
	pix     []byte
	palette color.Palette
}

func rasterOf(img image.Image) raster {
	b := img.Bounds()
	r := raster{w: b.Dx(), h: b.Dy(), depth: 8}
	kind := func(depth, colour byte, bpp int) { r.depth, r.colour, r.bpp = depth, colour, bpp }
	switch m := img.(type) {
	case *Pixels:
		kind(8, 0, 1)
		if m.Channels == 3 {
			kind(8, 2, 3)
		}
		r.pix = m.Pix
	case *image.Gray:
		kind(8, 0, 1)
		r.pix = packed(m.Pix, m.Stride, r.w, r.h)
	case *image.Gray16:
		kind(16, 0, 2)
		r.pix = packed(m.Pix, m.Stride, r.w*2, r.h)
	case *image.Paletted:
		if n := len(m.Palette); n >= 1 && n <= 256 && inPalette(m) {
			kind(8, 3, 1)
			r.pix, r.palette = packed(m.Pix, m.Stride, r.w, r.h), m.Palette
			return r
		}
		return generic(img, r)
	case *image.NRGBA:
		if m.Opaque() {
			kind(8, 2, 3)
			r.pix = dropAlpha(m.Pix, m.Stride, r.w, r.h, 1)
		} else {
			kind(8, 6, 4)
			r.pix = packed(m.Pix, m.Stride, r.w*4, r.h)
		}
	case *image.RGBA:
		if !m.Opaque() {
			return generic(img, r)
		}
		kind(8, 2, 3)
		r.pix = dropAlpha(m.Pix, m.Stride, r.w, r.h, 1)
	case *image.NRGBA64:
		if m.Opaque() {
			kind(16, 2, 6)
			r.pix = dropAlpha(m.Pix, m.Stride, r.w, r.h, 2)
		} else {
			kind(16, 6, 8)
			r.pix = packed(m.Pix, m.Stride, r.w*8, r.h)
		}
	case *image.RGBA64:
		kind(16, 2, 6)
		if m.Opaque() {
			r.pix = dropAlpha(m.Pix, m.Stride, r.w, r.h, 2)
			return r
		}
		kind(16, 6, 8)
		r.pix = make([]byte, 0, r.w*r.h*8)
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				c := color.NRGBA64Model.Convert(m.At(x, y)).(color.NRGBA64)
				for _, v := range [...]uint16{c.R, c.G, c.B, c.A} {
					r.pix = binary.BigEndian.AppendUint16(r.pix, v)
				}
			}
		}
	case *image.YCbCr:
		return rasterOf(PixelsOf(m))
	default:
		return generic(img, r)
	}
	return r
}

// generic goes through 8 bit non-premultiplied colour, as PNG holds it.
func generic(img image.Image, r raster) raster {
	b := img.Bounds()
	m := image.NewNRGBA(image.Rect(0, 0, r.w, r.h))
	for y := range r.h {
		for x := range r.w {
			m.SetNRGBA(x, y, color.NRGBAModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA))
		}
	}
	return rasterOf(m)
}

// packed removes the padding between rows; without padding it is pix itself.
func packed(pix []byte, stride, rowBytes, h int) []byte {
	if stride == rowBytes {
		return pix[:rowBytes*h]
	}
	out := make([]byte, 0, rowBytes*h)
	for y := range h {
		out = append(out, pix[y*stride:y*stride+rowBytes]...)
	}
	return out
}

// dropAlpha copies the colour of 4-sample pixels of size bytes each.
func dropAlpha(pix []byte, stride, w, h, size int) []byte {
	out := make([]byte, 3*size*w*h)
	o := 0
	for y := range h {
		row := pix[y*stride : y*stride+4*size*w]
		for len(row) > 0 {
			copy(out[o:o+3*size], row)
			o += 3 * size
			row = row[4*size:]
		}
	}
	return out
}

// inPalette reports whether every pixel has a colour.
func inPalette(m *image.Paletted) bool {
	n, b := len(m.Palette), m.Bounds()
	for y := range b.Dy() {
		for _, v := range m.Pix[y*m.Stride : y*m.Stride+b.Dx()] {
			if int(v) >= n {
				return false
			}
		}
	}
	return true
}

const pngSignature = "\x89PNG\r\n\x1a\n"

func encodePNG(img image.Image, sham bool) ([]byte, error) {
	b := img.Bounds()
	if b.Empty() {
		return nil, fmt.Errorf("encode PNG: the image has no pixels (%dx%d)", b.Dx(), b.Dy())
	}
	if err := checkSize(b.Dx(), b.Dy()); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	r := rasterOf(img)
	out := bytes.NewBuffer(make([]byte, 0, 4096+len(r.pix)*5/8))
	out.WriteString(pngSignature)
	head := binary.BigEndian.AppendUint32(nil, uint32(r.w))
	head = binary.BigEndian.AppendUint32(head, uint32(r.h))
	chunk(out, "IHDR", append(head, r.depth, r.colour, 0, 0, 0))
	if r.palette != nil {
		var rgb, alpha []byte
		last := 0 // alpha entries that count
		for i, c := range r.palette {
			n := color.NRGBAModel.Convert(c).(color.NRGBA)
			rgb, alpha = append(rgb, n.R, n.G, n.B), append(alpha, n.A)
			if n.A != 255 {
				last = i + 1
			}
		}
		chunk(out, "PLTE", rgb)
		if last > 0 {
			chunk(out, "tRNS", alpha[:last])
		}
	}
	// IDAT is written in place, its length and check sum filled in afterwards:
	// a second copy of the stream costs more than the patch.
	start := out.Len()
	out.WriteString("\x00\x00\x00\x00IDAT\x78\x01")
	if err := deflate(out, r, sham); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	data := out.Bytes()[start:]
	binary.BigEndian.PutUint32(data, uint32(len(data)-8))
	out.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data[4:])))
	chunk(out, "IEND", nil)
	return out.Bytes(), nil
}

func chunk(out *bytes.Buffer, kind string, data []byte) {
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
	out.WriteString(kind)
	out.Write(data)
	crc := crc32.Update(crc32.ChecksumIEEE([]byte(kind)), crc32.IEEETable, data)
	out.Write(binary.BigEndian.AppendUint32(nil, crc))
}

// PNG filters, as the specification numbers them. Paeth is left out: it is never
// much better than average here and by far the slowest.
const (
	filterNone = iota
	filterSub
	filterUp
	filterAverage
	filters
)

const (
	bandBytes   = 1 << 20 // pixels that share a filter and a level
	sampleBytes = 32 << 10
	sampleRows  = 8  // at least, where the band has them
	matchLevel  = 6  // deflate level where matches pay
	shamLevel   = 1  // and in a sham
	probeLevel  = 1  // fast, and finds matches only where they are plenty
	probeGain   = 90 // per cent: matches pay if the probe is below this share of the Huffman size
)

// deflate writes the filtered rows of r as one zlib stream without its header.
func deflate(out *bytes.Buffer, r raster, sham bool) error {
	stride := r.w * r.bpp
	e := bandEncoder{r: r, stride: stride, zero: make([]byte, stride), probes: map[int]*flate.Writer{}}
	rows := min(max(1, bandBytes/(stride+1)), r.h)
	buf := make([]byte, rows*(stride+1))
	check := adler32.New()
	level := 0 // of the band before; no writer has it
	var w *flate.Writer
	writers := map[int]*flate.Writer{}
	for y := 0; y < r.h; y += rows {
		n := min(rows, r.h-y)
		filter, lv, err := e.choose(y, n)
		if err != nil {
			return err
		}
		if sham {
			filter = (filter + 1) % filters
			if lv == matchLevel {
				lv = shamLevel
			} else {
				lv = matchLevel
			}
		}
		band := e.filter(buf, y, n, filter)
		check.Write(band)
		if lv != level {
			if w != nil {
				if err := w.Flush(); err != nil { // ends on a byte: another writer may go on from here
					return err
				}
			}
			if w, err = writerFor(writers, lv, out); err != nil {
				return err
			}
			level = lv
		}
		if _, err := w.Write(band); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	out.Write(check.Sum(nil))
	return nil
}

// bandEncoder filters bands and tries what compresses a sample of them best.
type bandEncoder struct {
	r       raster
	stride  int
	zero    []byte // the row above the first
	scratch []byte
	probes  map[int]*flate.Writer // by level, for samples only
}

// writerFor resets the writer of a level, or makes it: making one costs more than
// compressing a sample.
func writerFor(writers map[int]*flate.Writer, level int, to io.Writer) (*flate.Writer, error) {
	if w := writers[level]; w != nil {
		w.Reset(to)
		return w, nil
	}
	w, err := flate.NewWriter(to, level)
	writers[level] = w
	return w, err
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// size is what p takes at a level.
func (e *bandEncoder) size(p []byte, level int) (int, error) {
	var n counter
	w, err := writerFor(e.probes, level, &n)
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(p); err != nil {
		return 0, err
	}
	err = w.Close()
	return int(n), err
}

// choose samples rows from the middle of the band [y, y+n).
func (e *bandEncoder) choose(y, n int) (filter, level int, err error) {
	k := min(max(sampleRows, sampleBytes/(e.stride+1)), n)
	y += (n - k) / 2
	if need := k * (e.stride + 1); len(e.scratch) < need {
		e.scratch = make([]byte, need)
	}
	best := -1
	for f := range filters {
		if s := residual(e.filter(e.scratch, y, k, f)); best < 0 || s < best {
			best, filter = s, f
		}
	}
	sample := e.filter(e.scratch, y, k, filter)
	huffman, err := e.size(sample, flate.HuffmanOnly)
	if err != nil {
		return 0, 0, err
	}
	probe, err := e.size(sample, probeLevel)
	if err != nil {
		return 0, 0, err
	}
	if 100*probe >= probeGain*huffman {
		return filter, flate.HuffmanOnly, nil
	}
	// Where matches pay, small residuals are not what counts: try each filter.
	best = -1
	for f := range filters {
		s, err := e.size(e.filter(e.scratch, y, k, f), matchLevel)
		if err != nil {
			return 0, 0, err
		}
		if best < 0 || s < best {
			best, filter = s, f
		}
	}
	return filter, matchLevel, nil
}

// residual is the sum of the absolute values of filtered bytes read as signed.
func residual(p []byte) (sum int) {
	for _, v := range p {
		sum += int(min(v, -v))
	}
	return sum
}

// filter writes n filtered rows from y on to dst and returns them.
func (e *bandEncoder) filter(dst []byte, y, n, f int) []byte {
	s := e.stride
	dst = dst[:n*(s+1)]
	for i := range n {
		row := dst[i*(s+1) : (i+1)*(s+1)]
		cur, up := e.r.pix[(y+i)*s:(y+i+1)*s], e.zero
		if y+i > 0 {
			up = e.r.pix[(y+i-1)*s : (y+i)*s]
		}
		row[0] = byte(f)
		filterRow(row[1:], cur, up, e.r.bpp, f)
	}
	return dst
}

// Eight bytes at a time in one word; high is the top bit of each.
const high = 0x8080808080808080

// sub8 subtracts bytes without borrows between them.
func sub8(a, b uint64) uint64 { return ((a | high) - (b &^ high)) ^ ((a ^ ^b) & high) }

// avg8 is floor((a+b)/2) of each byte.
func avg8(a, b uint64) uint64 { return (a & b) + ((a^b)&0xFEFEFEFEFEFEFEFE)>>1 }

// filterRow filters one row: PNG specification, section 9. len(dst) = len(cur) = len(up).
func filterRow(dst, cur, up []byte, bpp, f int) {
	le := binary.LittleEndian
	switch f {
	case filterNone:
		copy(dst, cur)
	case filterSub:
		i := copy(dst, cur[:min(bpp, len(cur))])
		for ; i+8 <= len(cur); i += 8 {
			le.PutUint64(dst[i:], sub8(le.Uint64(cur[i:]), le.Uint64(cur[i-bpp:])))
		}
		for ; i < len(cur); i++ {
			dst[i] = cur[i] - cur[i-bpp]
		}
	case filterUp:
		i := 0
		for ; i+8 <= len(cur); i += 8 {
			le.PutUint64(dst[i:], sub8(le.Uint64(cur[i:]), le.Uint64(up[i:])))
		}
		for ; i < len(cur); i++ {
			dst[i] = cur[i] - up[i]
		}
	case filterAverage:
		i := 0
		for ; i < min(bpp, len(cur)); i++ {
			dst[i] = cur[i] - up[i]/2
		}
		for ; i+8 <= len(cur); i += 8 {
			le.PutUint64(dst[i:], sub8(le.Uint64(cur[i:]), avg8(le.Uint64(cur[i-bpp:]), le.Uint64(up[i:]))))
		}
		for ; i < len(cur); i++ {
			dst[i] = cur[i] - byte((int(cur[i-bpp])+int(up[i]))/2)
		}
	}
}
