package dataset

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
)

func TestOf(t *testing.T) {
	dir := t.TempDir()
	if err := datasettest.WriteM3CoTBench(dir, 13); err != nil {
		t.Fatal(err)
	}
	d, err := Open(Source{Kind: KindM3CoTBench, Name: "m3", Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	d.Items = append(d.Items, Item{ID: "z", Type: "essay"})
	s := Summarize(d)
	want := Summary{Name: "m3", Kind: "m3cotbench", Digest: d.Digest, Items: 14, Images: 13, Gaps: []gap{}, Problems: []Problem{},
		Types: []Count{{"single", 4}, {"multiple", 3}, {"bool", 3}, {"short", 3}, {"essay", 1}},
		Tasks: []Count{{"Diagnosis", 1}, {"Recognition", 1}, {"Action", 1}, {"Localization", 1}, {"Cause", 1}, {"Examination Type", 1},
			{"Function", 1}, {"Referring Recognition", 1}, {"Prediction", 1}, {"Grading", 1}, {"Counting", 1}, {"Image Quality", 1}, {"Symptom", 1}},
		Modalities: []Count{{"CT", 3}, {"Fundus photography", 2}, {"MRI", 3}, {"Ultrasound", 2}, {"X-ray", 3}},
		PathSteps:  []Count{{"3", 7}, {"4", 6}}, None: none{Task: 1, Modality: 1, GoldPath: 1}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	if b, err := json.Marshal(Summarize(&Dataset{})); err != nil || strings.Contains(string(b), "null") {
		t.Errorf("an empty data set: %s, %v", b, err)
	}
}

// Who the patient is does not stand in what is said of a data set.
func TestNoPatientIsNamed(t *testing.T) {
	rows, err := datasettest.TAIXRows(3, 96)
	if err != nil {
		t.Fatal(err)
	}
	rows[4].Answer, rows[5].Type = "perhaps", "guess"
	file := filepath.Join(t.TempDir(), "test-00000-of-00001.parquet")
	if err := datasettest.WriteParquet(file, rows); err != nil {
		t.Fatal(err)
	}
	d, err := Open(Source{Kind: KindTAIX, Name: "taix", Path: file, Split: "test"})
	if err != nil || len(d.Problems) != 2 {
		t.Fatalf("%v, %v", d, err)
	}
	text := fmt.Sprintf("%+v", Summarize(d))
	for _, p := range datasettest.Patients() {
		if strings.Contains(text, p) {
			t.Errorf("%q is named", p)
		}
	}
}
