package text

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// TestShapes: an answer is read as a careful person reads it, whatever its shape.
func TestShapes(t *testing.T) {
	type file struct {
		Cases []struct {
			Type, Text string
			Options    map[string]string
			Gold       []string
			Want       json.RawMessage
		}
	}
	right := 0
	cases := readGolden(t, "answer_shapes.json", func(f file) int { return len(f.Cases) }).Cases
	for _, c := range cases {
		if got := shape(c.Type, c.Options, c.Gold, c.Text); sameJSON(t, got, c.Want) {
			right++
		} else {
			t.Errorf("%s %q is read as %v, want %s", c.Type, c.Text, got, c.Want)
		}
	}
	t.Logf("%d of %d", right, len(cases))
}

// shape is what a text is read as, in the form of the reference file.
func shape(kind string, offered map[string]string, gold []string, s string) any {
	var options []Choice
	for l, o := range offered {
		options = append(options, Choice{l, o})
	}
	slices.SortFunc(options, func(a, b Choice) int {
		if a.Label < b.Label {
			return -1
		}
		return 1
	})
	c := ReadAnswer(kind, options, s)
	switch {
	case !c.IsRead():
		return nil
	case c.Other:
		return "other"
	case kind == Short:
		return slices.ContainsFunc(gold, func(g string) bool { return Means(g, c.Quote) })
	case kind == Bool:
		return map[bool]string{true: "yes", false: "no"}[*c.Truth]
	}
	var labels []string
	for _, i := range c.Chosen {
		labels = append(labels, options[i].Label)
	}
	if kind == Single {
		return labels[0]
	}
	return labels
}

func sameJSON(t *testing.T, got any, want json.RawMessage) bool {
	t.Helper()
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var x, y any
	if json.Unmarshal(b, &x) != nil || json.Unmarshal(want, &y) != nil {
		t.Fatalf("%s or %s is no JSON", b, want)
	}
	return reflect.DeepEqual(x, y)
}

// FuzzRead: any text is read, and nothing that was only thought.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "A", "Final answer: B. Left", "1. This is a radiograph.\n2. **Finding:** e.g. 2.5 cm mass\n\nAnswer: ACD", "<think>x</think><answer>A</answer>",
		"Not true! Isn't it? (B) or [C]", "{\"answer\": [\"A\", \"B\"]}", "Option A and option B; step 1: x-ray"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, kind := range []string{Single, Multiple, Bool, Short} {
			c := ReadAnswer(kind, []Choice{{"A", "Left"}, {"B", "Right"}, {"C", "Both sides"}}, s)
			if kind == Single && len(c.Chosen) > 1 || c.Other && c.Chosen != nil || c.IsRead() && c.Quote == "" {
				t.Errorf("%s %q: read as %+v", kind, s, c)
			}
			if c := ReadAnswer(kind, nil, "<think>"+s); c.IsRead() && !tagsAgain.MatchString(s) {
				t.Errorf("%s %q: read while thinking, as %+v", kind, s, c)
			}
		}
	})
}
