package text

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"encoding/json"

	"github.com/agnivade/levenshtein"
	"pgregory.net/rapid"
)

// TestGoldenMELD: windows, distances and both kinds of flags of the reference.
func TestGoldenMELD(t *testing.T) {
	b, err := os.ReadFile("testdata/meld.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID, Q2, Continuation string
			C, Y                 float64
			Out                  struct {
				Defined  bool
				Region   int `json:"region_len"`
				Windows  int
				Rho      float64
				At       int `json:"best_j"`
				Distance int
				Short    bool    `json:"short_region"`
				Flag     *bool   `json:"flag_ge"`
				Original float64 `json:"original_rounded"`
				Greater  bool    `json:"original_flag_gt"`
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil || len(file.Cases) != 9 {
		t.Fatal(len(file.Cases), err)
	}
	for _, c := range file.Cases {
		got, ok := Windowed(c.Continuation, c.Q2, c.C)
		if ok != c.Out.Defined {
			t.Errorf("%s: defined %v", c.ID, ok)
		}
		if ok {
			want := Continued{Similarity: c.Out.Rho, At: c.Out.At, Distance: c.Out.Distance, Windows: c.Out.Windows, Region: c.Out.Region, Short: c.Out.Short}
			if !near(got.Similarity, want.Similarity) {
				t.Errorf("%s: rho %v, want %v", c.ID, got.Similarity, want.Similarity)
			}
			if got.Similarity = want.Similarity; got != want {
				t.Errorf("%s: %+v, want %+v", c.ID, got, want)
			}
			if flag := got.Similarity >= c.Y; flag != *c.Out.Flag {
				t.Errorf("%s: flagged %v", c.ID, flag)
			}
		}
		if got := IndelRatio(c.Continuation, c.Q2); got != c.Out.Original || got > c.Y != c.Out.Greater {
			t.Errorf("%s: indel ratio %v, want %v", c.ID, got, c.Out.Original)
		}
	}
}

// TestWindowedLooksAtEveryWindow: what is passed over by a bound was not the nearest.
func TestWindowedLooksAtEveryWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letter := rapid.SampledFrom([]rune("aab ä😀"))
		rest := rapid.SliceOfN(letter, 1, 90).Draw(t, "rest")
		said := rapid.SliceOfN(letter, 0, 200).Draw(t, "said")
		if rapid.Bool().Draw(t, "near") { // a torn copy of the rest somewhere
			at := rapid.IntRange(0, len(said)).Draw(t, "at")
			said = append(append(append([]rune{}, said[:at]...), rest[len(rest)/4:]...), said[at:]...)
		}
		reach := rapid.SampledFrom([]float64{1, 1.3, 2, 3}).Draw(t, "reach")
		region := said[:min(len(said), int(reach*float64(len(rest))))]
		at, least := 0, levenshtein.ComputeDistance(string(region[:min(len(region), len(rest))]), string(rest))
		for j := 1; j+len(rest) <= len(region); j++ {
			if d := levenshtein.ComputeDistance(string(region[j:j+len(rest)]), string(rest)); d < least {
				at, least = j, d
			}
		}
		got, ok := Windowed(string(said), string(rest), reach)
		if !ok || got.At != at || got.Distance != least {
			t.Fatalf("%q in %q: %+v, want %d at %d", string(rest), string(said), got, least, at)
		}
	})
}

// TestWindowedOfManySmallTexts: of few letters many windows are equally near, or one more
// edit away from their neighbours.
func TestWindowedOfManySmallTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 6000 {
		rest, said := word(2+r.IntN(12)), word(30)
		at, least := 0, len(rest)+1
		for j := 0; j+len(rest) <= min(len(said), 3*len(rest)); j++ {
			if d := levenshtein.ComputeDistance(said[j:j+len(rest)], rest); d < least {
				at, least = j, d
			}
		}
		if got, ok := Windowed(said, rest, 3); !ok || got.At != at || got.Distance != least {
			t.Fatalf("%q in %q: %+v, want %d at %d", rest, said, got, least, at)
		}
	}
}

// BenchmarkWindowed prints what 801 windows of 800 characters take (bar: 10 ms; as usual
// in Python, python-Levenshtein, 695 ms), worst first: go test ./results/text -bench Windowed -run none
func BenchmarkWindowed(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the patient a history of pain and swelling with bilateral opacity in left lung effusion no fever cough was seen on chest radiograph after weeks treatment mass lesion diffuse presented for to year old man woman")
	prose := func(n int) string {
		var s strings.Builder
		for s.Len() < n {
			s.WriteString(words[r.IntN(len(words))] + " ")
		}
		return s.String()[:n]
	}
	letters := func(n int, of string) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = of[r.IntN(len(of))]
		}
		return string(out)
	}
	rest := prose(800)
	for _, c := range []struct{ name, rest, said string }{
		{"unrelated prose", rest, prose(1600)},
		{"two letters at random", letters(800, "ab"), letters(1600, "ab")},
		{"twenty letters at random", letters(800, "abcdefghijklmnopqrst"), letters(1600, "abcdefghijklmnopqrst")},
		{"nothing in common", strings.Repeat("a", 800), strings.Repeat("b", 1600)},
		{"half of it remembered", rest, prose(500) + rest[200:600] + prose(700)},
		{"remembered", rest, prose(300) + rest + prose(500)},
		{"periods", strings.Repeat("abcd", 200), strings.Repeat("abdc", 400)},
		{"halves", strings.Repeat("a", 400) + strings.Repeat("b", 400), strings.Repeat(strings.Repeat("a", 20)+strings.Repeat("b", 20), 40)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if w, ok := Windowed(c.said, c.rest, 2); !ok || w.Windows != 801 {
					b.Fatal(fmt.Sprint(w))
				}
			}
		})
	}
}
