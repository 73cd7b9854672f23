package agree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
)

// rightShare is how often an item's answer is right in simulated stores: the truth.
const rightShare = 0.4

// simulate makes a store of study cot: answers of models, a judge whose verdicts correlate with the
// truth by r, items drawn at random, and people's labels of them. All goes through files and
// tables as a run, assay people sample and assay people agree would do it.
func simulate(t *testing.T, models, items, labels int, r float64, seed uint64) results.Table {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "run.sqlite"))
	must(err)
	defer func() { must(st.Close()) }()
	proto, err := experiment.NewStudy("cot", nil, study.Choice{})
	must(err)
	must(st.PutManifest(ctx, results.Manifest{Name: "simulated", Seed: seed, Rubrics: map[string]map[string][]string{"cot": {"accuracy": {"j"}}}}))
	rng := stats.SplitMix64(seed)
	var facts []results.Item
	for i := range items {
		f, err := proto.Facts(1, dataset.Item{ID: fmt.Sprint("i", i), Type: "short", Question: "q", Answer: "a"})
		must(err)
		facts = append(facts, f)
	}
	must(st.PutItems(ctx, facts))
	truth := map[results.Key]int{}
	var wg sync.WaitGroup
	turn := make(chan struct{}, 512) // writers rightShare commits
	for m := range models {
		for i := range items {
			k := results.Key{Study: "cot", Model: fmt.Sprint("m", m), Item: fmt.Sprint("i", i), Arm: "direct", Condition: "baseline"}
			y := rng.Binomial(1, rightShare)
			f := rng.Binomial(1, rightShare)
			if rng.Binomial(1, r) == 1 {
				f = y
			}
			truth[k] = y
			turn <- struct{}{}
			wg.Go(func() {
				defer func() { <-turn }()
				out := &results.Output{Answer: k.Name(), Finish: backends.FinishStop}
				err := st.PutTrial(ctx, results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: k.Name(), Finish: backends.FinishStop}}, Output: out}}})
				c := results.Case{Digest: results.DigestOf([]byte(k.Name())), Rubric: "accuracy", Fields: []byte(`{"question":"q"}`)}
				if err == nil {
					err = st.PutCase(ctx, k, c)
				}
				if err == nil {
					verdict, _ := json.Marshal(map[string]string{"quote": "", "verdict": []string{"incorrect", "correct"}[f], "why": ""})
					err = st.PutJudgment(ctx, results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "j", Status: results.StatusClean, Verdict: verdict})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	draw, err := Draw(ctx, st, Drawing{Study: "cot", By: "none", Items: labels, Seed: seed}, &bytes.Buffer{})
	must(err)
	var csv strings.Builder
	fmt.Fprintln(&csv, "case,rater,axis,score")
	for _, c := range draw.Cases {
		fmt.Fprintf(&csv, "%s,anna,accuracy,%d\n", c.Case, truth[c.Key])
	}
	man, _, err := st.Manifest(ctx)
	must(err)
	all, err := protocols(man)
	must(err)
	list, err := judge.ReadRatings("anna.csv", []byte(csv.String()), readable(all))
	must(err)
	d, err := gather(ctx, st, man, all[0], list)
	must(err)
	man.People.Labels = map[string][]results.Label{"cot": labelsOf(d, &draw)}
	must(st.PutManifest(ctx, man))
	secs, err := Corrected(ctx, st, man)
	must(err)
	if len(secs) != 1 || len(secs[0].Tables) != 1 || len(secs[0].Tables[0].Rows) != models {
		t.Fatalf("%+v", secs)
	}
	return secs[0].Tables[0]
}

// TestCoverageInStores: how often intervals of a report's corrected means hold the truth, over models of
// simulated stores (20 in each, with the same items drawn), by the judge's correlation with
// people and the number of labels, of four times as many items. A few models always; 1,000 in each
// cell (or ASSAY_ROUNDS), in half an hour or so, with
//
//	ASSAY_SLOW=1 go test -v -timeout 2h -run TestCoverageInStores ./harness/agree
func TestCoverageInStores(t *testing.T) {
	rounds, counts, rs := 20, []int{30}, []float64{0.9}
	if os.Getenv("ASSAY_SLOW") != "" {
		rounds, counts, rs = 1000, []int{30, 100, 300}, []float64{0, 0.5, 0.9}
		if n, err := strconv.Atoi(os.Getenv("ASSAY_ROUNDS")); err == nil {
			rounds = n
		}
	}
	const most = 20
	for _, r := range rs {
		for _, labels := range counts {
			held, width, n := map[string]int{}, map[string]float64{}, 0
			for s := uint64(0); n < rounds; s++ {
				table := simulate(t, min(most, rounds), 4*labels, labels, r, 1+s+uint64(1000*r)+uint64(labels)<<20)
				for _, row := range table.Rows {
					n++
					for i, c := range table.Columns {
						switch c.Name {
						case "people", "corrected", "rogan_gladen":
							e := row[i].Estimate
							if e.Low == nil { // it says nothing, and misses nothing
								width[c.Name] += 100
								held[c.Name]++
								continue
							}
							width[c.Name] += *e.High - *e.Low
							if *e.Low <= 100*rightShare && 100*rightShare <= *e.High {
								held[c.Name]++
							}
						}
					}
				}
			}
			for _, name := range []string{"people", "corrected", "rogan_gladen"} {
				p := float64(held[name]) / float64(n)
				se := math.Sqrt(0.05 * 0.95 / float64(n))
				mark := ""
				if p < .93 || p > .97 {
					mark = "  outside of 93 to 97 %"
				}
				t.Logf("r = %g, %d labels, %s: %.1f %% (+/- %.1f) of %d models, width %.1f (%.2f of people alone)%s", r, labels, name, 100*p, 100*se, n, width[name]/float64(n), width[name]/width["people"], mark)
				if p < .93-5*se {
					t.Errorf("r = %g, %d labels: %s holds the truth in %.1f %%", r, labels, name, 100*p)
				}
			}
			if ratio := width["corrected"] / width["people"]; r == 0.9 && ratio > 0.8 {
				t.Errorf("%d labels of a good judge: %.2f as wide as people alone", labels, ratio)
			}
		}
	}
}
