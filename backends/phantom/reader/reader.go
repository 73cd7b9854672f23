// Package reader answers questions about radiographs as a Profile says: what it
// sees, how it reasons, what moves it. A reader knows the request and nothing
// else, least of all the case behind the picture.
package reader

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"slices"
	"strings"

	"assay/backends/phantom/chance"
	"assay/backends/phantom/scene"
)

// Ask is all that a reader is given: what stands in the request.
type Ask struct {
	Prompt   string        // the texts of the conversation, the last message last
	Pictures []image.Image // of the last message that has any
	Seed     int64         // of the sampling
	Think    *bool         // nil: the reader's own habit
	JSON     bool          // the answer has to be JSON
	Schema   json.RawMessage
}

// Reply is what a reader says, and what stands behind it.
type Reply struct {
	Thinking string // in the channel of its own
	Answer   string

	Understood bool           // the prompt asks a question that phantoms know
	Seen       scene.Findings // what the eyes found; not sure where nothing could be seen
	Believed   scene.Findings // what the reader goes by
	Clear      bool           // nothing the question asks about was misread
	Steps      []Said
}

// Said is one step of a reader's reasoning.
type Said struct {
	Kind  string // "modality", "feature", "conclusion", "other"
	Text  string
	Right bool // it says what the reader saw, or what is known
}

// Read answers. The same profile, seed and ask give the same reply.
//
// What chance decides hangs on the film, the question, the way it is asked and
// the seeds: neither on the wording around the question nor on what was drawn
// over the film, so that an answer changes only when something changed it.
func (p Profile) Read(seed uint64, a Ask) (Reply, error) {
	q, ok := scene.Understand(a.Prompt)
	if a.Schema != nil {
		answer, err := instance(a.Schema)
		return Reply{Answer: string(answer)}, err
	}
	var view scene.View
	if p.Vision && p.Looks && len(a.Pictures) > 0 {
		view = scene.Measure(a.Pictures[0])
	}
	if !ok {
		return Reply{Answer: p.chat(a, view), Seen: view.Findings}, nil
	}
	stepwise := asksForSteps(a.Prompt)
	thinks := p.Thinking != ThinksNot && (a.Think == nil || *a.Think)
	bare := q
	bare.Options = nil
	draws := func(what string) *chance.Source {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %s %+v %v %d", what, p.Name, bare, stepwise, a.Seed)
		binary.Write(h, binary.LittleEndian, []uint64{seed, view.Film})
		return chance.New(h.Sum64())
	}

	r := Reply{Understood: true, Seen: view.Findings, Clear: true}
	r.Believed = imagine(r.Seen, draws("imagine"))
	picks := q.Solve(r.Believed)
	acuity := p.Acuity
	if stepwise {
		acuity = p.AcuityCoT
	}
	if p.Vision && p.Looks && len(a.Pictures) > 0 {
		if d := draws("acuity"); !d.Hits(acuity) {
			r.Clear = false
			r.Believed, picks = misread(q, r.Believed, d)
		}
	}
	answer := q.Answer(picks)
	if answer == "" { // what it believes in is not on offer
		choices := q.Choices()
		picks = choices[draws("guess").Below(len(choices)):][:1]
		answer = q.Answer(picks)
	}
	if a.JSON {
		b, err := json.Marshal(map[string]string{"answer": answer})
		r.Answer = string(b)
		return r, err
	}

	var reasoning string
	if stepwise || thinks {
		r.Steps = p.steps(q, r.Believed, picks, draws("steps"))
		reasoning = p.reason(r.Steps)
	}
	final := answer
	if stepwise {
		final = "Final answer: " + answer
	}
	switch {
	case reasoning == "":
		r.Answer = final
	case !thinks:
		r.Answer = reasoning + final
	case p.Thinking == ThinksTags:
		r.Answer = "<think>\n" + reasoning + "</think>\n" + final
	default:
		r.Thinking, r.Answer = strings.TrimSuffix(reasoning, "\n"), final
	}
	return r, nil
}

// asksForSteps tells from the prompt's words how to answer. A prompt that wants
// neither reasoning nor the bare answer gets the bare answer.
func asksForSteps(prompt string) bool {
	low := strings.ToLower(prompt)
	for _, words := range []string{"step by step", "step-by-step", "your reasoning", "all your steps", "think aloud"} {
		if strings.Contains(low, words) {
			return true
		}
	}
	return false
}

// imagine puts a guess where nothing was seen.
func imagine(f scene.Findings, d *chance.Source) scene.Findings {
	for s := range f {
		guess := d.Below(len(scene.Site(s).Grades()))
		if d.Below(2) == 0 {
			guess = 0 // most of what is asked about is not there
		}
		if !f[s].Sure {
			f[s].Grade = guess
		}
	}
	return f
}

// misread changes what the question asks about until the answer is another one:
// one site first, then two, then more. Where no site matters, or none helps, the
// answer itself goes astray.
func misread(q scene.Query, f scene.Findings, d *chance.Source) (scene.Findings, []string) {
	right := q.Answer(q.Solve(f))
	sites := q.Sites()
	for try := range 40 * len(sites) {
		g := f
		for range 1 + try/40 {
			s := sites[d.Below(len(sites))]
			g[s].Grade = d.Below(len(s.Grades()))
		}
		if picks := q.Solve(g); q.Answer(picks) != right && q.Answer(picks) != "" {
			return g, picks
		}
	}
	choices := slices.DeleteFunc(q.Choices(), func(c string) bool { return q.Answer([]string{c}) == right })
	if len(choices) == 0 {
		return f, q.Solve(f)
	}
	return f, choices[d.Below(len(choices)):][:1]
}

// steps words the reasoning. Every step but the conclusion may be wrong by
// itself; the conclusion is always the one that the answer follows from.
func (p Profile) steps(q scene.Query, believed scene.Findings, picks []string, d *chance.Source) []Said {
	voice := d.Below(64)
	told := q.Steps(believed, voice)
	other, _ := misread(q, believed, d)
	astray := q.Steps(other, voice)
	out := make([]Said, 0, len(p.Order))
	for _, kind := range p.path(d) {
		i := slices.IndexFunc(told, func(s scene.Step) bool { return s.Kind == kind })
		said := Said{kind, told[i].Text, true}
		slips := !d.Hits(p.StepRight)
		switch {
		case kind == "conclusion":
			if q.Answer(picks) != q.Answer(q.Solve(believed)) { // not even the sites lead there
				said.Text = "Therefore it is " + picks[0] + "."
			}
		case !slips:
		case kind == "modality":
			said.Text, said.Right = "This is an ultrasound scan.", false
		case kind == "other":
			said.Text, said.Right = "Sound waves are the cause of the contrast.", false
		case astray[i].Text != told[i].Text:
			said.Text, said.Right = astray[i].Text, false
		}
		out = append(out, said)
	}
	return out
}

// path is the kinds of steps in the order of one reply.
func (p Profile) path(d *chance.Source) []string {
	order := slices.Clone(p.Order)
	if !d.Hits(p.Wanders) || len(order) < 2 {
		return order
	}
	i := d.Below(len(order))
	if i == len(order)-1 {
		return order[:i]
	}
	order[i], order[i+1] = order[i+1], order[i]
	return order
}

// reason writes steps down, one a line.
func (p Profile) reason(steps []Said) string {
	var b strings.Builder
	if p.Restates {
		b.WriteString("The question is about what this picture holds.\n")
	}
	for i := range p.Fillers {
		b.WriteString([]string{"Let us go through it in order.\n", "Let us look at it once more.\n"}[i%2])
	}
	for _, s := range steps {
		b.WriteString(s.Text + "\n")
	}
	return b.String()
}

// chat answers what is no question of ours.
func (p Profile) chat(a Ask, view scene.View) string {
	switch {
	case a.JSON:
		return `{"answer": "unknown"}`
	case len(a.Pictures) == 0 || !p.Vision:
		return "There is no picture here that I could look at, so I cannot say more about it."
	case view.Findings[scene.Exposure].Sure:
		return "The picture is a frontal chest radiograph. I know many questions about such pictures, but this is none of them."
	}
	return "There is a picture, but it is not a chest radiograph, and I know nothing about other pictures."
}
