package phantom

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	"assay/backends/phantom"
)

// origins is by site which picture, from 1, shows most of it; 0: none, or it was read.
type origins [NumSites]int

// together is what the pictures that the reader attends to show of a case: of each
// site the most. Its film is the one that shows most of what is asked, wherever it
// stands, so that chance falls the same way when others come and go.
func (p mind) together(films []phantom.Film, sites []Site) (view sight, from origins) {
	least := uint64(0)
	of := make([]uint64, len(films))
	for i, one := range p.attended(films) {
		v := one.View.(sight)
		if of[i] = v.Film; i == 0 || v.Film < least {
			least = v.Film
		}
		view.Marks = append(view.Marks, v.Marks...)
		for s, r := range v.Findings {
			if had := view.Findings[s]; r.Sure && (!had.Sure || r.Grade > had.Grade) {
				view.Findings[s], from[s] = r, i+1
			}
		}
	}
	view.Film = least
	if top := most(view.Findings, sites); view.Findings[top].Grade >= moderate {
		view.Film = of[from[top]-1]
	}
	return view, from
}

// read adds what the prompt says of the films. Who is told what decides takes what
// nobody saw for nothing.
func read(q Query, prompt string, f Findings, from origins) (Findings, origins) {
	f, told := q.Told(prompt, f)
	for _, s := range told {
		from[s] = 0
	}
	for _, s := range q.Sites() {
		if len(told) > 0 && !f[s].Sure {
			f[s] = reading{Sure: true}
		}
	}
	return f, from
}

// cite puts the picture that decides in front of the step that says what shows.
func (o origins) cite(q Query, f Findings, steps []phantom.Said) int {
	if q.Kind != askCase {
		return 0
	}
	at := o[most(f, q.Sites())]
	for i := range steps {
		if steps[i].Kind == "feature" && at > 0 {
			steps[i].Text = fmt.Sprintf("Image %d: %s", at, steps[i].Text)
			return at
		}
	}
	return 0
}

var (
	wantsCaptions   = regexp.MustCompile(`(?i)\bcaptions?\b`)
	wantsSummary    = regexp.MustCompile(`(?i)\bsummar(?:y|ies|i[sz]e)\b`)
	wantsDiscussion = regexp.MustCompile(`(?i)\bdiscussion\b`)
)

// writeCase writes what a prompt wants to have written of the pictures: captions, a
// summary of them, a discussion; "" where it wants none of these. A sentence about a
// picture is right with the chance that a step is; pictures that are not looked at
// are said to be films of a chest.
func (p mind) writeCase(prompt string, films []phantom.Film, seed uint64, asked int64) string {
	discussion, captions, summary := wantsDiscussion.MatchString(prompt), wantsCaptions.MatchString(prompt), wantsSummary.MatchString(prompt)
	if !p.Vision || len(films) == 0 || !discussion && !captions && !summary {
		return ""
	}
	var lines []string
	all := Findings{}
	for i, one := range films {
		text := "A frontal chest radiograph."
		if i < len(p.attended(films)) {
			v := one.View.(sight)
			h := fnv.New64a()
			fmt.Fprintf(h, "caption %s %d %d %d", p.Name, seed, asked, v.Film)
			f, d := v.Findings, phantom.NewSource(h.Sum64())
			if right := caption(f); !d.Hits(p.StepRight) {
				for text = right; text == right; text = caption(f) {
					f[d.Below(int(congestion)+1)].Grade = d.Below(3)
				}
			} else {
				text = right
			}
			for s, r := range f {
				if r.Grade > all[s].Grade {
					all[s] = r
				}
			}
		}
		lines = append(lines, fmt.Sprintf("Image %d: %s", i+1, text))
	}
	switch {
	case discussion:
		q := CaseIn(prompt)
		all, _ = q.Told(prompt, all)
		var b strings.Builder
		for _, s := range discuss(q, all, lines) {
			fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Text)
		}
		return strings.TrimSuffix(b.String(), "\n")
	case captions:
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines, " ")
}
