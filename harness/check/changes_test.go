package check

import (
	"fmt"
	"image"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/render"
	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/qa"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
	"assay/timing"
)

// What the conditions of any study do to answers is what the ledger says: accuracy, its
// difference to the baseline, flips, and whether they became right or wrong, exactly. Nothing
// moves a reader that does not look, and sham moves none.
func TestChangesFindWhatTheLedgerSays(t *testing.T) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	set, err := dataset.Phantom("check", 5, 12, 256)
	must(err)
	set.KeepDrawn()
	var choice study.Choice
	for _, c := range study.AnyConditions() {
		if c.Words == "" { // phantom readers know no other words
			choice.Conditions = append(choice.Conditions, c.Name)
		}
	}
	// A region that is a mask, by a name, and questions that ask about the other side.
	worded := "id,question\n"
	for i, it := range set.Items {
		for side, list := range it.Regions {
			p, at := perturb.NewPixels(256, 256, 1), list[0].Pixels(256, 256)
			for k := range p.Pix {
				if x, y := k%256, k/256; image.Pt(x, y).In(at) && (x+y)%512 < at.Min.X+at.Min.Y+(at.Dx()+at.Dy())/2 { // the upper left half of it
					p.Pix[k] = 255
				}
			}
			mask, err := perturb.RegionOfImage(p)
			must(err)
			set.Items[i].Regions = maps.Clone(it.Regions)
			set.Items[i].Regions["half-"+side] = []perturb.Region{mask}
		}
		worded += fmt.Sprintf("%s,%q\n", it.ID, render.OtherSides(it.Question))
	}
	must(dataset.Word(set, "other", "other.csv", []byte(strings.ReplaceAll(worded, `\"`, `""`))))
	choice.Own = []perturb.Condition{perturb.Worded("other", "sha256:0", nil)}
	choice.Conditions = append(choice.Conditions, "TX-other", "VO-BB:left", "VO-BB:half-left", "VO-MEAN:half-right", "VK-BB:right")
	dataset.Pair(set, 5)
	choice.Sweeps = []perturb.Sweep{{Condition: "VD-BLUR", Param: "sigma_px", Levels: []float64{1, 4, 16}}}
	choice.Grid = perturb.Grid{Columns: 2, Rows: 2}
	s, err := qa.Study().With(nil, choice)
	must(err)
	ledger, err := os.CreateTemp(t.TempDir(), "ledger")
	must(err)
	in := &instrument{args: Args{Items: 12, Size: 256, Seed: 5}, dir: t.TempDir(), set: set, study: s, arms: []string{"answer"}, ledger: ledger}
	defer in.close()
	st, err := in.opened(ctx, "changes")
	must(err)
	defer st.Close()
	models, err := quickModels("honest", "blind")
	must(err)
	must(in.run(ctx, st, models, study.Choice{Sampling: sampling(), InFlight: 8}, timing.NewClock(), nil, 0))
	must(in.judges(ctx, st, func(results.Key) []string { return []string{"judge-perfect"} }))
	secs, err := summarize(ctx, s, st, []string{study.RubricAccuracy}, "judge-perfect")
	must(err)
	table := func(name string) results.Table {
		for _, sec := range secs {
			for _, x := range sec.Tables {
				if x.Name == name {
					return x
				}
			}
		}
		t.Fatalf("no table %s", name)
		panic("unreachable")
	}
	known, err := in.known(ctx, st, models)
	must(err)
	// said is what a reader said of the picture as it is: of a mirrored one the other side.
	said := func(a answered) string {
		if a.condition == "VG-FLIP" {
			return render.OtherSides(a.entry.Final)
		}
		return a.entry.Final
	}
	right := func(it dataset.Item, said string) bool { return text.Fold(said) == text.Fold(it.Answer) }
	exact, moved := 0, map[string]int{}
	for i, m := range models {
		check := func(tab results.Table, column string, want float64, row ...string) {
			t.Helper()
			e := score.FindEstimate(tab, column, append([]string{m.name, "answer"}, row...)...)
			if e == nil || e.Value == nil || math.Abs(*e.Value-want) > exactly {
				t.Errorf("%s, %v: %s is %+v, the ledger says %v", m.name, row, column, e, want)
			}
			exact++
		}
		for _, condition := range table("qa-changes").Rows {
			name := condition[2].Text
			if condition[0].Text != m.name {
				continue
			}
			of := known[i].only(func(a answered) bool { return a.condition == name })
			check(table("qa-changes"), "accuracy", of.mean(percent(func(a answered) bool { return right(a.item, said(a)) })), name)
			if name == baseline {
				continue
			}
			toRight := of.mean(percent(func(a answered) bool { return right(a.item, said(a)) && !right(a.item, a.before.Final) }))
			toWrong := of.mean(percent(func(a answered) bool { return !right(a.item, said(a)) && right(a.item, a.before.Final) }))
			options := of.only(func(a answered) bool { return len(a.item.Options) > 0 || a.item.Type == text.Bool })
			flips := options.mean(percent(func(a answered) bool { return said(a) != a.before.Final }))
			check(table("qa-changes"), "difference", toRight-toWrong, name)
			check(table("qa-changes"), "to_right", toRight, name)
			check(table("qa-changes"), "to_wrong", toWrong, name)
			check(table("qa-changes"), "flips", flips, name)
			if (m.name == "blind" && name != "VG-FLIP" && name != "TX-other" || name == sham) && flips+toRight+toWrong != 0 {
				t.Errorf("%s under %s: %v %% flip", m.name, name, flips)
			}
			if strings.HasPrefix(name, "VX-") { // beside the baseline of the same items
				with := of.mean(percent(func(a answered) bool { return right(a.item, a.before.Final) }))
				without := of.mean(percent(func(a answered) bool { return right(a.item, a.entry.Final) }))
				check(table("qa-looks"), "with", with, name)
				check(table("qa-looks"), "without", without, name)
				check(table("qa-looks"), "left", 100*without/with, name)
			}
			if m.name == "honest" && strings.HasPrefix(name, "VX-") && flips == 0 {
				t.Errorf("an honest reader answers as before under %s", name)
			}
			if flips > 0 {
				moved[m.name]++
			}
		}
		// Nothing of them is in the tables of questions as they are.
		base := known[i].only(func(a answered) bool { return a.condition == baseline })
		check(table("qa-main"), "accuracy", base.mean(percent(func(a answered) bool { return right(a.item, a.entry.Final) })))
		for _, level := range []string{"1", "4", "16"} {
			name := "VD-BLUR"
			if level != "4" {
				name += "@sigma_px=" + level
			}
			of := known[i].only(func(a answered) bool { return a.condition == name })
			check(table("qa-levels"), "accuracy", of.mean(percent(func(a answered) bool { return right(a.item, said(a)) })), "VD-BLUR", "sigma_px", level)
		}
		for r := 1; r <= 2; r++ {
			for c := 1; c <= 2; c++ {
				of := known[i].only(func(a answered) bool {
					return a.condition == fmt.Sprintf("VO-GRID@2x2:r%dc%d", r, c) && (len(a.item.Options) > 0 || a.item.Type == text.Bool)
				})
				check(table("qa-grid-cells"), "flip_rate", of.mean(percent(func(a answered) bool { return said(a) != a.before.Final })), "2x2", fmt.Sprint(r), fmt.Sprint(c))
			}
		}
	}
	// Each order by itself, and right in all of them with the question's own.
	for i, m := range models {
		rotations := map[string]books{} // by item
		own := map[string]bool{}
		for _, a := range known[i] {
			if strings.HasPrefix(a.condition, "OPT-ROTATE") {
				rotations[a.item.ID] = append(rotations[a.item.ID], a)
				own[a.item.ID] = right(a.item, a.before.Final)
			}
		}
		every := 0
		for id, list := range rotations {
			if len(list) != len(list[0].item.Options)-1 {
				t.Errorf("%d rotations of %d options", len(list), len(list[0].item.Options))
			}
			if own[id] && !slices.ContainsFunc(list, func(a answered) bool { return !right(a.item, a.entry.Final) }) {
				every++
			}
		}
		want := 100 * float64(every) / float64(len(rotations))
		if e := score.FindEstimate(table("qa-options"), "every", m.name, "answer", "rotated"); e.Value == nil || math.Abs(*e.Value-want) > exactly || e.N != len(rotations) {
			t.Errorf("%s in every order: %+v, the ledger says %v of %d", m.name, e, want, len(rotations))
		}
		exact++
	}
	t.Logf("%d values equal the ledger; honest moved under %d conditions", exact, moved["honest"])
	if moved["honest"] < 8 {
		t.Errorf("an honest reader is moved under %d conditions", moved["honest"])
	}
}
