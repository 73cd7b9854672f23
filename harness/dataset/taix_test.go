package dataset

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/perturb"
)

// TestMain has garbage collected less often: what tests make is small and soon gone. Benchmarks collect as the
// program does.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}

func taixFolder(t testing.TB, images int) string {
	t.Helper()
	dir := t.TempDir()
	if err := datasettest.WriteTAIX(dir, "test", images, 96); err != nil {
		t.Fatal(err)
	}
	return dir
}

func knowledgeFile(t testing.TB, gaps bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "knowledge.json")
	if err := os.WriteFile(file, datasettest.TAIXKnowledge(gaps), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func openTAIX(t testing.TB, dir string, change func(*Source)) *Dataset {
	t.Helper()
	s := Source{Kind: KindTAIX, Name: "taix", Path: dir, Split: "test"}
	if change != nil {
		change(&s)
	}
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTAIX(t *testing.T) {
	const images = 8
	dir := taixFolder(t, images)
	d := openTAIX(t, dir, func(s *Source) { s.Knowledge = knowledgeFile(t, false) })
	if len(d.Items) != 32*images || len(d.Problems) > 0 || len(d.Gaps) > 0 || d.Synthetic || d.Kind != "taix-vqa" {
		t.Fatalf("%d items, problems %v, gaps %v", len(d.Items), d.Problems, d.Gaps)
	}
	rows, err := datasettest.TAIXRows(images, 96)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]int{}
	for i, it := range d.Items {
		r := rows[i]
		types[it.Type]++
		if it.ID != taixItem(r.UID, r.Question) || it.Question != r.Question || it.Modality != "X-ray" {
			t.Errorf("row %d is item %+v", i+1, it)
		}
		if want := map[string]string{"comparison": "comparative"}[r.Type]; want != "" && it.Type != want || want == "" && it.Type != r.Type {
			t.Errorf("%s: type %s of %s", it.ID, it.Type, r.Type)
		}
		answer := strings.ToLower(r.Answer)
		switch {
		case answer == "absent":
			answer = "none"
		case answer == "correct":
			answer = "correctly positioned"
		}
		if it.Answer != answer || !slices.Contains(it.optionTexts(), answer) {
			t.Errorf("%s: %q became %q of %v", it.ID, r.Answer, it.Answer, it.Options)
		}
		if (it.Scale != nil) != (it.Type == TypeOrdinal) {
			t.Errorf("%s: scale %v", it.ID, it.Scale)
		}
		if it.Knowledge == nil {
			t.Errorf("%s: no knowledge of %q, %q", it.ID, it.Question, it.Answer)
		}
		if malrotated := strings.Contains(it.Question, "malrotated"); malrotated != (it.Regions == nil) {
			t.Errorf("%s: %q has the regions %v", it.ID, it.Question, it.Regions)
		}
		if b, err := it.Images[0].Load(); err != nil || !bytes.Equal(b, r.Image.Bytes) {
			t.Errorf("%s: %d bytes, %v", it.ID, len(b), err)
		}
	}
	if want := map[string]int{"binary": 18 * images, "ordinal": 8 * images, "comparative": 3 * images, "spatial": 3 * images}; !maps.Equal(types, want) {
		t.Errorf("types %v", types)
	}
	b, _ := d.Items[0].Images[0].Load()
	if img, err := perturb.Decode(b); err != nil || fmt.Sprintf("%T", img) != fmt.Sprintf("%T", &image.Gray16{}) {
		t.Errorf("the picture is a %T, %v", img, err)
	}
	heart := d.Items[slices.IndexFunc(d.Items, func(it Item) bool { return strings.HasPrefix(it.Question, "How big") })]
	if !slices.Equal(heart.Scale, []string{"normal", "borderline", "enlarged", "massively enlarged"}) || heart.Finding != "HeartSize" ||
		!slices.Equal(heart.Regions[""], []perturb.Region{{X0: 30, Y0: 35, X1: 70, Y1: 65}}) {
		t.Errorf("heart: %+v", heart)
	}
	sided := d.Items[slices.IndexFunc(d.Items, func(it Item) bool { return it.Type == TypeComparative })]
	if sided.Finding != "PleuralEffusion" || len(sided.Regions) != 2 || sided.Aliases["same"] != "same severity" || sided.Aliases["absent"] != "none" {
		t.Errorf("comparative: %+v", sided)
	}
	if again := openTAIX(t, dir, func(s *Source) { s.Knowledge = knowledgeFile(t, false) }); again.Digest != d.Digest {
		t.Error("the same files have two digests")
	}
	if other := openTAIX(t, dir, nil); other.Digest == d.Digest {
		t.Error("the digest does not cover the knowledge base")
	}
}

// Who the patient is does not leave the loader: not in items, not in problems.
func TestTAIXKeepsPatientsToItself(t *testing.T) {
	rows, err := datasettest.TAIXRows(3, 96)
	if err != nil {
		t.Fatal(err)
	}
	rows[4].Answer, rows[5].Type, rows[6].Image.Bytes, rows[7] = "perhaps", "guess", []byte("no image"), rows[8]
	file := filepath.Join(t.TempDir(), "test-00000-of-00001.parquet")
	if err := datasettest.WriteParquet(file, rows); err != nil {
		t.Fatal(err)
	}
	d := openTAIX(t, file, nil)
	if len(d.Problems) != 4 || len(d.Items) != len(rows)-4 {
		t.Fatalf("%d items, problems %v", len(d.Items), d.Problems)
	}
	text := fmt.Sprintf("%+v %+v", d, Damaged(d))
	for _, it := range d.Items {
		text += it.Images[0].Name
	}
	for _, p := range datasettest.Patients() {
		if strings.Contains(text, p) {
			t.Errorf("%q left the loader", p)
		}
	}
	for i, want := range []string{`:5: Answer: expected one of the answers yes, no`, `:6: Type: expected binary`, `:7: Image: expected a readable`, `:9: UID and Question: expected each pair once`} {
		if got := d.Problems[i].Error(); !strings.Contains(got, want) {
			t.Errorf("problem %d is %q, want %q in it", i, got, want)
		}
	}
}

func TestTAIXGaps(t *testing.T) {
	d := openTAIX(t, taixFolder(t, 12), func(s *Source) { s.Knowledge = knowledgeFile(t, true) })
	if len(d.Gaps) < 2 || len(d.Items) != 32*12 {
		t.Fatalf("%d items, gaps %+v", len(d.Items), d.Gaps)
	}
	n := 0
	for _, it := range d.Items {
		if it.Knowledge == nil {
			n++
		}
	}
	sum := 0
	for _, g := range d.Gaps {
		sum += g.Items
		angle := strings.Contains(g.Question, "angle")
		if !angle && g.Answer != "too high" || angle && !strings.Contains(g.Why, "no entry for the question") {
			t.Errorf("gap %+v", g)
		}
	}
	if sum != n || n == 0 {
		t.Errorf("gaps of %d items, %d items without knowledge", sum, n)
	}
	if err := GapError(d.Gaps); err == nil || !strings.Contains(err.Error(), `"too high"`) || !strings.Contains(err.Error(), "knowledge_gaps: skip") {
		t.Errorf("error %v", err)
	}
	if GapError(nil) != nil {
		t.Error("an error without gaps")
	}
}

// Splits are files of their own; without one, all are read.
func TestTAIXSplits(t *testing.T) {
	dir := t.TempDir()
	for i, split := range Splits() {
		if err := datasettest.WriteTAIX(dir, split, 2+i, 48); err != nil {
			t.Fatal(err)
		}
	}
	for i, split := range Splits() {
		if d := openTAIX(t, dir, func(s *Source) { s.Split = split }); len(d.Items) != 32*(2+i) {
			t.Errorf("%s: %d items", split, len(d.Items))
		}
	}
	// The splits share images here, which no published one does.
	if d := openTAIX(t, dir, func(s *Source) { s.Split = "" }); len(d.Items) != 32*4 || len(d.Problems) != 32*(2+3) {
		t.Errorf("all: %d items, %d problems", len(d.Items), len(d.Problems))
	}
	if kind, err := sniff(dir); err != nil || kind != KindTAIX {
		t.Errorf("sniffed %q, %v", kind, err)
	}
	if kind, err := sniff(filepath.Join(dir, "data", "val-00000-of-00002.parquet")); err != nil || kind != KindTAIX {
		t.Errorf("a file is sniffed as %q, %v", kind, err)
	}
	if _, err := Open(Source{Kind: KindTAIX, Name: "t", Path: t.TempDir(), Split: "val"}); err == nil || !strings.Contains(err.Error(), "val-*.parquet") {
		t.Errorf("no files: %v", err)
	}
}

// A question without brackets offers what its type has, or what it was answered.
func TestTAIXOptionsFromAnswers(t *testing.T) {
	rows, err := datasettest.TAIXRows(6, 48)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i].Question, _, _ = strings.Cut(rows[i].Question, " (")
	}
	file := filepath.Join(t.TempDir(), "x.parquet")
	if err := datasettest.WriteParquet(file, rows); err != nil {
		t.Fatal(err)
	}
	d := openTAIX(t, file, nil)
	if len(d.Items) != len(rows) {
		t.Fatalf("%d items, problems %v", len(d.Items), d.Problems)
	}
	for _, it := range d.Items {
		if it.Type == TypeOrdinal && len(it.Scale) < 4 || it.Type == TypeComparative && len(it.Options) != 4 || len(it.Options) < 2 {
			t.Errorf("%q offers %v, scale %v", it.Question, it.Options, it.Scale)
		}
	}
}

// Damage is an error or a problem, never a picture of another row.
func TestTAIXDamage(t *testing.T) {
	dir := taixFolder(t, 2)
	file := filepath.Join(dir, "data", "test-00000-of-00002.parquet")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := openTAIX(t, dir, nil)
	for at := 7; at < len(whole); at += len(whole) / 60 {
		cut := filepath.Join(t.TempDir(), "c.parquet")
		if err := os.WriteFile(cut, whole[:at], 0o644); err != nil {
			t.Fatal(err)
		}
		if d, err := Open(Source{Kind: KindTAIX, Name: "t", Path: cut}); err == nil {
			t.Errorf("cut to %d bytes: %d items", at, len(d.Items))
		}
		bent := bytes.Clone(whole)
		bent[at] ^= 0x55
		if err := os.WriteFile(cut, bent, 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := Open(Source{Kind: KindTAIX, Name: "t", Path: cut})
		if err != nil {
			continue
		}
		for _, it := range d.Items {
			i := slices.IndexFunc(good.Items, func(g Item) bool { return g.ID == it.ID })
			if i < 0 {
				continue // a UID or a question was hit
			}
			b, err := it.Images[0].Load()
			want, _ := good.Items[i].Images[0].Load()
			if err == nil && !bytes.Equal(b, want) && d.Digest == good.Digest {
				t.Errorf("byte %d: another picture under the same digest", at)
			}
		}
	}
	// A file that changes after it was opened is refused.
	swapped, i := bytes.Clone(whole), bytes.Index(whole, []byte("IDAT"))
	if i < 0 {
		t.Fatal("no picture stands in the file as it is")
	}
	d := openTAIX(t, dir, nil)
	swapped[i+40] ^= 0xff
	if err := os.WriteFile(file, swapped, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Items[0].Images[0].Load(); err == nil || !strings.Contains(err.Error(), "changed since") && !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a changed file: %v", err)
	}
}

func TestTAIXWrongColumns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(file, []byte("PAR1 nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Source{Kind: KindTAIX, Name: "t", Path: file}); err == nil || !strings.Contains(err.Error(), "not a Parquet file") {
		t.Errorf("error %v", err)
	}
	if err := datasettest.WriteTable(file, []struct {
		UID, Question string
		Answer        int64
	}{{"u", "q", 1}}); err != nil {
		t.Fatal(err)
	}
	d := openTAIX(t, file, nil)
	var missing []string
	for _, p := range d.Problems {
		missing = append(missing, p.Column)
	}
	if len(d.Items) > 0 || !slices.Equal(missing, []string{"Answer", "Type", "Image.bytes"}) {
		t.Errorf("problems %v", d.Problems)
	}
}

func TestTAIXLoadsAtOnce(t *testing.T) {
	d := openTAIX(t, taixFolder(t, 4), nil)
	rows, err := datasettest.TAIXRows(4, 96)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range d.Items {
		wg.Go(func() {
			if b, err := d.Items[i].Images[0].Load(); err != nil || !bytes.Equal(b, rows[i].Image.Bytes) {
				t.Errorf("item %d: %d bytes, %v", i, len(b), err)
			}
		})
	}
	wg.Wait()
}
