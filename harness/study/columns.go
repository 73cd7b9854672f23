package study

import (
	"assay/harness/score"
)

// ReadColumn is how many answers could be read, of those that a table's accuracy is of.
func ReadColumn() score.Metric { return Columns(nil)[0] }

// Columns stand beside an accuracy: how many answers could be read, and the bound that the
// others leave. The lower bound is the accuracy itself. over is what the accuracy is a mean
// over; nil: over all trials alike.
func Columns(over func(score.Sum) score.Sum) []score.Metric {
	right, unread := score.Percent(ScoreAccuracy), score.Percent(ScoreNoAnswer)
	if over != nil {
		right, unread = over(right), over(unread)
	}
	return []score.Metric{
		Percent("read", "Read", "answers that could be read; the others count as wrong in the accuracy", score.Rest(unread)),
		Percent("accuracy_if_read", "If unread were right", "accuracy if every answer that could not be read were right; the accuracy counts them as wrong", score.Plus(right, unread)),
	}
}
