package agree

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"assay/results"
	"assay/results/stats"
)

// TestImagesAreDrawnWhole: 24 items about 6 images, 4 each, on which judge and people say the
// same of all items of an image. Every table stands on 6 images, not on 24 items or 48 answers.
func TestImagesAreDrawnWhole(t *testing.T) {
	for _, released := range []bool{false, true} {
		b := newBenchOf(t, 4)
		image := func(item string) int {
			var i int
			fmt.Sscanf(item, "i%d", &i)
			return i / 4
		}
		if released {
			man, _, err := b.st.Manifest(t.Context())
			b.must(err)
			man.Settings = map[string]string{"rules": results.RulesReleased}
			b.must(b.st.PutManifest(t.Context(), man))
		}
		said := []int{1, 3, 2, 4, 5, 2}
		people := []int{2, 3, 1, 5, 4, 2}
		for i, axis := range []string{axisCF, axisCA, axisCT} {
			for k := range b.truth[axis] {
				b.truth[axis][k] = people[(image(k.Item)+i)%6]
				b.judge(k, axis, "good", said[(image(k.Item)+i)%6])
				b.judge(k, axis, "bad", map[bool]int{true: 0, false: 3}[image(k.Item) == 0]) // no reply of use
			}
		}
		const never = 1 << 40
		anna := b.rate("anna", never, byCase)
		var again strings.Builder // differs from the first on one image
		for _, line := range strings.Split(strings.TrimSpace(string(anna.Content)), "\n") {
			fmt.Fprintln(&again, line+map[bool]string{true: ",repeat", false: ",0"}[strings.HasPrefix(line, "case,")])
		}
		for k := range b.truth[axisCF] {
			fmt.Fprintf(&again, "%s,anna,CF,%d,1\n", byCase(k, axisCF), map[bool]int{true: 5, false: people[image(k.Item)]}[image(k.Item) == 0])
		}
		secs, _ := b.sections(File{Path: "anna.csv", Content: []byte(again.String())}, b.rate("ben", 4, byCase))
		clusters := 6
		if released {
			clusters = items
		}
		for _, c := range []struct {
			table, column string
			n             int
			begins        []string
		}{
			{"tau", "tau", 48, []string{"good", "CF"}}, {"tau", "tau_crossed", 48, []string{"good", "CF"}}, {"macro", "macro", 48, []string{"good"}}, {"level", "difference", 48, []string{"good", "CF"}},
			{"kappa", "kappa", 48, []string{"good", "CF", "anna"}}, {"kappa", "alpha", 48, []string{"good", "CF", "anna"}}, {"ceiling", "left_out", 48, []string{"CF", "anna"}},
			{"ceiling", "same_again", 48, []string{"CF", "anna"}}, {"chance", "agreement", 48, []string{"CF", "people", "AC1"}}, {"chance", "crossed", 48, []string{"CF", "people", "AC1"}},
			{"gates", "parse", 48, []string{"bad", "CF"}}, {"gates", "parse", 144, []string{"bad", "macro"}}, {"gates", "sham_claims", 20, []string{"bad", "CA"}}, {"gates", "coverage", 48, []string{"bad", "CF"}},
		} {
			e := cellOf(t, secs, c.table, c.column, c.begins...)
			want := clusters
			if c.column == "sham_claims" { // image 0 has no grade
				want -= clusters / 6
			}
			if e.Value == nil || e.N != c.n || e.Clusters != want {
				t.Errorf("released %v: %s of %v in table %s: %+v, want n %d, %d clusters", released, c.column, c.begins, c.table, e, c.n, want)
			}
		}
		// Wilson of 1 of 6 images, or of 4 of 24 items.
		of, sums := make([]float64, clusters), make([]float64, clusters)
		for i := range of {
			of[i] = float64(48 / clusters)
			if i < clusters/6 {
				sums[i] = of[i]
			}
		}
		want := stats.ShareOf(sums, of)
		if e := cellOf(t, secs, "gates", "parse", "bad", "CF"); math.Abs(*e.Low-100**want.Low) > 1e-9 || math.Abs(*e.High-100**want.High) > 1e-9 {
			t.Errorf("released %v: parse %v [%v, %v], want [%v, %v]", released, *e.Value, *e.Low, *e.High, 100**want.Low, 100**want.High)
		}
	}
}

// TestCorrectedOverImages: labels and judgments of 24 items about 6 images, all of an image alike.
// The mean of the judge has the interval of 6 cases, and so have the corrected means.
func TestCorrectedOverImages(t *testing.T) {
	width := func(alike bool) (judged, people, corrected float64) {
		b := newBenchOf(t, map[bool]int{true: 4}[alike])
		for i := range items {
			k := results.Key{Study: "faithfulness", Model: "m", Item: fmt.Sprintf("i%02d", i), Arm: "structured", Condition: "sham"}
			b.truth[axisCF][k] = 1 + i/4%5
			b.judge(k, axisCF, "good", 1+i/4%5)
		}
		draw, err := Draw(t.Context(), b.st, Drawing{By: "none", Items: 12, Seed: 2}, &bytes.Buffer{})
		b.must(err)
		secs, _ := b.sections(b.rate("anna", 1<<40, func(k results.Key, _ string) string {
			for _, c := range draw.Cases {
				if c.Key == k {
					return c.Case
				}
			}
			return ""
		}))
		of := func(column string) float64 {
			e := cellOf(t, secs, "corrected", column, "CF", "good", "m", "structured", "sham")
			if e.Low == nil || alike && e.Clusters > 6 {
				t.Fatalf("%s: %+v", column, e)
			}
			return *e.High - *e.Low
		}
		return of("judged"), of("people"), of("corrected")
	}
	j, p, c := width(false)
	J, P, C := width(true)
	if J < 1.5*j || P < 1.3*p || C < 1.3*c {
		t.Errorf("widths over images %.1f %.1f %.1f, over items %.1f %.1f %.1f", J, P, C, j, p, c)
	}
}
