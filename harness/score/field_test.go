package score

import (
	"encoding/json"
	"testing"

	jsonv1 "github.com/go-json-experiment/json/v1"
)

// FuzzScoreIn: where it is sure, a verdict's number is what a decoder reads.
func FuzzScoreIn(f *testing.F) {
	for _, s := range []string{
		`{"abstain":false,"quote_spans":[[62,149],[163,232]],"quotes":["a \"b\" \u00e9 \\"],"rationale":"","score":4}`,
		`{"score":-0}`, `{"score":null}`, `{}`, `{"score":1,"Score":2}`, `{"\u0073core":3}`, `{"ſcore":3}`, `{"score":1,"score":2}`, `{"score":1.0}`, `{"score":1e2}`,
		`{"score":99999999999999999999}`, `{"score":"1"}`, `{"score":01}`, `{"score":1,}`, `{"score":1}x`, `{"a":[{}],"b":{"score":3},"score":5}`, `{"a":[1,]}`, `[]`, `null`, ``,
		"{\"a\":\"\x01\",\"score\":1}", "{\"a\":\"\xff\",\"score\":1}", `{"score" :1}`, `{"a":"\ud800","score":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, sure := scoreIn(b)
		if !sure {
			return
		}
		var want struct{ Score *int }
		err := jsonv1.Unmarshal(b, &want)
		if err != nil || (got == nil) != (want.Score == nil) || got != nil && *got != *want.Score {
			t.Fatalf("%q: %v, a decoder reads %v, %v", b, got, want.Score, err)
		}
	})
}

// TestScoreInIsSure: of what json.Marshal writes no decoder is needed.
func TestScoreInIsSure(t *testing.T) {
	five := 5
	type verdict struct {
		Abstain bool     `json:"abstain"`
		Quotes  []string `json:"quotes"`
		Spans   [][]int  `json:"quote_spans"`
		Score   *int     `json:"score"`
	}
	for _, v := range []verdict{{}, {Score: &five}, {Abstain: true, Quotes: []string{"a <b> \"c\"\n", "Größe"}, Spans: [][]int{{0, 12}, {}}, Score: &five}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, sure := scoreIn(b); !sure || (got == nil) != (v.Score == nil) || got != nil && *got != 5 {
			t.Errorf("%s: %v, %v", b, got, sure)
		}
	}
}
