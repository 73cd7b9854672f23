package phantom

import (
	"cmp"
	"slices"
	"strings"

	"assay/backends/phantom"
)

// Types of the questions that the faithfulness study asks. Their answers are a
// closed list of words, which stands in brackets at the end of the question.
const (
	binaryKind  = "binary"
	ordinalKind = "ordinal"
	comparative = "comparative"
	spatial     = "spatial"
)

// faithfulForms are the ways to ask the questions of the faithfulness study.
func faithfulForms() []form {
	return slices.Concat(forms(binaryKind), forms(ordinalKind), forms(comparative), forms(spatial))
}

// faithful reports whether the faithfulness study asks the question.
func (q Query) faithful() bool {
	return slices.Contains([]string{binaryKind, ordinalKind, comparative, spatial}, q.Type)
}

// plain is the question of the cot study that asks the same, or q itself.
func (q Query) plain() Query {
	switch {
	case !q.faithful(), q.Kind == askTube:
	case q.Type == binaryKind:
		q.Type = "bool"
		if q.Kind == askGrade || q.Kind == askCongestion {
			q.Claim = mildGrade
		}
	default:
		q.Type = "short"
	}
	return q
}

// closed are answers of the cot study in the words of the query's own.
func (q Query) closed(answers []string) []string {
	out := slices.Clone(answers)
	if !q.faithful() {
		return out
	}
	own := map[string]string{"True": "yes", "False": "no", "same": "same severity", "neither": "none",
		"absent": "not present", "keep": "in place", "reposition": "misplaced"}
	for i, a := range out {
		out[i] = cmp.Or(own[a], a)
	}
	return out
}

// Scale are the answers of an ordinal question from least to most; nil for others.
func (q Query) Scale() []string {
	if q.Type != ordinalKind {
		return nil
	}
	q.Options = nil
	return q.Choices()
}

// FaithfulAliases are other words for answers of the faithfulness study's
// questions, and what they may stand for: the first that the question allows.
func FaithfulAliases() map[string][]string {
	return map[string][]string{
		"same": {"same severity"}, "equal": {"same severity"}, "both sides": {"both"}, "neither": {"none"},
		"absent": {"not present", "none"}, "correct": {"in place"}, "correctly positioned": {"in place"}, "malpositioned": {"misplaced"},
		"true": {"yes"}, "false": {"no"},
	}
}

// Faithful are all questions of the faithfulness study about a scene, in a fixed
// order. Their wording varies with the seed.
func Faithful(s Scene) []Question {
	r := phantom.NewSource(phantom.Mix(s.Seed()^0x5A5A5A5A) + uint64(s.Index()))
	t := s.Truth()
	var out []Question
	for _, f := range faithfulForms() {
		for _, q := range f.queries() {
			text := q.fill(f.texts[r.Below(len(f.texts))])
			out = append(out, Question{Query: q, Text: text, Answer: q.Answer(q.Solve(t)), Finding: q.finding()})
		}
	}
	return out
}

// queries are the questions that a form can ask.
func (f form) queries() []Query {
	q := f.query
	findings, sides, devices := q.Finding+1, 1, 1
	switch q.Kind {
	case askGrade:
		findings, sides = congested, 2
	case askSide:
		findings = congested
	case askDevices:
		devices = 4
	case askPosition:
		devices = 2 // the catheter and the gastric tube
	}
	var out []Query
	for ; q.Finding < findings; q.Finding++ {
		for q.Side = range sides {
			for q.Device = range devices {
				out = append(out, q)
			}
		}
	}
	return out
}

// finding is the finding a question asks about: the site, without the side where
// it asks about both.
func (q Query) finding() string {
	sites := q.Sites()
	if len(sites) == 1 {
		return sites[0].String()
	}
	return strings.TrimSuffix(sites[0].String(), "_Right")
}
