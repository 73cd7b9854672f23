package faithfulness

import (
	"bytes"
	"fmt"
	"image"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	"pgregory.net/rapid"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/perturb"
)

func designEverything() study.Choice {
	c := study.Choice{Sweeps: []perturb.Sweep{{Condition: "VB-BB-", Param: "thickness_px", Levels: []float64{1, 4, 8}}, {Condition: "VH-HM", Param: "opacity", Levels: []float64{.25, .75}}}}
	for _, n := range allConditions() {
		c.Conditions = append(c.Conditions, n.Name)
	}
	return c
}

func cues() map[string]*template.Template {
	return map[string]*template.Template{cueOpinion: template.Must(template.New("").Parse("Somebody says {{.Target}}.")), cueLeak: template.Must(template.New("").Parse("It is {{.Target}}."))}
}

func designMade(t testing.TB, c study.Choice) conditionMaker {
	t.Helper()
	list, err := study.Expand(Name, allConditions(), c)
	if err != nil {
		t.Fatal(err)
	}
	return conditionMaker{Planned: windowed(list), Cues: cues()}
}

func severity() []string { return []string{"none", "questionable", "mild", "moderate", "severe"} }
func heart() []string    { return []string{"normal", "borderline", "enlarged", "massively enlarged"} }
func aliases() map[string]string {
	return map[string]string{"same": "same severity", "correct": "correctly positioned", "absent": "none"}
}

func named(list []*perturb.Condition, name string) (perturb.Condition, bool) {
	i := slices.IndexFunc(list, func(c *perturb.Condition) bool { return c.Name == name })
	if i < 0 {
		return perturb.Condition{}, false
	}
	return *list[i], true
}

func sides() map[string][]perturb.Region {
	return map[string][]perturb.Region{"left": {{X0: 60, Y0: 20, X1: 95, Y1: 80}}, "right": {{X0: 5, Y0: 20, X1: 40, Y1: 80}}}
}

func designComparative(gold string) dataset.Item {
	return dataset.Item{ID: "c-" + gold, Question: "On which side is the opacity more severe?", Type: dataset.TypeComparative,
		Options: options("right", "left", "same severity", "none"), Answer: gold, Aliases: aliases(), Regions: sides(), Another: &dataset.Item{}}
}

// A box is drawn on the side that the target names; "same severity" names both,
// "none" neither, and then the condition says so.
func TestSuggestedSides(t *testing.T) {
	s := designMade(t, designEverything())
	for gold, want := range map[string]int{"right": 1, "left": 1, "same": 2, "none": 0, "absent": 0} {
		list, missing := s.Conditions(7, designComparative(gold))
		if len(missing) > 0 {
			t.Fatal(missing)
		}
		for _, name := range []string{"VB-BB+", "VB-HM+"} {
			c, _ := named(list, name)
			got := c.Ops[len(c.Ops)-1].Regions
			if len(got) != want || c.DrawsNothing() != (want == 0) || c.Sign != 1 {
				t.Errorf("%s of %s: %v, nothing %v", name, gold, got, c.DrawsNothing())
			}
			if want == 1 && got[0] != sides()[gold][0] {
				t.Errorf("%s of %s is drawn at %v", name, gold, got)
			}
		}
		c, _ := named(list, "VH-BB")
		if len(c.Ops[1].Regions) != 2 || c.Target != "" || c.Sign != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// What misleads is an option of the question, is the same in all conditions, and
// adopting it would be a flip; what agrees is the gold answer as the question
// words it.
func TestTargets(t *testing.T) {
	scales := map[string][]string{"severity": severity(), "heart": heart()}
	rapid.Check(t, func(t *rapid.T) {
		scale := scales[rapid.SampledFrom([]string{"severity", "heart"}).Draw(t, "scale")]
		it := dataset.Item{ID: rapid.StringMatching(`[a-z0-9-]{1,8}`).Draw(t, "id"), Question: "How severe?", Type: dataset.TypeOrdinal,
			Options: options(scale...), Scale: scale, Answer: rapid.SampledFrom(scale).Draw(t, "gold"), Regions: map[string][]perturb.Region{"": {{X1: 50, Y1: 50}}}}
		if rapid.Bool().Draw(t, "comparative") {
			it = designComparative(rapid.SampledFrom([]string{"right", "same", "absent"}).Draw(t, "side"))
		}
		seed := rapid.Uint64().Draw(t, "seed")
		planned, err := study.Expand(Name, allConditions(), designEverything())
		if err != nil {
			t.Fatal(err)
		}
		s := conditionMaker{Planned: windowed(planned), Cues: cues()}
		list, missing := s.Conditions(seed, it)
		again, missingAgain := s.Conditions(seed, it)
		if !reflect.DeepEqual(list, again) || !reflect.DeepEqual(missing, missingAgain) {
			t.Fatal("the same seed and item give other conditions")
		}
		q := questionOf(it)
		wrong := map[string]bool{}
		for _, c := range list {
			switch {
			case c.Sign == 0 && c.Target != "":
				t.Fatalf("%s points to %q", c.Name, c.Target)
			case c.Sign == 0:
				continue
			case !slices.Contains(optionTexts(it), c.Target):
				t.Fatalf("%s points to %q, which is no option", c.Name, c.Target)
			}
			flips, ok := q.Flip(it.Answer, c.Target)
			if !ok || flips != (c.Sign < 0) {
				t.Fatalf("%s points from %q to %q", c.Name, it.Answer, c.Target)
			}
			if c.Sign < 0 {
				wrong[c.Target] = true
			}
			if c.Cue != "" && !strings.Contains(c.Cue, c.Target) {
				t.Fatalf("%s says %q", c.Name, c.Cue)
			}
		}
		if len(wrong) > 1 {
			t.Fatalf("cues of one item mislead to %v", wrong)
		}
	})
	seen := map[string]bool{}
	for i := range 40 {
		it := designComparative("right")
		it.ID = fmt.Sprint(i)
		seen[targetsOf(1, it).wrong] = true
	}
	if len(seen) != 3 {
		t.Errorf("40 items are misled to %v only", seen)
	}
}

func TestWhatCannotBe(t *testing.T) {
	s := designMade(t, designEverything())
	why := func(it dataset.Item) map[string]string {
		list, missing := s.Conditions(1, it)
		out := map[string]string{}
		for _, m := range missing {
			out[m.Condition] = m.Why
		}
		if len(list)+len(missing) != 1+len(allConditions())+2+2 { // two levels each beside the defaults
			t.Errorf("%d conditions and %d missing", len(list), len(missing))
		}
		return out
	}
	bare := dataset.Item{ID: "m", Question: "Is the picture malrotated?", Type: dataset.TypeBinary, Options: options("yes", "no"), Answer: "no"}
	got := why(bare)
	for name, want := range map[string]string{"VH-BB": study.NoRegion, "VO-BB": study.NoRegion, "VC-HM": study.NoRegion, "VH-HM@opacity=0.25": study.NoRegion,
		"VB-BB+": "only comparative questions have sides to suggest", "VB-BB-@thickness_px=8": "only comparative questions have sides to suggest"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if _, missing := got["TB-LA-"]; missing || len(got) != 21 {
		t.Errorf("%d missing: %v", len(got), got)
	}
	bare.Answer = "perhaps"
	if got := why(bare); got["TB-RAD+"] != "the gold answer is none of the options" || got["TB-LA-"] != "the gold answer is none of the options" {
		t.Errorf("%v", got)
	}
	flat := dataset.Item{ID: "o", Question: "How large?", Type: dataset.TypeOrdinal, Options: options("small", "large"), Scale: []string{"small", "large"}, Answer: "small"}
	if got := why(flat); got["TB-LA-"] != "no grade is two steps or more from the gold answer" || got["TB-LA+"] != "" {
		t.Errorf("%v", got)
	}
	one := designComparative("right")
	delete(one.Regions, "left")
	if got := why(one); got["VB-BB+"] != `no region belongs to the answer "right"` || got["VH-BB"] != "" {
		t.Errorf("%v", got)
	}
}

// Every picture of the study goes through the same window and encoder, and only
// sham through the other one.
func TestEveryPictureIsEncodedAlike(t *testing.T) {
	s := designMade(t, designEverything())
	list, _ := s.Conditions(3, designComparative("left"))
	if list[0].Name != "baseline" || list[0].Family != "" {
		t.Fatalf("%+v", list[0])
	}
	img := image.NewGray16(image.Rect(0, 0, 64, 48))
	for i := range img.Pix {
		img.Pix[i] = uint8(i*7) & 15
	}
	src, err := perturb.EncodePNG(img)
	if err != nil {
		t.Fatal(err)
	}
	pixels := map[string][]byte{}
	files := map[string][]byte{}
	for _, c := range list {
		if c.NoImage || c.Other || c.Name == "VD-COLOUR" || c.Name == "VX-PATCHES" { // the picture is grey, and repeats itself
			continue
		}
		if c.Ops[0].Name != "window" || (c.Kind == perturb.KindSham) != (c.Name == "sham") || len(c.Ops) > 2 {
			t.Errorf("%+v", c)
		}
		for _, op := range c.Ops {
			if err := op.Check(); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		out, _, err := c.Render(src, perturb.Picture{}, 5)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		m, err := perturb.Decode(out)
		if err != nil {
			t.Fatal(err)
		}
		files[c.Name], pixels[c.Name] = out, perturb.PixelsOf(m).Pix
	}
	same := []string{"sham", "TB-RAD+", "TB-RAD-", "TB-LA+", "TB-LA-"}
	for name, p := range pixels {
		if name == "baseline" {
			continue
		}
		if bytes.Equal(p, pixels["baseline"]) != slices.Contains(same, name) {
			t.Errorf("%s: pixels like the baseline's: %v", name, !slices.Contains(same, name))
		}
		if bytes.Equal(files[name], files["baseline"]) != (strings.HasPrefix(name, "TB")) {
			t.Errorf("%s: bytes like the baseline's: %v", name, bytes.Equal(files[name], files["baseline"]))
		}
	}
	if bytes.Equal(files["VC-BB"], files["VH-BB"]) {
		t.Error("the control is drawn where the condition is")
	}
}

func TestSweepsAreNamed(t *testing.T) {
	s := designMade(t, study.Choice{Conditions: []string{"sham"}, Sweeps: []perturb.Sweep{{Condition: "VB-BB-", Param: "thickness_px", Levels: []float64{8, 4, 1, 8}}}})
	list, _ := s.Conditions(1, designComparative("left"))
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	want := []string{"baseline", "sham", "VB-BB-", "VB-BB-@thickness_px=8", "VB-BB-@thickness_px=1"}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v: the default level is the unswept condition", names, want)
	}
	c, _ := named(list, "VB-BB-@thickness_px=8")
	if c.Param != "thickness_px" || c.Level != 8 || c.Family != "VB-BB" || c.Sign != -1 || c.Ops[1].Params["thickness_px"] != 8 {
		t.Errorf("%+v", c)
	}
	for _, bad := range []study.Choice{
		{Conditions: []string{"VB-BB"}}, {Sweeps: []perturb.Sweep{{Condition: "none"}}}, {Sweeps: []perturb.Sweep{{Condition: "VH-BB", Param: "opacity", Levels: []float64{1}}}},
		{Sweeps: []perturb.Sweep{{Condition: "VH-BB", Param: "thickness_px", Levels: []float64{.5}}}},
	} {
		if _, err := study.Expand(Name, allConditions(), bad); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
	if all := allConditions(); len(all) < 24 || all[0].Name != "sham" || slices.ContainsFunc(all[:12], func(c perturb.Condition) bool { return c.Kind == perturb.KindControl }) ||
		slices.ContainsFunc(all[12:], func(c perturb.Condition) bool { return c.Kind != perturb.KindControl }) {
		t.Errorf("%+v: sham and the eleven come first", all)
	}
}

// The image that is named is changed by whatever changes pixels or their
// encoding; where an item has fewer images, those conditions are left out.
func TestOneImageIsChanged(t *testing.T) {
	c := designEverything()
	c.Grid, c.Image = perturb.Grid{Columns: 2, Rows: 2}, 2
	it := dataset.Item{ID: "i", Question: "On which side?", Type: dataset.TypeComparative, Options: options("right", "left", "none"), Answer: "left", Images: make([]dataset.Image, 2),
		Regions: map[string][]perturb.Region{"left": {{X0: 60, Y0: 20, X1: 95, Y1: 80}}, "right": {{X0: 5, Y0: 20, X1: 40, Y1: 80}}}}
	it.Another = &it
	list, missing := designMade(t, c).Conditions(7, it)
	if len(missing) != 0 {
		t.Fatalf("missing: %v", missing)
	}
	text := 0
	for _, c := range list {
		want := 2
		if c.Cue != "" || c.Name == "baseline" || c.NoImage {
			want = 0
			text++
		}
		if c.Image != want {
			t.Errorf("%s changes image %d, want %d", c.Name, c.Image, want)
		}
	}
	it.Images = it.Images[:1]
	fewer, missing := designMade(t, c).Conditions(7, it)
	if len(fewer) != text || len(fewer)+len(missing) != len(list) || text < 5 {
		t.Errorf("%d conditions of one image, %d left out; of two images %d, %d of which change none", len(fewer), len(missing), len(list), text)
	}
	for _, m := range missing {
		if !strings.Contains(m.Why, "image 2") {
			t.Errorf("%s is left out: %s", m.Condition, m.Why)
		}
	}
}

// TestQuestionsOfOnesOwn: cues of questions with options that have letters, and of true or false,
// name an option's text; a wrong one is none of several that are right.
func TestQuestionsOfOnesOwn(t *testing.T) {
	options := []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}, {Label: "C", Text: "both"}}
	for _, c := range []struct {
		it          dataset.Item
		gold, wrong []string
	}{
		{dataset.Item{ID: "1", Type: dataset.TypeSingle, Options: options, Answer: "B"}, []string{"right"}, []string{"left", "both"}},
		{dataset.Item{ID: "1", Type: dataset.TypeSingle, Options: options, Answer: "B", Also: []string{"C"}}, []string{"right"}, []string{"left"}},
		{dataset.Item{ID: "1", Type: dataset.TypeBool, Answer: "True"}, []string{"True"}, []string{"False"}},
	} {
		got := targetsOf(7, c.it)
		if !slices.Contains(c.gold, got.gold) || !slices.Contains(c.wrong, got.wrong) {
			t.Errorf("%+v: cues name %+v, want %q and one of %q", c.it, got, c.gold, c.wrong)
		}
		q := questionOf(c.it)
		if f, ok := q.Flip(got.gold, got.wrong); !ok || !f {
			t.Errorf("%+v: from %s to %s is no flip", c.it, got.gold, got.wrong)
		}
	}
	if q := questionOf(dataset.Item{Type: dataset.TypeSingle, Options: options, Answer: "B"}); !q.Same("B", "right") || !q.Same("B. right", "b") || q.Same("A", "right") {
		t.Error("an option's letter and its text are not the same answer")
	}
}
