package study

import (
	"slices"

	"assay/harness/score"
)

// ReadColumns are Columns without the bound.
func ReadColumns(judges map[string][]string) []score.Metric {
	return slices.DeleteFunc(Columns(judges, nil), func(m score.Metric) bool { return m.Column.Name == "accuracy_if_read" })
}

// UnreadHelp says what a judge's own value is under Unread; "": none is asked.
func UnreadHelp(judges map[string][]string) string {
	if len(judges[Unread]) == 0 {
		return ""
	}
	return "; under " + Unread + " the share of all answers that it read"
}

// Columns stand beside an accuracy: how many answers could be read, and the bound that the
// others leave. The lower bound is the accuracy itself. Where judges are asked about the others,
// what they read stands apart. over is what the accuracy is a mean over; nil: over all trials
// alike.
func Columns(judges map[string][]string, over func(score.Sum) score.Sum) []score.Metric {
	if over == nil {
		over = func(f score.Sum) score.Sum { return f }
	}
	right, unread := over(score.Percent(ScoreAccuracy)), over(score.Percent(ScoreNoAnswer))
	out := []score.Metric{
		Percent("read", "Read", "answers that could be read; the others count as wrong in the accuracy", score.Rest(unread)),
		Percent("accuracy_if_read", "If unread were right", "accuracy if every answer that could not be read were right; the accuracy counts them as wrong", score.Plus(right, unread)),
	}
	if len(judges[Unread]) == 0 {
		return out
	}
	return append(out,
		Percent(ScoreReadByJudge, "Read by judge", "answers that rules could not read and a judge did, of all answers", over(score.Percent(Unread))),
		Percent(ScoreJudgeRead, "Accuracy as judge read", "accuracy if what rules could not read is taken as the judge read it; what neither read is wrong; the accuracy itself counts it as wrong", over(score.Percent(ScoreJudgeRead))))
}
