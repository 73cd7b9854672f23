package cli

import (
	"encoding/json"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/compare"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/study"
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
	some := func(v float64) *results.Estimate { return &results.Estimate{Value: &v, Low: &v, High: &v, N: 8} }
	none := &results.Estimate{Why: "no answer has it"}
	known := &study.Projection{Hours: some(1.5), GPUHours: some(3), KWh: some(2), EnergyOf: "GPUs", Building: "x 1.2", KgCO2: none,
		Money: some(4), GPUMoney: some(3), Electricity: some(1), Currency: "EUR", Seen: 8}
	known.Hours.Invalid, known.Money.Low, known.Money.High = 2, nil, nil
	unknown := &study.Projection{Hours: none, GPUHours: none, KWh: none, Money: none, GPUMoney: none, Electricity: none}
	seconds, two := 75.4, 2
	var pre experiment.Preview
	if err := json.Unmarshal([]byte(`{"store":"s.sqlite","stored":3,"estimate_note":"so",
		"sends":[{"backend":"a","loopback":true,"models":["m","n"],"judges":["j"],"what":["prompts","pictures"]},
			{"backend":"b","address":"http://b","what":["prompts"]}],
		"read":[{"dataset":"d","guesses":["id is Nr"],"unused":["x","y"]}]}`), &pre); err != nil {
		t.Fatal(err)
	}
	later := experiment.Preview{Store: "s.sqlite", Seconds: &seconds, Why: "so", LeftOut: []plan.LeftOut{
		{Study: "s", What: "arm a", Why: "so", Unlisted: true}, {Study: "s", What: "b", Why: "so", Trials: &two}, {Study: "s", What: "c", Why: "so"}}}
	var compared compare.Comparison
	if err := json.Unmarshal([]byte(`{"a":"1","b":"2","pairs":3,"only_a":4,"only_b":5,"synthetic":["a phantom"],"changed":1,"rows":[{"study":"s"},
		{"study":"s","model":"m","arm":"a","condition":"c","score":"x","changed":true,"items_that_changed":[{"item":"i","a":1,"b":0.25},{"item":"j","a":0,"b":2}]}]}`), &compared); err != nil {
		t.Fatal(err)
	}
	compared.Within, compared.Notes = 6, []string{"other weights", compare.LeftOut}
	same := &compare.Comparison{A: "1", B: "2", Within: 2}
	const head = "study s, model m, item i, arm a, condition c\n"
	for _, c := range []struct {
		name string
		of   any
		want string
	}{
		{"shown", &experiment.Shown{Key: key}, head + "\nnot in the store yet\n"},
		{"shown", shown, head + `image: of DICOM

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
		{"checked", damaged, "a.sqlite: schema 0, 30 pages; its pages have no checksums (an older assay's, or no store): " +
			"changed values cannot be found; assay store salvage makes a store with checksums\n" +
			"0 trials and 0 judgments can be read\n" +
			"3 pages were written by another program, after a run that did not end; the next assay run gives them checksums\n" +
			"damaged pages: [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20] and more\n! torn\n"},
		{"saved", saved, `table              saved  unreadable  dropped
trials                 7           1        2
a has no checksums: saved values may have changed
saved in b
`},
		{"preview", pre, `stored already: 3 in s.sqlite
time left: so
sent to a (m, n, j; stays on this machine): prompts; pictures
sent to b (; leaves for http://b): prompts
dataset d: guessed: id is Nr
dataset d: not used: x, y
`},
		{"preview", later, `stored already: 0 in s.sqlite
time left: about 1m15s (so)
not asked: s: arm a: so
left out: s: b: so (2 trials)
left out: s: c: so (unknown number of trials)
`},
		{"projection", known, `the whole plan, projected from 8 stored answers (95 % CIs over items; loading, warm-up and judging come on top):
  time: 1.50 h [1.50, 1.50] (from 8 answers; of 2 it is not known)
  GPU time: 3.00 h [3.00, 3.00]
  energy: 2.00 kWh [2.00, 2.00]
    of GPUs
    x 1.2
  CO2: unknown: no answer has it
  money: 4.00 EUR
    of GPU time: 3.00 EUR [3.00, 3.00]
    of electricity: 1.00 EUR [1.00, 1.00]
`},
		{"projection", unknown, `the whole plan, projected from 0 stored answers (95 % CIs over items; loading, warm-up and judging come on top):
  time: unknown: no answer has it
  GPU time: unknown: no answer has it
  energy: unknown: no answer has it
  money: unknown: no answer has it
`},
		{"projection", (*study.Projection)(nil), ""},
		{"compared", &compared, `A 1, B 2: 3 trials in both, 4 only in A, 5 only in B
!! Synthetic results: a phantom
note: other weights
note: times and energies are left out for that; --times compares them all the same
1 of 7 rows changed beyond noise; --all prints the others
`},
		{"compared", same, "A 1, B 2: 0 trials in both, 0 only in A, 0 only in B\nnothing changed beyond noise in 2 rows\n"},
		{"moved", &compared, "items that changed most:\ns x, m, a, c: i 1.00 -> 0.250; j 0.00 -> 2.00\n"},
		{"moved", same, "\n"},
		{"merged", merged, `   trials judgments  store
        5         4  a
        9         4  c, with 2 calls of run
3 were not taken, and are kept as events of kind set_aside:
  of i: b's
  and 2 more
energies and scores were recomputed; next: assay report c
`},
	} {
		if got := printed(c.name, c.of); got != c.want {
			t.Errorf("%s: %s\nwant\n%s", c.name, got, c.want)
		}
	}
}
