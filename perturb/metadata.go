package perturb

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// stripped is an image file without what it says beside its picture: texts, EXIF,
// XMP, IPTC, times, private chunks, and whatever stands behind its end. They can
// name a patient, and they move no pixel. Pixels, palette, transparency, colour
// space and resolution stay, byte for byte; a file without anything else comes
// back as it is. format is "png", "jpeg" or "webp", and src is complete.
func stripped(format string, src []byte) []byte {
	switch format {
	case "png":
		return strippedPNG(src)
	case "jpeg":
		return strippedJPEG(src)
	case "webp":
		return strippedWebP(src)
	}
	panic("perturb: internal error: no metadata is known of " + format)
}

// pictureChunks are the PNG chunks that say how the picture looks.
func pictureChunks() []string {
	return []string{"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "sBIT", "bKGD", "pHYs"}
}

func strippedPNG(src []byte) []byte {
	keep := pictureChunks()
	out := append(make([]byte, 0, len(src)), pngSignature...)
	for p := len(pngSignature); p+12 <= len(src); {
		end := p + 12 + int(binary.BigEndian.Uint32(src[p:]))
		kind := string(src[p+4 : p+8])
		if slices.Contains(keep, kind) {
			out = append(out, src[p:end]...)
		}
		if kind == "IEND" {
			break
		}
		p = end
	}
	return sameOr(src, out)
}

// JPEG markers that matter here.
const (
	markerEnd   = 0xd9
	markerScan  = 0xda
	markerApp0  = 0xe0 // JFIF
	markerApp2  = 0xe2 // a colour profile, or anything
	markerApp14 = 0xee // Adobe: how colours are stored
	markerApp15 = 0xef
	markerText  = 0xfe
)

func strippedJPEG(src []byte) []byte {
	out := append(make([]byte, 0, len(src)), src[:2]...)
	scan := false // what stands between markers is the picture, not rubbish
	for p := 2; p+2 <= len(src); {
		m := src[p+1]
		switch {
		case src[p] != 0xff:
			next := bytes.IndexByte(src[p:], 0xff)
			if scan {
				out = append(out, src[p:p+next]...)
			}
			p += next
			continue
		case m == markerEnd:
			return sameOr(src, append(out, src[p:p+2]...))
		case m == 0xff: // a fill byte
			p++
			continue
		case m == 0 || m == 1 || m >= 0xd0 && m <= 0xd8:
			if scan {
				out = append(out, src[p:p+2]...)
			}
			p += 2
			continue
		}
		scan = m == markerScan
		end := p + 2 + int(binary.BigEndian.Uint16(src[p+2:]))
		body := src[p+4 : max(p+4, end)]
		keep := m < markerApp0 || m > markerApp15 && m != markerText
		switch m {
		case markerApp0:
			keep = bytes.HasPrefix(body, []byte("JFIF\x00")) // JFXX holds a thumbnail
		case markerApp2:
			keep = bytes.HasPrefix(body, []byte("ICC_PROFILE\x00"))
		case markerApp14:
			keep = bytes.HasPrefix(body, []byte("Adobe"))
		}
		if keep {
			out = append(out, src[p:end]...)
		}
		p = end
	}
	panic("perturb: internal error: a complete JPEG without an end")
}

func strippedWebP(src []byte) []byte {
	end := min(len(src), 8+int(binary.LittleEndian.Uint32(src[4:])))
	out := append(make([]byte, 0, len(src)), src[:12]...)
	for p := 12; p+8 <= end; {
		n := int(binary.LittleEndian.Uint32(src[p+4:]))
		next := p + 8 + n + n%2
		if n < 0 || next > end {
			next = end // the last chunk may lack its padding
		}
		switch kind := string(src[p : p+4]); kind {
		case "VP8 ", "VP8L", "ALPH", "ANIM", "ANMF", "ICCP":
			out = append(out, src[p:next]...)
		case "VP8X":
			out = append(out, src[p:next]...)
			if next-p > 8 {
				out[len(out)-(next-p)+8] &^= 0x0c // there is neither EXIF nor XMP any more
			}
		}
		p = next
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return sameOr(src, out)
}

// sameOr is src where nothing was taken away, so that a file keeps its identity.
func sameOr(src, out []byte) []byte {
	if bytes.Equal(src, out) {
		return src
	}
	return out
}
