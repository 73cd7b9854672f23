package eye

import (
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"assay/harness/dataset/phantom"
)

var asks = flag.String("asks", "", "write what .ci/eye/golden.py is to answer into this folder")

// asked is a case that torch has answered: testdata/golden.json, by .ci/eye/golden.py.
type asked struct {
	Name     string             `json:"name"`
	Engine   Engine             `json:"engine"`
	System   string             `json:"system,omitempty"`
	Before   string             `json:"before,omitempty"` // text before the pictures
	After    string             `json:"after"`            // and behind them
	Pictures []string           `json:"pictures"`         // files of raw bytes, and what they show
	Sizes    [][2]int           `json:"sizes"`
	LogProbs map[string]float64 `json:"logprobs,omitempty"` // of the answer's first token: the eight largest above -12
	Answer   string             `json:"answer,omitempty"`
	images   []image.Image
}

func (a asked) ask() Ask {
	out := Ask{System: a.System}
	if a.Before != "" {
		out.User = append(out.User, Part{Text: a.Before})
	}
	for _, i := range a.images {
		out.User = append(out.User, Part{Image: i})
	}
	return Ask{System: a.System, User: append(out.User, Part{Text: a.After})}
}

// goldens are 96 cases: shapes and films of many sizes, one to three pictures, text on both
// sides, both engines.
func goldens() (out []asked) {
	const only = "\n\nGive the answer only: a few words, without any explanation."
	shape := func(i, w, h int) (Shapes, string) {
		return Draw(rand.New(rand.NewPCG(31, uint64(i))), Tasks()[i%4], w, h), Tasks()[i%4]
	}
	sizes := [][2]int{{112, 112}, {112, 112}, {64, 64}, {100, 100}, {115, 115}, {160, 120}, {224, 224}, {300, 100}}
	for i := range 40 {
		size := sizes[i%len(sizes)]
		if i == 39 {
			size = [2]int{448, 448}
		}
		s, task := shape(i/2, size[0], size[1])
		a := asked{Engine: Engine(i / 8 % 2), After: Questions(task)[i%3] + only, images: []image.Image{s.Image}}
		switch i % 5 {
		case 2:
			a.Before, a.After = a.After, ""
		case 3:
			a.System = "012345678901234567890123 (number of this request)"
		case 4:
			a.After = Questions(task)[i%3] + "\n\nReply with one JSON object: {\"answer\": \"...\"}"
		}
		out = append(out, a)
	}
	for i := range 40 {
		s := phantom.NewScene(31, i)
		q := phantom.Questions(s)
		q = append(q, phantom.Faithful(s)...)
		out = append(out, asked{Engine: Engine(i % 2), After: q[(i*7)%len(q)].Text + only, images: []image.Image{s.Render([]int{112, 112, 140, 224}[i/2%4])}})
	}
	for i := range 12 {
		a := asked{Engine: Engine(i % 2), After: fmt.Sprintf("In image %d: Name the colour.", 1+i%3) + only}
		for k := range 2 + i%3%2 {
			s, _ := shape(100+3*i+k, 112, 112)
			a.images = append(a.images, s.Image)
		}
		out = append(out, a)
	}
	for i := range 4 {
		out = append(out, asked{Engine: Engine(i % 2), After: Questions(Tasks()[i])[0] + only})
	}
	for i := range out {
		out[i].Name = fmt.Sprintf("%02d", i)
		for k, img := range out[i].images {
			out[i].Pictures = append(out[i].Pictures, fmt.Sprintf("%02d-%d.rgb", i, k))
			out[i].Sizes = append(out[i].Sizes, [2]int{img.Bounds().Dx(), img.Bounds().Dy()})
		}
	}
	return out
}

func model(t *testing.T) *Model {
	t.Helper()
	m, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// answered are the cases with torch's answers.
func answered(t *testing.T) []asked {
	t.Helper()
	list := goldens()
	if *asks != "" {
		for _, a := range list {
			for k, img := range a.images {
				if err := os.WriteFile(filepath.Join(*asks, a.Pictures[k]), pixelsOf(img).rgb, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		b, err := json.Marshal(list)
		if err == nil {
			err = os.WriteFile(filepath.Join(*asks, "asks.json"), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Skip("asks written")
	}
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var said []asked
	if err := json.Unmarshal(b, &said); err != nil {
		t.Fatal(err)
	}
	if len(said) != len(list) {
		t.Fatalf("expected %d answers, found %d", len(list), len(said))
	}
	for i := range list {
		if list[i].After != said[i].After || list[i].Before != said[i].Before {
			t.Fatalf("case %d asks %q, torch was asked %q", i, list[i].After, said[i].After)
		}
		list[i].LogProbs, list[i].Answer = said[i].LogProbs, said[i].Answer
	}
	return list
}

// apart is the largest difference to torch's log-probabilities.
func (a asked) apart(w Word) float64 {
	d := 0.0
	for text, p := range a.LogProbs {
		d = max(d, math.Abs(p-w.LogProbs[text]))
	}
	return d
}

// Measured: 96 of 96 answers equal, the largest difference 6e-6.
func TestTheOracleIsTorch(t *testing.T) {
	m := model(t)
	list := answered(t)
	worst := 0.0
	for _, a := range list {
		text, words := m.Answer(a.Engine, a.ask(), 8)
		if text != a.Answer {
			t.Errorf("case %s: answers %q, torch %q", a.Name, text, a.Answer)
		}
		worst = max(worst, a.apart(words[0]))
		if d := a.apart(words[0]); d > 1e-3 {
			t.Errorf("case %s: a log-probability is %g from torch's", a.Name, d)
		}
	}
	t.Logf("%d cases, log-probabilities at most %.2g from torch's", len(list), worst)
}
