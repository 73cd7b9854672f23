package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/experiment"
	"assay/harness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

// Columns of an index beside the key and the scores.
const (
	columnType     = "type"
	columnTask     = "task"
	columnModality = "modality"
	columnFlags    = "flags"
	columnAttempts = "attempts"
	columnCache    = "cache_state"
	columnBaseline = "against_baseline"
	columnArm      = "against_first_arm"
	scoreRight     = "accuracy"
)

// How an answer compares with another one to the same question.
const (
	helped = "helped"
	harmed = "harmed"
)

// indexer makes indexes of a store's trials.
type indexer struct {
	path string
	st   *store.Store
}

// Tables implements viewer.Indexer. An index of scores that are stored lies beside the
// store and is used again; another one lasts as long as the viewer.
func (x *indexer) Tables(ctx context.Context, tell func(study string, trials int)) ([]*viewer.Table, error) {
	asked, err := experiment.Asked(ctx, x.st)
	if err != nil {
		return nil, err
	}
	man, _, err := x.st.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	on, err := hostsOf(ctx, x.st)
	if err != nil {
		return nil, err
	}
	var out []*viewer.Table
	for _, a := range asked {
		tell(a.Rules.Study, 0)
		t, err := x.table(ctx, a, man, on, tell)
		if err != nil {
			return nil, fmt.Errorf("study %s: %w", a.Rules.Study, err)
		}
		if t.Rows > 0 {
			out = append(out, t)
		} else {
			t.Close()
		}
	}
	return out, nil
}

func (x *indexer) table(ctx context.Context, a score.Asked, man results.Manifest, on *hosts, tell func(string, int)) (*viewer.Table, error) {
	of := "" // of scores that are made on the way: it cannot be told what they were made of
	fresh, err := score.Fresh(ctx, x.st, a.Rules, a.Judges)
	if err != nil {
		return nil, err
	}
	if fresh {
		set, ok, err := x.st.ScoreSet(ctx, a.Rules.Study)
		if err != nil {
			return nil, err
		}
		if ok {
			of = string(results.DigestOf([]byte(set.Digest), []byte(man.Created.String()), []byte(on.digest)))
		}
	}
	file := strings.TrimSuffix(x.path, filepath.Ext(x.path)) + "-" + strings.ReplaceAll(a.Rules.Study, "/", "_") + ".index"
	if of != "" {
		if t, err := viewer.OpenIndex(file, of); err == nil {
			return t, nil
		}
		if t, err := x.write(ctx, file, of, a, on, tell); err == nil || !errors.Is(err, os.ErrPermission) && !isReadOnly(err) {
			return t, err
		}
	}
	tmp, err := os.MkdirTemp("", "assay-view-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp) // the open file stays readable
	return x.write(ctx, filepath.Join(tmp, "index"), of, a, on, tell)
}

// isReadOnly says whether nothing can be written there.
func isReadOnly(err error) bool { return strings.Contains(err.Error(), "read-only file system") }

// write makes the index of a study's trials at path and opens it.
func (x *indexer) write(ctx context.Context, path, of string, a score.Asked, on *hosts, tell func(string, int)) (*viewer.Table, error) {
	layout := a.Rules.Layout(a.Judges)
	cols := slices.Concat(viewer.KeyColumns(), ownColumns(), on.cols)
	own := len(cols)
	for _, c := range layout.Columns() {
		cols = append(cols, scoreColumn(c))
	}
	b, err := viewer.NewBuilder(path, a.Rules.Study, of, cols, facets())
	if err != nil {
		return nil, err
	}
	if err := x.fill(ctx, b, a, layout, own, on, tell); err != nil {
		b.Discard()
		return nil, err
	}
	if err := b.Finish(); err != nil {
		return nil, err
	}
	return viewer.OpenIndex(path, of)
}

func (x *indexer) fill(ctx context.Context, b *viewer.Builder, a score.Asked, layout *score.Layout, own int, on *hosts, tell func(string, int)) error {
	items := map[string]results.Item{}
	for it, err := range x.st.Items(ctx, a.Rules.Study) {
		if err != nil {
			return err
		}
		it.Facts = nil
		items[it.ID] = it
	}
	right, first := -1, "" // the study's first arm
	for i, c := range layout.Columns() {
		if c.Name.Name == scoreRight && c.Judge == "" {
			right = i
		}
	}
	for _, d := range experiment.All() {
		if d.Name == a.Rules.Study {
			first = d.Arms[0].Name
		}
	}
	next, stop := iter.Pull2(x.st.Outputs(ctx, a.Rules.Study))
	defer stop()
	said, err, more := next()
	ran, end := on.cells(ctx, a.Rules.Study)
	defer end()
	n := 0
	beside := own - len(on.cols)
	cells := make([]viewer.Cell, own+len(layout.Columns()))
	return score.Walk(ctx, x.st, a.Rules, a.Judges, func(group []score.Scored) error {
		for i, t := range group {
			k := t.Row.Key
			for more && err == nil && said.Key.Compare(k) < 0 {
				said, err, more = next()
			}
			if more && err != nil {
				return err
			}
			var texts []string
			if more && said.Key == k {
				texts = []string{said.Answer, said.Reasoning}
			}
			fillRow(cells, t.Row, items[k.Item])
			cells[beside-2], cells[beside-1] = viewer.Cell{}, viewer.Cell{}
			if right >= 0 {
				cells[beside-2], cells[beside-1] = against(group, i, right, first)
			}
			if err := ran(k, cells[beside:own]); err != nil {
				return err
			}
			for at := range layout.Columns() {
				cells[own+at] = cellOf(t, at)
			}
			if err := b.Add(cells, texts...); err != nil {
				return err
			}
			if n++; n%1000 == 0 {
				tell(a.Rules.Study, n)
			}
		}
		return ctx.Err()
	})
}

// cellOf is a score.
func cellOf(t score.Scored, at int) viewer.Cell {
	if v, ok := t.Number(at); ok {
		return viewer.Cell{Kind: viewer.Number, Number: v}
	}
	if v, ok := t.Text(at); ok {
		return viewer.Cell{Kind: viewer.Text, Text: v}
	}
	if why := t.Why(at); why != "" {
		return viewer.Cell{Kind: viewer.Lacking, Text: why}
	}
	return viewer.Cell{}
}

// against compares a trial with the baseline of its arm, and with the study's first arm
// under its condition; both of its own repeat.
func against(group []score.Scored, i, right int, first string) (baseline, arm viewer.Cell) {
	k := group[i].Row.Key
	other := func(arm, condition string) viewer.Cell {
		if k.Arm == arm && k.Condition == condition {
			return viewer.Cell{}
		}
		for _, o := range group {
			if ok := o.Row.Key; ok.Arm == arm && ok.Condition == condition && ok.Repeat == k.Repeat {
				return became(o, group[i], right)
			}
		}
		return viewer.Cell{}
	}
	return other(k.Arm, perturb.Baseline().Name), other(first, k.Condition)
}

// became says in a word what became of an answer that was right or wrong before.
func became(before, now score.Scored, right int) viewer.Cell {
	a, ok1 := before.Number(right)
	b, ok2 := now.Number(right)
	switch {
	case !ok1 || !ok2:
		return viewer.Cell{Kind: viewer.Lacking, Text: "one of the two is neither right nor wrong"}
	case a == 1 && b == 1:
		return viewer.Cell{Kind: viewer.Text, Text: "right both times"}
	case a == 0 && b == 0:
		return viewer.Cell{Kind: viewer.Text, Text: "wrong both times"}
	case a == 0 && b == 1:
		return viewer.Cell{Kind: viewer.Text, Text: helped}
	case a == 1 && b == 0:
		return viewer.Cell{Kind: viewer.Text, Text: harmed}
	}
	return viewer.Cell{Kind: viewer.Lacking, Text: "judges differ"}
}

// ownColumns are the columns between the key and the scores.
func ownColumns() []results.FileColumn {
	text := func(name, help string) results.FileColumn {
		return results.FileColumn{Name: name, Kind: results.TextColumn, Help: help}
	}
	return []results.FileColumn{text(columnType, "of the question"), text(columnTask, "of the question"), text(columnModality, "of its images"),
		text(columnFlags, "of the last attempt, with spaces between"), {Name: columnAttempts, Kind: results.IntegerColumn, Help: "tries at the trial; the last one counts"},
		text(columnCache, "what the server's caches did; nothing: it was not timed"),
		text(columnBaseline, "whether the answer is right, against that at baseline of the same arm: helped is from wrong to right, harmed from right to wrong"),
		text(columnArm, "whether the answer is right, against that of the study's first arm, which answers at once, under the same condition")}
}

func fillRow(cells []viewer.Cell, r results.Row, it results.Item) {
	text := func(s string) viewer.Cell {
		if s == "" {
			return viewer.Cell{}
		}
		return viewer.Cell{Kind: viewer.Text, Text: s}
	}
	number := func(n int) viewer.Cell { return viewer.Cell{Kind: viewer.Number, Number: float64(n)} }
	k := r.Key
	for i, s := range []string{k.Model, k.Item, k.Arm, k.Condition} {
		cells[i] = viewer.Cell{Kind: viewer.Text, Text: s}
	}
	flags := ""
	for _, f := range r.Flags {
		flags += " " + string(f)
	}
	cells[4] = number(k.Repeat)
	cells[5], cells[6], cells[7] = text(it.Type), text(it.Task), text(it.Modality)
	cells[8], cells[9], cells[10] = text(strings.TrimSpace(flags)), number(r.Attempts), text(string(r.CacheState))
}

// scoreColumn documents a score.
func scoreColumn(c score.Column) results.FileColumn {
	out := results.FileColumn{Name: c.Name.Name, Kind: results.NumberColumn, Unit: c.Name.Unit, Help: c.Name.Help}
	if c.Name.Unit == "" {
		out.Kind = results.TextColumn
	}
	if c.Judge != "" {
		out.Name += "__" + c.Judge
		out.Help += "; by judge " + c.Judge + " alone"
	}
	return out
}
