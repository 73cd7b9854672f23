package config

import (
	"reflect"
	"strings"
	"testing"

	"assay/harness/dataset"
)

// TestColumns: a field has a column or several; what is no field is refused.
func TestColumns(t *testing.T) {
	const text = `name: x
datasets:
  mine: {kind: csv, path: rows.jsonl, columns: COLUMNS, split: dev}
backends: {p: {kind: phantom, protocol: ollama}}
models: {honest: {backend: p}}
judges: {lexical: {kind: lexical}}
studies: {cot: {dataset: mine}}
`
	cfg, errs := Parse("bench.yaml", []byte(strings.Replace(text, "COLUMNS", "{image: scan, options: [right, wrong]}", 1)), testKnown(), testFiles())
	want := dataset.Mapping{"image": {"scan"}, "options": {"right", "wrong"}}
	if len(errs) > 0 || !reflect.DeepEqual(cfg.Datasets[0].Columns, want) || cfg.Datasets[0].Split != "dev" {
		t.Errorf("%v, %+v", errs, cfg.Datasets)
	}
	if m := cfg.Settings(); m["datasets.mine.columns"] != `{"image":["scan"],"options":["right","wrong"]}` || m["datasets.mine.split"] != "dev" {
		t.Errorf("settings %v", m)
	}
	_, errs = Parse("bench.yaml", []byte(strings.Replace(text, "COLUMNS", "{picture: scan, image: {}}", 1)), testKnown(), testFiles())
	if said := errs.Error(); !strings.Contains(said, `the unknown key "picture"`) || !strings.Contains(said, "datasets.mine.columns.image") {
		t.Errorf("%v", said)
	}
}
