package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
)

// DICOM files are read through the helper that the data set names: what it made is the
// picture, and how is known. Files that it cannot read are problems of their rows, all at
// once; neither what it prints nor a file's name, which may be a person's, is in any of it.
func TestDICOMThroughAHelper(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, pic, err := datasettest.Picture(0)
	if err != nil {
		t.Fatal(err)
	}
	film := strings.Repeat("\x00", 128) + "DICM"
	put("plain.png", string(pic))
	put("DOE_JANE.dcm", film+"good")
	put("DOE_JOHN", film+"good")
	put("DOE_BAD.dcm", film+"bad")
	put("DOE_TEXT.dcm", "a letter to DOE")
	script := put("helper.sh", "echo DOE; echo DOE >&2\ngrep -q bad \"$1\" && exit 3\ncp '"+filepath.Join(dir, "plain.png")+"' \"$2\"\n")
	rows := "id,image,question,answer\n"
	for i, name := range []string{"plain.png", "DOE_JANE.dcm", "DOE_JOHN", "DOE_BAD.dcm", "DOE_TEXT.dcm", "DOE_GONE.dcm", "../DOE_OUT.dcm"} {
		rows += fmt.Sprintf("q%d,%s,Is it?,yes\n", i, name)
	}
	tbl := put("q.csv", rows)
	d, err := Open(Source{Kind: KindCSV, Name: "mine", Path: tbl, DICOM: []string{"sh", script, "{in}", "{out}"}})
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%+v %+v", d.Problems, d.Items)
	if strings.Contains(said, "DOE") {
		t.Errorf("a name gets out: %s", said)
	}
	var got []string
	for _, p := range d.Problems {
		got = append(got, fmt.Sprintf("%d %s", p.Row, p.Got))
	}
	if want := []string{"5 a DICOM file that the helper could not read (exit status 3); run it by hand to see why", "6 another file, with a name as of DICOM", "7 none that can be read", `8 "a DICOM file's"`}; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(d.Items) != 3 || d.Items[0].Made() != nil || len(d.Items[1].Made()) != 1 || !strings.HasPrefix(d.Items[2].Made()[0], "DICOM, ") || d.Items[1].Sums[0] != d.Items[0].Sums[0] {
		t.Fatalf("%+v", d.Items)
	}
	for range 2 {
		if b, err := d.Items[1].Images[0].Load(); err != nil || string(b) != string(pic) {
			t.Error("the picture is not what the helper made", err)
		}
	}
	plain, err := Open(Source{Kind: KindCSV, Name: "mine", Path: tbl})
	if err != nil || len(plain.Items) != 1 || len(plain.Problems) != 6 || !strings.Contains(plain.Problems[0].Got, "add to the data set dicom: [dcm2pnm") || strings.Contains(fmt.Sprint(plain.Problems), "DOE") {
		t.Errorf("without a helper: %v, %v", plain.Problems, err)
	}
	if _, err := Open(Source{Kind: KindCSV, Name: "mine", Path: tbl, DICOM: []string{"no-such-program", "{in}", "{out}"}}); err == nil || !strings.Contains(err.Error(), "install it") {
		t.Errorf("a helper that is not there: %v", err)
	}
}
