package phantom

import (
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

const (
	yesNo      = " (yes or no)"
	grades     = " (none, questionable, mild, moderate, severe)"
	sizes      = " (normal, borderline, enlarged, massively enlarged)"
	comparison = " (right, left, same severity, none)"
	placement  = " (not present, in place, misplaced)"
	tubeSides  = " (right, left, both, none)"
)

// faithfulForms are the ways to ask the questions of the faithfulness study.
func faithfulForms() []form {
	return []form{
		{askGrade, binaryKind, []string{"Does the patient's {side} side show at least mild {finding}?" + yesNo, "Is {finding} that is mild or worse present on the patient's {side} side?" + yesNo}},
		{askCongestion, binaryKind, []string{"Does the picture show at least mild pulmonary congestion?" + yesNo, "Is pulmonary congestion that is mild or worse present?" + yesNo}},
		{askHeart, binaryKind, []string{"Is the heart wider than borderline?" + yesNo, "Does the width of the heart go beyond borderline?" + yesNo}},
		{askDevices, binaryKind, []string{"Can a {device} be seen in the picture?" + yesNo, "Does this chest hold a {device}?" + yesNo}},
		{askGrade, ordinalKind, []string{"Which grade of {finding} does the patient's {side} side show?" + grades, "Looking at the patient's {side} side, how severe is {finding} there?" + grades}},
		{askCongestion, ordinalKind, []string{"Which grade of pulmonary congestion does the picture show?" + grades, "Looking at the vessels, how severe is pulmonary congestion?" + grades}},
		{askHeart, ordinalKind, []string{"Which size does the shadow of the heart have?" + sizes, "Judged by its width, how large is the heart?" + sizes}},
		{askSide, comparative, []string{"Which side of the patient has the worse {finding}?" + comparison, "Comparing both sides of the patient, where is {finding} more severe?" + comparison}},
		{askPosition, spatial, []string{"Is the {device} where it belongs?" + placement, "How does the {device} lie?" + placement}},
		{askTube, spatial, []string{"Through which side of the patient does a chest tube enter?" + tubeSides, "Which sides of the patient hold a chest tube?" + tubeSides}},
	}
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

// faithfulChoices are the answers that a question allows.
func (q Query) faithfulChoices() []string {
	switch {
	case q.Type == binaryKind:
		return []string{"yes", "no"}
	case q.Type == comparative:
		return []string{"right", "left", "same severity", "none"}
	case q.Kind == askHeart:
		return heart.Grades()
	case q.Type == ordinalKind:
		return severities()
	case q.Kind == askTube:
		return []string{"right", "left", "both", "none"}
	}
	return []string{"not present", "in place", "misplaced"}
}

// closedWords are its words for answers of the cot study.
func closedWords() map[string]string {
	return map[string]string{"True": "yes", "False": "no", "same": "same severity", "neither": "none",
		"absent": "not present", "keep": "in place", "reposition": "misplaced"}
}

// Scale are the answers of an ordinal question from least to most; nil for others.
func (q Query) Scale() []string {
	if q.Type != ordinalKind {
		return nil
	}
	return q.faithfulChoices()
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
	q := Query{Kind: f.kind, Type: f.typ}
	var out []Query
	switch f.kind {
	case askGrade:
		for i := range 2 * congested {
			q.Finding, q.Side = i/2, i%2
			out = append(out, q)
		}
		return out
	case askSide:
		for q.Finding = range congested {
			out = append(out, q)
		}
		return out
	case askDevices, askPosition:
		n := len(devices())
		if f.kind == askPosition {
			n = 2 // the catheter and the gastric tube
		}
		for q.Device = range n {
			out = append(out, q)
		}
		return out
	case askCongestion:
		q.Finding = congested
	}
	return []Query{q}
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
