package sqlite

import (
	"context"
	"encoding/json"
	"iter"

	"assay/results"
)

// TrialsOf iterates over one model's trials of one item in Key order. It reads
// nothing else, so that a few can be looked at in a store of any size.
func (s *Store) TrialsOf(ctx context.Context, study, model, item string) iter.Seq2[results.Trial, error] {
	return s.trials(ctx, " WHERE t.study = ? AND t.model = ? AND t.item = ?", study, model, item)
}

// JudgmentsOf is what was said of one trial, in rubric and judge order, without
// the judges' own Attempts.
func (s *Store) JudgmentsOf(ctx context.Context, k results.Key) ([]results.Said, error) {
	var out []results.Said
	for v, err := range query(ctx, s, "reading the judgments of a trial", "SELECT c.fields, "+judgmentColumns+` FROM trial t CROSS JOIN case_of o ON o.trial = t.id
		CROSS JOIN cases c ON c.id = o.case_id CROSS JOIN judgment j ON j.case_id = c.id
		WHERE t.study = ? AND t.model = ? AND t.item = ? AND t.arm = ? AND t.condition = ? AND t.repeat = ? ORDER BY j.rubric, j.judge, c.digest`,
		[]any{k.Study, k.Model, k.Item, k.Arm, k.Condition, k.Repeat}, func(row func(...any) error) (results.Said, error) {
			var v results.Said
			var fields string
			err := scanJudgment(&v.Judgment, row, &fields)
			v.Fields = json.RawMessage(fields)
			return v, err
		}) {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
