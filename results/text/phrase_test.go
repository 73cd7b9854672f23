package text

import (
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		said, want string
		like       Likeness
	}{
		{"The left costophrenic angle is blunted.", "Blunting of the left costophrenic angle", Same},
		{"The right costophrenic angle is blunted.", "Blunted left costophrenic angle", Against},
		{"The costophrenic angle is blunted.", "Blunted left costophrenic angle", Unrelated}, // silent about the side
		{"The costophrenic angles are blunted on both sides.", "Bilateral blunted costophrenic angles", Same},
		{"No blunting of the left costophrenic angle.", "Blunted left costophrenic angle", Against},
		{"The left costophrenic angle isn't blunted.", "Blunted left costophrenic angle", Against},
		{"There is no effusion.", "Pleural effusion is absent", Unrelated}, // half of the words
		{"A pleural effusion is ruled out.", "No pleural effusion", Same},
		{"Mild pleural effusion.", "A small pleural effusion", Same},
		{"Severe pleural effusion.", "A small pleural effusion", Against},
		{"Three rib fractures.", "3 rib fractures", Same},
		{"Two rib fractures.", "3 rib fractures", Against},
		{"A mass of 2.5 cm", "A mass of 2.5 cm", Same},
		{"The tube is wrongly placed.", "The tube is correctly placed.", Against},
		{"The heart is large.", "Blunted left costophrenic angle", Unrelated},
		{"On the left.", "Left", Same},
		{"On the right.", "Left", Unrelated},
		{"", "Left", Unrelated},
		{"Left", "", Unrelated},
		{"Bands cross the left zone, the other zone is free of bands.", "Bands cross the left zone", Same},
	} {
		if got := PhraseOf(c.said).Compare(PhraseOf(c.want)); got != c.like {
			t.Errorf("%q for %q: %d, want %d", c.said, c.want, got, c.like)
		}
	}
}

func TestStatements(t *testing.T) {
	got := Statements("The left side is white; the right side is clear, but the heart is not large;")
	if len(got) != 3 {
		t.Fatalf("%d statements: %+v", len(got), got)
	}
	for i, want := range []string{"left white side", "right clear side", "heart, no large"} {
		if c, w := got[i].Contents(), PhraseOf(want).Contents(); !slices.Equal(c, w) {
			t.Errorf("statement %d holds %v, want %v", i, c, w)
		}
	}
	if Statements(" ; but ") != nil {
		t.Error("nothing states something")
	}
}

func TestWords(t *testing.T) {
	want := []string{"the", "xray", "is", "not", "2.5", "cm", "wide", "|", "right", "sided", "|"}
	if got := Words("The X-ray isn't 2.5\u00a0cm wide, right-sided."); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSentences(t *testing.T) {
	in := "**Reasoning:**\n\n1. **Modality:** A chest X-ray. It is frontal.\n- Step 2: e.g. a mass of 2.5 cm, cf. Fig. 3 is seen!\n" +
		"### Key findings of this image:\n(3) Option B. Left is right?\n* 12\nno full stop"
	want := []string{"Modality: A chest X-ray.", "It is frontal.", "e.g. a mass of 2.5 cm, cf. Fig. 3 is seen!", "Option B. Left is right?", "no full stop"}
	if got := Sentences(in); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Sentences(" \n\n"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
