package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
)

// TestOwnTable: the pictures of a table lie in its folder, unless others are permitted,
// and what is read is as in plain JSON lines.
func TestOwnTable(t *testing.T) {
	dir := t.TempDir()
	_, a, _ := datasettest.Picture(0)
	put := func(name string, b []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("in/pics/a.png", a)
	put("in/cut.png", a[:len(a)/2])
	secret := put("secret.png", a)
	if err := os.Symlink(secret, filepath.Join(dir, "in", "link.png")); err != nil {
		t.Fatal(err)
	}
	path := put("in/mine.csv", []byte("nr,scan,question,A,B,answer\nx1,pics/a.png,Which?,left,right,right\nx2,../secret.png,q,l,r,A\nx3,link.png,q,l,r,A\nx4,"+secret+",q,l,r,A\nx5,none.png,q,l,r,A\nx6,cut.png,q,l,r,A\n"))
	s := Source{Kind: KindCSV, Name: "mine", Path: path, Columns: Mapping{"id": {"nr"}, "image": {"scan"}}}
	d, err := Open(s)
	if err != nil || len(d.Items) != 1 || len(d.Problems) != 5 {
		t.Fatalf("%v: %+v", err, d)
	}
	for i, want := range []string{"allow_outside", "a link to", "a file elsewhere", "no such file", "cut.png"} {
		if p := d.Problems[i]; p.Row != i+3 || p.Column != "scan" || !strings.Contains(p.Error(), want) {
			t.Errorf("problem %d is %v, want %s", i, p, want)
		}
	}
	it := d.Items[0]
	if it.ID != "x1" || it.Type != TypeSingle || it.Answer != "B" || !slices.Equal(it.Options, []Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}}) {
		t.Errorf("the item is %+v", it)
	}
	if b, err := it.Images[0].Load(); err != nil || len(b) != len(a) {
		t.Errorf("its picture: %v", err)
	}
	if len(d.Guesses) == 0 {
		t.Error("nothing was guessed")
	}
	s.Outside = true
	if d, err := Open(s); err != nil || len(d.Items) != 4 {
		t.Errorf("with allow_outside: %v, %+v", err, d.Problems)
	}
	plain := put("in/plain.jsonl", []byte(`{"id":"x1","images":["pics/a.png"],"question":"Which?","type":"single","options":[{"label":"A","text":"left"},{"label":"B","text":"right"}],"answer":"B"}`+"\n"))
	other := put("in/other.jsonl", []byte(`{"id":"x1","image":"pics/a.png","question":"Which?","options":["left","right"],"answer":"right"}`+"\n"))
	for _, path := range []string{plain, other} {
		if same, err := Open(Source{Kind: KindJSONL, Name: "x", Path: path}); err != nil || same.Digest != d.Digest {
			t.Errorf("%s: %v, digest %s, want %s", path, err, same.Digest, d.Digest)
		}
		if kind, err := sniff(path); kind != KindJSONL || err != nil {
			t.Errorf("%s is %s, %v", path, kind, err)
		}
	}
	if kind, err := sniff(s.Path); kind != KindCSV || err != nil {
		t.Errorf("it is sniffed as %q, %v", kind, err)
	}
}

// TestClusterOfAColumn: what cluster: names is drawn together, in place of shared images; item
// has every question be drawn by itself.
func TestClusterOfAColumn(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for i, name := range []string{"a.png", "b.png", "c.png"} {
		_, b, _ := datasettest.Picture(i)
		put(name, b)
	}
	tbl := put("t.csv", []byte("id,image,question,answer,patient\n1,a.png,Q?,yes,Ann Lee\n2,a.png,Q?,no,Ann Lee\n3,b.png,Q?,yes,Ann Lee\n4,c.png,Q?,no,77\n5,b.png,Q?,no,77\n"))
	lines := put("t.jsonl", []byte(`{"id":"1","pic":"a.png","question":"Q?","answer":"yes","patient":3}
{"id":"2","pic":"b.png","question":"Q?","answer":"no","patient":3}
{"id":"3","pic":"a.png","question":"Q?","answer":"no","patient":4}
`))
	columns := Mapping{"image": {"pic"}}
	for _, c := range []struct {
		source Source
		want   []int // by item: which it is the same as, from 0; -1: none
	}{
		{Source{Kind: KindCSV, Path: tbl}, []int{0, 0, 1, -1, 1}},
		{Source{Kind: KindCSV, Path: tbl, Cluster: "patient"}, []int{0, 0, 0, 1, 1}},
		{Source{Kind: KindCSV, Path: tbl, Cluster: byItem}, []int{-1, -1, -1, -1, -1}},
		{Source{Kind: KindJSONL, Path: lines, Columns: columns, Cluster: "patient"}, []int{0, 0, 1}},
		{Source{Kind: KindJSONL, Path: lines, Columns: columns}, []int{0, -1, 0}},
	} {
		c.source.Name = "mine"
		d, err := Open(c.source)
		if err != nil || len(d.Problems) > 0 || len(d.Items) != len(c.want) {
			t.Fatalf("cluster %q: %v, %+v", c.source.Cluster, err, d)
		}
		names := map[int]string{}
		for i, it := range d.Items {
			k := c.want[i]
			if named, ok := names[k]; k < 0 && it.Picture != "" || k >= 0 && (it.Picture == "" || ok && named != it.Picture) {
				t.Errorf("%s, cluster %q: item %s is of %q", c.source.Kind, c.source.Cluster, it.ID, it.Picture)
			}
			names[k] = it.Picture
			if strings.Contains(it.Picture, "Ann") {
				t.Errorf("a patient's name goes into the store: %q", it.Picture)
			}
		}
		if len(names) > 1 && names[0] == names[1] {
			t.Errorf("cluster %q: all are one", c.source.Cluster)
		}
	}
	d, err := Open(Source{Kind: KindCSV, Name: "mine", Path: tbl, Cluster: "pateint"})
	if err != nil || len(d.Problems) == 0 {
		t.Fatal(err, d)
	}
	if p := d.Problems[0].Error(); !strings.Contains(p, "t.csv") || !strings.Contains(p, "the column pateint (cluster: pateint)") || !strings.Contains(p, "patient") {
		t.Errorf("a column that is not there: %s", p)
	}
	none := put("n.csv", []byte("id,image,question,answer,patient\n1,a.png,Q?,yes,\n2,a.png,Q?,no,4\n"))
	if d, err := Open(Source{Kind: KindCSV, Name: "mine", Path: none, Cluster: "patient"}); err != nil || len(d.Items) != 1 || len(d.Problems) != 1 || d.Problems[0].Row != 2 || d.Problems[0].Column != "patient" {
		t.Errorf("a row without a patient: %v, %+v", err, d)
	}
	_, err = Open(Source{Kind: KindPhantom, Name: "p", Items: 2, Size: 256, Cluster: "patient"})
	if err == nil || !strings.Contains(err.Error(), `cluster: expected item, because phantoms are made and have no columns`) || !strings.Contains(err.Error(), `found "patient"`) {
		t.Errorf("a column of phantoms: %v", err)
	}
}

// TestClusterOfEveryFormat: every format whose rows have fields draws together what they have in the one that
// cluster: names, keeps a digest of it, leaves out a row without it, and says which columns there are where
// it has no such column.
func TestClusterOfEveryFormat(t *testing.T) {
	m3 := t.TempDir()
	if err := datasettest.WriteM3CoTBench(m3, 12); err != nil {
		t.Fatal(err)
	}
	myTable := [][]any{{"index", "question", "answer", "modality", "feature", "key_conclusion", "additional_analysis", "PatientID"}}
	for i, r := range datasettest.Rows(12) {
		myTable = append(myTable, []any{r.Index, r.Question, r.Answer, r.Modality, r.Feature, r.KeyConclusion, nil, []any{"Ann Lee", 77.0, "Bo"}[i/4]})
	}
	myTable[12][7] = nil
	if err := datasettest.WriteWorkbook(filepath.Join(m3, "M3CoTBench.xlsx"), myTable); err != nil {
		t.Fatal(err)
	}
	rows, err := datasettest.TAIXRows(3, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i].PatientID = []string{"Ann Lee", "Ann Lee", "Bo"}[i/32]
		rows[i].Age = []int64{20000, 20000, 21000}[i/32]
	}
	rows[95].PatientID = " "
	taix := filepath.Join(t.TempDir(), "test-00000-of-00001.parquet")
	if err := datasettest.WriteParquet(taix, rows); err != nil {
		t.Fatal(err)
	}
	cases := medCases(t, 6) // chapters take turns
	cases[5].Chapter = ""
	lines, packed := t.TempDir(), t.TempDir()
	if err := datasettest.WriteMedThinkVQA(lines, "test", cases, false); err != nil {
		t.Fatal(err)
	}
	if err := datasettest.WriteMedThinkParquet(packed, "test", cases, false); err != nil {
		t.Fatal(err)
	}
	plain := jsonlFile(t, `{"id":"1","images":["a.png"],"question":"Q?","type":"short","answer":"x","modality":"CT","Answer":"Ann Lee"}
{"id":"2","images":["a.png"],"question":"Q?","type":"short","answer":"y","modality":"MR","Answer":3}
{"id":"3","images":["sub/b.jpg"],"question":"Q?","type":"short","answer":"z","modality":"CT","Answer":"3"}
{"id":"4","images":["sub/b.jpg"],"question":"Q?","type":"short","answer":"z","modality":"CT"}
`)
	taixGroups := make([]int, 95)
	for i := 64; i < 95; i++ {
		taixGroups[i] = 1
	}
	for _, c := range []struct {
		source Source
		want   []int // by item, which it is the same as
		row    int   // of the one that has none
		has    string
	}{
		{Source{Kind: KindM3CoTBench, Path: m3, Cluster: "PatientID"}, []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2}, 13, "key_conclusion, modality, patientid"},
		{Source{Kind: KindTAIX, Path: taix, Cluster: "PatientID"}, taixGroups, 96, "StudyDate"},
		{Source{Kind: KindTAIX, Path: taix, Cluster: "Age"}, append(slices.Clone(taixGroups), 1), 0, "StudyDate"},
		{Source{Kind: KindMedThinkVQA, Path: lines, Cluster: "ICD Chapter"}, []int{0, 1, 0, 1, 0}, 6, "did you mean ICD Chapter?"},
		{Source{Kind: KindMedThinkVQA, Path: packed, Cluster: "ICD Chapter"}, []int{0, 1, 0, 1, 0}, 6, "did you mean ICD Chapter?"},
		{Source{Kind: KindJSONL, Path: plain, Cluster: "Answer"}, []int{0, 1, 1}, 4, "the columns Answer, answer, id, images"},
	} {
		c.source.Name = "mine"
		d, err := Open(c.source)
		if err != nil || len(d.Items) != len(c.want) {
			t.Errorf("%s, cluster %s: %v, %+v", c.source.Kind, c.source.Cluster, err, d)
			continue
		}
		if c.row > 0 && (len(d.Problems) != 1 || d.Problems[0].Row != c.row || !strings.Contains(d.Problems[0].Error(), "what the row is drawn together by (cluster: "+c.source.Cluster+")")) {
			t.Errorf("%s, cluster %s: a row without one: %v", c.source.Kind, c.source.Cluster, d.Problems)
		}
		names := map[int]string{}
		for i, it := range d.Items {
			k := c.want[i]
			if names[k] == "" {
				names[k] = it.Picture
			}
			if it.Picture == "" || names[k] != it.Picture || k > 0 && it.Picture == names[0] || strings.Contains(it.Picture, "Ann") {
				t.Fatalf("%s, cluster %s: item %d is of %q, want that of %v", c.source.Kind, c.source.Cluster, i, it.Picture, names)
			}
		}
		wrong := c.source
		wrong.Cluster = c.source.Cluster[:len(c.source.Cluster)-1]
		d, err = Open(wrong)
		said := fmt.Sprint(err)
		if err == nil && len(d.Problems) > 0 && len(d.Items) == 0 {
			said = d.Problems[0].Error()
		}
		if !strings.Contains(said, "(cluster: "+wrong.Cluster+")") || !strings.Contains(said, c.has) {
			t.Errorf("%s: a column %s: %s", c.source.Kind, wrong.Cluster, said)
		}
	}
	d, err := Open(Source{Kind: KindJSONL, Name: "mine", Path: plain, Cluster: "modality"}) // one of the format's own
	if err != nil || len(d.Items) != 1 || len(d.Problems) != 3 {
		t.Errorf("keys of nobody's are taken: %v, %+v", err, d)
	}
}
