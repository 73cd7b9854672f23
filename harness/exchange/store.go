package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/judge"
	"assay/results"
	"assay/results/store"
)

// Metric is where numbers come from.
type Metric struct {
	Name    string
	Tool    string
	Version string
	Higher  bool           // higher is better
	File    string         // its name
	Digest  results.Digest // of its bytes
}

// scores are numbers of a metric by case; nil: the tool gave none.
type scores struct {
	Metric
	Of map[results.Digest]*float64
}

// FormerStore is where an earlier assay kept the numbers of other tools, in tables of its own.
func FormerStore(store string) string {
	return strings.TrimSuffix(store, filepath.Ext(store)) + "-scores.sqlite"
}

// Numbers are verdicts of a judge: the tool, under a rubric of the metric. Its cases are what
// judges of the answer are shown.
const sideRubric = "side score "

type sideCase struct {
	Case results.Digest `json:"case"`
}

type sideVerdict struct {
	Score float64 `json:"score"`
}

// by is the tool as a judge. Numbers of another file are another version of it.
func (m Metric) by() results.Version {
	better := "lower"
	if m.Higher {
		better = "higher"
	}
	return results.VersionOf(sideRubric+m.Name, m.Tool+" "+m.Version,
		map[string]string{"metric": m.Name, "tool": m.Tool, "version": m.Version, "better": better, "file": m.File, "digest": string(m.Digest)})
}

// toolJudge judges by the numbers that a tool gave.
type toolJudge struct {
	name string
	of   map[results.Digest]*float64
}

func (t toolJudge) Judge(_ context.Context, r judge.Rubric, c judge.Case) (results.Judgment, error) {
	j := results.Judgment{Rubric: r.Name, Judge: t.name, Status: results.StatusAbstained, Detail: "the tool gave no number"}
	stored, err := c.Stored()
	if err != nil {
		return j, err
	}
	j.Case = stored.Digest
	if x := t.of[c.Fields.(sideCase).Case]; x != nil {
		j.Status, j.Detail = results.StatusClean, ""
		j.Verdict, err = json.Marshal(sideVerdict{*x})
	}
	return j, err
}

// PutScores stores numbers of a metric as judgments of the answers that they are of, in place of
// those that the same tool and version gave before. After a kill the same call goes on.
func PutScores(ctx context.Context, st *store.Store, cases iter.Seq2[ScoredCase, error], m Metric, list []joinedScores) error {
	v := m.by()
	if err := st.PutVersions(ctx, []results.Version{v}, nil); err != nil {
		return err
	}
	t := toolJudge{v.Judge, map[results.Digest]*float64{}}
	for _, j := range list {
		t.of[j.Case] = j.Value
	}
	_, err := judge.Run(ctx, judge.RunArgs{Store: st, Judges: map[string]judge.Slot{v.Judge: {Judge: t, InFlight: 16}}, // what is stored together pays for one sync
		Tasks: func(yield func(judge.Task, error) bool) {
			for c, err := range cases {
				if _, scored := t.of[c.Digest]; err == nil && !scored {
					continue
				}
				if !yield(judge.Task{Key: c.Key, Rubric: judge.Rubric{Name: v.Rubric}, Case: judge.Case{Rubric: v.Rubric, Fields: sideCase{c.Digest}},
					Judges: []string{v.Judge}, By: map[string]results.Digest{v.Judge: v.Digest}}, err) {
					return
				}
			}
		}})
	return err
}

// ReadScores are the numbers of every metric, by name, tool and version.
func ReadScores(ctx context.Context, st *store.Store) ([]scores, error) {
	versions, err := st.Versions(ctx)
	if err != nil {
		return nil, err
	}
	var out []scores
	for _, v := range versions {
		if !v.Current || !strings.HasPrefix(v.Rubric, sideRubric) {
			continue
		}
		a := v.About
		s := scores{Metric{a["metric"], a["tool"], a["version"], a["better"] == "higher", a["file"], results.Digest(a["digest"])}, map[results.Digest]*float64{}}
		for said, err := range st.SaidBy(ctx, v.Rubric, v.Judge, v.Digest) {
			var of sideCase
			var number *sideVerdict // nil: the tool gave none
			if err == nil {
				err = json.Unmarshal(said.Fields, &of)
			}
			if err == nil && said.Verdict != nil {
				err = json.Unmarshal(said.Verdict, &number)
			}
			if err != nil {
				return nil, fmt.Errorf("reading scores: %w", err)
			}
			if s.Of[of.Case] = nil; number != nil {
				s.Of[of.Case] = &number.Score
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b scores) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Version, b.Version))
	})
	return out, nil
}
