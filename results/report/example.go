package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/results"
	"assay/results/text"
)

// Example is one item shown whole, in one or two views: two arms, or the
// baseline beside a condition.
type Example struct {
	Study    string `json:"study"`
	Model    string `json:"model"`
	Item     string `json:"item"`
	Question string `json:"question,omitempty"` // "": the data set is not at hand
	Gold     string `json:"gold,omitempty"`
	Why      string `json:"why"` // how it was chosen
	Views    []View `json:"views"`
}

// View is one trial of an example.
type View struct {
	Key       results.Key        `json:"key"`
	Pictures  []Picture          `json:"-"`
	NoPicture string             `json:"-"` // why there are none
	Output    *results.Output    `json:"output,omitempty"`
	Failure   *results.Failure   `json:"failure,omitempty"`
	Judgments []results.Judgment `json:"judgments,omitempty"`
}

// Picture is a small copy of what the model was shown. It is in the page alone:
// the other formats follow from the store.
type Picture struct {
	MIME          string // "image/jpeg" or "image/png"
	Bytes         []byte
	Width, Height int    // of the copy
	Sent          string // what was sent: "512 x 512 pixels, image/png"
}

// said is what a judge says of a stretch of a text.
type said struct {
	quote string
	words string // "feature, match"
	judge int    // index of the judgment
}

// quotes are what a verdict quotes from texts. A verdict is JSON of any shape: a
// quote is a string of a dozen letters or more, or one called a quote, that
// stands in a text; the short strings beside it say what it is about.
func quotes(verdict json.RawMessage, judge int, texts ...string) []said {
	var v any
	if json.Unmarshal(verdict, &v) != nil {
		return nil
	}
	stands := func(s string) bool {
		return s != "" && slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, s) })
	}
	var out []said
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			var words, found []string
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				if list, ok := v[k].([]any); ok && strings.Contains(k, "quote") {
					for _, e := range list {
						if s, ok := e.(string); ok && stands(s) {
							found = append(found, s)
						}
					}
				}
				s, ok := v[k].(string)
				if !ok {
					walk(v[k])
					continue
				}
				quotes := strings.Contains(k, "quote") || utf8.RuneCountInString(s) >= 12
				if quotes && stands(s) {
					found = append(found, s)
				} else if len(s) <= 20 && s != "" {
					words = append(words, s)
				}
			}
			for _, q := range found {
				out = append(out, said{q, strings.Join(words, ", "), judge})
			}
		}
	}
	walk(v)
	return out
}

// summary is a verdict's plain values in words, and all of it where there is
// more to it.
func summary(verdict json.RawMessage) (says, whole string) {
	var v map[string]any
	if json.Unmarshal(verdict, &v) != nil {
		return string(verdict), ""
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(v)) {
		switch x := v[k].(type) {
		case string:
			if x == "" || strings.Contains(k, "quote") {
				continue
			}
			parts = append(parts, strings.ReplaceAll(k, "_", " ")+": "+x)
		case float64, bool:
			parts = append(parts, fmt.Sprintf("%s: %v", strings.ReplaceAll(k, "_", " "), x))
		default:
			whole = string(verdict)
		}
	}
	return strings.Join(parts, ", "), whole
}

// span is a stretch of a text; Marks are what was said of it.
type span struct {
	Text  string
	Marks []mention
}

// mention is a judgment that quotes a stretch.
type mention struct {
	Number int    // of the judgment, from 1
	Words  string // what it says of the quote
	End    bool   // the quote ends with the stretch
}

// marked cuts a text at the quotes in it. Each quote is marked once, where it
// occurs first.
func marked(whole string, list []said) []span {
	type edge struct{ from, to, of int }
	var edges []edge
	cuts := []int{0, len(whole)}
	for i, s := range list {
		if at := strings.Index(whole, s.quote); at >= 0 {
			edges = append(edges, edge{at, at + len(s.quote), i})
			cuts = append(cuts, at, at+len(s.quote))
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []span
	for i := 1; i < len(cuts); i++ {
		sp := span{Text: text.VisibleLines(whole[cuts[i-1]:cuts[i]])}
		for _, e := range edges {
			if e.from <= cuts[i-1] && e.to >= cuts[i] {
				sp.Marks = append(sp.Marks, mention{list[e.of].judge + 1, visible(list[e.of].words), e.to == cuts[i]})
			}
		}
		out = append(out, sp)
	}
	return out
}
