package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/perturb"
	"assay/results"
	"assay/results/report"
	"assay/results/sqlite"
)

// shelf gives every trial a picture but one.
type shelf struct {
	lost results.Key
	seen []results.Key
}

func (s *shelf) Of(_ context.Context, t results.Trial) ([]report.Picture, error) {
	s.seen = append(s.seen, t.Key)
	if t.Key == s.lost {
		return nil, errors.New("the data set has changed")
	}
	return []report.Picture{{MIME: "image/png", Bytes: []byte(t.Key.Condition), Width: 1, Height: 1}}, nil
}

// TestExamples: an item on which verdicts differ comes before one on which they
// do not; a condition stands beside its baseline, arms beside each other where
// there is none; never more than asked for, and always the same.
func TestExamples(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	man := results.Manifest{Name: "x", Models: map[string]backends.Identity{"a": {}, "b": {}, "c": {}}, Rubrics: map[string]map[string][]string{"arms": {}, "changes": {}}}
	put := func(k results.Key, answer, verdict string) {
		t.Helper()
		tr := results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: answer, Finish: backends.FinishStop}}, Output: &results.Output{Answer: answer, Finish: backends.FinishStop}}}}
		if answer == "" {
			tr.Attempts[0].Output, tr.Attempts[0].Turns, tr.Attempts[0].Failure = nil, nil, &results.Failure{Kind: "stall", Message: "x"}
		}
		if err := st.PutTrial(t.Context(), tr); err != nil {
			t.Fatal(err)
		}
		if verdict == "" {
			return
		}
		c := results.Case{Digest: results.DigestOf([]byte(fmt.Sprint(k))), Rubric: "accuracy", Fields: json.RawMessage(`{"question":"which?","gold":"left"}`)}
		if err := st.PutCase(t.Context(), k, c); err != nil {
			t.Fatal(err)
		}
		if err := st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "j", Status: results.StatusClean, Verdict: json.RawMessage(fmt.Sprintf(`{"verdict":%q}`, verdict))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, study := range []string{"arms", "changes"} {
		var items []results.Item
		for i := range 5 {
			items = append(items, results.Item{Study: study, ID: fmt.Sprint("i", i), Type: "single"})
		}
		if err := st.PutItems(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		for _, model := range []string{"a", "b", "c"} {
			for i := range 5 {
				k := results.Key{Study: study, Model: model, Item: fmt.Sprint("i", i), Arm: "direct", Condition: "baseline"}
				put(k, "left", "correct")
				if study == "changes" {
					k.Condition = "VO-BB"
				} else {
					k.Arm = "cot"
				}
				switch {
				case model == "c":
					put(k, "", "") // it failed everywhere
				case i == 3:
					put(k, "right", "incorrect")
				default:
					put(k, "left", "correct")
				}
			}
		}
	}
	lost := results.Key{Study: "changes", Model: "a", Item: "i3", Arm: "direct", Condition: "VO-BB"}
	pics := &shelf{lost: lost}
	got, err := Examples(t.Context(), st, man, 2, pics)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range got {
		line := e.Study + " " + e.Model + " " + e.Item + " " + e.Question + e.Gold
		for _, v := range e.Views {
			line += fmt.Sprintf(" [%s %s %d %s]", v.Key.Arm, v.Key.Condition, len(v.Pictures), v.NoPicture)
		}
		said = append(said, line)
	}
	want := []string{
		"arms a i3 which?left [direct baseline 1 ] [cot baseline 1 ]",
		"arms b i3 which?left [direct baseline 1 ] [cot baseline 1 ]",
		"changes a i3 which?left [direct baseline 1 ] [direct VO-BB 0 The picture is not shown: the data set has changed.]",
		"changes b i3 which?left [direct baseline 1 ] [direct VO-BB 1 ]",
	}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(got[0].Why, "differ") {
		t.Errorf("why: %s", got[0].Why)
	}
	if none, err := Examples(t.Context(), st, man, 4, NoPictures("no data")); err != nil || len(none) != 4 || none[0].Views[0].NoPicture != "The picture is not shown: no data." {
		t.Errorf("without pictures: %d examples, %v", len(none), err)
	}
}

// TestCopyOf: the copy has the picture's shape and pixels, and at most the side
// that a page shows.
func TestCopyOf(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 1000, 500))
	for y := range 500 {
		for x := range 1000 {
			img.SetGray(x, y, color.Gray{Y: uint8(x / 4)})
		}
	}
	file, err := perturb.EncodePNG(img)
	if err != nil {
		t.Fatal(err)
	}
	pic, err := copyOf(file)
	if err != nil {
		t.Fatal(err)
	}
	small, err := jpeg.Decode(bytes.NewReader(pic.Bytes))
	if err != nil || pic.MIME != "image/jpeg" || pic.Width != shownSide || pic.Height != shownSide/2 || small.Bounds().Dx() != pic.Width || pic.Sent != "1000 x 500 pixels" {
		t.Fatalf("%+v, %v", pic, err)
	}
	for _, x := range []int{40, 190, 340} {
		r, _, _, _ := small.At(x, 90).RGBA()
		if want := float64(x) * 1000 / shownSide / 4; float64(r>>8) < want-6 || float64(r>>8) > want+6 {
			t.Errorf("at %d: %d, want about %.0f", x, r>>8, want)
		}
	}
	if _, err := copyOf([]byte("no picture")); err == nil {
		t.Error("what is no picture was copied")
	}
}
