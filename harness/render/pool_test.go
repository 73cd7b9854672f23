package render

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/harness/dataset"
	"assay/perturb"
)

func showing(can func(dataset.Item) (string, error)) Protocol {
	return Protocol{Name: "s", Arms: []Arm{{Name: "a", Example: can}, {Name: "b"}}}
}

func all(dataset.Item) (string, error) { return "x", nil }

// set is items by the pictures they show; those that share one, also by way of others,
// have one name for it, as data sets give it.
func set(shows ...[]string) []dataset.Item {
	var out []dataset.Item
	for i, sums := range shows {
		out = append(out, dataset.Item{ID: fmt.Sprint("i", i), Sums: sums})
	}
	for range out {
		for i := range out {
			for j := range out {
				if i != j && slices.ContainsFunc(named(&out[i]), func(s string) bool { return slices.Contains(named(&out[j]), s) }) {
					least := slices.Min(append(named(&out[i]), named(&out[j])...))
					out[i].Picture, out[j].Picture = least, least
				}
			}
		}
	}
	return out
}

// No example shows anything of the question, whatever pictures items share; there are as
// many as were asked for, each once, and fewer are the first of more.
func TestNothingOfAQuestionIsAmongItsExamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		picture := rapid.StringMatching(`[a-h]`)
		draw := func(name string, least int) []dataset.Item {
			return set(rapid.SliceOfN(rapid.SliceOfN(picture, 0, 3), least, 12).Draw(t, name)...)
		}
		questions := draw("questions", 1)
		examples := questions
		if rapid.Bool().Draw(t, "of another set") {
			examples = draw("examples", 0)
		}
		k := rapid.IntRange(1, 4).Draw(t, "shots")
		p, err := NewPool(PoolSource{Seed: rapid.Uint64().Draw(t, "seed"), Study: showing(all), Arms: []string{"a"}, Questions: questions, Examples: examples, Most: k})
		for i := range questions {
			it := &questions[i]
			got := p.For(it, k)
			if err == nil && len(got) != k {
				t.Fatalf("%s has %d examples of %d", it.ID, len(got), k)
			}
			for n, e := range got {
				if e == it || slices.ContainsFunc(e.Sums, func(s string) bool { return slices.Contains(it.Sums, s) }) || e.Picture != "" && e.Picture == it.Picture {
					t.Fatalf("%s %v is shown %s %v", it.ID, it.Sums, e.ID, e.Sums)
				}
				if slices.Contains(got[:n], e) {
					t.Fatalf("%s is shown %s twice", it.ID, e.ID)
				}
			}
			if less := p.For(it, k-1); !slices.Equal(less, got[:min(k-1, len(got))]) {
				t.Fatalf("%d examples are not the first of %d", k-1, k)
			}
		}
	})
}

// Every candidate is drawn about as often as every other: 4,000 items, 12 candidates, 3
// examples each; a candidate's count has mean 1,000 and standard deviation 27.
func TestDrawsAreEven(t *testing.T) {
	var questions, examples []dataset.Item
	for i := range 4000 {
		questions = append(questions, dataset.Item{ID: fmt.Sprint("q", i)})
	}
	for i := range 12 {
		examples = append(examples, dataset.Item{ID: fmt.Sprint("e", i)})
	}
	p, err := NewPool(PoolSource{Seed: 5, Study: showing(all), Arms: []string{"a"}, Questions: questions, Examples: examples, Most: 3})
	if err != nil {
		t.Fatal(err)
	}
	times, first := map[string]int{}, map[string]int{}
	for i := range questions {
		got := p.For(&questions[i], 3)
		first[got[0].ID]++
		for _, e := range got {
			times[e.ID]++
		}
	}
	for _, e := range examples {
		if math.Abs(float64(times[e.ID]-1000)) > 5*27 || math.Abs(float64(first[e.ID])-4000/12.) > 5*17.5 {
			t.Errorf("%s is drawn %d times, first %d times", e.ID, times[e.ID], first[e.ID])
		}
	}
	other, err := NewPool(PoolSource{Seed: 6, Study: showing(all), Arms: []string{"a"}, Questions: questions, Examples: examples, Most: 3})
	same := 0
	for i := range questions {
		if slices.Equal(p.For(&questions[i], 3), other.For(&questions[i], 3)) {
			same++
		}
	}
	if err != nil || same > 30 { // of 1,320 ways each
		t.Errorf("another seed draws the same for %d of 4,000; %v", same, err)
	}
}

// Too few examples are refused, with what is missing.
func TestTooFewExamples(t *testing.T) {
	questions := set([]string{"p"}, []string{"p"}, []string{"q"}, []string{"r"})
	questions[3].Answer = "none"
	can := func(it dataset.Item) (string, error) {
		if it.Answer == "none" {
			return "", errors.New("no gold answer")
		}
		return "x", nil
	}
	s := PoolSource{Study: showing(can), Arms: []string{"a"}, Questions: questions, Name: "mine", Examples: questions, Most: 2}
	_, err := NewPool(s)
	if err == nil || !strings.HasPrefix(err.Error(), "expected 2 examples that show nothing of the question, found 1 for item i0, and too few for 2 of 4 items, in data set mine, where 3 of 4 items can be examples; 1 have no gold answer; ") {
		t.Errorf("%v", err)
	}
	s.Most = 1
	if _, err := NewPool(s); err != nil {
		t.Error(err)
	}
	s.Arms = []string{"a", "b"}
	if _, err := NewPool(s); err == nil || !strings.Contains(err.Error(), "4 have no form in arm b") && !strings.Contains(err.Error(), "no form in arm b") {
		t.Errorf("%v", err)
	}
	var none *Pool
	if _, err := none.Of(&questions[0], &perturb.Condition{Kind: perturb.KindShots, Level: 1}); err == nil {
		t.Error("a nil pool gives examples")
	}
	base := perturb.Baseline()
	for _, c := range []*perturb.Condition{&base, nil} {
		if got, err := none.Of(&questions[0], c); err != nil || got != nil {
			t.Error(got, err)
		}
	}
}
