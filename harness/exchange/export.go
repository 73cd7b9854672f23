// Package exchange brings what other programs made into a store, and what is in a store
// to other programs.
//
//  1. TableOf lays out trials, judgments, attempts and samples of devices as rows for a
//     notebook, with every column's unit and meaning (trials.go, attempts.go, beside.go). Write
//     puts them into a file: CSV, JSON Lines or Parquet (write.go, formats.go).
//  2. Read reads answers that other programs had from models (read.go); Join finds the
//     planned trial of each, and Put stores them as trials without times (join.go).
//  3. WriteReports writes reports and their references as tools read them that compute
//     RadGraph F1, BERTScore, GREEN and the like (reports.go). Parse reads what such a tool
//     wrote, JoinScores finds the case of each row (parse.go); the numbers are judgments in
//     the run's store (store.go).
package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/harness/score"
	"assay/results"
	"assay/results/store"
)

// Table is what becomes a file: Rows visits them in order, one value for each
// column; visit must not keep the row.
type Table struct {
	Columns []results.FileColumn
	Rows    func(visit func(row []any) error) error
}

// Kinds are the names of what can be laid out.
func Kinds() []string { return []string{"trials", "judgments", "attempts", "samples"} }

// TableOf lays out one of Kinds of a store; studies are those whose trials have scores.
func TableOf(ctx context.Context, st *store.Store, kind string, studies []score.Asked, b Beside) (Table, error) {
	switch kind {
	case "trials":
		return trials(ctx, st, studies, b)
	case "judgments":
		return judgments(ctx, st), nil
	case "attempts":
		return attempts(ctx, st), nil
	case "samples":
		return samples(ctx, st)
	}
	return Table{}, fmt.Errorf("expected one of %s, found %q", strings.Join(Kinds(), ", "), kind)
}

// text is a column of texts that many rows share.
func text(name, help string) results.FileColumn {
	return results.FileColumn{Name: name, Kind: results.TextColumn, Help: help, Few: true}
}

// prose is a column of texts that each row has for itself.
func prose(name, help string) results.FileColumn {
	return results.FileColumn{Name: name, Kind: results.TextColumn, Help: help}
}

func number(name, unit, help string) results.FileColumn {
	return results.FileColumn{Name: name, Kind: results.NumberColumn, Unit: unit, Help: help}
}

func integer(name, unit, help string) results.FileColumn {
	return results.FileColumn{Name: name, Kind: results.IntegerColumn, Unit: unit, Help: help}
}

func truth(name, help string) results.FileColumn {
	return results.FileColumn{Name: name, Kind: results.TruthColumn, Help: help}
}

// keyColumns name a trial.
func keyColumns() []results.FileColumn {
	return []results.FileColumn{text("study", "protocol"), text("model", "its name in bench.yaml"), text("item", "question"),
		text("arm", "prompting strategy"), text("condition", "change of the input"), integer("repeat", "", "from 0")}
}

func keyRow(row []any, k results.Key) []any {
	return append(row, k.Study, k.Model, k.Item, k.Arm, k.Condition, int64(k.Repeat))
}

// syntheticColumn is the last one of trials.
func syntheticColumn() results.FileColumn {
	return truth("synthetic", "true: phantom cases, readers or judges are among what the run used; its results are of no real model")
}

func seconds(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return d.Seconds()
}

func known(d time.Duration, ok bool) any {
	if !ok {
		return nil
	}
	return d.Seconds()
}

func count(n *int) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}

func holds(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

// some is a text, nil where it is empty.
func some(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func flags(fs []results.Flag) any {
	var words []string
	for _, f := range fs {
		words = append(words, string(f))
	}
	return some(strings.Join(words, " "))
}

// union adds the columns that are not there yet and returns the places of all of
// more; two of one name must be alike.
func union(all []results.FileColumn, more []results.FileColumn) ([]results.FileColumn, []int) {
	places := make([]int, len(more))
	for i, c := range more {
		at := slices.IndexFunc(all, func(o results.FileColumn) bool { return o.Name == c.Name })
		if at < 0 {
			at, all = len(all), append(all, c)
		}
		if all[at].Kind != c.Kind {
			panic(fmt.Sprintf("exchange: internal error: column %s is %s and %s", c.Name, all[at].Kind, c.Kind))
		}
		places[i] = at
	}
	return all, places
}
