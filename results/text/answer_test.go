package text

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGoldenAnswers(t *testing.T) {
	type file struct {
		Cases []struct {
			ID, Text, Question string
			Out                struct {
				Upstream string `json:"upstream_answer"`
				Source   string
				Type     string
			}
		}
	}
	// Where our rule (metrics.md section 2.3) and the published code differ.
	differs := map[string]struct {
		text string
		from Source
	}{
		"answer-3":  {"", FromNowhere},       // an empty tag is no answer
		"answer-4":  {"", FromNowhere},       // the tag wins, and it is empty
		"answer-7":  {"", FromNowhere},       // a severity is not an answer
		"answer-10": {"right", FromTag},      // the last tag
		"answer-11": {"no", FromTag},         // outside <think>
		"answer-13": {"", FromNowhere},       // nothing is no answer
		"answer-9":  {"left", FromWhole},     // equals an option
		"answer-14": {"moderate", FromWhole}, // equals an option
		"answer-6":  {"No", FromJSON},
	}
	types := 0
	for _, c := range readGolden(t, "answers.json", func(f file) int { return len(f.Cases) }).Cases {
		if c.Out.Type != "" {
			types++
			if got := QuestionType(c.Question); got != c.Out.Type {
				t.Errorf("%s: %q is %s, want %s", c.ID, c.Question, got, c.Out.Type)
			}
			continue
		}
		want, from := c.Out.Upstream, Source(c.Out.Source)
		if d, ok := differs[c.ID]; ok {
			want, from = d.text, d.from
		}
		if got, at := Extract(c.Text, "Left", "Right", "moderate"); got != want || at != from {
			t.Errorf("%s: %q gives %q from %q, want %q from %q", c.ID, c.Text, got, at, want, from)
		}
	}
	if types == 0 {
		t.Error("the reference file holds no question types")
	}
}

// TestSplitOrNot: an output reads the same whether the server split it or not.
func TestSplitOrNot(t *testing.T) {
	for _, c := range []struct {
		name              string
		whole             string // as one text
		channel, rest     string // as the server splits it
		reasoning, answer string
		from              Source
	}{
		{"plain", "<think>The heart is wide.</think>\n<answer>Yes</answer>",
			"The heart is wide.", "<answer>Yes</answer>",
			"The heart is wide.", "Yes", FromTag},
		{"text beside the answer", "<think>\nLook left.\n</think>\n\nThe left is denser.\n<answer>left</answer>\nSure.",
			"Look left.\n", "\n\nThe left is denser.\n<answer>left</answer>\nSure.",
			"Look left.\nThe left is denser.\nSure.", "left", FromTag},
		{"no beginning: it stood in the prompt", "Look left.</think>It is <answer>left</answer>",
			"Look left.", "It is <answer>left</answer>",
			"Look left.\nIt is", "left", FromTag},
		{"no end: cut while thinking", "<think>Look left. <answer>right</answer>",
			"Look left. <answer>right</answer>", "",
			"Look left. <answer>right</answer>", "", FromNowhere},
		{"an answer tried while thinking", "<think>maybe <answer>yes</answer> no</think><answer>no</answer>",
			"maybe <answer>yes</answer> no", "<answer>no</answer>",
			"maybe <answer>yes</answer> no", "no", FromTag},
		{"json", "<think>a {\"answer\": \"B\"}</think>```json\n{\"why\": \"x\", \"answer\": \"A\"}\n```",
			"a {\"answer\": \"B\"}", "```json\n{\"why\": \"x\", \"answer\": \"A\"}\n```",
			"a {\"answer\": \"B\"}\n```json\n{\"why\": \"x\", \"answer\": \"A\"}\n```", "A", FromJSON},
		{"only an option", "<think>hm</think> Mild. ",
			"hm", " Mild. ", "hm\nMild.", "Mild.", FromWhole},
		{"no thinking", "It is <answer>mild</answer>", "", "It is <answer>mild</answer>", "It is", "mild", FromTag},
		{"tags of another case", "<THINK>a</Think><Answer> B </ANSWER>", "a", "<Answer> B </ANSWER>", "a", "B", FromTag},
		{"the tags left in the channel", "<think>a</think><answer>B</answer>", "<think>\na\n</think>", "<answer>B</answer>", "a", "B", FromTag},
		{"not closed", "<think>a</think>So. <answer> B", "a", "So. <answer> B", "a\nSo.", "B", FromTag},
		{"nothing", "", "", "", "", "", FromNowhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, form := range []struct{ name, channel, answer string }{{"one text", "", c.whole}, {"split", c.channel, c.rest}} {
				if got := Reasoning(form.answer, form.channel); got != c.reasoning {
					t.Errorf("%s: reasoning %q, want %q", form.name, got, c.reasoning)
				}
				if got, from := Extract(form.answer, "mild", "moderate"); got != c.answer || from != c.from {
					t.Errorf("%s: answer %q from %q, want %q from %q", form.name, got, from, c.answer, c.from)
				}
			}
		})
	}
}

func TestExtract(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		from           Source
	}{
		{"two answers: the last", "<answer>left</answer> no: <answer>right</answer>", "right", FromTag},
		{"nested: the inner", "<answer>a <answer>b</answer>", "b", FromTag},
		{"not closed", "It is clear. <answer> Right\n", "Right", FromTag},
		{"not closed, behind a closed one", "<answer>left</answer> no: <answer> right", "right", FromTag},
		{"not closed, and text follows", "<answer> Right\nThe left lung is clear.", "", FromNowhere},
		{"not closed, and a closed one before", "<answer>left</answer> I was told to put <answer>\naround it\nand so on.", "left", FromTag},
		{"not closed and empty", "<answer> \n", "", FromNowhere},
		{"not closed while thinking", "<think><answer> Right", "", FromNowhere},
		{"two lines", "<answer>the left\nlung</answer>", "the left lung", FromTag},
		{"empty after a full one", "<answer>left</answer><answer> </answer>", "", FromNowhere},
		{"a tag beats json", `{"answer":"right"} <answer>left</answer>`, "left", FromTag},
		{"json list", `{"answer": ["A", "C"]}`, "A, C", FromJSON},
		{"json number", `{"answer": 3}`, "3", FromJSON},
		{"json truth value", `{"x":1,"answer":true}`, "true", FromJSON},
		{"json null", `{"answer": null}`, "", FromNowhere},
		{"json escapes", `{"answer": "caf\u00e9 \"x\""}`, `café "x"`, FromJSON},
		{"the last json", `{"answer":"a"} {"answer":"b"}`, "b", FromJSON},
		{"json inside a string", `{"note":"write {\"answer\":\"x\"}"}`, "", FromNowhere},
		{"a key that ends alike", `{"final_answer":"x"}`, "", FromNowhere},
		{"prose", "The answer is left.", "", FromNowhere},
		{"an option in other case", "  NONE.", "NONE.", FromWhole},
	} {
		if got, from := Extract(c.in, "left", "none", ""); got != c.want || from != c.from {
			t.Errorf("%s: %q from %q, want %q from %q", c.name, got, from, c.want, c.from)
		}
	}
}

// tagsAgain is what tags are.
var tagsAgain = regexp.MustCompile(`(?i)<\s*(/?)\s*(think|answer)\s*>`)

// Tags are those that the expression finds, in any text.
func TestTags(t *testing.T) {
	same := func(t interface{ Fatalf(string, ...any) }, s string) {
		var want []tag
		for _, m := range tagsAgain.FindAllStringSubmatchIndex(s, -1) {
			want = append(want, tag{span{m[0], m[1]}, m[2] < m[3], strings.EqualFold(s[m[4]:m[5]], "think")})
		}
		if got := tags(s); !slices.Equal(got, want) {
			t.Fatalf("%q: found %v, want %v", s, got, want)
		}
	}
	for _, s := range []string{"<\vthink>", "<\fthink\t>", "</ \r\nAnSwer>", "</\u00a0answer>", "<<think>", "<think></think>", "<think", "<thinks>", "<an\u017fWer>", "< thin\u212a >"} {
		same(t, s)
	}
	part := rapid.SampledFrom([]string{"<", ">", "/", " ", "\n", "\v", "think", "ANSWER", "an\u017fWer", "thin\u212a", "t", "answe", "\xff", "é", "<think>", "</answer>"})
	rapid.Check(t, func(t *rapid.T) {
		same(t, strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), ""))
	})
}

// Plain texts in their normal form are themselves, by either way to it.
func TestPlainTextIsNormal(t *testing.T) {
	same := func(t interface{ Fatalf(string, ...any) }, s string) {
		for name, by := range map[string]func(string) string{"normalise": Normalise, "released": normaliseReleased} {
			// A mark that either drops keeps the text from being plain.
			if got, want := by(s), by(s+"\u200b"); got != want {
				t.Fatalf("%s of %q is %q, want %q", name, s, got, want)
			}
		}
	}
	for _, s := range []string{"", " ", "a", " a", "a ", "a b", "a  b", "a\tb", "a\x1cb", "a\x7fb", "a\x00", "\xffa", "~"} {
		same(t, s)
	}
	part := rapid.SampledFrom([]string{"a", "B", " ", ".", "~", " c", "\t", "\x1c", "\x7f", "é", "\u200b", "\u201c", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		same(t, strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), ""))
	})
}

// TestSplitOrNotProperty: the same for any texts that hold no tags of their own.
func TestSplitOrNotProperty(t *testing.T) {
	plain := rapid.StringMatching(`[a-zA-Z ,.\n{}":é<]{0,40}`).Filter(func(s string) bool { return !tagsAgain.MatchString("<" + s + ">") })
	rapid.Check(t, func(t *rapid.T) {
		r, before, a := plain.Draw(t, "reasoning"), plain.Draw(t, "before"), plain.Draw(t, "answer")
		rest := before + "<answer>" + a + "</answer>"
		whole := "<think>" + r + "</think>" + rest
		if x, y := Reasoning(whole, ""), Reasoning(rest, r); x != y {
			t.Fatalf("reasoning %q and %q", x, y)
		}
		x, _ := Extract(whole)
		y, _ := Extract(rest)
		if x != y || x != strings.TrimSpace(strings.ReplaceAll(a, "\n", " ")) {
			t.Fatalf("answers %q and %q of %q", x, y, a)
		}
	})
}

// FuzzExtract: nothing said while thinking is an answer, and an answer is never
// made up.
func FuzzExtract(f *testing.F) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzExtract")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("the seed corpus is empty: %v", err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, from := Extract(s, "left")
		if (got == "") != (from == FromNowhere) {
			t.Fatalf("answer %q from %q", got, from)
		}
		if from == FromTag && !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(Outside(s), "\r\n", " "), "\n", " "), got) &&
			!strings.Contains(Outside(s), "\r") {
			t.Fatalf("answer %q is not in %q", got, s)
		}
		if !strings.ContainsAny(s, "<") {
			hidden := "<think>" + s + "</think>"
			if got, from := Extract(hidden, "left"); from != FromNowhere {
				t.Fatalf("%q was found while thinking", got)
			}
			if Reasoning(hidden, "") != strings.TrimSpace(s) {
				t.Fatalf("reasoning of %q is %q", hidden, Reasoning(hidden, ""))
			}
		}
	})
}

// BenchmarkHostileText: a mebibyte of what looks like tags or keys; the
// expressions take linear time.
func BenchmarkHostileText(b *testing.B) {
	for _, s := range []string{"<think>", "</think>", "<answer>", `{"answer":`, `{"answer":"\`, "<"} {
		big := strings.Repeat(s, 1<<20/len(s))
		b.Run(s, func(b *testing.B) {
			b.SetBytes(int64(len(big)))
			for b.Loop() {
				Extract(big)
				Reasoning(big, big)
			}
		})
	}
}
