package curate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/results"
	"assay/results/stats"
)

// CurationSection is what a report says of a filtered data set. rights are what models scored on
// its items before, with and without pictures; none: nothing is known.
func CurationSection(r *result, rights []Scored) results.Section {
	s := results.Section{Name: "curation", Title: "What was filtered, and what that does",
		Intro:  fmt.Sprintf("%d of %s of data set %s are kept.", len(r.Kept), results.Count(len(r.Before.Items), "item", "items"), r.Before.Name),
		Tables: []results.Table{r.steps(), r.gone()}, Warnings: r.Problems,
		Methods: []string{fmt.Sprintf("Items were filtered in the order of the table, what chance decides with seed %d. Near-duplicates share %.0f %% of their runs of three words (Jaccard), or half of their images, by a hash of 256 bits of which at most %d differ.", r.Settings.Seed, 100*nearText, nearBits)}}
	for _, step := range r.Steps {
		if n := step.Before - step.After; n > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("The filter %s removed %d of %s (%s).", step.Filter, n, results.Count(step.Before, "item", "items"), step.Note))
		}
	}
	if len(rights) == 0 {
		s.Notes = append(s.Notes, "No model's answers to these items are known, so that nothing is said of how filtering changes accuracy: run the experiment first, or filter with --text-solvable.")
		return s
	}
	t, f := r.accuracies(rights)
	s.Tables, s.Figures = append(s.Tables, t), append(s.Figures, f)
	return s
}

func words(s string) results.Cell { return results.Cell{Text: s} }

func count(n int) results.Cell {
	v := float64(n)
	return results.Cell{Estimate: &results.Estimate{Value: &v, N: n}}
}

func (r *result) steps() results.Table {
	t := results.Table{Name: "curation-steps", Title: "Filters, one after another", Columns: []results.Column{
		{Name: "filter", Title: "Filter"}, {Name: "before", Title: "Before"}, {Name: "removed", Title: "Removed"}, {Name: "after", Title: "After"}, {Name: "note", Title: "How"}}}
	for _, s := range r.Steps {
		t.Rows = append(t.Rows, []results.Cell{words(s.Filter), count(s.Before), count(s.Before - s.After), count(s.After), words(s.Note)})
	}
	return t
}

const shownRemoved = 30

func (r *result) gone() results.Table {
	t := results.Table{Name: "curation-removed", Title: "What was removed, and why", Columns: []results.Column{
		{Name: "item", Title: "Item"}, {Name: "filter", Title: "Filter"}, {Name: "level", Title: "Level"}, {Name: "why", Title: "Why"}}}
	if n := len(r.Removed); n > shownRemoved {
		t.Notes = append(t.Notes, fmt.Sprintf("The first %d of %d; removed.csv has all, with the places of leaks.", shownRemoved, n))
	}
	for _, x := range r.Removed[:min(shownRemoved, len(r.Removed))] {
		t.Rows = append(t.Rows, []results.Cell{words(x.Item), words(x.Filter), words(x.Level), words(x.Why)})
	}
	return t
}

// Scored are accuracies of one store.
type Scored struct {
	Where    string // "with pictures", "without pictures"
	Rights   []right
	OneByOne bool // items that share images are drawn one by one, as by the released rules
}

// accuracies compare what models scored on the items that are kept with what they scored
// on those that each filter removed. An item counts once, with the mean of its repeats.
func (r *result) accuracies(all []Scored) (results.Table, results.Figure) {
	t := results.Table{Name: "curation-accuracy", Title: "Accuracy on what is kept and on what is removed", Columns: []results.Column{
		{Name: "model", Title: "Model"}, {Name: "shown", Title: "Shown"}, {Name: "arm", Title: "Arm"}, {Name: "items", Title: "Items"},
		{Name: "accuracy", Title: "Accuracy", Unit: "%", Digits: 2, Help: "mean over items of the mean over repeats, with Wilson's interval over clusters of items that share images; what has no verdict is left out and counted"}},
		Notes: []string{"Items were chosen by what probes answered: that a probe is right on text-solvable ones, and less often on the rest, follows from that alone. Look at models that were no probes."}}
	low, high := 0., 100.
	f := results.Figure{Name: "curation-accuracy-figure", Kind: results.FigureDots, Title: "Accuracy on kept and removed items",
		Caption: "Accuracy by what became of an item, with Wilson's 95 % CIs over clusters of items that share images.", X: results.Axis{Title: "Accuracy", Unit: "%", Low: &low, High: &high}}
	fate := map[string]string{}
	for _, it := range r.Kept {
		fate[it.ID] = "kept"
	}
	fates := []string{"kept"}
	for _, x := range r.Removed {
		fate[x.Item] = x.Filter
		if !slices.Contains(fates, x.Filter) {
			fates = append(fates, x.Filter)
		}
	}
	series := map[string]*results.Series{}
	for _, name := range fates {
		series[name] = &results.Series{Name: name}
	}
	var said []string
	for _, one := range all {
		image := map[string]string{}
		for _, it := range r.Before.Items {
			if !one.OneByOne {
				image[it.ID] = it.Picture
			}
		}
		type line struct{ study, model, arm string }
		by := map[line]map[string][]right{}
		for _, x := range one.Rights {
			l := line{x.Key.Study, x.Key.Model, x.Key.Arm}
			if by[l] == nil {
				by[l] = map[string][]right{}
			}
			by[l][x.Key.Item] = append(by[l][x.Key.Item], x)
		}
		lines := slices.SortedFunc(maps.Keys(by), func(a, b line) int {
			return cmp.Or(cmp.Compare(a.study, b.study), cmp.Compare(a.model, b.model), cmp.Compare(a.arm, b.arm))
		})
		for _, l := range lines {
			for _, name := range fates {
				e := meanOf(by[l], image, func(item string) bool { return fate[item] == name })
				if e.N+e.Invalid == 0 {
					continue
				}
				t.Rows = append(t.Rows, []results.Cell{words(l.model), words(one.Where), words(l.arm), words(name), {Estimate: e}})
				label := strings.Join([]string{l.model, l.arm, one.Where}, ", ")
				series[name].Points = append(series[name].Points, results.Point{Label: label, X: e})
				if e.Value != nil && len(said) < 12 {
					said = append(said, fmt.Sprintf("%s: %.1f %% of %s items", label, *e.Value, name))
				}
			}
		}
	}
	for _, name := range fates {
		if len(series[name].Points) > 0 {
			f.Series = append(f.Series, *series[name])
		}
	}
	f.Alt = cmp.Or(strings.Join(said, "; "), "no accuracy is known") + "."
	return t, f
}

// meanOf is the accuracy over some items, per cent; image says by item what it is drawn with.
func meanOf(items map[string][]right, image map[string]string, in func(string) bool) *results.Estimate {
	var means []float64
	var of []string
	e := &results.Estimate{Why: "no item has an answer with a verdict"}
	for _, item := range slices.Sorted(maps.Keys(items)) {
		if !in(item) {
			continue
		}
		sum, n := 0., 0
		for _, x := range items[item] {
			if x.Right != nil {
				sum, n = sum+*x.Right, n+1
			}
		}
		if n == 0 {
			e.Invalid++
			continue
		}
		means, of = append(means, sum/float64(n)), append(of, image[item])
	}
	e.N = len(means)
	sums, ones := make([]float64, e.N), make([]float64, e.N)
	for i, c := range stats.ClustersOf(e.N, func(i int) string { return of[i] }) {
		sums[c], ones[c] = sums[c]+means[i], ones[c]+1
	}
	share := stats.ShareOf(sums, ones)
	e.Clusters = share.Clusters
	scale := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		x := 100 * *v
		return &x
	}
	if share.P != nil {
		e.Value, e.Low, e.High, e.Why = scale(share.P), scale(share.Low), scale(share.High), string(share.Why)
	}
	return e
}
