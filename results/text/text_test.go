package text

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agnivade/levenshtein"
	"pgregory.net/rapid"
)

// readGolden reads a file of reference values into f and refuses one without cases.
// TestReleasedGolden: what the authors' code gives, which the golden values hold beside
// what the paper says.
func TestReleasedGolden(t *testing.T) {
	type evidence struct {
		Cot   string
		Cases []struct {
			Quote string
			Out   struct {
				Pass bool  `json:"pass"`
				Is   *bool `json:"upstream_pass"`
			}
		}
	}
	f := readGolden(t, "evidence.json", func(f evidence) int { return len(f.Cases) })
	differ := 0
	for _, c := range f.Cases {
		if c.Out.Is == nil {
			t.Fatalf("no upstream_pass of %q", c.Quote)
		}
		if got := OccursReleased(c.Quote, f.Cot); got != *c.Out.Is {
			t.Errorf("%q: %v", c.Quote, got)
		}
		if *c.Out.Is != c.Out.Pass {
			differ++
		}
	}
	type answers struct {
		Cases []struct {
			Text string
			Out  struct {
				Answer *string `json:"upstream_answer"`
			}
		}
	}
	n := 0
	for _, c := range readGolden(t, "answers.json", func(f answers) int { return len(f.Cases) }).Cases {
		if c.Out.Answer == nil {
			continue
		}
		n++
		if got := ExtractReleased(c.Text); got != *c.Out.Answer {
			t.Errorf("%q: %q, want %q", c.Text, got, *c.Out.Answer)
		}
	}
	if n < 10 || differ < 5 {
		t.Errorf("%d answers, %d quotes that the two judge differently", n, differ)
	}
	// One edit is let pass below 50 characters, where the paper lets none, if a window meets it.
	if quote, text := "the left lung bise", "the left lung base"; !OccursReleased(quote, text) || Occurs(quote, text) || OccursReleased("the left lang bise", text) {
		t.Error("an edit in a short quote")
	}
	// A dash is a hyphen there, a low quotation mark is none.
	if quote, text := "2-3 ribs, 4-5 cm", "2–3 ribs, 4–5 cm"; !OccursReleased(quote, text) || Occurs(quote, text) {
		t.Error("dashes")
	}
	if quote, text := `"so" and "so"`, "„so” and „so”"; OccursReleased(quote, text) || !Occurs(quote, text) {
		t.Error("low quotation marks")
	}
}

func readGolden[F any](t *testing.T, name string, cases func(F) int) F {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var f F
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if cases(f) == 0 {
		t.Fatalf("%s holds no cases", name)
	}
	return f
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b)+1e-15 }

func TestGoldenNormalise(t *testing.T) {
	type file struct {
		Cases []struct {
			ID, In string
			Out    struct{ Paper, Upstream string }
		}
	}
	for _, c := range readGolden(t, "normalise.json", func(f file) int { return len(f.Cases) }).Cases {
		if got := Normalise(c.In); got != c.Out.Paper {
			t.Errorf("%s: %q became %q, want %q", c.ID, c.In, got, c.Out.Paper)
		}
		if got := normaliseReleased(c.In); got != c.Out.Upstream {
			t.Errorf("%s: %q became %q in the authors' code, want %q", c.ID, c.In, got, c.Out.Upstream)
		}
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		" Left. ": "left", "LEFT LUNG": "left lung", "1.5": "1.5", "etc..": "etc.", ".": "", "Yes .": "yes",
		"\u201cNo\u201d": `"no"`, "no change\u00a0seen.\n": "no change seen",
	} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGoldenLevenshtein(t *testing.T) {
	type file struct {
		Cases []struct {
			ID, A, B string
			Out      struct {
				Distance   int
				Similarity float64
			}
		}
	}
	for _, c := range readGolden(t, "levenshtein.json", func(f file) int { return len(f.Cases) }).Cases {
		for _, p := range [][2]string{{c.A, c.B}, {c.B, c.A}} {
			if got := Distance(p[0], p[1]); got != c.Out.Distance {
				t.Errorf("%s: distance %d, want %d", c.ID, got, c.Out.Distance)
			}
			if got := distanceRatio(p[0], p[1]); !near(got, c.Out.Similarity) {
				t.Errorf("%s: ratio %v, want %v", c.ID, got, c.Out.Similarity)
			}
		}
	}
}

// letters draws strings over a small alphabet, short and beyond one and two machine
// words, so that matches, block borders and non-ASCII all occur.
func letters() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{0, 3, 20, 63, 64, 65, 130, 200}).Draw(t, "longest")
		return string(rapid.SliceOfN(rapid.SampledFrom([]rune("aab ä😀")), 0, n).Draw(t, "word"))
	})
}

func TestDistanceAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters().Draw(t, "a"), letters().Draw(t, "b")
		if got, want := Distance(a, b), levenshtein.ComputeDistance(a, b); got != want {
			t.Fatalf("Distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// TestSubstringAgainstSellers compares with the plain dynamic programme.
func TestSubstringAgainstSellers(t *testing.T) {
	sellers := func(q, s []rune) int {
		col := make([]int, len(q)+1)
		for i := range col {
			col[i] = i
		}
		best := len(q)
		for _, r := range s {
			diagonal := 0
			for i := 1; i <= len(q); i++ {
				d := diagonal
				if q[i-1] != r {
					d = 1 + min(d, col[i], col[i-1])
				}
				diagonal, col[i] = col[i], d
			}
			best = min(best, col[len(q)])
		}
		return best
	}
	rapid.Check(t, func(t *rapid.T) {
		q, s := letters().Draw(t, "q"), letters().Draw(t, "s")
		_, got, _ := newPattern([]rune(q)).run([]rune(s), true, nil)
		if want := sellers([]rune(q), []rune(s)); got != want {
			t.Fatalf("nearest substring of %q to %q: %d edits, want %d", s, q, got, want)
		}
		if fast := substring(q, s); fast != got {
			t.Fatalf("Substring gives %d and the search %d", fast, got)
		}
	})
}

func TestGoldenEvidence(t *testing.T) {
	type file struct {
		CoT   string
		Cases []struct {
			ID, Quote string
			Out       struct {
				Normalised string
				Distance   int
				Pass       bool
			}
		}
	}
	f := readGolden(t, "evidence.json", func(f file) int { return len(f.Cases) })
	for _, c := range f.Cases {
		if got := Normalise(c.Quote); got != c.Out.Normalised {
			t.Errorf("%s: normalised to %q, want %q", c.ID, got, c.Out.Normalised)
		}
		if got := substring(Normalise(c.Quote), Normalise(f.CoT)); got != c.Out.Distance {
			t.Errorf("%s: %d edits, want %d", c.ID, got, c.Out.Distance)
		}
		if got := Occurs(c.Quote, f.CoT); got != c.Out.Pass {
			t.Errorf("%s: occurs %v, want %v", c.ID, got, c.Out.Pass)
		}
	}
}

// checkFind: a quote is found if and only if its distance allows it, at a place
// inside the text that is as near as any.
func checkFind(t interface{ Fatalf(string, ...any) }, quote, text string) {
	q, s := Normalise(quote), []rune(Normalise(text))
	n, edits := len([]rune(q)), substring(q, string(s))
	from, to, ok := find(quote, text)
	if want := n > 0 && 50*edits <= n; ok != want {
		t.Fatalf("%q in %q: found %v, want %v (%d edits)", quote, text, ok, want, edits)
	}
	if from < 0 || from > to || to > len(s) || !ok && to != 0 {
		t.Fatalf("%q in %q: span %d to %d of %d", quote, text, from, to, len(s))
	}
	if got := Distance(q, string(s[from:to])); ok && got != edits {
		t.Fatalf("%q in %q: %d to %d has %d edits, want %d", quote, text, from, to, got, edits)
	}
}

func TestFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { // a long stretch of a text, with a few edits
		letters := rapid.SliceOfN(rapid.RuneFrom([]rune("ab é\u2019\u200b\u00a0")), 0, 400).Draw(t, "text")
		from := rapid.IntRange(0, len(letters)).Draw(t, "from")
		quote := slices.Clone(letters[from:rapid.IntRange(from, len(letters)).Draw(t, "to")])
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(quote)).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "edit") {
			case 0:
				quote = slices.Insert(quote, at, 'x')
			case 1:
				quote = slices.Delete(quote, at, min(at+1, len(quote)))
			case 2:
				if at < len(quote) {
					quote[at] = 'y'
				}
			}
		}
		checkFind(t, string(quote), string(letters))
	})
	if from, to, ok := find("costophrenic angle", "The left  costophrenic\u00a0angle is blunt."); !ok || from != 9 || to != 27 {
		t.Errorf("found %v at %d to %d, want 9 to 27", ok, from, to)
	}
}

// FuzzFind: any quote and any text.
func FuzzFind(f *testing.F) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzFind")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("the seed corpus is empty: %v", err)
	}
	f.Fuzz(func(t *testing.T, quote, text string) {
		if len(quote) < 1<<12 && len(text) < 1<<14 {
			checkFind(t, quote, text)
		}
	})
}

// BenchmarkEvidence checks 1,000 quotes of 150 characters, half of them with three
// edits and some made up, in texts of 3,000.
func BenchmarkEvidence(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the left lung shows an opacity near its base while heart and hilum look normal, “perhaps” a little wide; no effusion is seen")
	var text strings.Builder
	for text.Len() < 3200 {
		text.WriteString(words[r.IntN(len(words))] + " ")
	}
	given := []rune(text.String())[:3000]
	var quotes []string
	for i := range 1000 {
		at := r.IntN(len(given) - 150)
		q := slices.Clone(given[at : at+150])
		switch {
		case i%2 == 0:
			q[20], q[70], q[120] = 'x', 'y', 'z'
		case i%5 == 0:
			slices.Reverse(q)
		}
		quotes = append(quotes, string(q))
	}
	found := 0
	for b.Loop() {
		found = 0
		for _, q := range quotes {
			if Occurs(q, string(given)) {
				found++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/1000-quotes")
	b.ReportMetric(float64(found), "found")
}

func TestGoldenLCS(t *testing.T) {
	type file struct {
		Cases []struct {
			ID   string
			A, B []string
			Out  struct {
				LCS int
				Sim float64
			}
		}
	}
	for _, c := range readGolden(t, "lcs.json", func(f file) int { return len(f.Cases) }).Cases {
		if got := lcs(c.A, c.B); got != c.Out.LCS {
			t.Errorf("%s: LCS %d, want %d", c.ID, got, c.Out.LCS)
		}
		if ab, ba := Similarity(c.A, c.B), Similarity(c.B, c.A); !near(ab, c.Out.Sim) || ab != ba {
			t.Errorf("%s: similarity %v and %v, want %v", c.ID, ab, ba, c.Out.Sim)
		}
	}
}

// TestLCSAndInsertions: what is not common is deleted or inserted.
func TestLCSAndInsertions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 12).Draw(t, "a")
		b := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 12).Draw(t, "b")
		if got, want := lcs(a, b), recursiveLCS(a, b); got != want {
			t.Fatalf("LCS(%v, %v) = %d, want %d", a, b, got, want)
		}
	})
}

func recursiveLCS(a, b []int) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	// The first element of a is either skipped or matched as early as possible.
	best := recursiveLCS(a[1:], b)
	for j, y := range b {
		if y == a[0] {
			return max(best, 1+recursiveLCS(a[1:], b[j+1:]))
		}
	}
	return best
}

func BenchmarkDistance800(b *testing.B) {
	x := strings.Repeat("the heart is enlarged ", 37)
	y := strings.Repeat("the left lung is clear", 37)
	for b.Loop() {
		Distance(x, y)
	}
}

// distanceRatio is 1 - Distance/max(length), in 0..1; 1 for two empty strings.
func distanceRatio(a, b string) float64 {
	n := max(len([]rune(a)), len([]rune(b)))
	if n == 0 {
		return 1
	}
	return 1 - float64(Distance(a, b))/float64(n)
}

// substring is the least Levenshtein distance between q and any substring of s,
// the empty one included.
func substring(q, s string) int {
	if strings.Contains(s, q) {
		return 0
	}
	_, best, _ := newPattern([]rune(q)).run([]rune(s), true, nil)
	return best
}
