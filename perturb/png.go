package perturb

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"slices"

	"assay/perturb/deflate"
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

func encodePNG(img image.Image, sham bool) ([]byte, error) {
	b := img.Bounds()
	if b.Empty() {
		return nil, fmt.Errorf("encode PNG: the image has no pixels (%dx%d)", b.Dx(), b.Dy())
	}
	if err := checkSize(b.Dx(), b.Dy()); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	r := rasterOf(img)
	out := append(make([]byte, 0, 4096+len(r.pix)/bands), pngSignature...)
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
	out = append(out, "\x00\x00\x00\x00IDAT\x78\x01"...)
	out = compress(out, r, sham)
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

const (
	bands       = 6         // of rows that share a filter and a way of deflating, where they hold
	bandBytes   = 256 << 10 // at least
	places      = 4         // of a band, or of the image, that samples are taken from
	sampleBytes = 8 << 10   // in each
	sampleRows  = 2         // at least, where the band has them
	probeBytes  = 12 << 10  // that matches are tried on
	matchRows   = 16        // that the filters for matches are tried on
	greyToken   = 4         // bytes a match must cover on average, or the search takes too long
	colourToken = 64        // three times the bytes, so it has to be faster
)

// compress writes the filtered rows of r as one zlib stream without its header.
func compress(out []byte, r raster, sham bool) []byte {
	stride := r.w * r.bpp
	e := bandEncoder{r: r, stride: stride, zero: make([]byte, stride), forMatches: -1}
	rows := min(max((r.h+bands-1)/bands, bandBytes/(stride+1), 1), r.h)
	var band []byte
	d := deflate.Encoder{Out: out}
	check := uint32(1)
	for y := 0; y < r.h; y += rows {
		n := min(rows, r.h-y)
		if y == rows { // room for all, judged by the first band
			d.Out = slices.Grow(d.Out, len(d.Out)*(r.h/rows)*9/8)
		}
		filter, matches, literal := e.choose(y, n)
		if sham {
			filter, matches = (filter+1)%filters, !matches
		}
		if matches {
			band = e.filter(band, y, n, filter)
			check = deflate.Adler(check, band)
			d.Matches(band, 0, stride+1, r.bpp, literal)
			d.Forget() // the next band overwrites what matches could reach back to
			continue
		}
		k := max(1, deflate.BlockBytes/(stride+1)) // rows that are filtered while they stay in the cache
		for at := y; at < y+n; at += k {
			band = e.filter(band, at, min(k, y+n-at), filter)
			check = deflate.Adler(check, band)
			d.Literals(band)
		}
	}
	d.Finish()
	return binary.BigEndian.AppendUint32(d.Out, check)
}

// bandEncoder filters bands and tries what compresses a sample of them best.
type bandEncoder struct {
	r          raster
	stride     int
	zero       []byte // the row above the first
	scratch    []byte
	trial      deflate.Encoder
	forMatches int // the filter, once it is chosen; -1 before
}

// choose says how the band [y, y+n) is to be filtered and whether a match search
// pays, from a few rows of it. literal is for that search.
func (e *bandEncoder) choose(y, n int) (filter int, matches bool, literal int) {
	k := min(max(sampleRows, sampleBytes/(e.stride+1)), n)
	for f := range filters {
		cost := 0
		for place := range places {
			cost += deflate.LiteralCost(e.sample(y+(n-k)*place/(places-1), k, f)) / places
		}
		if f == 0 || cost < literal {
			literal, filter = cost, f
		}
	}
	p := e.sample(y+(n-k)/2, k, filter)
	p = p[:min(len(p), probeBytes)]
	need := greyToken
	if e.r.bpp >= 3 {
		need = colourToken
	}
	tokens := func(q []byte) int {
		e.trial.Reset()
		return e.trial.Matches(q, 0, e.stride+1, e.r.bpp, literal)
	}
	start := min(2*len(p)/need+2*deflate.Reach, len(p)) // enough to see that noise is hopeless
	if (tokens(p[:start])-deflate.Reach)*need > len(p) || tokens(p)*need > len(p) {
		return filter, false, 0
	}
	return e.matchFilter(), true, literal
}

// matchFilter is the filter for bands that matches suit. There, small residuals
// are not what counts, so it tries them all on rows from all over the image,
// enough in each place to find matches a few rows up.
func (e *bandEncoder) matchFilter() int {
	if e.forMatches >= 0 {
		return e.forMatches
	}
	k := min(matchRows, e.r.h)
	best := -1
	for f := range filters {
		size := 0
		for place := range places {
			p := e.sample((e.r.h-k)*(2*place+1)/(2*places), k, f)
			cost, half := deflate.LiteralCost(p), k/2*(e.stride+1)
			e.trial.Reset()
			e.trial.Matches(p[:half], 0, e.stride+1, e.r.bpp, cost) // has nothing to look back to: not counted
			before := len(e.trial.Out)
			e.trial.Matches(p, half, e.stride+1, e.r.bpp, cost)
			size += len(e.trial.Out) - before
		}
		if best < 0 || size < best {
			best, e.forMatches = size, f
		}
	}
	return e.forMatches
}

// sample filters k rows from y on into memory that the next sample overwrites.
func (e *bandEncoder) sample(y, k, f int) []byte {
	e.scratch = e.filter(e.scratch, y, k, f)
	return e.scratch
}

// filter writes n filtered rows from y on over dst and returns them.
func (e *bandEncoder) filter(dst []byte, y, n, f int) []byte {
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
