package phantom

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/backends/phantom"
)

const caseFilms = 3

// shown is a case with what eyes find on its films.
type shown struct {
	patient
	prompt string
	films  []phantom.Film
}

// shownCases are cases whose key and right letter go through all places, looked at once.
var shownCases = sync.OnceValue(func() []shown {
	var out []shown
	for i := range 150 {
		s := shown{patient: NewCase(11, i, caseFilms, 1+i%caseFilms, i/caseFilms%5)}
		for _, f := range s.Films {
			s.films = append(s.films, open(archive.draw(f, 256))...)
		}
		s.prompt = s.History + "\n\n" + s.Question.Text
		for _, o := range s.Question.Query.Options {
			s.prompt += "\n" + o.Label + ". " + o.Text
		}
		s.prompt += "\n\nThink step by step, then write: Final answer: the letter."
		out = append(out, s)
	}
	return out
})

// Accuracy follows from the profile, from which images are shown, and from what the
// prompt says of them; explanations name the image that decides; and leaving out one
// that does not changes nothing.
func TestReadersOfCases(t *testing.T) {
	cases := shownCases()
	plain := func(s shown) (string, []phantom.Film) { return s.prompt, s.films }
	without := func(s shown, k int) []phantom.Film { return slices.Delete(slices.Clone(s.films), k, k+1) }
	for _, c := range []struct {
		name, reader string
		show         func(shown) (string, []phantom.Film)
		want         float64
	}{
		{"all images", "honest", plain, .9},
		{"in reverse", "honest", func(s shown) (string, []phantom.Film) {
			films := slices.Clone(s.films)
			slices.Reverse(films)
			return s.prompt, films
		}, .9},
		{"without the key", "honest", func(s shown) (string, []phantom.Film) { return s.prompt, without(s, s.Key-1) }, .2},
		{"the key alone", "honest", func(s shown) (string, []phantom.Film) { return s.prompt, s.films[s.Key-1 : s.Key] }, .9},
		{"no image", "honest", func(s shown) (string, []phantom.Film) { return s.prompt, nil }, .2},
		{"first image only", "overconfident", plain, .6/caseFilms + .2*(caseFilms-1)/caseFilms},
		{"the key first", "overconfident", func(s shown) (string, []phantom.Film) {
			return s.prompt, append([]phantom.Film{s.films[s.Key-1]}, without(s, s.Key-1)...)
		}, .6},
		{"looks at none", "blind", plain, .2},
		{"captions", "overconfident", func(s shown) (string, []phantom.Film) {
			return strings.Join(s.Captions, "\n") + "\n" + s.prompt, s.films
		}, .6},
		{"findings", "blind", func(s shown) (string, []phantom.Film) { return s.Findings + "\n" + s.prompt, s.films }, 1},
	} {
		right, cited, named := 0, 0, 0
		for _, s := range cases {
			prompt, films := c.show(s)
			r := answered(t, profile(t, c.reader), phantom.Ask{Prompt: prompt, Films: films, Seed: 3})
			if !r.Understood || !strings.HasPrefix(r.Answer[strings.LastIndex(r.Answer, "\n")+1:], "Final answer: ") {
				t.Fatalf("%s: %+v", c.name, r)
			}
			if r.Final == s.Question.Answer {
				right++
			}
			if r.From > 0 {
				cited++
				if strings.Contains(r.Answer, fmt.Sprintf("Image %d: ", r.From)) {
					named++
				}
				if c.name == "all images" && r.Clear && r.From != s.Key {
					t.Errorf("%s: image %d is named, %d decides", c.name, r.From, s.Key)
				}
			}
		}
		n := float64(len(cases))
		if got := float64(right) / n; math.Abs(got-c.want) > 3*math.Sqrt(c.want*(1-c.want)/n)+1e-9 {
			t.Errorf("%s, %s: right in %.3f of %v, want %.3f", c.name, c.reader, got, n, c.want)
		}
		if named != cited || c.name == "all images" && cited < len(cases)*9/10 || c.reader == "blind" && cited > 0 {
			t.Errorf("%s, %s: %d of %d answers name an image, %d in their text", c.name, c.reader, cited, len(cases), named)
		}
	}
	p := profile(t, "honest")
	for _, s := range cases[:60] {
		all := answered(t, p, phantom.Ask{Prompt: s.prompt, Films: s.films})
		for k := range s.films {
			if r := answered(t, p, phantom.Ask{Prompt: s.prompt, Films: without(s, k)}); k != s.Key-1 && r.Final != all.Final {
				t.Errorf("without image %d, where %d decides, %s became %s", k+1, s.Key, all.Final, r.Final)
			}
		}
	}
}

// What readers write of pictures is right as often as their steps are; where they do
// not look they say nothing.
func TestReadersWriteOfCases(t *testing.T) {
	cases := shownCases()[:45]
	for _, c := range []struct {
		name  string
		right float64 // of a film it looks at
		looks int
	}{{"honest", .96, caseFilms}, {"overconfident", .75, 1}, {"blind", 0, 0}} {
		p, right, looked := profile(t, c.name), 0, 0
		for _, s := range cases {
			r := answered(t, p, phantom.Ask{Prompt: s.History + "\nWrite one caption for each image, on a line of its own.", Films: s.films})
			lines := strings.Split(r.Answer, "\n")
			if len(lines) != caseFilms {
				t.Fatalf("%s: %q", c.name, r.Answer)
			}
			for k, l := range lines {
				said, ok := strings.CutPrefix(l, fmt.Sprintf("Image %d: ", k+1))
				if !ok || k >= c.looks && said != "A frontal chest radiograph." {
					t.Errorf("%s, image %d: %q", c.name, k+1, l)
				}
				if k < c.looks {
					looked++
					if said == s.Captions[k] {
						right++
					}
				}
			}
			if sum := answered(t, p, phantom.Ask{Prompt: "Summarise what the images show.", Films: s.films}).Answer; sum != strings.Join(lines, " ") {
				t.Errorf("%s: the summary is %q", c.name, sum)
			}
		}
		if got := float64(right) / max(1, float64(looked)); math.Abs(got-c.right) > 3*math.Sqrt(c.right*(1-c.right)/max(1, float64(looked)))+.01 {
			t.Errorf("%s: %.3f of %d captions are right, want %.3f", c.name, got, looked, c.right)
		}
	}
	s := cases[0]
	prompt := "Write a discussion of this case in five sections.\n" + s.History + "\nA. " + s.Question.Query.Options[0].Text + "\nB. " + s.Question.Query.Options[1].Text
	text := answered(t, profile(t, "thinker"), phantom.Ask{Prompt: prompt, Films: s.films}).Answer
	at := -1
	for _, name := range []string{"Background", "Clinical perspective", "Imaging perspective", "Outcome", "Take-home"} {
		i := strings.Index(text, name+": ")
		if i <= at {
			t.Errorf("section %s stands at %d of %q", name, i, text)
		}
		at = i
	}
	if r, _ := Read(profile(t, "text-only"), 1, phantom.Ask{Prompt: "Write a caption for each image.", Films: s.films}); strings.Contains(r.Answer, "Image 1") {
		t.Errorf("a reader without eyes wrote %q", r.Answer)
	}
}
