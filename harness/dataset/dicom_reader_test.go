package dataset

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/perturb"
)

// file is a DICOM file of a person, with what it says of its pixels.
func file(syntax string, elements ...element) []byte {
	b := append(make([]byte, 128), "DICM"...)
	b = element{0x00020010, "UI", syntax}.explicit(b)
	explicit := syntax != "1.2.840.10008.1.2"
	put := func(e element) {
		if explicit {
			b = e.explicit(b)
		} else {
			b = e.implicit(b)
		}
	}
	put(element{0x00080060, "CS", "CT"})
	// A sequence and an item without lengths, with a name inside.
	b = append(b, 0x08, 0x00, 0x40, 0x11)
	if explicit {
		b = append(b, "SQ\x00\x00"...)
	}
	b = append(b, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0x00, 0xe0, 0xff, 0xff, 0xff, 0xff)
	put(element{0x00100010, "PN", "PLANTED^INSIDE"})
	b = append(b, 0xfe, 0xff, 0x0d, 0xe0, 0, 0, 0, 0, 0xfe, 0xff, 0xdd, 0xe0, 0, 0, 0, 0)
	put(element{0x00100010, "PN", "PLANTED^JANE"})
	put(element{0x00100020, "LO", "PLANTED-4711"})
	for _, e := range elements {
		put(e)
	}
	put(element{0x7fe00010, "OW", strings.Repeat("\x01\x02", 8)})
	return b
}

type element struct {
	tag   uint32
	vr    string
	value string
}

func (e element) explicit(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(e.tag>>16))
	b = binary.LittleEndian.AppendUint16(b, uint16(e.tag))
	if b = append(b, e.vr...); e.vr == "OW" {
		b = binary.LittleEndian.AppendUint32(append(b, 0, 0), uint32(len(e.value)))
	} else {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(e.value)))
	}
	return append(b, e.value...)
}

func (e element) implicit(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(e.tag>>16))
	b = binary.LittleEndian.AppendUint16(b, uint16(e.tag))
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(e.value))), e.value...)
}

func dicomFilm() []element {
	return []element{{0x00280004, "CS", "MONOCHROME2 "}, {0x00280008, "IS", "3 "}, {0x00280100, "US", "\x10\x00"}, {0x00280101, "US", "\x0c\x00"},
		{0x00281050, "DS", `40\-600`}, {0x00281051, "DS", `400\1500.5 `}}
}

// What a file says of its pixels is read in both encodings, behind whatever stands before
// it, and nothing else is.
func TestDescribe(t *testing.T) {
	whole := dicomHeader{Photometric: "MONOCHROME2", Bits: 12, Frames: 3, Windows: [][2]float64{{40, 400}, {-600, 1500.5}}}
	for _, c := range []struct {
		name string
		file []byte
		want dicomHeader
		said string
	}{
		{"explicit", file("1.2.840.10008.1.2.1", dicomFilm()...), whole, "DICOM, MONOCHROME2, 12 bits, 3 frames, window in the file 40/400 or -600/1500.5"},
		{"implicit", file("1.2.840.10008.1.2", dicomFilm()...), whole, ""},
		{"compressed", file("1.2.840.10008.1.2.4.70\x00", dicomFilm()...), whole, ""},
		{"deflated", file("1.2.840.10008.1.2.1.99", dicomFilm()...), dicomHeader{}, "DICOM, photometric interpretation unknown, bits unknown, no window in the file"},
		{"big endian", file("1.2.840.10008.1.2.2", dicomFilm()...), dicomHeader{}, ""},
		{"without a window", file("1.2.840.10008.1.2.1", dicomFilm()[:4]...), dicomHeader{Photometric: "MONOCHROME2", Bits: 12, Frames: 3}, "DICOM, MONOCHROME2, 12 bits, 3 frames, no window in the file"},
		{"two frames", file("1.2.840.10008.1.2.1", element{0x00280008, "IS", "2 "}), dicomHeader{Frames: 2}, "DICOM, photometric interpretation unknown, bits unknown, 2 frames, no window in the file"},
		{"one frame", file("1.2.840.10008.1.2.1", element{0x00280008, "IS", "1 "}), dicomHeader{Frames: 1}, "DICOM, photometric interpretation unknown, bits unknown, no window in the file"},
		{"a name where a term should stand", file("1.2.840.10008.1.2.1", element{0x00280004, "CS", "PLANTED"}, element{0x00281050, "DS", "PLANTED"}, element{0x00281051, "DS", "400"}), dicomHeader{}, ""},
		{"a centre alone", file("1.2.840.10008.1.2.1", element{0x00281050, "DS", "40"}), dicomHeader{}, ""},
		{"no DICOM", []byte("PLANTED"), dicomHeader{}, ""},
	} {
		got := describeDICOM(c.file)
		if !reflect.DeepEqual(got, c.want) || c.said != "" && got.String() != c.said {
			t.Errorf("%s: %+v, %s; want %+v", c.name, got, got, c.want)
		}
		for n := range c.file { // whatever is cut off
			if s := describeDICOM(c.file[:n]).String(); strings.Contains(s, "PLANTED") {
				t.Fatalf("%s, cut at %d: %s", c.name, n, s)
			}
		}
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add(file("1.2.840.10008.1.2.1", dicomFilm()...))
	f.Add(file("1.2.840.10008.1.2", dicomFilm()...))
	f.Add(file("1.2.840.10008.1.2.4.70", dicomFilm()...)[:300])
	f.Fuzz(func(t *testing.T, b []byte) {
		h := describeDICOM(b)
		if h.Bits < 0 || h.Bits > 64 || h.Frames < 0 || len(h.Windows) > most {
			t.Errorf("%+v", h)
		}
		if s := h.String(); len(s) > 600 || strings.ContainsAny(s, "\x00\n^") {
			t.Errorf("%q", s)
		}
	})
}

// TestFake is no test: it is the helper of others.
func TestFake(t *testing.T) {
	if flag.NArg() != 3 {
		t.Skip("run by other tests")
	}
	mode, in, out := flag.Arg(0), flag.Arg(1), flag.Arg(2)
	b, err := os.ReadFile(in)
	fmt.Println("PLANTED^JANE", in, err, len(b))
	fmt.Fprintln(os.Stderr, "E: PLANTED^JANE:", os.Getenv("ASSAY_TEST_SECRET"))
	if os.Getenv("ASSAY_TEST_SECRET") != "" {
		os.Exit(9)
	}
	switch mode {
	case "hangs":
		time.Sleep(time.Hour)
	case "fails":
		os.Exit(3)
	case "writes nothing":
	case "writes a name":
		err = os.WriteFile(out, []byte("PLANTED^JANE"), 0o600)
	default:
		img := image.NewGray16(image.Rect(0, 0, 4, 2))
		img.SetGray16(1, 1, color.Gray16{Y: 0x0123})
		img.SetGray16(2, 1, color.Gray16{Y: uint16(len(b))})
		var p bytes.Buffer
		if err = png.Encode(&p, img); err == nil {
			err = os.WriteFile(out, p.Bytes(), 0o600)
		}
	}
	if err != nil {
		os.Exit(4)
	}
	os.Exit(0)
}

func fake(mode string) []string {
	return []string{os.Args[0], "-test.run=^TestFake$", "--", mode, placeIn, placeOut}
}

// A helper gives a picture of all its bits, with what the file says and what the program
// was told; whatever goes wrong is said without a word of what it printed.
func TestHelper(t *testing.T) {
	t.Setenv("ASSAY_TEST_SECRET", "hush")
	good := file("1.2.840.10008.1.2.1", dicomFilm()...)
	read := func() ([]byte, string) { return good, "" }
	h, err := newHelper(fake("works"))
	if err != nil {
		t.Fatal(err)
	}
	load, sum, made, err := h.Picture(read)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b, err := load()
		if err != nil {
			t.Fatal(err)
		}
		img, err := perturb.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if g, ok := img.(*image.Gray16); !ok || g.Gray16At(1, 1).Y != 0x0123 {
			t.Errorf("%T", img)
		}
	}
	if want := "DICOM, MONOCHROME2, 12 bits, 3 frames, window in the file 40/400 or -600/1500.5; made by dataset.test"; !strings.HasPrefix(made, want) || !strings.HasSuffix(made, "-test.run=^TestFake$ -- works {in} {out}") {
		t.Error(made)
	}
	other, _, _, err := h.Picture(func() ([]byte, string) { return good, "" })
	if b, again := must(load()), must(other()); err != nil || !bytes.Equal(b, again) || sum == [32]byte{} {
		t.Error("two pictures of one file differ", err)
	}

	for mode, want := range map[string]string{
		"hangs":          "a DICOM file of which the helper had made no picture after 100ms",
		"fails":          "a DICOM file that the helper could not read (exit status 3); run it by hand to see why",
		"writes nothing": "wrote no file, and said that all was well",
		"writes a name":  "made no readable PNG or TIFF",
		"too much":       "a DICOM file of which the helper made 0 MB, where at most 0 are read",
	} {
		h, err := newHelper(fake(mode))
		if err != nil {
			t.Fatal(err)
		}
		switch mode {
		case "hangs":
			h.within = 100 * time.Millisecond
		case "too much":
			h.largest = 20
		}
		_, _, _, err = h.Picture(read)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "PLANTED") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	for _, c := range []struct {
		h    *helper
		file []byte
		gone string
		want string
	}{{nil, good, "", "no helper that reads it; add to the data set dicom: [dcm2pnm"}, {h, []byte("x"), "", "another file"}, {h, nil, "PLANTED.dcm is gone", "none that can be read"}} {
		if _, _, _, err := c.h.Picture(func() ([]byte, string) { return c.file, c.gone }); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "PLANTED") {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"no-such-program", placeIn, placeOut}, "found no no-such-program; install it (dcm2pnm and dcmj2pnm: apt install dcmtk"},
		{[]string{"dcm2pnm", placeIn}, "expected {out} in the arguments"},
		{[]string{placeIn, placeOut}, "expected {in} in the arguments"},
	} {
		if _, err := newHelper(c.command); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.command, err, c.want)
		}
	}
	if h, err := newHelper(nil); h != nil || err != nil {
		t.Error(h, err)
	}
	if !namedDICOM("a/B.DCM") || namedDICOM("dcm.png") || shown("DOE.dcm") == "DOE.dcm" || shown("a.png") != "a.png" {
		t.Error("names")
	}
}

// A real one, where it is installed: DCMTK makes the file from text, and reads it.
func TestDCMTK(t *testing.T) {
	for _, tool := range []string{"dcm2pnm", "dump2dcm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s (apt install dcmtk)", tool)
		}
	}
	dir := t.TempDir()
	text := `(0008,0016) UI =SecondaryCaptureImageStorage
(0008,0018) UI [1.2.3.4]
(0010,0010) PN [PLANTED^JANE]
(0028,0002) US 1
(0028,0004) CS [MONOCHROME2]
(0028,0010) US 2
(0028,0011) US 4
(0028,0100) US 16
(0028,0101) US 12
(0028,0102) US 11
(0028,0103) US 0
(0028,1050) DS [2000]
(0028,1051) DS [4000]
(7fe0,0010) OW 0000\0100\0200\0300\0400\0500\0600\0fff
`
	if err := os.WriteFile(dir+"/in.txt", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dump2dcm", "+te", dir+"/in.txt", dir+"/PLANTED.dcm").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(dir + "/PLANTED.dcm")
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHelper([]string{"dcm2pnm", "+on2", "+Wm", placeIn, placeOut})
	if err != nil {
		t.Fatal(err)
	}
	load, _, made, err := h.Picture(func() ([]byte, string) { return b, "" })
	if err != nil || made != "DICOM, MONOCHROME2, 12 bits, window in the file 2000/4000; made by dcm2pnm +on2 +Wm {in} {out}" {
		t.Fatal(made, err)
	}
	img, err := perturb.Decode(must(load()))
	if g, ok := img.(*image.Gray16); err != nil || !ok || g.Bounds() != image.Rect(0, 0, 4, 2) || g.Gray16At(0, 0).Y != 0 || g.Gray16At(3, 1).Y != 0xffff || g.Gray16At(1, 0).Y < 0xf00 || g.Gray16At(1, 0).Y > 0x1100 {
		t.Errorf("%T %v %v", img, img, err)
	}
}
