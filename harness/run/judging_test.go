package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/harness/judge"
	"assay/results"
)

// TestJudgingSaysHowFarItIs: of how many answers, and how long the rest will take at
// the pace since the last line.
func TestJudgingSaysHowFarItIs(t *testing.T) {
	at := time.Unix(0, 0)
	j := NewJudging(100, func() time.Time { return at })
	var out strings.Builder
	done := 0
	counted := j.Count(func(yield func(judge.Task, error) bool) {
		for i := range 100 {
			for range 3 { // rubrics
				if !yield(judge.Task{Key: results.Key{Study: "cot", Item: fmt.Sprint(i)}}, nil) {
					return
				}
			}
		}
	})
	for task, err := range counted {
		if err != nil {
			t.Fatal(err)
		}
		done++
		if i := task.Key.Item; i >= "20" && len(i) > 1 || i == "2" { // the first are in the store, most of them
			at = at.Add(200 * time.Millisecond)
		}
		out.WriteString(j.Line(judge.Progress{Done: done, Failed: done / 100}))
		if done == 120 {
			break
		}
	}
	want := `judging: 28 of 100 answers (28 %), 82 judgments, 0 without a verdict, about 13 s left
judging: 36 of 100 answers (36 %), 107 judgments, 1 without a verdict, about 40 s left
judging, pass 2: 1 of 100 answers (1 %), 121 judgments, 1 without a verdict, about 2 h 49 min left
`
	for range counted { // what rests on other verdicts
		at = at.Add(100 * time.Second)
		out.WriteString(j.Line(judge.Progress{Done: done + 1, Failed: 1}))
		break
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
