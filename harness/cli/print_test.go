package cli

import (
	"encoding/json"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/experiment"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// TestPrinted: the texts of prints.tmpl say all that their values hold, and nothing of what these lack.
func TestPrinted(t *testing.T) {
	key := results.Key{Study: "s", Model: "m", Item: "i", Arm: "a", Condition: "c"}
	var trace timing.Trace
	if err := json.Unmarshal([]byte(`{"at_ns":{"start":0,"first_content":5000000,"last_content":90000000},"stamps":"kernel"}`), &trace); err != nil {
		t.Fatal(err)
	}
	attempts := []results.Attempt{
		{Flags: []results.Flag{"one", "two"}, Failure: &results.Failure{Kind: "timeout", Message: "late"}},
		{Started: time.Unix(0, 0).UTC(), Turns: []results.Turn{{}, {Trace: trace}}, Output: &results.Output{Reasoning: "Hm.", Answer: "B"},
			Cache: &results.Cache{Cache: backends.Cache{State: "cold", Field: "n", Value: "0", Reason: "so"}}},
	}
	verdicts := []results.Judgment{
		{Rubric: "CA", Judge: "j", Status: "ok", Repeat: 2, Verdict: json.RawMessage(`{"score":1}`)},
		{Rubric: "CT", Judge: "j", Status: "schema", Detail: "no score"},
	}
	shown := &experiment.Shown{Key: key, Made: []string{"of DICOM"}, Stored: &results.Trial{Attempts: attempts}, Verdicts: verdicts, Former: verdicts[1:]}
	whole := store.Checked{Store: "a.sqlite", Whole: true, Schema: 9, Checksums: true, Pages: 4, Trials: 2, Judgments: 1}
	damaged := store.Checked{Store: "a.sqlite", Pages: 30, Foreign: 3, Problems: []string{"torn"}}
	for page := range int64(21) {
		damaged.BadPages = append(damaged.BadPages, page+1)
	}
	var saved store.Saved
	if err := json.Unmarshal([]byte(`{"from":"a","to":"b","tables":[{"table":"trials","rows":7,"unreadable":1,"dropped":2}]}`), &saved); err != nil {
		t.Fatal(err)
	}
	merged := struct {
		store.Merged
		Kind string
		More int
	}{store.Merged{To: "c", Trials: 9, Judgments: 4, Sessions: 2, Aside: 3, Examples: []string{"of i: b's"}}, "set_aside", 2}
	if err := json.Unmarshal([]byte(`[{"store":"a","trials":5,"judgments":4}]`), &merged.From); err != nil {
		t.Fatal(err)
	}
	const head = "study s, model m, item i, arm a, condition c\n"
	for _, c := range []struct {
		name string
		of   any
		want string
	}{
		{"shown", &experiment.Shown{Key: key}, head + "\nnot in the store yet\n"},
		{"shown", shown, head + `picture: of DICOM

--- attempt 1, one, two
failed: timeout: late

--- attempt 2, 1970-01-01T00:00:00Z
server caches: cold (n: 0): so

first content after 5 ms, last after 90 ms (kernel stamps)
reasoning channel:
Hm.
B
judgment: CA by j: ok when judged again (2) {"score":1}
judgment: CT by j: schema (no score)
former judgment: CT by j as of version unknown: schema (no score)
`},
		{"checked", whole, `a.sqlite: schema 9, 4 pages; every page has a checksum
2 trials and 1 judgments can be read
whole
`},
		{"checked", damaged, "a.sqlite: schema 0, 30 pages; its pages have no checksums (it is of an older assay, or no store): " +
			"a changed value is not told from a true one; assay store salvage makes a store that has them\n" +
			"0 trials and 0 judgments can be read\n" +
			"3 pages were written by another program, after a run that did not end; the next assay run gives them checksums\n" +
			"damaged pages: [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20] and more\n! torn\n"},
		{"saved", saved, `table              saved  unreadable  dropped
trials                 7           1        2
a has no checksums: what was saved may hold changed values
saved in b
`},
		{"merged", merged, `   trials judgments  store
        5         4  a
        9         4  c, with 2 calls of run
3 were not taken, and are kept as events of kind set_aside:
  of i: b's
  and 2 more
energies and scores were made anew; next: assay report c
`},
	} {
		if got := printed(c.name, c.of); got != c.want {
			t.Errorf("%s: %s\nwant\n%s", c.name, got, c.want)
		}
	}
}
