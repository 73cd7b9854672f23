package perturb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
)

// EncodePNG encodes img losslessly: 8 or 16 bit grey, RGB, RGBA and palette keep
// their kind; everything else becomes 8 bit RGB or RGBA. The same image gives the
// same bytes.
//
// Its time goes into what a sample of its rows shows to pay: noise is not searched
// for matches, a flat picture is searched to the end.
func EncodePNG(img image.Image) ([]byte, error) { return encodePNG(img, false) }

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
	samples := func(pix []uint8, stride, size int, opaque bool) { // four of size bytes per pixel
		if opaque {
			kind(byte(8*size), 2, 3*size)
			r.pix = dropAlpha(pix, stride, r.w, r.h, size)
		} else {
			kind(byte(8*size), 6, 4*size)
			r.pix = packed(pix, stride, 4*size*r.w, r.h)
		}
	}
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
		pix := packed(m.Pix, m.Stride, r.w, r.h)
		if n := len(m.Palette); n > 256 || int(slices.Max(pix)) >= n {
			return generic(img, r)
		}
		kind(8, 3, 1)
		r.pix, r.palette = pix, m.Palette
	case *image.NRGBA:
		samples(m.Pix, m.Stride, 1, m.Opaque())
	case *image.NRGBA64:
		samples(m.Pix, m.Stride, 2, m.Opaque())
	case *image.RGBA:
		if !m.Opaque() { // premultiplied, as PNG is not
			return generic(img, r)
		}
		samples(m.Pix, m.Stride, 1, true)
	case *image.RGBA64:
		if !m.Opaque() {
			n := image.NewNRGBA64(image.Rect(0, 0, r.w, r.h))
			draw.Draw(n, n.Bounds(), m, b.Min, draw.Src)
			return rasterOf(n)
		}
		samples(m.Pix, m.Stride, 2, true)
	case *image.YCbCr:
		return rasterOf(PixelsOf(m))
	default:
		return generic(img, r)
	}
	return r
}

// generic goes through 8 bit non-premultiplied colour, as PNG holds it.
func generic(img image.Image, r raster) raster {
	m := image.NewNRGBA(image.Rect(0, 0, r.w, r.h))
	draw.Draw(m, m.Bounds(), img, img.Bounds().Min, draw.Src)
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

const pngSignature = "\x89PNG\r\n\x1a\n"

// encodePNG encodes the same pixels to other bytes for a sham: every row has another
// filter, and all are compressed at another level.
func encodePNG(img image.Image, sham bool) ([]byte, error) {
	b := img.Bounds()
	if b.Empty() {
		return nil, fmt.Errorf("encode PNG: the image has no pixels (%dx%d)", b.Dx(), b.Dy())
	}
	if err := checkSize(b.Dx(), b.Dy()); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	r := rasterOf(img)
	out := append(make([]byte, 0, 4096+len(r.pix)/6), pngSignature...)
	head := binary.BigEndian.AppendUint32(nil, uint32(r.w))
	head = binary.BigEndian.AppendUint32(head, uint32(r.h))
	out = chunk(out, "IHDR", append(head, r.depth, r.colour, 0, 0, 0))
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
		out = chunk(out, "PLTE", rgb)
		if last > 0 {
			out = chunk(out, "tRNS", alpha[:last])
		}
	}
	// IDAT is written in place, its length and check sum filled in afterwards:
	// a second copy of the stream costs more than the patch.
	start := len(out)
	w := bytes.NewBuffer(append(out, "\x00\x00\x00\x00IDAT"...))
	if err := compress(w, r, sham); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	out = w.Bytes()
	data := out[start:]
	binary.BigEndian.PutUint32(data, uint32(len(data)-8))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(data[4:]))
	return chunk(out, "IEND", nil), nil
}

func chunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[len(out)-len(data)-4:]))
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

// What a picture is compressed by, and how it is judged: small strips of its rows
// are tried.
const (
	huffman = flate.HuffmanOnly // noise, in which a search for matches finds nothing
	fast    = flate.BestSpeed   // noise beside flat parts, or in three channels
	some    = 6                 // smooth
	slow    = 7                 // flat
	slowest = 9                 // where rows repeat in ways that no filter shows

	strips     = 8        // of rows that are tried, from all over the picture
	noiseBytes = 4 << 10  // of each, or up to four times that for eight rows, to know noise by
	stripBytes = 32 << 10 // of each, where there is none
	flatPart   = 64       // of its bytes is what a flat picture is compressed to, or less
	blockBytes = 64 << 10 // of rows that are filtered while they stay in the cache
)

// compress writes the filtered rows of r to out as one zlib stream.
func compress(out *bytes.Buffer, r raster, sham bool) error {
	e := filterer{r: r, stride: r.w * r.bpp, zero: make([]byte, r.w*r.bpp)}
	filter, level, err := e.choose()
	if err != nil {
		return err
	}
	if sham {
		filter = (filter + 1) % filters
		level = map[int]int{huffman: fast, fast: huffman, some: slow, slow: slow + 1, slowest: slow}[level]
	}
	z, err := zlib.NewWriterLevel(out, level)
	if err != nil {
		return err
	}
	rows := max(1, blockBytes/(e.stride+1))
	var block []byte
	for y := 0; y < r.h; y += rows {
		block = e.filter(block, y, min(rows, r.h-y), filter)
		if _, err := z.Write(block); err != nil {
			return err
		}
	}
	return z.Close()
}

// filterer filters rows of a raster.
type filterer struct {
	r      raster
	stride int
	zero   []byte // the row above the first
}

// choose says how the picture is to be filtered and compressed, by what its strips
// come to. It goes by sizes, never by times: the same picture gives the same bytes.
func (e *filterer) choose() (filter, level int, err error) {
	few := e.sample(min(max(noiseBytes/(e.stride+1), 8), 4*noiseBytes/(e.stride+1)))
	plain, noise, err := least(few[:], huffman)
	if err != nil {
		return 0, 0, err
	}
	filter, size, err := least(few[:], fast)
	switch {
	case err != nil:
		return 0, 0, err
	case 20*size > 19*noise:
		return plain, huffman, nil
	case 4*size > 3*noise:
		return filter, fast, nil
	}
	// Short strips are too short to show how flat a picture is.
	sample := few
	if flatPart*size < 8*len(few[0]) {
		sample = e.sample(stripBytes / (e.stride + 1))
		if filter, size, err = least(sample[:], fast); err != nil {
			return 0, 0, err
		}
	}
	if flatPart*size >= len(sample[0]) {
		best, searched, err := least(sample[:], some)
		if 5*searched < 4*size {
			return best, some, err
		}
		return filter, fast, err // grey in three channels
	}
	// The slowest search takes twice as long on filtered rows, for little.
	filter, size, err = least(sample[:], slow)
	if err != nil {
		return 0, 0, err
	}
	_, whole, err := least(sample[:1], slowest)
	if 5*whole < 4*size {
		return filterNone, slowest, err
	}
	return filter, slow, err
}

// sample is strips of so many rows or fewer, filtered by each filter. They never
// overlap: what stands in a sample twice would look like a match.
func (e *filterer) sample(rows int) (sample [filters][]byte) {
	n := min(strips, e.r.h)
	rows = max(1, min(rows, e.r.h/n))
	for f := range sample {
		var strip []byte
		for i := range n {
			strip = e.filter(strip, (e.r.h-rows)*i/max(1, n-1), rows, f)
			sample[f] = append(sample[f], strip...)
		}
	}
	return sample
}

// least is the filter that a level suits best, and the size it comes to.
func least(sample [][]byte, level int) (filter, size int, err error) {
	var out count
	w, err := flate.NewWriter(&out, level)
	if err != nil {
		return 0, 0, err
	}
	for f, p := range sample {
		out = 0
		w.Reset(&out)
		if _, err := w.Write(p); err != nil {
			return 0, 0, err
		}
		if err := w.Close(); err != nil {
			return 0, 0, err
		}
		if f == 0 || int(out) < size {
			filter, size = f, int(out)
		}
	}
	return filter, size, nil
}

// count is a writer that counts.
type count int

func (c *count) Write(p []byte) (int, error) {
	*c += count(len(p))
	return len(p), nil
}

// filter writes n filtered rows from y on over dst and returns them.
func (e *filterer) filter(dst []byte, y, n, f int) []byte {
	s := e.stride
	dst = slices.Grow(dst[:0], n*(s+1))[:n*(s+1)]
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
	first := min(bpp, len(cur))
	filterBytes(dst, cur, up, bpp, f, 0, first)
	le, i := binary.LittleEndian, first
	for ; i+32 <= len(cur); i += 32 { // one check of bounds for four words
		to, from, above, left := dst[i:i+32], cur[i:i+32], up[i:i+32], cur[i-bpp:i-bpp+32]
		a, b, c, d := le.Uint64(from), le.Uint64(from[8:]), le.Uint64(from[16:]), le.Uint64(from[24:])
		switch f {
		case filterSub:
			a, b = sub8(a, le.Uint64(left)), sub8(b, le.Uint64(left[8:]))
			c, d = sub8(c, le.Uint64(left[16:])), sub8(d, le.Uint64(left[24:]))
		case filterUp:
			a, b = sub8(a, le.Uint64(above)), sub8(b, le.Uint64(above[8:]))
			c, d = sub8(c, le.Uint64(above[16:])), sub8(d, le.Uint64(above[24:]))
		case filterAverage:
			a = sub8(a, avg8(le.Uint64(left), le.Uint64(above)))
			b = sub8(b, avg8(le.Uint64(left[8:]), le.Uint64(above[8:])))
			c = sub8(c, avg8(le.Uint64(left[16:]), le.Uint64(above[16:])))
			d = sub8(d, avg8(le.Uint64(left[24:]), le.Uint64(above[24:])))
		}
		le.PutUint64(to, a)
		le.PutUint64(to[8:], b)
		le.PutUint64(to[16:], c)
		le.PutUint64(to[24:], d)
	}
	filterBytes(dst, cur, up, bpp, f, i, len(cur))
}

// filterBytes filters the bytes [from, to) of a row one by one.
func filterBytes(dst, cur, up []byte, bpp, f, from, to int) {
	for i := from; i < to; i++ {
		var left byte
		if i >= bpp {
			left = cur[i-bpp]
		}
		dst[i] = cur[i] - [filters]byte{0, left, up[i], byte((int(left) + int(up[i])) / 2)}[f]
	}
}
