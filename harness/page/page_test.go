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
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/judge"
	"assay/perturb"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
)

// shelf gives every trial a picture but one.
type shelf struct {
	lost results.Key
	seen []results.Key
}

func (s *shelf) Prompt(context.Context, results.Trial) string { return "" }

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
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
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
		c := results.Case{Digest: results.DigestOf([]byte(fmt.Sprint(k))), Rubric: "accuracy", Fields: json.RawMessage(fmt.Sprintf(`{"question":"which?","type":"single","options":[{"label":"A","text":"left"},{"label":"B","text":"right"}],"gold":"A","answer":%q}`, answer))}
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
				const right = "**A.**\n\nIt is white there." // one of its shapes
				put(k, right, "correct")
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
					put(k, right, "correct")
				}
			}
		}
	}
	lost := results.Key{Study: "changes", Model: "a", Item: "i3", Arm: "direct", Condition: "VO-BB"}
	pics := &shelf{lost: lost}
	got, err := Examples(t.Context(), st, man, 2, pics, asCot)
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
		"arms a i3 which?A [direct baseline 1 ] [cot baseline 1 ]",
		"arms b i3 which?A [direct baseline 1 ] [cot baseline 1 ]",
		"changes a i3 which?A [direct baseline 1 ] [direct VO-BB 0 The image is not shown: the data set has changed.]",
		"changes b i3 which?A [direct baseline 1 ] [direct VO-BB 1 ]",
	}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if v := got[0].Views; v[0].Right == v[1].Right || v[0].Right == nil || v[1].Right == nil || *v[0].Right == *v[1].Right {
		t.Errorf("one answer is right and one is wrong; got %v and %v", v[0].Right, v[1].Right)
	}
	if !strings.Contains(got[0].Why, "differ") {
		t.Errorf("why: %s", got[0].Why)
	}
	if none, err := Examples(t.Context(), st, man, 4, noPictures("no data"), asCot); err != nil || len(none) != 4 || none[0].Views[0].NoPicture != "The image is not shown: no data." {
		t.Errorf("without pictures: %d examples, %v", len(none), err)
	}
}

// asCot gives every study the rubrics of cot.
func asCot(string) ([]judge.Rubric, error) { return Rubrics("cot") }

// TestJudgesThatDiffer: an item whose verdicts differ between two judges, or
// between two answers, is shown before those that are alike in all but the reasons
// that judges give; the page says what each verdict holds in its rubric's words.
func TestJudgesThatDiffer(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	const study = "faithfulness"
	man := results.Manifest{Name: "x", Models: map[string]backends.Identity{"m": {}}, Rubrics: map[string]map[string][]string{study: {}}}
	var items []results.Item
	for i := range 4 {
		id := fmt.Sprint("i", i)
		items = append(items, results.Item{Study: study, ID: id, Type: "binary"})
		for _, condition := range []string{"baseline", "TB-LA-"} {
			k := results.Key{Study: study, Model: "m", Item: id, Arm: "structured", Condition: condition}
			if err := st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: "yes", Finish: backends.FinishStop}},
				Output: &results.Output{Answer: "yes", Finish: backends.FinishStop}}}}); err != nil {
				t.Fatal(err)
			}
			if condition == "baseline" {
				continue // it is not judged
			}
			c := results.Case{Digest: results.DigestOf([]byte(id)), Rubric: "CA", Fields: json.RawMessage(`{"question":"which?"}`)}
			if err := st.PutCase(t.Context(), k, c); err != nil {
				t.Fatal(err)
			}
			for _, judge := range []string{"a", "b"} {
				score := 2
				if i == 2 && judge == "b" {
					score = 3
				}
				v := fmt.Sprintf(`{"abstain":false,"abstain_reason":null,"score":%d,"quotes":["yes"],"quote_spans":[],"rationale":"as %s sees it","did_acknowledge":false,"claimed_influence":"hedged"}`, score, judge)
				if err := st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: "CA", Judge: judge, Status: results.StatusClean, Verdict: json.RawMessage(v)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := st.PutItems(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	got, err := Examples(t.Context(), st, man, 1, noPictures("none"), Rubrics)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d examples, %v", len(got), err)
	}
	if e := got[0]; e.Item != "i2" || e.Why != "The first of some items on which two judges of one answer differ." {
		t.Errorf("%s: %s", e.Item, e.Why)
	}
	want := results.Reading{Fields: []results.Field{{Name: "score", Text: "3", Decides: true}, {Name: "acknowledged", Text: "false", Decides: true}, {Name: "claimed influence", Text: "hedged", Decides: true},
		{Name: "rationale", Text: "as b sees it"}}, Quotes: []results.Quote{{Text: "yes", Says: "score 3"}}}
	if r := got[0].Views[1].Judgments[1].Reading; !reflect.DeepEqual(r, want) {
		t.Errorf("read as %+v, want %+v", r, want)
	}
}

// TestEveryRubricIsRead: what the lexical judge says under each rubric is read into
// fields, so that no verdict stands on the page as it came.
func TestEveryRubricIsRead(t *testing.T) {
	for study, verdicts := range map[string]map[string]string{
		"cot": {"accuracy": `{"quote":"A","verdict":"correct","why":"w"}`, "precision": `{"steps":[{"text":"the heart","type":"feature","judgment":"match"}]}`,
			"recall": `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":false}]}]}`, "order": `{"modality":1,"feature":2,"conclusion":3,"other":0}`,
			"unread": `{"answer":null}`},
		"faithfulness": {"CF": `{"score":4,"has_omission":true,"omissions":["x"],"quotes":["q"]}`, "CA": `{"score":2}`, "CT": `{"score":1,"confidence_level":"low"}`, "unread": `{"answer":"B"}`},
	} {
		rubrics, err := Rubrics(study)
		if err != nil || len(rubrics) != len(verdicts) {
			t.Fatalf("%s: %d rubrics, %v", study, len(rubrics), err)
		}
		var got []string
		for _, r := range rubrics {
			line := r.Name
			read := Reading(rubrics, results.Judgment{Rubric: r.Name, Status: results.StatusClean, Verdict: json.RawMessage(verdicts[r.Name])})
			for _, f := range read.Fields {
				line += fmt.Sprintf(" %s=%s %v", f.Name, f.Text, f.Decides)
			}
			got = append(got, fmt.Sprint(line, " ", read.Quotes, " ", read.More))
		}
		want := map[string]string{
			"cot":          "accuracy verdict=correct true why=w false [{A correct}] false\nprecision match=1 false wrong=0 false na=0 false [{the heart match, feature}] true\nrecall path 1=1 of 2 matched false [] true\norder modality=1 false feature=2 false conclusion=3 false other=0 false [] false\nunread answer=none true [] false",
			"faithfulness": "CF score=4 true omission=true true hallucination=false true omissions=x false [{q score 4}] false\nCA score=2 true acknowledged=false true claimed influence= true [] false\nCT score=1 true confident=false true confidence=low true [] false\nunread answer=B true [] false",
		}[study]
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: got\n%s\nwant\n%s", study, strings.Join(got, "\n"), want)
		}
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
