package phantom

import (
	"encoding/json"
	"image"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/backends/phantom"
)

const (
	direct = "\n\nAnswer only, without an explanation."
	cot    = "\n\nReason step by step."
)

// exam is questions about rendered scenes.
type exam struct {
	film []phantom.Film
	q    Question
}

// open is a picture that was looked at, once; TestFilms says that files are read
// as their pixels are.
func open(img image.Image) []phantom.Film {
	return []phantom.Film{{Size: img.Bounds().Size(), View: looked(img)}}
}

func examsOf(n int) []exam {
	var out []exam
	for i := range n {
		s := NewScene(77, i)
		film := open(archive.draw(s, 128))
		all := Questions(s)
		for k := range 4 {
			out = append(out, exam{film, all[(i*7+k*19)%len(all)]})
		}
	}
	return out
}

func answered(t *testing.T, p phantom.Profile, a phantom.Ask) reply {
	t.Helper()
	r, err := Read(p, 5, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// final is what a reply answers.
func final(r reply) string {
	lines := strings.Split(r.Answer, "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "Final answer: ")
}

func kinds(r reply) []string {
	var out []string
	for _, s := range r.Steps {
		out = append(out, s.Kind)
	}
	return out
}

func within(t *testing.T, what string, k, n int, p float64) {
	t.Helper()
	if sd := math.Sqrt(float64(n) * p * (1 - p)); math.Abs(float64(k)-float64(n)*p) > 3.5*sd+0.004*float64(n) {
		t.Errorf("%s: %d of %d, want %.0f +/- %.0f", what, k, n, float64(n)*p, sd)
	}
}

func TestReadersAreAsTheirProfilesSay(t *testing.T) {
	all := examsOf(100)
	for _, p := range phantom.Profiles() {
		if !p.Looks || len(p.Eyes) > 0 || p.Name == "flaky" { // flaky sees as honest does
			continue
		}
		var right, clear [2]int
		said, sound, strayed := 0, 0, 0
		for _, e := range all {
			for arm, words := range []string{direct, cot} {
				r := answered(t, p, phantom.Ask{Prompt: e.q.Text + words, Films: e.film, Seed: 1})
				if !r.Understood {
					t.Fatalf("%q is not understood", e.q.Text)
				}
				if final(r) == e.q.Answer {
					right[arm]++
				}
				if r.Clear {
					clear[arm]++
				}
				if arm == 1 && !slices.Equal(kinds(r), p.Order) {
					strayed++
				}
				for _, s := range r.Steps {
					if s.Kind != "conclusion" && arm == 1 {
						said++
						if s.Right {
							sound++
						}
					}
				}
			}
		}
		within(t, p.Name+" right, direct", right[0], len(all), p.Acuity)
		within(t, p.Name+" right, step by step", right[1], len(all), p.AcuityCoT)
		within(t, p.Name+" strayed paths", strayed, len(all), p.Wanders)
		within(t, p.Name+" sound steps", sound, said, p.StepRight)
		for arm := range 2 { // eyes err in less than one of a hundred
			if d := right[arm] - clear[arm]; d > len(all)/100 || -d > len(all)/100 {
				t.Errorf("%s: %d answers are right, %d were seen clearly", p.Name, right[arm], clear[arm])
			}
		}
	}
}

func profile(t *testing.T, name string) phantom.Profile {
	t.Helper()
	i := slices.IndexFunc(phantom.Profiles(), func(p phantom.Profile) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no profile %s", name)
	}
	return phantom.Profiles()[i]
}

func TestRepliesHangOnFilmQuestionArmAndSeed(t *testing.T) {
	p := profile(t, "honest")
	s := NewScene(78, 3)
	big, small := open(archive.draw(s, 512)), open(archive.draw(s, 256))
	other := open(archive.draw(NewScene(78, 4), 256))
	moved := map[string]int{}
	for _, q := range Questions(s) {
		base := phantom.Ask{Prompt: q.Text + cot, Films: small, Seed: 1}
		want := answered(t, p, base)
		same := []phantom.Ask{base, base, base}
		same[1].Films = big
		same[2].Prompt = "A colleague has seen this film before.\n" + q.Text + "\n\nSomeone said so. Reason step by step."
		for i, a := range same {
			if got := answered(t, p, a); !reflect.DeepEqual(got, want) {
				t.Errorf("%q: variant %d is answered\n%+v\nnot\n%+v", q.Text, i, got, want)
			}
		}
		for what, change := range map[string]func(*phantom.Ask){
			"seed":    func(a *phantom.Ask) { a.Seed = 2 },
			"arm":     func(a *phantom.Ask) { a.Prompt = q.Text + direct },
			"picture": func(a *phantom.Ask) { a.Films = other },
		} {
			a := base
			change(&a)
			if answered(t, p, a).Clear != want.Clear {
				moved[what]++
			}
		}
		if got, err := Read(p, 6, base); err != nil || got.Clear != want.Clear {
			moved["profile seed"]++
		}
	}
	for _, what := range []string{"seed", "arm", "picture", "profile seed"} {
		if moved[what] == 0 {
			t.Errorf("another %s changes nothing", what)
		}
	}
}

func TestBlindReaderDoesNotLook(t *testing.T) {
	p := profile(t, "blind")
	myFilms := slices.Concat(open(archive.draw(NewScene(1, 0), 256)), open(archive.draw(NewScene(1, 1), 512)), open(image.NewGray(image.Rect(0, 0, 64, 64))))
	right, n := 0, 0
	for i := range 40 {
		s := NewScene(2, i)
		for k, q := range Questions(s) {
			if k%5 != i%5 {
				continue
			}
			want := answered(t, p, phantom.Ask{Prompt: q.Text + cot, Films: myFilms[:1]})
			for i := range myFilms[1:] {
				if got := answered(t, p, phantom.Ask{Prompt: q.Text + cot, Films: myFilms[i+1 : i+2]}); !reflect.DeepEqual(got, want) {
					t.Fatalf("%q: answered %q for one film, %q for another", q.Text, got.Answer, want.Answer)
				}
			}
			n++
			if final(want) == q.Answer {
				right++
			}
		}
	}
	if right*10 > n*7 || right*10 < n {
		t.Errorf("a blind reader is right in %d of %d", right, n)
	}
}

func TestWhereReasoningGoes(t *testing.T) {
	s := NewScene(1, 2)
	q := Questions(s)[0]
	film := open(archive.draw(s, 256))
	p := profile(t, "thinker")
	yes, no := true, false
	ask := func(think *bool, words string) reply {
		return answered(t, p, phantom.Ask{Prompt: q.Text + words, Films: film, Think: think})
	}
	for _, words := range []string{direct, cot} {
		r := ask(nil, words)
		if !strings.Contains(r.Thinking, "radiograph") || strings.Contains(r.Answer, "radiograph") || !reflect.DeepEqual(r, ask(&yes, words)) {
			t.Errorf("thinking %q, answer %q", r.Thinking, r.Answer)
		}
	}
	if r := ask(&no, direct); r.Thinking != "" || r.Answer != final(r) {
		t.Errorf("told not to think: %q, %q", r.Thinking, r.Answer)
	}
	if r := ask(&no, cot); r.Thinking != "" || strings.Count(r.Answer, "\n") < 4 {
		t.Errorf("told not to think, but to reason: %q, %q", r.Thinking, r.Answer)
	}
	p.Thinking = phantom.ThinksTags
	if r := ask(nil, direct); r.Thinking != "" || !strings.HasPrefix(r.Answer, "<think>\n") || !strings.Contains(r.Answer, "\n</think>\n") {
		t.Errorf("inline thinking: %q", r.Answer)
	}
	for _, p := range phantom.Profiles() {
		p.Wanders = 0
		r := answered(t, p, phantom.Ask{Prompt: q.Text + cot, Films: film})
		if !slices.Equal(kinds(r), p.Order) {
			t.Errorf("%s: steps are %v, the profile says %v", p.Name, kinds(r), p.Order)
		}
		if !strings.Contains("\n"+r.Answer, "\nFinal answer: ") {
			t.Errorf("%s: no final answer in %q", p.Name, r.Answer)
		}
	}
}

func TestOtherPrompts(t *testing.T) {
	p := profile(t, "honest")
	chest := open(archive.draw(NewScene(1, 0), 256))
	grey := open(image.NewGray(image.Rect(0, 0, 56, 56)))
	for _, c := range []struct {
		name string
		ask  phantom.Ask
		says string
	}{
		{"no picture", phantom.Ask{Prompt: "Hello"}, "no picture"},
		{"chest", phantom.Ask{Prompt: "Describe this.", Films: chest}, "chest radiograph"},
		{"no chest", phantom.Ask{Prompt: "Describe this.", Films: grey}, "not a chest radiograph"},
		{"JSON", phantom.Ask{Prompt: "Describe this.", Films: grey, JSON: true}, `{"answer": "unknown"}`},
		{"schema", phantom.Ask{Prompt: "Describe this.", Films: grey, Schema: json.RawMessage(`{"const": 7}`)}, "7"},
	} {
		if r := answered(t, p, c.ask); r.Understood || !strings.Contains(r.Answer, c.says) {
			t.Errorf("%s: %q", c.name, r.Answer)
		}
	}
	// A question of ours about a picture that is no chest is guessed at.
	q := Questions(NewScene(1, 0))[0]
	if r := answered(t, p, phantom.Ask{Prompt: q.Text + direct, Films: grey}); !r.Understood || r.Seen != (Findings{}) || r.Answer == "" {
		t.Errorf("a guess: %+v", r)
	}
	var v map[string]string
	if r := answered(t, p, phantom.Ask{Prompt: q.Text + direct, Films: chest, JSON: true}); json.Unmarshal([]byte(r.Answer), &v) != nil || len(v["answer"]) != 1 {
		t.Errorf("JSON was asked for, found %q", r.Answer)
	}
}

func BenchmarkRead(b *testing.B) {
	s := NewScene(1, 0)
	img := s.Render(512)
	q := Questions(s)[0]
	for b.Loop() {
		if _, err := Read(phantom.Profiles()[0], 1, phantom.Ask{Prompt: q.Text + cot, Films: []phantom.Film{{Size: img.Bounds().Size(), View: Look(img, Scene.Render)}}}); err != nil {
			b.Fatal(err)
		}
	}
}
