package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func axes() []Axis {
	var out []Axis
	for _, a := range [][2]string{{"CF", "completeness_score"}, {"CA", "bias_acknowledgment_score"}, {"CT", "confidence_score"}, {"helpfulness", "helpfulness_score"}, {"plausibility", "plausibility_score"}} {
		out = append(out, Axis{Name: a[0], Low: 1, High: 5, Whole: true, Field: a[1]})
	}
	return out
}

// said is ratings in words.
func said(list []Rating) []string {
	var out []string
	for _, r := range list {
		score := "-"
		if r.Score != nil {
			score = fmt.Sprint(*r.Score)
		}
		out = append(out, fmt.Sprintf("%d %s %s %s %s #%d", r.Line, r.Rater, r.Case, r.Axis, score, r.Repeat))
	}
	return out
}

const readerStudy = `{"uid":"u1","index":0,"flip":true,"question":"q","cot_with_hint":"<think> a\n b </think>","modification_type":"highlight","model_name":"m","completeness_score":3,"plausibility_score":4,"bias_acknowledgment_score":2,"helpfulness_score":4,"confidence_score":5}` + "\n"

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"csv": {"case,rater,axis,score,seconds,position,repeat\naaaaaaaaaaaa,anna,CF,4,12.5,1,\nsha256:aaaaaaaaaaaabb,anna,CA,,3,1,0\naaaaaaaaaaaa,anna,CF,5,8,9,1\n",
			[]string{"2 anna aaaaaaaaaaaa CF 4 #0", "3 anna aaaaaaaaaaaabb CA - #0", "4 anna aaaaaaaaaaaa CF 5 #1"}},
		"one rater, with a mark at the beginning": {"\ufeffcase,axis,score\naaaaaaaaaaaa,CT,1\n", []string{"2 reader-2 aaaaaaaaaaaa CT 1 #0"}},
		"json":     {`{"case":"aaaaaaaaaaaa","axis":"CF","score":2,"remark":"x"}` + "\n\n" + `{"case":"aaaaaaaaaaab","rater":"ben","axis":"CF","score":null}`, []string{"1 reader-2 aaaaaaaaaaaa CF 2 #0", "3 ben aaaaaaaaaaab CF - #0"}},
		"cot-eval": {readerStudy, []string{"1 reader-2  CF 3 #0", "1 reader-2  CA 2 #0", "1 reader-2  CT 5 #0", "1 reader-2  helpfulness 4 #0", "1 reader-2  plausibility 4 #0"}},
	} {
		got, err := ReadRatings("x/reader-2.jsonl", []byte(c.content), axes())
		if err != nil || !slices.Equal(said(got), c.want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, strings.Join(said(got), "\n"), strings.Join(c.want, "\n"))
		}
	}
	got, err := ReadRatings("r.jsonl", []byte(readerStudy), axes())
	if err != nil || got[0].Text != TextOf("<think> a b </think>") || got[0].Model != "m" || got[0].Condition != "highlight" {
		t.Errorf("%+v %v", got, err)
	}
}

// TestATextRatedTwice: in the reader study a text that was shown under two conditions is one
// case, with the mean of what the rater gave.
func TestATextRatedTwice(t *testing.T) {
	line := func(condition string, cf, ct string) string {
		return `{"cot_with_hint":"<think> a\n b </think>","modification_type":"` + condition + `","model_name":"m","completeness_score":` + cf + `,"confidence_score":` + ct + "}\n"
	}
	got, err := ReadRatings("r.jsonl", []byte(line("heatmap", "3", "5")+line("box", "4", "null")+line("box", "2", "4")+strings.Replace(line("box", "1", "1"), " b ", " c ", 1)), axes())
	if want := []string{"1 r  CF 3 #0", "1 r  CT 4.5 #0", "4 r  CF 1 #0", "4 r  CT 1 #0"}; err != nil || !slices.Equal(said(got), want) {
		t.Fatalf("%v %q, want %q", err, said(got), want)
	}
	if got[0].Of != 3 || got[1].Of != 2 || got[2].Of != 1 || got[0].Condition != "heatmap" {
		t.Errorf("%+v", got)
	}
}

func TestReadSaysAllThatIsWrong(t *testing.T) {
	if _, err := ReadRatings("f.csv", []byte("case,rater,axis,score\naaaaaaaaaaaa,a,CX,4\n"), append(axes(), axes()...)); err == nil || strings.Count(err.Error(), "CF") != 1 {
		t.Errorf("an axis of two studies: %v", err)
	}
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"rows": {"case,rater,axis,score,repeat\nxyz,a,CF,4,0\naaaaaaaaaaaa,a,CX,4,0\naaaaaaaaaaaa,a,CF,4.5,0\naaaaaaaaaaaa,a,CF,6,0\naaaaaaaaaaaa,a,CF,NaN,0\naaaaaaaaaaaa,a,CF,4,x\naaaaaaaaaaaa,a,CF,4,0\naaaaaaaaaaaa1,a,CF,3,0\n",
			[]string{"f.csv:2: case", "f.csv:3: axis: expected one of CF, CA", "f.csv:4: score: expected a whole number from 1 to 5 (axis CF), found 4.5", "f.csv:5: score", "f.csv:6: score", "f.csv:7: repeat", "f.csv:9: case: expected each case once per rater, axis and repeat, found it again (first on line 8)"}},
		"header":  {"case,axis,points\n", []string{"f.csv:1: points", "f.csv:1: score"}},
		"nothing": {"", []string{"a header row"}},
		"no rows": {"case,axis,score\n", []string{"a rating"}},
		"json":    {`{"case":"aaaaaaaaaaaa","axis":"CF","score":[1],"who":"x"}` + "\n[1]\n", []string{"f.csv:1: $.score", "f.csv:1: $.who", "f.csv:2: $"}},
		"study":   {strings.Replace(readerStudy, `"completeness_score":3`, `"completeness_score":"3"`, 1), []string{"f.csv:1: $.completeness_score: expected a number"}},
	} {
		_, err := ReadRatings("f.csv", []byte(c.content), axes())
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v\nwant %q", name, err, w)
			}
		}
		if n := strings.Count(err.Error(), "\n") + 1; n != len(c.want) {
			t.Errorf("%s: %d lines, want %d:\n%v", name, n, len(c.want), err)
		}
	}
}

// TestReadTellsAnotherReaderStudy: a file of a study whose axes the store does not have
// is refused, not read as one without ratings.
func TestReadTellsAnotherReaderStudy(t *testing.T) {
	_, err := ReadRatings("f.jsonl", []byte(readerStudy), []Axis{{Name: "accuracy", High: 1, Whole: true}})
	if err == nil || !strings.Contains(err.Error(), "f.jsonl:1: $: expected ratings of a study of this store") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("case,rater,axis,score\naaaaaaaaaaaa,a,CF,4\n")
	f.Add(readerStudy)
	f.Add(`{"case":"aaaaaaaaaaaa","axis":"CF","score":2}`)
	f.Fuzz(func(t *testing.T, content string) {
		list, err := ReadRatings("f", []byte(content), axes())
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d ratings, %v", len(list), err)
		}
		for _, r := range list {
			if r.Score != nil && (*r.Score < 1 || *r.Score > 5) || (r.Case == "") == (r.Text == "") {
				t.Fatalf("%+v", r)
			}
		}
	})
}
