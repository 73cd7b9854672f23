package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/dataset/casefile"
	"assay/harness/dataset/dicom"
	"assay/harness/dataset/m3"
	"assay/harness/dataset/questions"
	"assay/harness/dataset/root"
	"assay/harness/dataset/shards"
	"assay/harness/dataset/strict"
	"assay/harness/dataset/tables"
)

// Open reads a data set, or makes it. Rows that cannot be used are its Problems,
// what its knowledge base does not know its Gaps; the error is for what makes all
// of it unreadable.
func Open(s Source) (*Dataset, error) {
	read, ok := map[string]func(Source, *extras) (*Dataset, error){
		KindM3CoTBench: m3cotbench, KindTAIX: taix, KindMedThinkVQA: medthinkvqa, KindJSONL: jsonl, KindPhantom: phantoms,
		KindCSV: own, KindTSV: own, KindParquet: own, KindVLMEvalKit: own,
	}[s.Kind]
	err := s.check()
	switch {
	case !ok:
		err = fmt.Errorf("kind %q is not read from files, expected one of %s", s.Kind, strings.Join(Kinds(), ", "))
	case err == nil:
		var d *Dataset
		if d, err = s.open(read); err == nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("open data set %s: %w", s.Name, err)
}

// open reads what stands beside the data set first.
func (s Source) open(read func(Source, *extras) (*Dataset, error)) (*Dataset, error) {
	var more extras
	var err error
	if s.Kind == KindTAIX && s.Regions == "" {
		s.Regions = tables.RegionNames()[0]
	}
	if s.Regions != "" {
		if more.regions, err = tables.ReadRegions(s.Regions); err != nil {
			return nil, err
		}
	}
	if s.helper, err = dicom.New(s.DICOM); err != nil {
		return nil, err
	}
	if s.Knowledge != "" {
		if more.kb, err = tables.ReadKnowledge(s.Knowledge); err != nil {
			return nil, err
		}
	}
	d, err := read(s, &more)
	if err != nil {
		return nil, err
	}
	d.Gaps = more.gaps
	d.fewer(s.MaxImages, s.Path)
	return d, nil
}

// fewer leaves out the items of more than most images; 0: none.
func (d *Dataset) fewer(most int, path string) {
	if most == 0 {
		return
	}
	n, images := len(d.Items), 0
	d.Items = slices.DeleteFunc(d.Items, func(it Item) bool {
		images = max(images, len(it.Images))
		return len(it.Images) > most
	})
	if n -= len(d.Items); n > 0 {
		d.Problems = append(d.Problems, Problem{File: cmp.Or(path, d.Name), Want: fmt.Sprintf("at most %d images an item (max_images)", most), Got: fmt.Sprintf("%d items of up to %d, which are left out", n, images)})
	}
}

// Sniff tells the kind of the data set at path by its content.
func Sniff(path string) (kind string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	if info.IsDir() {
		if files, err := caseFiles(path, ""); err == nil {
			if kind, err := Sniff(files[0]); err == nil && kind == KindMedThinkVQA {
				return kind, nil
			}
		}
		if kind := parquetKind(path); kind != "" {
			return kind, nil
		}
		if _, err := m3.Find(path); err != nil {
			if lines, _ := filepath.Glob(filepath.Join(path, "*.jsonl")); len(lines) > 0 {
				return "", fmt.Errorf("%s is a folder with JSONL files: name one of them, such as %s", path, lines[0])
			}
			return "", err
		}
		return KindM3CoTBench, nil
	}
	f, err := root.Open(path, math.MaxInt64)
	if err != nil {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	defer f.Close()
	head := make([]byte, 1<<16)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte(strict.BOM)), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"`+casefile.Marker+`"`)):
		return KindMedThinkVQA, nil
	case bytes.HasPrefix(head, []byte("{")):
		return KindJSONL, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "", fmt.Errorf("%s is an archive or a workbook: name its folder, which also holds images/", path)
	case bytes.HasPrefix(head, []byte("PAR1")):
		return parquetKind(path), nil
	case questions.Sniff(head) != "":
		return questions.Sniff(head), nil
	case len(head) == 0:
		return "", fmt.Errorf("%s is empty: expected a folder in M3CoTBench's, TAIX-VQA's or MedThinkVQA's format, or a JSONL file", path)
	}
	return "", fmt.Errorf("%s starts with %s: expected a folder in M3CoTBench's, TAIX-VQA's or MedThinkVQA's format, or a JSONL file (one object per line)", path, strict.Quote(string(head)))
}

// parquetKind is the kind of a Parquet file, or of a folder of them, by its columns; "": it
// holds none.
func parquetKind(path string) string {
	files, err := findShards(path, "")
	if err != nil {
		files, _ = filepath.Glob(filepath.Join(escapeGlob(path), "*.parquet"))
		if more, err := filepath.Glob(filepath.Join(escapeGlob(path), "data", "*.parquet")); err == nil {
			files = append(files, more...)
		}
	}
	if len(files) == 0 {
		return ""
	}
	names, err := shards.Leaves(files[0])
	has := func(name string) bool { return slices.Contains(names, name) }
	switch {
	case err == nil && has(casefile.Marker):
		return KindMedThinkVQA
	case err != nil || has("UID") && has("Image.bytes"): // reading it says what is wrong
		return KindTAIX
	}
	return KindParquet
}
