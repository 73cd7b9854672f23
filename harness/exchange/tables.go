package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"assay/results"
	"assay/results/stats"
)

// answer is a stored answer that a tool may have scored.
type answer struct{ study, model, arm, condition string }

// Section is the means of all metrics, by model, arm and condition, with 95 % bootstrap
// intervals over clusters of items, by study and item (score.Clusters). An item counts once,
// with the mean of its answers.
func Section(cases iter.Seq2[ScoredCase, error], all []scores, clusters map[string]map[string]string, seed uint64, draws int) (results.Section, error) {
	type values struct {
		of    map[string][]float64 // by item
		none  int                  // the tool gave no number
		apart int                  // the tool's file lacks it
	}
	found := make([]map[answer]*values, len(all))
	rubrics := make([]map[string]bool, len(all)) // under which a metric has cases
	for i := range all {
		found[i], rubrics[i] = map[answer]*values{}, map[string]bool{}
	}
	var list []ScoredCase
	for c, err := range cases {
		if err != nil {
			return results.Section{}, err
		}
		c.Fields = nil
		list = append(list, c)
		for i, s := range all {
			if _, ok := s.Of[c.Digest]; ok {
				rubrics[i][c.Key.Study+"\n"+c.Rubric] = true
			}
		}
	}
	used := make([]map[results.Digest]bool, len(all))
	for i := range all {
		used[i] = map[results.Digest]bool{}
	}
	for _, c := range list {
		for i, s := range all {
			if !rubrics[i][c.Key.Study+"\n"+c.Rubric] {
				continue
			}
			a := answer{c.Key.Study, c.Key.Model, c.Key.Arm, c.Key.Condition}
			v := found[i][a]
			if v == nil {
				v = &values{of: map[string][]float64{}}
				found[i][a] = v
			}
			x, ok := s.Of[c.Digest]
			switch {
			case !ok:
				v.apart++
			case x == nil:
				v.none++
			default:
				v.of[c.Key.Item] = append(v.of[c.Key.Item], *x)
			}
			used[i][c.Digest] = used[i][c.Digest] || ok
		}
	}
	t := results.Table{Name: "side-scores", Title: "Scores by other tools", Columns: []results.Column{
		{Name: "metric", Title: "Metric"}, {Name: "tool", Title: "Tool"}, {Name: "better", Title: "Better"}, {Name: "model", Title: "Model"}, {Name: "arm", Title: "Arm"}, {Name: "condition", Title: "Condition"},
		{Name: "mean", Title: "Mean", Digits: 4, Help: "over items; what the tool gave no number for, or has no row of, is left out and counted"}}}
	s := results.Section{Name: "side-scores", Title: "Scores by other tools",
		Methods: []string{fmt.Sprintf("Scores by other tools are means over items with 95 %% bootstrap intervals over clusters: items that share images are drawn together (B = %d, seed %d).", draws, seed)}}
	for i, m := range all {
		better := map[bool]string{true: "higher", false: "lower"}[m.Higher]
		zeros := 0
		for _, v := range m.Of {
			if v != nil && *v == 0 {
				zeros++
			}
		}
		if zeros > 0 && strings.Contains(strings.ToLower(m.Name+m.Tool), "green") {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %d scores are 0. With its default settings GREEN writes 0 where it failed, too: leave those rows empty.", m.Name, zeros))
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%s is by %s %s, from the file %s (%s).", m.Name, m.Tool, m.Version, m.File, short(m.Digest)))
		if n := len(m.Of) - countSide(used[i]); n > 0 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %s of no answer of this store any more.", m.Name, results.Count(n, "score is", "scores are")))
		}
		keys := slices.SortedFunc(maps.Keys(found[i]), func(a, b answer) int {
			return cmp.Or(cmp.Compare(a.study, b.study), cmp.Compare(a.model, b.model), cmp.Compare(a.arm, b.arm), cmp.Compare(a.condition, b.condition))
		})
		for _, a := range keys {
			v := found[i][a]
			e := &results.Estimate{N: len(v.of), Undefined: v.none, Invalid: v.apart, Why: "no answer has a score"}
			if len(v.of) > 0 {
				items := slices.Sorted(maps.Keys(v.of))
				of := stats.ClustersOf(len(items), func(i int) string { return clusters[a.study][items[i]] })
				sums, ones := make([]float64, slices.Max(of)+1), make([]float64, slices.Max(of)+1)
				for i, item := range items {
					mean, _ := stats.Mean(v.of[item])
					sums[of[i]], ones[of[i]] = sums[of[i]]+mean, ones[of[i]]+1
				}
				got := stats.Bootstrap95(seed, draws).Ratio(sums, ones)
				e.Value, e.Low, e.High, e.Clusters, e.Why = got.Value, got.Low, got.High, len(sums), string(got.Why)
			}
			t.Rows = append(t.Rows, []results.Cell{{Text: m.Name}, {Text: m.Tool + " " + m.Version}, {Text: better}, {Text: a.model}, {Text: a.arm}, {Text: a.condition}, {Estimate: e}})
		}
	}
	s.Tables = []results.Table{t}
	return s, nil
}

func short(d results.Digest) string {
	s := strings.TrimPrefix(string(d), "sha256:")
	return "sha256 " + s[:min(12, len(s))]
}

func countSide(m map[results.Digest]bool) int {
	n := 0
	for _, ok := range m {
		if ok {
			n++
		}
	}
	return n
}

// WriteVerdicts writes JSON lines for a judge of kind file: of each case that every one of
// some metrics has a number of, a verdict with these under their names. It says how many.
func WriteVerdicts(w io.Writer, all []scores, names []string) (int, error) {
	var of []scores
	for _, name := range names {
		i := slices.IndexFunc(all, func(s scores) bool { return s.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("no scores of a metric %q are stored", name)
		}
		of = append(of, all[i])
	}
	out := json.NewEncoder(w)
	n := 0
	for _, d := range slices.Sorted(maps.Keys(of[0].Of)) {
		verdict := map[string]float64{}
		for _, s := range of {
			if v := s.Of[d]; v != nil {
				verdict[s.Name] = *v
			}
		}
		if len(verdict) < len(names) {
			continue
		}
		if err := out.Encode(map[string]any{"case": d, "verdict": verdict}); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
