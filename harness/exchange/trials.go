package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// trials is one row for each trial of the studies: what is stored of it but the
// traces, and every score. A score by a judge stands in a column SCORE__JUDGE.
func trials(ctx context.Context, st *store.Store, studies []score.Asked, b Beside) (Table, error) {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return Table{}, err
	}
	cols := slicesOf(keyColumns(), questionColumns(), hardwareColumns(), trialColumns())
	images := -1
	if b.Images != nil {
		images = len(cols)
		cols = append(cols, imagesColumn())
	}
	type laid struct {
		score.Asked
		layout *score.Layout
		places []int // of its scores among the columns
	}
	var all []laid
	for _, a := range studies {
		l := laid{Asked: a, layout: a.Rules.Layout(a.Judges)}
		var own []results.FileColumn
		for _, c := range l.layout.Columns() {
			own = append(own, scoreColumn(c))
		}
		cols, l.places = union(cols, own)
		all = append(all, l)
	}
	reasons := len(cols)
	cols = append(cols, text("missing", "why scores of this trial are missing, by column, as JSON; a score that is neither there nor here is of other trials"), syntheticColumn())
	synthetic := len(man.Synthetic) > 0
	on, err := machinesOf(ctx, st)
	if err != nil {
		return Table{}, err
	}
	return Table{cols, func(visit func([]any) error) error {
		row, why := make([]any, 0, len(cols)), newMissing()
		for _, l := range all {
			order := named(l.layout.Columns(), images >= 0)
			items := map[string]results.Item{}
			for it, err := range st.Items(ctx, l.Rules.Study) {
				if err != nil {
					return err
				}
				it.Facts = nil
				items[it.ID] = it
			}
			next, stop := ahead(st.Ended(ctx, l.Rules.Study))
			err := score.Walk(ctx, st, l.Rules, l.Judges, func(trials []score.Scored) error {
				for _, t := range trials {
					end, err := endOf(next, t.Row.Key)
					if err != nil {
						return err
					}
					row = keyRow(row[:0], t.Row.Key)
					row = b.Questions.row(row, t.Row.Key)
					row = on.row(row, end.Session, t.Row.Key.Model)
					row = trialRow(row, t.Row, items[t.Row.Key.Item], end)
					row = append(row, make([]any, len(cols)-len(row))...)
					var names, lacks string // of its pictures
					if images >= 0 {
						if names, lacks, err = b.Images.save(ctx, st, t.Row.Key); err != nil {
							return err
						}
						row[images] = some(names)
					}
					for _, c := range order {
						w := lacks
						if c.place >= 0 {
							if v, ok := t.Number(c.place); ok {
								row[l.places[c.place]] = v
							} else if v, ok := t.Text(c.place); ok {
								row[l.places[c.place]] = v
							}
							w = t.Why(c.place)
						}
						if w != "" {
							why.add(c.name, w)
						}
					}
					row[reasons] = why.take()
					row[len(row)-1] = synthetic
					if err := visit(row); err != nil {
						return err
					}
				}
				return nil
			})
			stop()
			if err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

func slicesOf(lists ...[]results.FileColumn) (out []results.FileColumn) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// place is where a score stands in a layout; -1: the pictures, which may be missing, too.
type place struct {
	name  string
	place int
}

// named are the places in the order of their columns' names.
func named(scores []score.Column, images bool) (out []place) {
	for i, c := range scores {
		out = append(out, place{scoreName(c), i})
	}
	if images {
		out = append(out, place{imagesColumn().Name, -1})
	}
	slices.SortFunc(out, func(a, b place) int { return strings.Compare(a.name, b.name) })
	return out
}

func scoreName(c score.Column) string {
	if c.Judge == "" {
		return c.Name.Name
	}
	return c.Name.Name + "__" + c.Judge
}

// scoreColumn documents a score; a text has no unit.
func scoreColumn(c score.Column) results.FileColumn {
	out := results.FileColumn{Name: scoreName(c), Kind: results.NumberColumn, Unit: c.Name.Unit, Help: c.Name.Help, Like: c.Name.Like}
	if c.Name.Unit == "" {
		out.Kind, out.Few = results.TextColumn, true
	}
	switch {
	case c.Judge != "":
		out.Help += "; by judge " + c.Judge + " alone"
	case c.Name.Rubric != "":
		out.Help += "; nothing where only judges alone have one"
	}
	if c.Name.Better == score.Higher || c.Name.Better == score.Lower {
		out.Help += "; better: " + string(c.Name.Better)
	}
	return out
}

func trialColumns() []results.FileColumn {
	return []results.FileColumn{
		text("type", "of the question"), text("task", "of the question"), text("modality", "of its images"),
		integer("attempts", "", "tries at the trial; the last one counts"),
		text("flags", "of the last attempt, with spaces between"),
		text("cache_policy", "what was done about the server's caches; nothing: it was not timed"),
		text("cache_state", "what they did"), text("cache_note", "what proves that, or why nothing does"),
		number("ttft_any_s", "s", "first content - start, summed over turns, also of times that do not count"),
		number("latency_any_s", "s", "last content - start, likewise"),
		number("decode_any_s", "s", "last content - first content, likewise"),
		truth("ttft_at_most", "ttft is an upper bound: its chunk shared a read"), truth("latency_at_most", "so is latency"),
		integer("first_tokens", "tokens", "in the first chunk"),
		number("gpu_held_s", "s", "share of the time in which the GPUs worked, times their number is what is paid for"),
		integer("gpus", "", "how many worked"),
		number("energy_uncertainty_j", "J", "of energy_j, +/-, within the card: for what is compared on one GPU"),
		number("energy_absolute_j", "J", "of energy_j, +/-, with gain and offset of the sensor"), number("energy_net_absolute_j", "J", "of energy_net_j, likewise"), text("energy_method", "counter, power or both"),
		truth("energy_low_confidence", "fewer than ten ticks"), number("cpu_energy_j", "J", "gross energy of the processors"),
		prose("answer", "what was answered, outside of the server's reasoning channel"), prose("reasoning", "what the server sent as reasoning"),
		text("finish", "why the answer ended"),
	}
}

func trialRow(row []any, r results.Row, it results.Item, end results.Ended) []any {
	row = append(row, some(it.Type), some(it.Task), some(it.Modality), int64(r.Attempts), flags(r.Flags),
		some(string(r.CachePolicy)), some(string(r.CacheState)), some(r.CacheNote),
		seconds(r.TTFT), seconds(r.Latency), seconds(r.Decode), holds(r.TTFTAtMost), holds(r.LatencyAtMost), count(r.FirstTokens))
	joules := func(e timing.Millijoules) any { return float64(e) / 1000 }
	maybe := func(e *timing.Millijoules) any {
		if e == nil {
			return nil
		}
		return joules(*e)
	}
	if u := r.GPU; u != nil { // the time is known where the energy is not
		row = append(row, seconds(u.Held), count(u.Devices))
	} else {
		row = append(row, nil, nil)
	}
	if u := r.GPU; u != nil && u.Unknown == "" {
		row = append(row, joules(u.Uncertainty), maybe(u.Absolute), maybe(u.NetAbsolute), some(string(u.Method)), u.LowConfidence)
	} else {
		row = append(row, nil, nil, nil, nil, nil)
	}
	if u := r.CPU; u != nil && u.Unknown == "" {
		row = append(row, joules(u.Gross))
	} else {
		row = append(row, nil)
	}
	if end.Failed {
		return append(row, nil, nil, nil)
	}
	return append(row, end.Answer, some(end.Reasoning), some(string(end.Finish)))
}

// endOf is how a trial ended; trials come in Key order, as they are asked for.
func endOf(next func() (results.Ended, error, bool), k results.Key) (results.Ended, error) {
	for {
		e, err, more := next()
		switch {
		case err != nil:
			return e, err
		case !more:
			return e, fmt.Errorf("trial %+v changed meanwhile; export again", k)
		case e.Key == k:
			return e, nil
		}
	}
}
