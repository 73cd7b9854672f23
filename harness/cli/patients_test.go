package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"html"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/harness/cli"
	"assay/results/store"
)

// planted stands wherever a source says who a patient is.
const planted = "PLANTED"

// clinic is a data set whose sources name patients: columns that are no field, names of
// folders and files, text in image files, tags of a DICOM file.
func clinic(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	put := func(name string, b []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	picture := func(n int) []byte {
		t.Helper()
		img := image.NewGray(image.Rect(0, 0, 48, 48))
		for i := range img.Pix {
			img.Pix[i] = uint8(i * n)
		}
		img.SetGray(1, 1, color.Gray{Y: 200})
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		said := "Patient\x00" + planted + "^JANE"
		const header = 33
		text := binary.BigEndian.AppendUint32(append([]byte{0, 0, 0, byte(len(said))}, "tEXt"+said...), crc32.ChecksumIEEE([]byte("tEXt"+said)))
		return append(append(bytes.Clone(b.Bytes()[:header]), text...), b.Bytes()[header:]...)
	}
	rows := "image,question,answer,patient_name,PatientID,birth_date,remarks\n"
	for i, name := range []string{"a_" + planted + ".png", "b_" + planted + ".png", "c_" + planted + ".dcm", "gone_" + planted + ".png"} {
		rows += fmt.Sprintf("%s/%s,Is there a nodule? (yes or no),yes,%[1]s^JANE,%[1]s-4711,%[1]s 1961-05-04,%[1]s's remark\n", planted, name)
		if i < 2 {
			put(filepath.Join(planted, name), picture(i+1))
		}
	}
	put(filepath.Join(planted, "c_"+planted+".dcm"), append(make([]byte, 128), "DICM\x10\x00\x10\x00PN\x0c\x00"+planted+"^JANE"...))
	put("made.png", picture(3))
	put("helper.sh", []byte("echo "+planted+"; echo "+planted+" >&2; cp '"+filepath.Join(dir, "made.png")+"' \"$2\"\n"))
	put("q.csv", []byte(rows))
	put("clinic.yaml", fmt.Appendf(nil, `name: clinic
seed: 1
store: clinic.sqlite
telemetry: {devices: none}
datasets: {own: {kind: csv, path: q.csv, dicom: [sh, %q, "{in}", "{out}"]}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {reader: {backend: p, model: honest}}
judges: {lexical: {kind: lexical}}
studies: {qa: {dataset: own, arms: [answer, reason], timed: false, rubrics: {accuracy: [lexical]}}}
`, filepath.Join(dir, "helper.sh")))
	return dir
}

var hrefs = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

// TestNoPatientIsNamed: what sources say of patients is in no store, page, saved file,
// picture, request, export or report.
func TestNoPatientIsNamed(t *testing.T) {
	t.Parallel()
	dir := clinic(t)
	do := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := cli.Main(t.Context(), append([]string{"assay"}, args...), strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	said := map[string]string{}
	db, bench := filepath.Join(dir, "clinic.sqlite"), filepath.Join(dir, "clinic.yaml")
	do("run", "-c", bench)
	for _, rows := range []string{"trials", "judgments", "attempts"} {
		said[rows] = do("export", "--rows", rows, "--format", "jsonl", db)
	}
	do("export", "-c", bench, "--images", filepath.Join(dir, "out"), "--out", filepath.Join(dir, "out", "trials.parquet"), db)
	said["report"] = do("report", "--json", "-c", bench, db)

	base, _ := opened(t, db)
	kinds := map[string]int{}
	for todo := []string{"/"}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if _, seen := said[at]; seen {
			continue
		}
		said[at] = get(t, base+at)
		path, query, _ := strings.Cut(at, "?")
		kinds[path[strings.LastIndex(path, "/")+1:]]++
		if strings.HasPrefix(said[at], "<!DOCTYPE html>") && !strings.Contains(query, "sort=") && !strings.HasSuffix(path, "/save") {
			for _, m := range hrefs.FindAllStringSubmatch(said[at], -1) {
				if l := html.UnescapeString(m[1]); strings.HasPrefix(l, "/") {
					todo = append(todo, l)
				}
			}
		}
	}
	for _, kind := range []string{"trials", "trial", "item", "picture", "thumb", "body", "reply", "save"} {
		if kinds[kind] == 0 {
			t.Errorf("no page leads to %s", kind)
		}
	}
	st, err := store.OpenReader(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	man, _, err := st.Manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said["manifest"] = fmt.Sprintf("%+v", man)
	n := 0
	for it, err := range st.Items(t.Context(), "qa") {
		if err != nil {
			t.Fatal(err)
		}
		n++
		said["items"] += fmt.Sprintf("%+v %s", it, it.Facts)
	}
	if n != 3 {
		t.Errorf("%d items, want three with pictures", n)
	}
	sources := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name := strings.TrimPrefix(path, dir)
		if strings.HasPrefix(name, string(filepath.Separator)+planted) || strings.HasSuffix(name, "made.png") || strings.HasSuffix(name, "helper.sh") || strings.HasSuffix(name, "q.csv") {
			sources += strings.Count(string(b), planted)
			return err
		}
		said[name] = string(b) + name
		return err
	})
	if err != nil || sources < 20 || len(said) < 60 {
		t.Errorf("%d names planted, %d texts looked at, %v", sources, len(said), err)
	}
	for where, text := range said {
		for _, form := range forms(planted) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s names a patient: %.120q", where, text[max(0, at-40):])
			}
		}
		if strings.Contains(text, "1961-05-04") {
			t.Errorf("%s has a patient's date of birth", where)
		}
	}
}

// forms are a word as it is and inside base64, which it may enter at three places.
func forms(word string) []string {
	out := []string{word}
	for shift, skip := range []int{0, 2, 3} {
		coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + word))
		out = append(out, strings.TrimRight(coded, "=")[skip:len(strings.TrimRight(coded, "="))-1])
	}
	return out
}
