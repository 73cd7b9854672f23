// Dicom makes pictures of DICOM files with a program that the user names, and
// says how: what the file says of its pixels, and what the program was told to do.
//
//  1. describeDICOM reads group 0028 of a file, which is about pixels, and steps over all else:
//     nothing that names a person is ever read.
//  2. A Helper gives the program a copy without the file's name, and reads the picture that
//     it makes. What the program prints is thrown away: it may name a person too.

package dataset

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// is says whether a file begins as DICOM does (PS3.10, 7.1).
func is(file []byte) bool { return len(file) >= 132 && string(file[128:132]) == "DICM" }

// dicomHeader is what a file says of its pixels; zero: it does not.
type dicomHeader struct {
	Photometric string // one of photometrics
	Bits        int    // of a sample that are used, 1..64
	Frames      int
	Windows     [][2]float64 // centre and width, in the order of the file
}

// photometrics are the defined terms (PS3.3, C.7.6.3.1.2). Another is not told: anything
// may stand there.
func photometrics() []string {
	return []string{"MONOCHROME1", "MONOCHROME2", "PALETTE COLOR", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_PARTIAL_420", "YBR_ICT", "YBR_RCT", "XYB"}
}

func (h dicomHeader) String() string {
	out := "DICOM, "
	if h.Photometric == "" {
		out += "photometric interpretation unknown"
	} else {
		out += h.Photometric
	}
	if h.Bits > 0 {
		out += fmt.Sprintf(", %d bits", h.Bits)
	} else {
		out += ", bits unknown"
	}
	if h.Frames > 1 {
		out += fmt.Sprintf(", %d frames", h.Frames)
	}
	var w []string
	for _, one := range h.Windows {
		w = append(w, fmt.Sprintf("%v/%v", one[0], one[1]))
	}
	if len(w) == 0 {
		return out + ", no window in the file"
	}
	return out + ", window in the file " + strings.Join(w, " or ")
}

// most is how many windows are told.
const most = 8

// describeDICOM reads what a file says of its pixels. What cannot be followed is not known.
func describeDICOM(file []byte) (h dicomHeader) {
	if !is(file) {
		return h
	}
	r := reader{rest: file[132:], explicit: true}
	syntax := ""
	for len(r.rest) >= 4 && r.group() == 2 { // always explicit (PS3.10, 7.1)
		tag, value, ok := r.element(0)
		if !ok {
			return h
		}
		if tag == 0x00020010 {
			syntax = dicomText(value)
		}
	}
	switch syntax {
	case "1.2.840.10008.1.2":
		r.explicit = false
	case "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2", "": // deflated, big endian
		return h
	}
	var centres, widths []float64
	for {
		tag, value, ok := r.element(0)
		if !ok || tag > 0x00281051 {
			break
		}
		switch tag {
		case 0x00280004:
			if p := dicomText(value); slices.Contains(photometrics(), p) {
				h.Photometric = p
			}
		case 0x00280008:
			if n, err := strconv.Atoi(dicomText(value)); err == nil && n > 0 && n < 1<<20 {
				h.Frames = n
			}
		case 0x00280101:
			if len(value) == 2 {
				if n := int(binary.LittleEndian.Uint16(value)); n >= 1 && n <= 64 {
					h.Bits = n
				}
			}
		case 0x00281050:
			centres = numbers(value)
		case 0x00281051:
			widths = numbers(value)
		}
	}
	for i := range min(len(centres), len(widths), most) {
		h.Windows = append(h.Windows, [2]float64{centres[i], widths[i]})
	}
	return h
}

func dicomText(value []byte) string { return strings.TrimRight(string(value), " \x00") }

// numbers are those of a decimal string; none where one of them is none.
func numbers(value []byte) (out []float64) {
	for _, s := range strings.Split(dicomText(value), `\`) {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || v != v || v > 1e9 || v < -1e9 {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// reader steps through elements (PS3.5, 7).
type reader struct {
	rest     []byte
	explicit bool
}

func (r *reader) group() uint16 { return binary.LittleEndian.Uint16(r.rest) }

func (r *reader) take(n int) ([]byte, bool) {
	if n < 0 || n > len(r.rest) {
		return nil, false
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, true
}

// deepest is how far sequences are followed into each other.
const deepest = 32

const (
	undefined = 0xffffffff
	itemStart = 0xfffee000
	itemEnd   = 0xfffee00d
	listEnd   = 0xfffee0dd
)

// element reads one; of a sequence without a length the value is nil.
func (r *reader) element(depth int) (tag uint32, value []byte, ok bool) {
	head, ok := r.take(4)
	if !ok || depth > deepest {
		return 0, nil, false
	}
	tag = uint32(binary.LittleEndian.Uint16(head))<<16 | uint32(binary.LittleEndian.Uint16(head[2:]))
	short := false
	if r.explicit && tag>>16 != 0xfffe {
		vr, ok := r.take(2)
		if !ok {
			return 0, nil, false
		}
		if short = !slices.Contains([]string{"OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV"}, string(vr)); !short {
			if _, ok := r.take(2); !ok {
				return 0, nil, false
			}
		}
	}
	var n uint32
	if short {
		b, ok := r.take(2)
		if !ok {
			return 0, nil, false
		}
		n = uint32(binary.LittleEndian.Uint16(b))
	} else {
		b, ok := r.take(4)
		if !ok {
			return 0, nil, false
		}
		n = binary.LittleEndian.Uint32(b)
	}
	if n != undefined {
		value, ok = r.take(int(n))
		return tag, value, ok
	}
	return tag, nil, r.list(tag, depth)
}

// list steps over a sequence or an item that has no length, to its end.
func (r *reader) list(of uint32, depth int) bool {
	end := uint32(listEnd)
	if of == itemStart {
		end = itemEnd
	}
	for {
		tag, _, ok := r.element(depth + 1)
		if !ok || tag == end {
			return ok
		}
	}
}

// namedDICOM says whether a path ends as those of DICOM files do.
func namedDICOM(path string) bool {
	lower := strings.ToLower(path)
	return strings.HasSuffix(lower, ".dcm") || strings.HasSuffix(lower, ".dicom")
}

// shown is a path as it may be told: names of DICOM files are often those of people.
func shown(path string) string {
	if namedDICOM(path) {
		return "a DICOM file's"
	}
	return path
}
