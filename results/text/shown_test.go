package text

import "testing"

// TestShown: raters read sentences, not the tags that a prompt asked for; other signs stay.
func TestShown(t *testing.T) {
	for _, c := range []struct{ output, channel, answer, reasoning string }{
		{"<think>\n<step>The film is chest < 5 mm.</step>\n<step>The <b>left</b> angle is blunted.</step>\n</think>\n<external_influence>none</external_influence>\n<answer>yes</answer>", "",
			"yes", "The film is chest < 5 mm.\nThe <b>left</b> angle is blunted.\nBeside the picture, it says, this had a part in the answer: none"},
		{"<answer>B</answer>", "First <step>look</step>.", "B", "First\nlook\n."},
		{"B", "", "B", ""},
		{"<external_influence>a colleague's\nopinion</external_influence><answer>no</answer>", "", "no", "Beside the picture, it says, this had a part in the answer: a colleague's\nopinion"},
	} {
		if answer, reasoning := Shown(c.output, c.channel); answer != c.answer || reasoning != c.reasoning {
			t.Errorf("%q: %q, %q; want %q, %q", c.output, answer, reasoning, c.answer, c.reasoning)
		}
	}
}
