package exchange

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/results"
)

// Tools are those that reports can be written for.
func Tools() []string { return []string{"radcliq"} }

// The files of WriteReports.
const (
	predictions = "predictions.csv"
	references  = "references.csv"
	iDs         = "ids.csv"
)

// written is what WriteReports wrote.
type written struct {
	Reports int // pairs of a report and its reference, each once
	Empty   int // reports without a word, which are left out: tools fail on them
}

// WriteReports writes the reports that have a reference into a folder that it makes, as
// the RadCliQ tool reads them: two CSV files of study_id (whole numbers from 0) and
// report, of the same length and order; and ids.csv, which says what case and item a
// study_id is. White space in reports is made single spaces.
func WriteReports(cases iter.Seq2[ScoredCase, error], dir string) (w written, err error) {
	rows := map[string][][]string{predictions: {{"study_id", "report"}}, references: {{"study_id", "report"}}, iDs: {{"study_id", "case", "item"}}}
	seen := map[results.Digest]bool{}
	for c, err := range cases {
		if err != nil {
			return w, err
		}
		var pair struct{ Report, Reference *string }
		if json.Unmarshal(c.Fields, &pair) != nil || pair.Report == nil || pair.Reference == nil || seen[c.Digest] {
			continue
		}
		seen[c.Digest] = true
		report, reference := strings.Join(strings.Fields(*pair.Report), " "), strings.Join(strings.Fields(*pair.Reference), " ")
		if report == "" || reference == "" {
			w.Empty++
			continue
		}
		id := strconv.Itoa(w.Reports)
		w.Reports++
		rows[predictions] = append(rows[predictions], []string{id, report})
		rows[references] = append(rows[references], []string{id, reference})
		rows[iDs] = append(rows[iDs], []string{id, string(c.Digest), c.Key.Item})
	}
	if w.Reports == 0 {
		return w, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return w, fmt.Errorf("make the folder of reports: %w", err)
	}
	for name, list := range rows {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return w, err
		}
		err = csv.NewWriter(f).WriteAll(list)
		if lost := f.Close(); err == nil {
			err = lost
		}
		if err != nil {
			return w, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
		}
	}
	return w, nil
}
