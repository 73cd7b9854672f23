package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/harness/dataset"
	"assay/perturb"
	"assay/results/text"
)

// However options are shown, the gold answer names the same ones; every option is there once,
// and letters stay in their places.
func TestGoldAnswersFollowTheirOptions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "options")
		labelled := rapid.Bool().Draw(t, "labelled")
		it := dataset.Item{ID: rapid.String().Draw(t, "id"), Question: "Which?", Type: text.Single}
		for i := range n {
			o := dataset.Option{Text: fmt.Sprint("finding ", i)}
			if labelled {
				o.Label = string(rune('A' + i))
			}
			it.Options = append(it.Options, o)
		}
		gold := rapid.IntRange(0, n-1).Draw(t, "gold")
		it.Answer = it.Options[gold].Text
		want := []string{it.Options[gold].Text}
		if labelled {
			it.Answer = it.Options[gold].Label
			if rapid.Bool().Draw(t, "several") {
				it.Type = text.Multiple
				other := (gold + 1) % n
				it.Answer += ", " + it.Options[other].Label
				want = append(want, it.Options[other].Text)
			}
		}
		c := perturb.Condition{Options: rapid.SampledFrom([]string{OptionsRotated, OptionsShuffled, OptionsLettered, OptionsMore}).Draw(t, "shown"), Draw: rapid.IntRange(1, n-1).Draw(t, "draw")}
		seen := Seen(it, c)
		var got, shown []string
		for i, o := range seen.Options {
			if slices.Contains(strings.Split(seen.Answer, ", "), o.Label) && o.Label != "" || seen.Answer == o.Text {
				got = append(got, o.Text)
			}
			if o.Text != noneOfThese {
				shown = append(shown, o.Text)
				if c.Options != OptionsLettered && o.Label != it.Options[i].Label {
					t.Errorf("place %d is called %q, was %q", i, o.Label, it.Options[i].Label)
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: gold answer %q of %+v names %q, was %q of %+v", c, seen.Answer, seen.Options, got, it.Answer, it.Options)
		}
		moved := !slices.Equal(shown, texts(it))
		slices.Sort(shown)
		if len(shown) != n || len(slices.Compact(shown)) != n {
			t.Errorf("options %q of %d", shown, n)
		}
		if orders := c.Options == OptionsRotated || c.Options == OptionsShuffled; moved != orders {
			t.Errorf("%s: in another order: %v", c.Options, moved)
		}
		if len(seen.Options) != n && c.Options != OptionsMore || it.Options[0].Text != "finding 0" {
			t.Errorf("%d options of %d, the item itself has %+v", len(seen.Options), n, it.Options)
		}
	})
}

func TestOtherSides(t *testing.T) {
	for s, want := range map[string]string{
		"Is it on the left?": "Is it on the right?",
		"On which side is it worse: right, left, same or none?": "On which side is it worse: right, left, same or none?",
		"LEFT lung, Right lung":                                 "RIGHT lung, Left lung",
		"left or right":                                         "left or right",
		"Is the left larger than the right?":                    "Is the right larger than the left?",
		"rightmost, bright":                                     "leftmost, bright",
	} {
		if got := OtherSides(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	it := dataset.Item{Question: "Which side?", Options: []dataset.Option{{Text: "Left"}, {Text: "Right"}, {Text: "Neither"}}, Answer: "Left", Also: []string{"Neither"}}
	seen := Seen(it, perturb.Condition{Mirror: true})
	if seen.Answer != "Right" || seen.Also[0] != "Neither" || seen.Options[0].Text != "Right" || it.Options[0].Text != "Left" {
		t.Errorf("%+v", seen)
	}
}

// Words change, the letters of each stay, and all models see the same.
func TestTypos(t *testing.T) {
	const question = "Which finding is shown by the radiograph of this patient, and where is it?"
	it := dataset.Item{ID: "a", Question: question}
	c := perturb.Condition{Words: perturb.WordsTypos}
	got := Seen(it, c).Question
	was, is := strings.Fields(question), strings.Fields(got)
	changed := 0
	for i, w := range is {
		a, b := []rune(w), []rune(was[i])
		if slices.Equal(a, b) {
			continue
		}
		changed++
		if a[0] != b[0] || a[len(a)-1] != b[len(b)-1] {
			t.Errorf("%q of %q: the ends stay", w, was[i])
		}
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%q of %q", w, was[i])
		}
	}
	if changed != 2 || got != Seen(it, c).Question {
		t.Errorf("%d words changed in %q", changed, got)
	}
	if got := Seen(it, perturb.Condition{Words: perturb.WordsUpper}).Question; got != strings.ToUpper(question) {
		t.Error(got)
	}
}

func texts(it dataset.Item) (out []string) {
	for _, o := range it.Options {
		out = append(out, o.Text)
	}
	return out
}
