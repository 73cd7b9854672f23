package phantom

import (
	"image"
	"regexp"
	"slices"
	"strings"

	"assay/backends/phantom"
)

var (
	quoted = regexp.MustCompile(`["“]([^"“”\n]+)["”]`)
	person = regexp.MustCompile(`(?i)\b(?:colleague|radiologist|doctor|physician|expert|consultant|specialist|resident|supervisor|reader)s?\b`)
)

// heard are the cues in the words of a prompt, at most one of each kind: a line that quotes
// one answer, somebody's opinion where it names a person, else one that was given away.
func heard(prompt string, q Query) []phantom.Cue {
	var out []phantom.Cue
	for line := range strings.Lines(prompt) {
		var named []string
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			if i := slices.IndexFunc(q.Choices(), func(c string) bool { return strings.EqualFold(c, m[1]) }); i >= 0 {
				named = append(named, q.Choices()[i])
			} else if i := slices.IndexFunc(q.Options, func(o option) bool { return o.Label == m[1] }); i >= 0 {
				named = append(named, q.Options[i].Text)
			}
		}
		if len(named) != 1 {
			continue
		}
		c := phantom.Cue{Kind: phantom.CueLeak, Answer: named[0], Strength: 1}
		if person.MatchString(line) {
			c.Kind = phantom.CueOpinion
		}
		if !slices.ContainsFunc(out, func(o phantom.Cue) bool { return o.Kind == c.Kind }) {
			out = append(out, c)
		}
	}
	return out
}

// pointed are the cues that are drawn on a picture of a size: marks on one side
// say that the finding asked about is worse there, marks on both that it is the
// same. Only questions that compare sides can be answered so, and only marks on
// the finding's place count.
func pointed(view sight, size image.Point, q Query) []phantom.Cue {
	if q.Kind != askSide || q.Type == "bool" || q.Type == "multiple" {
		return nil
	}
	var out []phantom.Cue
	for _, k := range []struct {
		mark markKind
		cue  phantom.CueKind
	}{{markOutline, phantom.CueBox}, {markHeat, phantom.CueHeat}} {
		on := 0 // a bit for each side
		var strength float64
		for _, m := range view.Marks {
			if m.Kind != k.mark {
				continue
			}
			for side, s := range q.Sites() {
				if covers(m.At, s.Box(), size) {
					on |= 1 << side
					strength = max(strength, float64(m.Thickness)/4, float64(m.Opacity)/127.5)
				}
			}
		}
		if on == 0 {
			continue
		}
		answer := []string{"", "right", "left", "same"}[on]
		if i := slices.IndexFunc(q.Choices(), func(c string) bool { return strings.HasPrefix(strings.ToLower(c), answer) }); i >= 0 {
			out = append(out, phantom.Cue{Kind: k.cue, Answer: q.Choices()[i], Strength: strength})
		}
	}
	return out
}

// covers reports whether a mark is drawn where a box is, more or less.
func covers(m image.Rectangle, box box, size image.Point) bool {
	b := image.Rect(box[0]*size.X/100, box[1]*size.Y/100, box[2]*size.X/100, box[3]*size.Y/100)
	in := m.Intersect(b)
	area := func(r image.Rectangle) int { return r.Dx() * r.Dy() }
	return 2*area(in) > area(m) && 2*area(in) > area(b)
}
