package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/backends"
	"assay/results"
)

// TestOwnJudge: a judge with the weights of a model that it judges is named; one
// that shares only a name is called a possibility, and another is not named.
func TestOwnJudge(t *testing.T) {
	size, other := int64(7), int64(8)
	for _, c := range []struct {
		name         string
		judge, model backends.Identity
		unknown      bool // what answered as the judge is not stored
		judged       string
		want         string
	}{
		{"equal weights", backends.Identity{Weights: "sha256:aa", Digest: "sha256:1"}, backends.Identity{Weights: "sha256:aa", Digest: "sha256:2"}, false, "x", "has the same weights (aa)"},
		{"other weights", backends.Identity{Weights: "sha256:aa", Digest: "sha256:1"}, backends.Identity{Weights: "sha256:bb", Digest: "sha256:1"}, false, "m", ""},
		{"equal digest", backends.Identity{Digest: "sha256:1"}, backends.Identity{Digest: "sha256:1"}, false, "x", "has the same weights (1)"},
		{"other digest, same name", backends.Identity{Digest: "sha256:1"}, backends.Identity{Digest: "sha256:2"}, false, "m", ""},
		{"the same file", backends.Identity{Path: "/a.gguf", Bytes: &size}, backends.Identity{Path: "/a.gguf", Bytes: &size}, false, "x", "from the same file (/a.gguf)"},
		{"a file of the same name", backends.Identity{Path: "/a.gguf", Bytes: &size}, backends.Identity{Path: "/a.gguf", Bytes: &other}, false, "x", ""},
		{"nothing known, same name", backends.Identity{}, backends.Identity{Digest: "sha256:1"}, true, "m", "may have the same weights"},
		{"nothing known, other name", backends.Identity{}, backends.Identity{Digest: "sha256:1"}, true, "x", ""},
		{"two that tell nothing", backends.Identity{}, backends.Identity{}, false, "x", ""},
	} {
		man := results.Manifest{Version: "1", Revision: "r", Judges: map[string]string{"j": c.judged + " on s", "rules": "lexical"},
			Models: map[string]backends.Identity{"mine": c.model}, JudgeModels: map[string]backends.Identity{"j": c.judge},
			Settings: map[string]string{"judges.j.model": c.judged, "judges.j.backend.kind": "ollama", "models.mine.model": "m", "models.mine.backend.kind": "ollama"}}
		if c.unknown {
			man.JudgeModels = nil
		}
		var said []string
		fromManifest(man, func(string, string, ...any) {}, func(format string, args ...any) {
			if s := fmt.Sprintf(format, args...); strings.Contains(s, "judges its own answers") {
				said = append(said, s)
			}
		})
		got := strings.Join(said, "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || c.want != "" && !strings.HasPrefix(got, "mine: judge j ") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTogether: what is said of several is said once.
func TestTogether(t *testing.T) {
	got := together([]finding{{"a: is so.", "s"}, {"b: is so.", "s"}, {"no subject", "s"}, {"c: is else.", "s"}, {"d: is so.", "other"}, {"no subject", "s"}, {"e: is so.", "s"}})
	want := []finding{{"a; b; e: is so.", "s"}, {"no subject", "s"}, {"c: is else.", "s"}, {"d: is so.", "other"}, {"no subject", "s"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestFieldsThatWereLeftOutAreSaid: of models and judges, and what it means for a judge.
func TestFieldsThatWereLeftOutAreSaid(t *testing.T) {
	man := results.Manifest{ModelSettings: map[string]results.ModelSetting{"m": {Omit: []string{"seed"}}, "n": {}},
		JudgeSettings: map[string]results.ModelSetting{"j": {Omit: []string{"response_format", "seed"}}, "k": {}}}
	var got []string
	fromManifest(man, func(_, format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }, nil)
	if text := strings.Join(got, "\n"); len(got) != 3 || !strings.Contains(text, "m: requests left out seed (") ||
		!strings.Contains(text, "judge j: its server does not enforce JSON") || !strings.Contains(text, "judge j: requests left out seed (") {
		t.Errorf("%s", text)
	}
}

// TestOrderOfDistrust: what can turn a conclusion around stands first, by what it touches and
// by its size; what touches less than one in twenty, and all else, is the rest.
func TestOrderOfDistrust(t *testing.T) {
	s := results.Section{Study: "x", Name: "x", Warnings: []string{"an odd clock"}}
	for i, w := range []results.Warning{
		{Text: "a: times", Doubt: results.Doubt{Of: results.DoubtTimes, Share: 1}},
		{Text: "a: verdicts", Doubt: results.Doubt{Of: results.DoubtJudges, Share: .3}},
		{Text: "a: few failed", Doubt: results.Doubt{Of: results.DoubtAnswers, Share: .04}},
		{Text: "a: failed", Doubt: results.Doubt{Of: results.DoubtAnswers, Share: .05}},
		{Text: "b: unread", Doubt: results.Doubt{Of: results.DoubtUnread, Share: .03}},
		{Text: "a: few unread", Doubt: results.Doubt{Of: results.DoubtUnread, Share: .02}},
		{Text: "b: verdicts", Doubt: results.Doubt{Of: results.DoubtJudges, Share: .3}},
	} {
		if s.Warn(w); len(s.Warnings) != i+2 {
			t.Fatalf("%q", s.Warnings)
		}
	}
	words := func(list []finding) (out []string) {
		for _, f := range list {
			out = append(out, f.Text)
		}
		return out
	}
	first, rest := Distrust([]results.Section{s}, results.Run{Extents: []results.Extent{{}}, Manifest: results.Manifest{Judges: map[string]string{"j": "lexical"}, Datasets: []results.DatasetInfo{{Name: "d", Items: 9, Lost: 1}}}})
	if got := words(first); len(got) != 7 || !strings.HasPrefix(got[0], "The store does not record") || !strings.HasPrefix(got[1], "Data set d: 1 row left out") || !slices.Equal(got[2:4], []string{"b: unread", "a: failed"}) ||
		!strings.HasPrefix(got[4], "All verdicts") || !slices.Equal(got[5:], []string{"a; b: verdicts", "a: times"}) {
		t.Errorf("first %q", got)
	}
	if got := words(rest); !slices.Equal(got, []string{"a: few unread", "a: few failed", "an odd clock"}) {
		t.Errorf("rest %q", got)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 2825: "2,825", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestOtherNamesOfAModelAreSaid: once, with the one that was asked.
func TestOtherNamesOfAModelAreSaid(t *testing.T) {
	man := results.Manifest{ServedAs: map[string][]string{"m": {"gpt-4o-2024-08-06"}}, Models: map[string]backends.Identity{"m": {Model: "gpt-4o", Digest: "x", Quantisation: "x", Version: "x"}}}
	var got []string
	fromManifest(man, func(_, format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }, func(string, ...any) {})
	if len(got) != 1 || !strings.Contains(got[0], "m: the server replied as gpt-4o-2024-08-06 when gpt-4o was requested") {
		t.Errorf("%q", got)
	}
}
