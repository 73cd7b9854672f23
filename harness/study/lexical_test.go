package study

import (
	"assay/harness/judge"
	"testing"

	"assay/harness/dataset"
	"assay/results/text"
)

func sidesOfChest() []dataset.Option {
	return []dataset.Option{{Label: "A", Text: "Left"}, {Label: "B", Text: "Right"}, {Label: "C", Text: "Both sides"}}
}

func TestCompare(t *testing.T) {
	diseases := []dataset.Option{{Label: "A", Text: "Pleural effusion"}, {Label: "B", Text: "Pneumonia"}, {Label: "C", Text: "Pneumothorax"}, {Label: "D", Text: "Effusion"}}
	grades := []dataset.Option{{Label: "1", Text: "mild"}, {Label: "2", Text: "moderate"}, {Label: "3", Text: "severe"}}
	yesNo := []dataset.Option{{Label: "A", Text: "True"}, {Label: "B", Text: "False"}}
	// A question that offers a text twice: whoever says it is right, whichever letter the gold has.
	twice := []dataset.Option{{Label: "A", Text: "Left"}, {Label: "B", Text: "Right"}, {Label: "C", Text: "left "}}
	signs := []dataset.Option{{Label: "A", Text: "T2 +"}, {Label: "B", Text: "T2 -"}}
	for _, c := range []struct {
		kind    string
		options []dataset.Option
		gold    string
		given   string
		want    string
	}{
		{text.Single, twice, "C", "Left", Correct},
		{text.Single, twice, "C", "A", Correct},
		{text.Single, twice, "C", "C. left", Correct},
		{text.Single, twice, "A", "Final answer: C", Correct},
		{text.Single, twice, "C", "B", Incorrect},
		{text.Single, twice, "C", "C. Right", NoAnswer},
		{text.Single, signs, "A", "B", Incorrect},
		{text.Single, []dataset.Option{{Label: "A"}, {Label: "B"}}, "A", "B", Incorrect},
		{text.Single, sidesOfChest(), "A", "A", Correct},
		{text.Single, sidesOfChest(), "A", "a left-sided effusion", Correct},
		{text.Single, sidesOfChest(), "A", "A.", Correct},
		{text.Single, sidesOfChest(), "A", "(A)", Correct},
		{text.Single, sidesOfChest(), "A", "**A**", Correct},
		{text.Single, sidesOfChest(), "A", "A) Left", Correct},
		{text.Single, sidesOfChest(), "A. Left", "Option A", Correct},
		{text.Single, sidesOfChest(), "Left", "A", Correct},
		{text.Single, sidesOfChest(), "A", "Left", Correct},
		{text.Single, sidesOfChest(), "A", "The left.", Correct},
		{text.Single, sidesOfChest(), "A", "It is not the right but the left.", Correct},
		{text.Single, sidesOfChest(), "A", "B", Incorrect},
		{text.Single, sidesOfChest(), "A", "Right", Incorrect},
		{text.Single, sidesOfChest(), "C", "both sides", Correct},
		{text.Single, sidesOfChest(), "A", "A and B", NoAnswer},
		{text.Single, sidesOfChest(), "A", "left or right", NoAnswer},
		{text.Single, sidesOfChest(), "A", "A. Right", NoAnswer},
		{text.Single, sidesOfChest(), "A", "E", Incorrect},
		{text.Single, sidesOfChest(), "A", "A fluid level is seen.", NoAnswer},
		{text.Single, sidesOfChest(), "A", "I cannot tell.", NoAnswer},
		{text.Single, sidesOfChest(), "A", "", NoAnswer},
		{text.Single, sidesOfChest(), "A", " \n ", NoAnswer},
		{text.Single, sidesOfChest(), "B", "The left side is clear.\nFinal answer: B", Correct},
		{text.Single, sidesOfChest(), "B", "Answer: A?\nNo, wait.\n**Final answer:** (B) Right", Correct},
		{text.Single, sidesOfChest(), "B", "So the answer is B.", Correct},
		{text.Single, sidesOfChest(), "B", "1. The right side is white.\n2. So it is B", Correct},
		{text.Single, sidesOfChest(), "B", "It is white.\nThe right", Correct},
		{text.Single, sidesOfChest(), "B", "<answer>B</answer> although A", Correct},
		{text.Single, sidesOfChest(), "B", `{"answer": "B"}`, Correct},
		{text.Single, diseases, "A", "Pleural effusion", Correct},
		{text.Single, diseases, "D", "Pleural effusion", Incorrect},
		{text.Single, diseases, "D", "Effusion", Correct},
		{text.Single, grades, "2", "Answer: 2. moderate", Correct},
		{text.Single, grades, "2", "3", Incorrect},
		{text.Multiple, grades, "1, 3", "1 and 3", Correct},
		{text.Multiple, diseases, "A, C", "A, C", Correct},
		{text.Multiple, diseases, "A, C", "C and A", Correct},
		{text.Multiple, diseases, "A, C", "AC", Correct},
		{text.Multiple, diseases, "A, C", "A. Pleural effusion, C. Pneumothorax", Correct},
		{text.Multiple, diseases, "AC", "Pneumothorax and pleural effusion", Correct},
		{text.Multiple, diseases, "A, C", "A", Incorrect},
		{text.Multiple, diseases, "A, C", "A, B, C", Incorrect},
		{text.Multiple, diseases, "A, C", "all of it", NoAnswer},
		{text.Bool, nil, "True", "True", Correct},
		{text.Bool, nil, "True", "true.", Correct},
		{text.Bool, nil, "Yes", "The statement is correct", Correct},
		{text.Bool, nil, "False", "Not true.", Correct},
		{text.Bool, nil, "False", "It isn't true", Correct},
		{text.Bool, nil, "False", "No, there is an effusion.", Correct},
		{text.Bool, nil, "True", "True. There is no effusion.", Correct},
		{text.Bool, nil, "True", "The statement is not false.", Correct},
		{text.Bool, nil, "True", "False", Incorrect},
		{text.Bool, nil, "True", "It may be true or false.", NoAnswer},
		{text.Bool, nil, "True", "There is no effusion.", NoAnswer},
		{text.Bool, yesNo, "A", "True", Correct},
		{text.Bool, yesNo, "B", "B", Correct},
		{text.Bool, yesNo, "True", "B", Incorrect},
		{text.Short, nil, "CT angiography", "CT angiography", Correct},
		{text.Short, nil, "CT angiography", "The next examination is a CT angiography.", Correct},
		{text.Short, nil, "CT angiography", "MRI", Incorrect},
		{text.Short, nil, "CT angiography", "CT, MRI, radiograph, ultrasound, angiography, biopsy, PET or endoscopy of the chest", Incorrect},
		{text.Short, nil, "moderate", "Moderate", Correct},
		{text.Short, nil, "moderate", "a moderate effusion", Correct},
		{text.Short, nil, "moderate", "moderate to severe", Incorrect},
		{text.Short, nil, "enlarged", "massively enlarged", Incorrect},
		{text.Short, nil, "left pleural effusion", "right pleural effusion", Incorrect},
		{text.Short, nil, "left pleural effusion", "no left pleural effusion", Incorrect},
		{text.Short, nil, "3", "three", Correct},
		{text.Short, nil, "3", "There are 3 of them", Correct},
		{text.Short, nil, "3", "4", Incorrect},
		{text.Short, nil, "1", "one", Correct},
		{text.Short, nil, "no device", "there is no device", Correct},
		{text.Short, nil, "no device", "a device", Incorrect},
	} {
		got, quote, err := Compare(c.kind, c.options, c.gold, c.given)
		if err != nil || got != c.want {
			t.Errorf("%s, gold %q, given %q: %s (read %q), %v; want %s", c.kind, c.gold, c.given, got, quote, err, c.want)
		}
		if got != NoAnswer && !text.Occurs(quote, c.given) {
			t.Errorf("given %q: the quote %q does not stand in it", c.given, quote)
		}
	}
	for _, c := range []struct{ kind, gold string }{{text.Single, "E"}, {text.Single, "left or right"}, {text.Bool, "maybe"}, {text.Short, " "}} {
		if v, _, err := Compare(c.kind, sidesOfChest(), c.gold, "A"); err == nil {
			t.Errorf("gold %q of type %s gives %s", c.gold, c.kind, v)
		}
	}
}

// TestAnyOfSeveral: of several gold answers whichever a text names is right, and none else.
func TestAnyOfSeveral(t *testing.T) {
	item := dataset.Item{Question: "Which examination?", Answer: "CT", Also: []string{"computed tomography", "CTA"}}
	one := dataset.Item{Question: "Which?", Answer: "C", Also: []string{"A"}}
	for _, c := range []struct {
		it          dataset.Item
		kind, given string
		want        string
	}{
		{item, text.Short, "CT", Correct}, {item, text.Short, "computed tomography", Correct}, {item, text.Short, "Final answer: CTA", Correct}, {item, text.Short, "MRI", Incorrect}, {item, text.Short, "", NoAnswer},
		{one, text.Single, "A", Correct}, {one, text.Single, "Both sides", Correct}, {one, text.Single, "B", Incorrect},
	} {
		var options []dataset.Option
		if c.kind == text.Single {
			options = sidesOfChest()
		}
		f := NewAccuracyCase(c.it, c.kind, options, c.given)
		v, why, ok := rules(f)
		if said, _ := v.(verdict); !ok || said.Verdict != c.want {
			t.Errorf("%q of %s: %+v, %s; want %s", c.given, f.Gold, v, why, c.want)
		}
		if answer, golds := texts(judge.Case{Rubric: RubricAccuracy, Fields: f}); c.given == "CT" && (answer != "CT" || len(golds) != 3) {
			t.Errorf("a measure of texts compares %q with %q", answer, golds)
		}
	}
}
