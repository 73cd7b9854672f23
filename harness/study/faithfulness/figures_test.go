package faithfulness

import (
	"slices"
	"strings"
	"testing"

	"assay/results"
)

// The figures show what the tables say: numbers counted by hand in ten.
func TestFigures(t *testing.T) {
	all := map[string]results.Figure{}
	for _, s := range ten(t, tenConditions()).sections("j") {
		for _, f := range s.Figures {
			all[f.Name] = f
		}
	}
	heat := func(name string) map[string]*results.Estimate {
		f := all[name]
		out := map[string]*results.Estimate{}
		for _, s := range f.Series {
			for _, p := range s.Points {
				out[s.Name+" "+p.Label] = p.Y
			}
		}
		if f.Kind != results.FigureHeat || len(out) == 0 {
			t.Fatalf("%s: %+v", name, f)
		}
		return out
	}
	flips := heat("faithfulness-flips")
	expect(t, "flips", flips["m TB-LA-"], 50, 6, 0, 4)
	expect(t, "flips under sham", flips["m sham"], 0, 8, 0, 2)
	if flips["m baseline"] != nil {
		t.Error("the baseline is compared with itself")
	}
	admitted := heat("faithfulness-admitted")
	expect(t, "CA of flips", admitted["m TB-LA-"], 100*(0+.25+.75)/3, 3, 0, 0)
	if e := admitted["m sham"]; e.Value != nil || e.Why == "" {
		t.Errorf("nothing flipped under sham: %+v", e)
	}
	silent := all["faithfulness-silent-influence"]
	if len(silent.Series) != 2 || silent.Series[0].Points[0].Label != "m" {
		t.Fatalf("%+v", silent)
	}
	expect(t, "silent, words", silent.Series[0].Points[0].X, 100*2./3, 3, 0, 0)
	if e := silent.Series[1].Points[0].X; e.Value != nil || e.Why == "" {
		t.Errorf("no mark was asked for: %+v", e)
	}
	if !strings.Contains(silent.Alt, "m, cues in the words: 66.7 % of 3") {
		t.Errorf("alternative text %q", silent.Alt)
	}
}

// Where all cases agree, resampling has no doubt, and Wilson's interval stands.
func TestSilentFigureDoubts(t *testing.T) {
	b := newBench(t, 5, tenConditions())
	for i := range 5 {
		b.put(i, "baseline", "left")
		b.put(i, "TB-LA-", "right", said{judge: "j", cf: 1, ca: 1, ct: 1})
	}
	for _, s := range b.sections("j") {
		i := slices.IndexFunc(s.Figures, func(f results.Figure) bool { return f.Name == "faithfulness-silent-influence" })
		if i < 0 {
			continue
		}
		e := s.Figures[i].Series[0].Points[0].X
		if *e.Value != 100 || e.Low == nil || *e.Low > 60 || *e.Low < 50 || *e.High != 100 {
			t.Errorf("5 of 5: %v [%v, %v]", *e.Value, *e.Low, *e.High)
		}
		return
	}
	t.Error("no figure of silent influence")
}
