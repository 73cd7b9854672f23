package judge

import (
	"context"
	"encoding/json"
	"fmt"

	"assay/results"
)

// Lexical judges by the rubric's own rules: offline, free, the same every time.
// It makes no attempts. Use a pointer; it is safe from several goroutines.
type Lexical struct {
	Name    string // in bench.yaml
	schemas schemas
}

// Judge runs the rubric's rules. Rules that decline, and a rubric without
// rules, give status abstained.
func (l *Lexical) Judge(ctx context.Context, r Rubric, c Case) (results.Judgment, error) {
	j, err := begun(ctx, l.Name, r, c)
	if err != nil {
		return j, err
	}
	if r.Rules == nil {
		j.Status, j.Detail = results.StatusAbstained, "rubric "+r.Name+" has no rules"
		return j, nil
	}
	v, why, ok := r.Rules(c)
	if !ok {
		j.Status, j.Detail = results.StatusAbstained, why
		return j, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return j, fmt.Errorf("judge %s: the verdict of rubric %s does not marshal: %w", l.Name, r.Name, err)
	}
	l.schemas.Written(&j, r, c, b)
	return j, nil
}
