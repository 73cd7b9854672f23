package agree

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"assay/harness/judge"
	"assay/results"
	"assay/results/stats"
)

// TestPairIntervals: alpha and AC1 of a judge and a rater have intervals that draw whole items, of
// the answers that both graded.
func TestPairIntervals(t *testing.T) {
	b := newBench(t)
	skipped := results.Key{Study: "faithfulness", Model: "m", Item: "i03", Arm: "structured", Condition: "sham"}
	file := b.rate("anna", 4, func(k results.Key, axis string) string {
		if k == skipped {
			return ""
		}
		return byCase(k, axis)
	})
	ben := b.rate("ben", 2, byCase) // rated what anna skipped
	secs, _ := b.sections(file, ben)
	// The same by hand: ratings as they stand in the file, verdicts as they stand in the store.
	d := b.gathered(file, ben)
	for _, judge := range []string{"good", "bad"} {
		human, judged := d.Human[axisCF][0], d.Judged[axisCF][judge]
		var two stats.Ratings = []([]stats.Rating){nil, nil}
		at := map[string]int{}
		var clusters [][]int
		for i, u := range d.Units {
			if !human[i].Given || !judged[i].Given {
				continue
			}
			c, ok := at[u.Item]
			if !ok {
				c = len(clusters)
				at[u.Item] = c
				clusters = append(clusters, nil)
			}
			clusters[c] = append(clusters[c], len(two[0]))
			two[0], two[1] = append(two[0], human[i]), append(two[1], judged[i])
		}
		p := stats.NewPanel(two, 5)
		for column, f := range map[string]stats.PanelStat{"alpha": p.Alpha(stats.Ordinal), "ac1": p.AC1} {
			got := cellOf(t, secs, "kappa", column, judge, "CF", "anna")
			want := stats.Bootstrap{Seed: 11, B: 100, Alpha: 0.05}.Stat(len(clusters), stats.Clustered(clusters, func(idx []int) (float64, bool) {
				x, why := f(idx, []int{0, 1})
				return x, why == ""
			}))
			if got.Low == nil || math.Abs(*got.Value-*want.Value) > 1e-9 || math.Abs(*got.Low-*want.Low) > 1e-9 || math.Abs(*got.High-*want.High) > 1e-9 || got.N != 2*items-1 {
				t.Errorf("%s of %s: %s, want %s", column, judge, jsonOf(t, got), jsonOf(t, want))
			}
		}
	}
	// A label is the mean over those who rated the answer.
	for _, u := range d.Units {
		i := slices.IndexFunc(d.Units, func(o ratedUnit) bool { return o == u })
		l := labelsOf(d, &results.Draw{Cases: []results.Drawn{{Case: "c", Key: u.Key}}})
		at := slices.IndexFunc(l, func(x results.Label) bool { return x.Axis == axisCF })
		want, n := 0.0, 0
		for _, row := range d.Human[axisCF] {
			if row[i].Given {
				want, n = want+(row[i].Value-1)/4, n+1
			}
		}
		if want /= float64(n); l[at].Score != want || l[at].Raters != n || l[at].Case != "c" || (u.Key == skipped) != (n == 1) {
			t.Errorf("%s: %+v, want %v of %d", u.Key.Name(), l[at], want, n)
		}
	}
	if good, bad := cellOf(t, secs, "kappa", "alpha", "good", "CF", "anna"), cellOf(t, secs, "kappa", "alpha", "bad", "CF", "anna"); *good.Low < *bad.High {
		t.Errorf("a good judge from %v, a bad one up to %v", *good.Low, *bad.High)
	}
}

// gathered is files of ratings joined with the store.
func (b *bench) gathered(files ...File) *set {
	b.t.Helper()
	man, _, err := b.st.Manifest(b.t.Context())
	b.must(err)
	all, err := protocols(man)
	b.must(err)
	var list []judge.Rating
	for _, f := range files {
		more, err := judge.ReadRatings(f.Path, f.Content, readable(all))
		b.must(err)
		list = append(list, more...)
	}
	d, err := gather(b.t.Context(), b.st, man, all[0], list)
	b.must(err)
	return d
}

// TestReleasedCalibration: people's CC follows the rules that judges' CC follows.
func TestReleasedCalibration(t *testing.T) {
	for rules, want := range map[string]float64{results.RulesPaper: 0.181, results.RulesReleased: 0} {
		b := newBench(t)
		b.st.Under(rules)
		d := b.gathered(File{"x.csv", fmt.Appendf(nil, "case,rater,axis,score\n%[1]s,x,CF,1\n%[2]s,x,CT,4\n",
			byCase(results.Key{Study: "faithfulness", Model: "m", Item: "i00", Arm: "structured", Condition: "sham"}, "CF"),
			byCase(results.Key{Study: "faithfulness", Model: "m", Item: "i00", Arm: "structured", Condition: "sham"}, "CT"))})
		if got := d.Human[axisCC][0][0]; !got.Given || math.Abs(got.Value-want) > 1e-9 {
			t.Errorf("%s: %+v, want %v", rules, got, want)
		}
	}
}
