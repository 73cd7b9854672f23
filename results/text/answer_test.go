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
				Type     string
			}
		}
	}
	// Where our rule (metrics.md section 2.3) and the published code differ.
	differs := map[string]string{
		"answer-4":  "",                    // the tag wins, and it is empty
		"answer-7":  `{"severity":"mild"}`, // a severity is not an answer
		"answer-10": "right",               // the last tag
		"answer-11": "no",                  // outside <think>
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
		want := c.Out.Upstream
		if d, ok := differs[c.ID]; ok {
			want = d
		}
		if got := Said(c.Text); got != want {
			t.Errorf("%s: %q gives %q, want %q", c.ID, c.Text, got, want)
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
	}{
		{"plain", "<think>The heart is wide.</think>\n<answer>Yes</answer>",
			"The heart is wide.", "<answer>Yes</answer>",
			"The heart is wide.", "Yes"},
		{"text beside the answer", "<think>\nLook left.\n</think>\n\nThe left is denser.\n<answer>left</answer>\nSure.",
			"Look left.\n", "\n\nThe left is denser.\n<answer>left</answer>\nSure.",
			"Look left.\nThe left is denser.\nSure.", "left"},
		{"no beginning: it stood in the prompt", "Look left.</think>It is <answer>left</answer>",
			"Look left.", "It is <answer>left</answer>",
			"Look left.\nIt is", "left"},
		{"no end: cut while thinking", "<think>Look left. <answer>right</answer>",
			"Look left. <answer>right</answer>", "",
			"Look left. <answer>right</answer>", ""},
		{"an answer tried while thinking", "<think>maybe <answer>yes</answer> no</think><answer>no</answer>",
			"maybe <answer>yes</answer> no", "<answer>no</answer>",
			"maybe <answer>yes</answer> no", "no"},
		{"json", "<think>a {\"answer\": \"B\"}</think>```json\n{\"why\": \"x\", \"answer\": \"A\"}\n```",
			"a {\"answer\": \"B\"}", "```json\n{\"why\": \"x\", \"answer\": \"A\"}\n```",
			"a {\"answer\": \"B\"}\n```json\n{\"why\": \"x\", \"answer\": \"A\"}\n```", "A"},
		{"only an option", "<think>hm</think> Mild. ",
			"hm", " Mild. ", "hm\nMild.", "Mild."},
		{"no thinking", "It is <answer>mild</answer>", "", "It is <answer>mild</answer>", "It is", "mild"},
		{"tags of another case", "<THINK>a</Think><Answer> B </ANSWER>", "a", "<Answer> B </ANSWER>", "a", "B"},
		{"the tags left in the channel", "<think>a</think><answer>B</answer>", "<think>\na\n</think>", "<answer>B</answer>", "a", "B"},
		{"not closed", "<think>a</think>So. <answer> B", "a", "So. <answer> B", "a\nSo.", "B"},
		{"nothing", "", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, form := range []struct{ name, channel, answer string }{{"one text", "", c.whole}, {"split", c.channel, c.rest}} {
				if got := Reasoning(form.answer, form.channel); got != c.reasoning {
					t.Errorf("%s: reasoning %q, want %q", form.name, got, c.reasoning)
				}
				if got := Said(form.answer); got != c.answer {
					t.Errorf("%s: answer %q, want %q", form.name, got, c.answer)
				}
			}
		})
	}
}

func TestSaid(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"two answers: the last", "<answer>left</answer> no: <answer>right</answer>", "right"},
		{"nested: the inner", "<answer>a <answer>b</answer>", "b"},
		{"not closed", "It is clear. <answer> Right\n", "Right"},
		{"not closed, behind a closed one", "<answer>left</answer> no: <answer> right", "right"},
		{"not closed, and text follows", "<answer> Right\nThe left lung is clear.", "The left lung is clear."},
		{"not closed, and a closed one before", "<answer>left</answer> I was told to put <answer>\naround it\nand so on.", "left"},
		{"not closed and empty", "<answer> \n", "<answer>"},
		{"not closed while thinking", "<think><answer> Right", ""},
		{"two lines", "<answer>the left\nlung</answer>", "the left lung"},
		{"empty after a full one", "<answer>left</answer><answer> </answer>", ""},
		{"a tag beats json", `{"answer":"right"} <answer>left</answer>`, "left"},
		{"json list", `{"answer": ["A", "C"]}`, "A, C"},
		{"json number", `{"answer": 3}`, "3"},
		{"json truth value", `{"x":1,"answer":true}`, "true"},
		{"json null", `{"answer": null}`, ""},
		{"json escapes", `{"answer": "caf\u00e9 \"x\""}`, `café "x"`},
		{"the last json", `{"answer":"a"} {"answer":"b"}`, "b"},
		{"json inside a string", `{"note":"write {\"answer\":\"x\"}"}`, `{"note":"write {\"answer\":\"x\"}"}`},
		{"a key that ends alike", `{"final_answer":"x"}`, "x"},
		{"prose", "The answer is left.", "left."},
		{"an option in other case", "  NONE.", "NONE."},
	} {
		if got := Said(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
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
		x, y := Said(whole), Said(rest)
		if x != y || x != strings.Join(strings.Fields(a), " ") {
			t.Fatalf("answers %q and %q of %q", x, y, a)
		}
	})
}

// FuzzSaid: nothing said while thinking is an answer, and an answer is never
// made up.
func FuzzSaid(f *testing.F) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzSaid")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("the seed corpus is empty: %v", err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Said(s)
		if !strings.Contains(s, `\`) && !strings.Contains(strings.Join(strings.Fields(Outside(s)), " "), got) && !strings.Contains(s, `"`) {
			t.Fatalf("answer %q is not in %q", got, s)
		}
		if !strings.ContainsAny(s, "<") {
			hidden := "<think>" + s + "</think>"
			if got := Said(hidden); got != "" {
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
				Said(big)
				Reasoning(big, big)
			}
		})
	}
}
