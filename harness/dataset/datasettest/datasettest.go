// Package datasettest writes small synthetic data sets in the formats users
// have on disk, for tests: drawn discs and bars with questions whose answers
// are true of the picture. Same arguments, same pixels and same text.
package datasettest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
)

// Row is one item as a workbook holds it.
type Row struct {
	Index              int
	Question, Answer   string
	Modality, Feature  string
	KeyConclusion      string
	AdditionalAnalysis string // "": not applicable
	AnalysisType       string // the data set's own word, "Refering Recognition" included
}

// scene is what a picture shows.
type scene struct {
	discs int  // 1 to 3
	right bool // the discs stand in the right half of the picture
	large bool
}

func sceneOf(i int) scene {
	return scene{discs: 1 + i%3, right: i%2 == 1, large: i/2%2 == 1}
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// Rows are the questions of WriteM3CoTBench: all four question types, all
// thirteen task labels from thirteen items on, two to four gold steps.
func Rows(items int) []Row {
	tasks := []string{"Localization", "Counting", "Recognition", "Diagnosis", "Treatment", "Modality", "Refering Recognition",
		"Grading", "Image Quality", "Function", "Cause", "Prediction", "Symptom"}
	modalities := []string{"X-ray", "CT", "MRI", "Ultrasound", "Fundus photography"}
	rows := make([]Row, items)
	for i := range rows {
		s := sceneOf(i)
		side, size := pick(s.right, "right", "left"), pick(s.large, "large", "small")
		r := Row{Index: i + 1, AnalysisType: tasks[i%len(tasks)], Modality: modalities[i%len(modalities)]}
		r.Feature = fmt.Sprintf("%d bright %s disc(s) in the %s half of the picture", s.discs, size, side)
		switch i % 4 {
		case 0:
			r.Question = "In which half of the picture do the bright discs stand? Select one option.\nA. Left half\nB. Right half\nC. Both halves\nD. Neither half"
			r.Answer = pick(s.right, "B", "A")
			r.KeyConclusion = "The discs stand in the " + side + " half."
		case 1:
			r.Question = "Select all that apply to the bright discs in this picture.\nA) They stand on the left\nB) They stand on the right\nC) They are large\nD) They are small"
			r.Answer = pick(s.right, "B", "A") + ", " + pick(s.large, "C", "D")
			r.KeyConclusion = "The discs are " + size + " and stand on the " + side + "."
			r.AdditionalAnalysis = "Nothing is seen in the other half."
		case 2:
			r.Question = "True or False: the picture shows more than one bright disc."
			r.Answer = pick(s.discs > 1, "True", "False")
			r.KeyConclusion = fmt.Sprintf("There are %d disc(s).", s.discs)
		case 3:
			r.Question = "How many bright discs are there?"
			r.Answer = fmt.Sprint(s.discs)
			r.KeyConclusion = fmt.Sprintf("The count is %d.", s.discs)
			r.AdditionalAnalysis = "They are " + size + "."
		}
		rows[i] = r
	}
	return rows
}

// orNil is a text; nothing where it is empty.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Picture draws item i (0-based) and gives its file extension and bytes. Some
// extensions do not match their content, as in the wild.
func Picture(i int) (ext string, b []byte, err error) {
	s := sceneOf(i)
	w, h := 96+16*(i%5), 96+8*(i%3)
	inside := func(x, y int) bool {
		r := h / 16
		if s.large {
			r = h / 10
		}
		cx := w / 4
		if s.right {
			cx = 3 * w / 4
		}
		for k := range s.discs {
			dx, dy := x-cx, y-h*(k+1)/(s.discs+1)
			if dx*dx+dy*dy <= r*r {
				return true
			}
		}
		return false
	}
	level := func(x, y int) uint8 { // 0..255: a soft background, bright discs
		if inside(x, y) {
			return 235
		}
		return uint8(30 + 60*x/w + 40*y/h)
	}
	var buf bytes.Buffer
	switch i % 6 {
	case 0, 3:
		img := image.NewGray(image.Rect(0, 0, w, h))
		for p := range img.Pix {
			img.Pix[p] = level(p%w, p/w)
		}
		err = png.Encode(&buf, img)
		return pick(i%6 == 3, ".jpg", ".png"), buf.Bytes(), err // 3: a PNG named .jpg
	case 1, 4:
		img := image.NewNRGBA(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				v := level(x, y)
				img.SetNRGBA(x, y, color.NRGBA{R: v, G: v, B: uint8(int(v) * 3 / 4), A: 255})
			}
		}
		if i%6 == 4 {
			err = png.Encode(&buf, img)
			return ".png", buf.Bytes(), err
		}
		err = jpeg.Encode(&buf, img, &jpeg.Options{Quality: 92})
		return ".jpeg", buf.Bytes(), err
	case 2:
		img := image.NewGray16(image.Rect(0, 0, w, h)) // 12 significant bits
		for y := range h {
			for x := range w {
				img.SetGray16(x, y, color.Gray16{Y: uint16(level(x, y)) << 4})
			}
		}
		err = png.Encode(&buf, img)
		return ".png", buf.Bytes(), err
	default:
		return ".webp", webP(w, h, 0x30, 0xE8, inside), nil
	}
}

// webP writes a lossless WebP file of two grey levels: high where set says so,
// low elsewhere. w and h are 1 to 16384.
//
// It is the smallest stream the format allows: no transform, no colour cache,
// one group of prefix codes, each with one or two symbols, so a pixel costs
// three bits (WebP Lossless Bitstream Specification, sections 3 to 5).
func webP(w, h int, low, high uint8, set func(x, y int) bool) []byte {
	var out []byte
	var acc uint64
	var n uint
	put := func(v uint64, bits uint) { // least significant bit first
		acc |= v << n
		for n += bits; n >= 8; n -= 8 {
			out = append(out, byte(acc))
			acc >>= 8
		}
	}
	put(0x2F, 8)
	put(uint64(w-1), 14)
	put(uint64(h-1), 14)
	put(0, 1+3)   // no alpha hint, version 0
	put(0, 1+1+1) // no transform, no colour cache, no meta prefix codes
	one := func(sym uint64) { put(1, 1); put(0, 1); put(1, 1); put(sym, 8) }
	two := func(a, b uint64) { put(1, 1); put(1, 1); put(1, 1); put(a, 8); put(b, 8) }
	for range 3 { // green, red, blue
		two(uint64(min(low, high)), uint64(max(low, high))) // in order: decoders differ otherwise
	}
	one(255) // alpha
	one(0)   // distance, unused
	swap := low > high
	for y := range h {
		for x := range w {
			bit := uint64(0)
			if set(x, y) != swap {
				bit = 1
			}
			put(bit|bit<<1|bit<<2, 3)
		}
	}
	if n > 0 {
		put(0, 8-n)
	}
	body := append([]byte("VP8L"), binary.LittleEndian.AppendUint32(nil, uint32(len(out)))...)
	body = append(body, out...)
	if len(out)%2 == 1 {
		body = append(body, 0)
	}
	file := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(4+len(body)))...)
	return append(append(file, "WEBP"...), body...)
}
