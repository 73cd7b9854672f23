// Predictions brings in answers that other programs had from models.
//
//  1. Read reads what they wrote: rows of an answer each (read.go).
//  2. Join finds the planned trial of each row, and Put stores them as trials without
//     times (join.go).
//
// The forms are those of their public code: VLMEvalKit at commit e8e78f0
// (vlmeval/inference.py, vlmeval/smp/file.py) and lmms-eval at commit 75571cf
// (lmms_eval/loggers/evaluation_tracker.py).

package exchange

import "strings"

// The formats.
const (
	formatVLMEvalKit = "vlmevalkit"
	FormatLMMSEval   = "lmms-eval"
	formatCSV        = "csv"
)

// ImportFormats are those that Read knows.
func ImportFormats() []string { return []string{formatVLMEvalKit, FormatLMMSEval, formatCSV} }

// AnswerRow is an answer, or a failure to get one.
type AnswerRow struct {
	Line int    // or row of a sheet, from 1
	ID   string // of the item; of lmms-eval its place in the data set, from 0
	// Of which trial of the item; "" and nil: the file does not say.
	Arm, Condition string
	Repeat         *int

	Answer, Reasoning string
	Failure           string  // not "": there is no answer, and why
	Gold              *string // that the file has of the item; nil: it has none
}

// failed is how VLMEvalKit writes that it has no answer.
const failed = "Failed to obtain answer"

// answered fills in what was said, or that nothing was.
func (r *AnswerRow) answered(said string) {
	switch {
	case strings.Contains(said, failed):
		r.Failure = said
	case strings.TrimSpace(said) == "":
		r.Failure = "the file has nothing in place of an answer"
	default:
		r.Answer = said
	}
}
