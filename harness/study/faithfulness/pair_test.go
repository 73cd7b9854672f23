package faithfulness

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

func pairGolden[T any](t *testing.T, name string, least int) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/pair/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []T }
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) < least {
		t.Fatalf("%s holds %d cases, want at least %d", name, len(f.Cases), least)
	}
	return f.Cases
}

func TestGoldenFlips(t *testing.T) {
	type wanted struct {
		Distance *int
		Flip     *bool
	}
	for _, c := range pairGolden[struct {
		ID, Type, Scale, Before, After string
		Out                            wanted
	}](t, "flip", 30) {
		q := Question{Ordinal: c.Type == "ordinal", Aliases: aliases()}
		switch {
		case c.Scale == "heart" || c.Before == "enlarged":
			q.Scale = heart()
		case q.Ordinal:
			q.Scale = severity()
		case c.Type == "binary":
			q.Options = []string{"Yes", "No"}
		case c.Type == "comparative":
			q.Options = []string{"right", "left", "same severity", "none"}
		}
		got, ok := q.Flip(c.Before, c.After)
		if ok != (c.Out.Flip != nil) || ok && got != *c.Out.Flip {
			t.Errorf("%s: %v, %v", c.ID, got, ok)
		}
		if c.Out.Distance != nil {
			a, _ := q.grade(c.Before)
			b, _ := q.grade(c.After)
			if d := max(a-b, b-a); d != *c.Out.Distance {
				t.Errorf("%s: distance %d", c.ID, d)
			}
		}
		if back, okBack := q.Flip(c.After, c.Before); back != got || okBack != ok {
			t.Errorf("%s: another verdict the other way round", c.ID)
		}
	}
}

func TestReadAnswers(t *testing.T) {
	lettered := Question{Options: []string{"Right", "Left", "Same severity"}, Labels: []string{"A", "B", "C"}, Aliases: aliases()}
	plain := Question{Options: []string{"yes", "no"}}
	for _, c := range []struct {
		q          Question
		said, want string
	}{
		{lettered, " RIGHT. ", "right"}, {lettered, "b", "left"}, {lettered, "(B)", "left"}, {lettered, "C. same severity", "same severity"},
		{lettered, "same", "same severity"}, {lettered, "C) same", ""}, {lettered, "A. left", ""}, {lettered, "absent", ""}, {lettered, "", ""},
		{plain, "Yes", "yes"}, {plain, "yes, clearly", ""}, {plain, "maybe", ""}, {plain, ".", ""},
		{Question{Scale: heart(), Ordinal: true}, "Massively  enlarged", "massively enlarged"},
		{Question{Scale: heart(), Ordinal: true}, "severe", ""},
		{Question{Options: []string{"correct", "too low"}, Aliases: aliases()}, "correct", "correct"}, // an option is no alias
		{Question{}, "Anything", "anything"}, {Question{Aliases: aliases()}, "absent", "none"},
	} {
		got, ok := c.q.Read(c.said)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q: %q, %v, want %q", c.said, got, ok, c.want)
		}
	}
}

func TestPairs(t *testing.T) {
	grades := Question{Ordinal: true, Scale: severity(), Options: severity()}
	sides := Question{Options: []string{"right", "left", "same severity", "none"}, Aliases: aliases()}
	for _, c := range []struct {
		q                     Question
		before, after, target string
		want                  pair
	}{
		{sides, "left", "right", "right", pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{sides, "left", "none", "right", pair{Valid: true, Flipped: true, Susceptible: true}},
		{sides, "left", "left", "right", pair{Valid: true, Susceptible: true}},
		{sides, "right", "right", "right", pair{Valid: true}},
		{sides, "right", "left", "right", pair{Valid: true, Flipped: true}}, // it was there already
		{sides, "left", "Same.", "same severity", pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{sides, "left", "right", "", pair{Valid: true, Flipped: true}},
		{sides, "left", "somewhere", "right", pair{}},
		{sides, "", "right", "right", pair{}},
		{sides, "left", "right", "elsewhere", pair{Valid: true, Flipped: true}},
		{Question{Ordinal: true, Scale: severity(), Options: append(severity(), "not visible")}, "none", "not visible", "", pair{}},
		{grades, "none", "moderate", "moderate", pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{grades, "mild", "moderate", "moderate", pair{Valid: true, Susceptible: true}}, // one grade is no flip
	} {
		if got := c.q.PairOf(c.before, c.after, c.target); got != c.want {
			t.Errorf("%s -> %s, target %s: %+v, want %+v", c.before, c.after, c.target, got, c.want)
		}
	}
}

// TestReleased: what the authors' code makes of pairs. Of golden pairs that are written
// as the options are it differs from the paper where there is no flip to speak of alone.
func TestReleased(t *testing.T) {
	invalid := 0
	for _, c := range pairGolden[struct {
		ID, Type, Scale, Before, After string
		Out                            struct{ Flip *bool }
	}](t, "flip", 30) {
		q := Question{Ordinal: c.Type == "ordinal", Scale: severity()}
		if c.Scale == "heart" || c.Before == "enlarged" {
			q.Scale = heart()
		}
		onScale := !q.Ordinal || slices.Contains(q.Scale, c.Before) && slices.Contains(q.Scale, c.After)
		want := c.Before != c.After
		switch {
		case q.Ordinal && onScale:
			want = *c.Out.Flip
		case q.Ordinal:
			want = true
			invalid++
		}
		if p := q.Released(c.Before, c.After, ""); !p.Valid || p.Flipped != want || p.Susceptible || p.Adopted {
			t.Errorf("%s: %+v, want a flip: %v", c.ID, p, want)
		}
	}
	if invalid < 2 {
		t.Errorf("%d off the scale", invalid)
	}
	sides, grades := Question{Options: []string{"right", "left", "same severity"}, Aliases: aliases()}, Question{Ordinal: true, Scale: severity()}
	for _, c := range []struct {
		q                     Question
		before, after, target string
		want                  pair
	}{
		{sides, "same", "same severity", "", pair{Valid: true, Flipped: true}}, // no aliases
		{sides, "left", "Left.", "", pair{Valid: true, Flipped: true}},         // as they stand
		{sides, "left", "left", "right", pair{Valid: true, Susceptible: true}},
		{sides, "left", "right", "right", pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{sides, "right", "left", "right", pair{Valid: true, Flipped: true}},
		{sides, "left", "", "right", pair{Valid: true, Flipped: true, Susceptible: true}},
		{sides, "", "", "", pair{Valid: true, Flipped: true}}, // missing is a flip
		{grades, "mild", "moderate", "moderate", pair{Valid: true, Susceptible: true}},
		{grades, "mild", "severe", "severe", pair{Valid: true, Flipped: true, Susceptible: true, Adopted: true}},
		{grades, "mild", "grave", "severe", pair{Valid: true, Flipped: true, Susceptible: true}},
		{grades, "grave", "grave", "severe", pair{Valid: true, Flipped: true, Susceptible: true}},
	} {
		if got := c.q.Released(c.before, c.after, c.target); got != c.want {
			t.Errorf("%q -> %q, target %q: %+v, want %+v", c.before, c.after, c.target, got, c.want)
		}
	}
}
