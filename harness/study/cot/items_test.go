package cot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/results"
)

// TestKindsOfItems: results by examination type, group and question type, by hand.
func TestKindsOfItems(t *testing.T) {
	b := newBench(t)
	var list []results.Item
	for i, x := range [][2]string{{"CT", "single"}, {"MRI", "short"}, {"X-ray", "short"}, {"X-ray", "short"}, {"", "single"}} {
		it := dataset.Item{ID: fmt.Sprint("item ", i), Type: x[1], Modality: x[0], GoldPaths: [][]dataset.Step{{{Text: "a"}, {Text: "b"}}}}
		f, err := b.cot.Facts(1, it)
		b.must(err)
		list = append(list, f)
	}
	b.must(b.store.PutItems(context.Background(), list))
	for i, x := range [][3]string{{"incorrect", "correct", "match"}, {"correct", "correct", "wrong"}, {"correct", "incorrect", "match"}, {"correct", "correct", "wrong"}, {"incorrect", "correct", "match"}} {
		b.put(made{model: "m", item: i, arm: "direct", said: map[string]string{"accuracy a": acc(x[0])}})
		b.put(made{model: "m", item: i, arm: "cot", said: map[string]string{"accuracy a": acc(x[1]), "precision a": prec("modality match", "feature "+x[2]), "recall a": rec(true, x[2] == "match")}})
	}
	s := b.summarize(map[string][]string{rubAccuracy: {"a"}, rubricPrecision: {"a"}, recall: {"a"}, rubricOrder: {}})
	for _, want := range []struct {
		table, row              string
		direct, cot, impact, f1 float64
		n                       int
	}{
		{tableExaminations, "CT", 0, 100, 100, 100, 1}, {tableExaminations, "MRI", 100, 100, 0, 50, 1}, {tableExaminations, "X-ray", 100, 50, -50, 75, 2},
		{tableExaminationGroups, "CT, MRI and nuclear", 50, 100, 50, 75, 2}, {tableExaminationGroups, "radiography", 100, 50, -50, 75, 2},
		{tableTypes, "short", 100, 200. / 3, -100. / 3, 200. / 3, 3}, {tableTypes, "single", 0, 100, 100, 100, 2},
	} {
		row := s.row(want.table, "m", want.row)
		s.check(row("accuracy_direct").Estimate, want.row, want.direct, want.n, 0, 0)
		s.check(row("accuracy_cot").Estimate, want.row, want.cot, want.n, 0, 0)
		s.check(row("impact").Estimate, want.row, want.impact, 2*want.n, 0, 0)
		s.check(row("f1").Estimate, want.row, want.f1, want.n, 0, 0)
	}
	types := 0
	for _, sec := range s.sections {
		for _, table := range sec.Tables {
			if table.Name == tableExaminations {
				types += len(table.Rows)
			}
		}
	}
	if types != 3 {
		t.Errorf("%d rows of examination types: an item without one has none", types)
	}
	if got := s.row(tableExaminationGroups, "m")("group").Text; got != "radiography" {
		t.Errorf("the first group is %s", got)
	}
}

// TestChangedItems: which items reasoning harmed and helped, and where it first went
// wrong, by hand; by majority of judges and repeats.
func TestChangedItems(t *testing.T) {
	b := newBench(t)
	b.items(make([]string, 8), []int{2})
	put := func(i int, direct, cot [2]string, steps ...string) {
		for arm, v := range [][2]string{direct, cot} {
			said := map[string]string{}
			for j, judge := range []string{"a", "b"} {
				if v[j] != "" {
					said["accuracy "+judge] = acc(v[j])
				}
				if arm == 1 && j < len(steps) {
					said["precision "+judge] = steps[j]
					if steps[j] != "PARSE" {
						said["precision "+judge] = prec(strings.Split(steps[j], ",")...)
					}
				}
			}
			b.put(made{model: "m", item: i, arm: []string{"direct", "cot"}[arm], said: said})
		}
	}
	right, wrong := [2]string{"correct", "correct"}, [2]string{"incorrect", "incorrect"}
	put(0, right, wrong, "modality match,feature wrong,conclusion wrong", "modality wrong") // judges differ
	put(1, right, wrong, "restatement wrong,conclusion wrong", "conclusion wrong")
	put(2, right, right, "feature wrong")
	put(3, wrong, right, "feature match", "feature na")
	put(4, right, [2]string{"incorrect", "correct"}, "feature wrong") // no majority
	put(5, wrong, [2]string{"correct", ""}, "PARSE")
	put(6, [2]string{"no_answer", ""}, right, "other wrong")
	b.put(made{model: "m", item: 7, arm: "direct", said: map[string]string{"accuracy a": acc("correct")}})
	b.put(made{model: "m", item: 7, arm: "cot", failure: "stalled"})
	s := b.summarize(map[string][]string{rubAccuracy: {"a", "b"}, rubricPrecision: {"a", "b"}, recall: {}, rubricOrder: {}})
	got := map[string][]string{}
	for _, sec := range s.sections {
		for _, table := range sec.Tables {
			if table.Name == tableChangedItems || table.Name == tableChanged {
				for _, r := range table.Rows {
					line := r[1].Text + " " + r[2].Text
					if table.Name == tableChangedItems {
						line += fmt.Sprintf(": %s, %.0f -> %.0f", r[3].Text, *r[4].Estimate.Value, *r[5].Estimate.Value)
					} else {
						line += fmt.Sprintf(": %.0f of %d, %.2f %%", *r[3].Estimate.Value, r[3].Estimate.N, *r[4].Estimate.Value)
					}
					got[table.Name] = append(got[table.Name], line)
				}
			}
		}
	}
	for name, want := range map[string][]string{
		tableChangedItems: {"harmed item 0: feature / modality, 100 -> 0", "harmed item 1: conclusion, 100 -> 0",
			"helped item 3: none, 0 -> 100", "helped item 5: not known, 0 -> 100", "helped item 6: other, 0 -> 100"},
		tableChanged: {"harmed conclusion: 1 of 2, 50.00 %", "harmed feature / modality: 1 of 2, 50.00 %",
			"helped other: 1 of 3, 33.33 %", "helped none: 1 of 3, 33.33 %", "helped not known: 1 of 3, 33.33 %"},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got[name], "\n"), strings.Join(want, "\n"))
		}
	}
}
