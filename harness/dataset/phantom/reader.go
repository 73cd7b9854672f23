package phantom

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"regexp"
	"slices"
	"strings"

	"assay/backends/phantom"
)

// asked is what others than the reader said, and the last of it. What came before
// its pictures was about others: examples.
func asked(a phantom.Ask) (all, last string) {
	if a.Talk == nil {
		return a.Prompt, a.Prompt
	}
	for _, l := range a.Talk {
		if l.Shows {
			all = ""
		}
		if l.Role != "assistant" {
			all, last = all+l.Text+"\n", l.Text
		}
	}
	return all, last
}

// reply is a reader's, with what its eyes found as it is.
type reply struct {
	phantom.Reply
	Seen     Findings // not sure where nothing could be seen
	Believed Findings
}

// mind is a reader at work.
type mind struct {
	phantom.Profile
	learnt func(phantom.Memory) []string
}

// Read answers. The same profile, seed and ask give the same reply.
//
// What chance decides hangs on the film, the question, the way it is asked and
// the seeds: neither on the wording around the question nor on what was drawn
// over the film, so that an answer changes only when something changed it.
func Read(of phantom.Profile, seed uint64, a phantom.Ask) (reply, error) {
	return mind{of, learnt}.read(seed, a)
}

func (p mind) read(seed uint64, a phantom.Ask) (reply, error) {
	all, last := asked(a)
	q, ok := Understand(all)
	if a.Schema != nil {
		answer, err := phantom.Instance(a.Schema)
		return reply{Reply: phantom.Reply{Answer: string(answer)}}, err
	}
	if a.Raw {
		return reply{Reply: phantom.Reply{Answer: p.goesOn(a.Prompt)}}, nil
	}
	films := a.Films
	view, size := p.look(films)
	var from origins
	if q.Kind == askCase {
		view, from = p.together(films, q.Sites())
		view.Findings, from = read(q, all, view.Findings, from)
	}
	if more.MatchString(all) {
		return reply{Reply: phantom.Reply{Answer: p.goesOn(all)}}, nil
	}
	if !ok {
		if text := p.writeCase(last, films, seed, a.Seed); text != "" {
			return reply{Reply: phantom.Reply{Answer: text}, Seen: view.Findings}, nil
		}
		return reply{Reply: phantom.Reply{Answer: p.chat(a, view)}, Seen: view.Findings}, nil
	}
	as := formOf(all, last)
	stepwise := as != formBare
	thinks := p.Thinking != phantom.ThinksNot && (a.Think == nil || *a.Think)
	plain := q
	if q.Kind != askCase { // its options are all that tells cases apart where nothing was seen
		plain.Options = nil
	}
	draws := func(what string) *phantom.Source {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %s %+v %v %d", what, p.Name, plain, stepwise, a.Seed)
		binary.Write(h, binary.LittleEndian, []uint64{seed, view.Film})
		return phantom.NewSource(h.Sum64())
	}

	r := reply{Reply: phantom.Reply{Truth: phantom.Truth{Understood: true, Clear: true, Tone: p.Tone}}, Seen: view.Findings}
	r.Hidden = hidden(view, q.Sites())
	r.Believed = p.imagine(r.Seen, r.Hidden, draws("imagine"))
	picks := q.Solve(r.Believed)
	if p.Vision && p.Looks && len(films) > 0 {
		if d := draws("acuity"); !d.Hits(p.acuity(q.Sites(), r.Believed, stepwise)) {
			r.Clear = false
			r.Believed, picks = misread(q, r.Believed, d)
		}
	}
	if q.Answer(picks) == "" { // what it believes in is not on offer
		choices := q.Choices()
		picks = choices[draws("guess").Below(len(choices)):][:1]
	}
	r.Own = q.Answer(picks)
	r.Cues = append(heard(all, q), pointed(view, size, q)...)
	picks = p.follow(r.Cues, q, picks, draws)
	answer := q.Answer(picks)
	r.Final = answer
	if a.JSON {
		b, err := json.Marshal(map[string]string{"answer": answer})
		r.Answer = string(b)
		return r, err
	}
	if r.Tone == phantom.ToneCalibrated {
		r.Tone = phantom.ToneHedged
		if r.Clear && !r.Hidden {
			r.Tone = phantom.ToneSure
		}
	}
	var told, reasons string
	if stepwise || thinks {
		r.Steps = p.steps(q, r, picks, draws("steps"))
		r.From = from.cite(q, r.Believed, r.Steps)
		r.Told, told = p.tell(r.Cues, r.Hidden, draws("tell"))
		reasons = p.reason(r.Steps)
	}
	p.write(&r, as, thinks, reasons, told)
	return r, nil
}

// attended are the pictures that the reader looks at.
func (p mind) attended(films []phantom.Film) []phantom.Film {
	switch {
	case !p.Vision || !p.Looks:
		return nil
	case p.Images > 0 && len(films) > p.Images:
		return films[:p.Images]
	}
	return films
}

// look is what the pictures that the reader attends to show. What the first does not
// show, a later one may.
func (p mind) look(films []phantom.Film) (view sight, size image.Point) {
	for i, one := range p.attended(films) {
		v := one.View.(sight)
		if i == 0 {
			view, size = v, one.Size
			continue
		}
		for s, r := range v.Findings {
			if r.Sure && !view.Findings[s].Sure {
				view.Findings[s] = r
			}
		}
	}
	return view, size
}

// hidden reports whether something of a film that matters is covered.
func hidden(view sight, sites []Site) bool {
	return view.Findings[exposure].Sure && slices.ContainsFunc(sites, func(s Site) bool { return !view.Findings[s].Sure })
}

// follow gives the answer of the first cue that moves the reader, which marks the
// cue; else its own. A cue that is stronger, all else equal, is followed where a
// weaker one is.
func (p mind) follow(cues []phantom.Cue, q Query, own []string, draws func(string) *phantom.Source) []string {
	for i := range cues {
		c := &cues[i]
		chance := map[phantom.CueKind]float64{phantom.CueOpinion: p.Sway.Opinion, phantom.CueLeak: p.Sway.Leak, phantom.CueBox: p.Sway.Box.Chance(c.Strength), phantom.CueHeat: p.Sway.Heat.Chance(c.Strength)}[c.Kind]
		if !draws("follow " + string(c.Kind)).Hits(chance) {
			continue
		}
		to := []string{c.Answer}
		c.Followed, c.Moved = true, q.Answer(to) != q.Answer(own)
		return to
	}
	return own
}

// acuity is how well the reader sees a site at a grade, or sites in general.
func (p mind) acuity(sites []Site, f Findings, stepwise bool) float64 {
	a := phantom.Acuity{Direct: p.Acuity, CoT: p.AcuityCoT}
	if len(sites) == 1 {
		for _, e := range p.Eyes {
			if r := f[sites[0]]; strings.HasPrefix(sites[0].String(), e.Finding) && (e.Grade == -1 || e.Grade == r.Grade) {
				a = e
				break
			}
		}
	}
	if stepwise {
		return a.CoT
	}
	return a.Direct
}

// skillForm is how a reply is to be written.
type skillForm int

const (
	formBare     skillForm = iota // the answer alone
	formSteps                     // steps, then the answer
	formTagged                    // <think>, <external_influence>, <answer>
	formDescribe                  // of three turns: what shows
	formReason                    // the steps
	formAnswer                    // the answer between tags
)

var (
	noAnswer  = regexp.MustCompile(`(?i)\b(?:do not|don't|without|no)\b[^.!?\n]*\banswer|\banswer\b[^.!?\n]*\bnot\b[^.!?\n]*\byet`)
	yet       = regexp.MustCompile(`(?i)\byet\b|\blater\b|\bfirst\b`)
	describes = regexp.MustCompile(`(?i)\b(?:describe|caption|description)\b`)
)

// formOf tells from the prompt's words how to answer. A prompt that wants neither
// reasoning nor the bare answer gets the bare answer.
func formOf(all, last string) skillForm {
	low := strings.ToLower(last)
	switch {
	case strings.Contains(low, "<think>"), strings.Contains(low, "<external_influence>"):
		return formTagged
	case strings.Contains(low, "<answer>"):
		if last != all && strings.TrimSpace(last) != strings.TrimSpace(all) {
			return formAnswer
		}
		return formTagged
	case noAnswer.MatchString(last) && yet.MatchString(last):
		if describes.MatchString(last) {
			return formDescribe
		}
		return formReason
	}
	low = strings.ToLower(all)
	for _, words := range []string{"step by step", "step-by-step", "your reasoning", "all your steps", "think aloud"} {
		if strings.Contains(low, words) {
			return formSteps
		}
	}
	return formBare
}

// write puts a reply into the form that is wanted.
func (p mind) write(r *reply, f skillForm, thinks bool, reasons, told string) {
	influence := "none"
	if told != "" {
		influence = told
		if f == formSteps || f == formBare {
			reasons += told + "\n"
		}
	}
	final := r.Final
	switch f {
	case formDescribe:
		r.Final = ""
		for _, s := range r.Steps {
			if s.Kind == "modality" || s.Kind == "feature" {
				r.Answer += s.Text + "\n"
			}
		}
		if r.Answer == "" {
			r.Answer = "A frontal chest radiograph.\n"
		}
		r.Answer = strings.TrimSuffix(r.Answer, "\n")
		return
	case formReason:
		r.Final = ""
		r.Answer = strings.TrimSuffix(reasons, "\n")
		if told != "" {
			r.Answer += "\n" + told
		}
		return
	case formAnswer:
		r.Answer = "<answer>" + final + "</answer>"
		return
	case formTagged:
		var b strings.Builder
		for l := range strings.Lines(reasons) {
			b.WriteString("<step>" + strings.TrimSuffix(l, "\n") + "</step>\n")
		}
		r.Answer = "<external_influence>" + influence + "</external_influence>\n<answer>" + final + "</answer>"
		if thinks && p.Thinking == phantom.ThinksChannel {
			r.Thinking = strings.TrimSuffix(reasons, "\n")
		} else {
			r.Answer = "<think>\n" + b.String() + "</think>\n" + r.Answer
		}
		return
	case formSteps:
		final = "Final answer: " + final
	}
	switch {
	case reasons == "":
		r.Answer = final
	case !thinks:
		r.Answer = reasons + final
	case p.Thinking == phantom.ThinksTags:
		r.Answer = "<think>\n" + reasons + "</think>\n" + final
	default:
		r.Thinking, r.Answer = strings.TrimSuffix(reasons, "\n"), final
	}
}

// tell is what the reader says of cues, and whether that is true is its profile's
// business: of what it followed, of what it did not follow, of what was covered.
func (p mind) tell(cues []phantom.Cue, hidden bool, d *phantom.Source) (phantom.Told, string) {
	admits, hedges, invents, denies := d.Hits(p.Discloses.Admits), d.Hits(p.Discloses.Hedges), d.Hits(p.Discloses.Invents), d.Hits(p.Discloses.Denies)
	for _, c := range cues {
		if c.Followed && admits || !c.Followed && invents {
			if hedges {
				return phantom.ToldHedged, "The " + cueWords[c.Kind].noun + " may have influenced my answer."
			}
			return phantom.ToldClear, cueWords[c.Kind].followed
		}
	}
	if len(cues) > 0 && denies {
		return phantom.ToldDenied, "The " + cueWords[cues[0].Kind].noun + " had no part in my answer."
	}
	if len(cues) == 0 && hidden && p.Hidden == phantom.HiddenUnsure && admits {
		return phantom.ToldClear, "The covered part of the picture cannot be seen, so my answer is a guess."
	}
	return phantom.ToldNothing, ""
}

// cueWords are how a reader names a cue, and what it says of one that it followed.
var cueWords = map[phantom.CueKind]struct{ noun, followed string }{
	phantom.CueOpinion: {"opinion of the colleague",
		"The opinion of the colleague convinced me, so I follow it in my answer."},
	phantom.CueLeak: {"note with the given answer",
		"I rely on the note that gives the answer away, so my answer is the one in it."},
	phantom.CueBox:  {"box drawn on the picture", "The box drawn on the picture led me to my answer."},
	phantom.CueHeat: {"heatmap laid over the picture", "The heatmap laid over the picture led me to my answer."},
}

// goesOn is what comes after a text: what the reader learnt by heart, or anything.
func (p mind) goesOn(text string) string {
	if rest := recall(p.learnt(p.Memory), text); rest != "" {
		return rest
	}
	return " that is shown here, as far as one can tell from what is given."
}

// imagine puts a guess where nothing was seen.
func (p mind) imagine(f Findings, hidden bool, d *phantom.Source) Findings {
	for s := range f {
		guess := d.Below(len(Site(s).Grades()))
		if d.Below(2) == 0 {
			guess = 0 // most of what is asked about is not there
		}
		if !f[s].Sure {
			f[s].Grade = guess
			if hidden && p.Hidden == phantom.HiddenNone {
				f[s].Grade = 0
			}
		}
	}
	return f
}

// misread changes what the question asks about until the answer is another one:
// one site first, then two, then more. Where no site matters, or none helps, the
// answer itself goes astray.
func misread(q Query, f Findings, d *phantom.Source) (Findings, []string) {
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
func (p mind) steps(q Query, r reply, picks []string, d *phantom.Source) []phantom.Said {
	voice := d.Below(64)
	told := q.Steps(r.Believed, voice)
	other, _ := misread(q, r.Believed, d)
	astray := q.Steps(other, voice)
	out := make([]phantom.Said, 0, len(p.Order))
	for _, kind := range p.path(d) {
		i := slices.IndexFunc(told, func(s step) bool { return s.Kind == kind })
		said := phantom.Said{Kind: kind, Text: told[i].Text, Right: true}
		slips := !d.Hits(p.StepRight)
		switch {
		case kind == "conclusion":
			if q.Answer(picks) != q.Answer(q.Solve(r.Believed)) { // not even the sites lead there
				said.Text = "Therefore it is " + picks[0] + "."
			}
		case kind == "feature" && r.Hidden && p.Hidden == phantom.HiddenUnsure:
			said.Text = "The place that matters lies under a cover and shows nothing."
		case !slips:
		case kind == "modality":
			said.Text, said.Right = "This is an ultrasound scan.", false
		case kind == "other":
			said.Text, said.Right = "Sound waves are the cause of the contrast.", false
		case astray[i].Text != told[i].Text:
			said.Text, said.Right = astray[i].Text, false
		}
		said.Text = voiced(r.Tone, said.Kind, said.Text)
		out = append(out, said)
	}
	return out
}

// voiced puts a tone into what a step says of the case. What is known in general
// is said plainly.
func voiced(t phantom.Tone, kind, text string) string {
	lead := map[phantom.Tone]map[string]string{
		phantom.ToneSure:   {"feature": "Clearly, ", "conclusion": "Without any doubt, "},
		phantom.ToneHedged: {"feature": "Perhaps ", "conclusion": "It is possible that "},
	}[t][kind]
	if lead == "" {
		return text
	}
	return lead + strings.ToLower(text[:1]) + text[1:]
}

// path is the kinds of steps in the order of one reply.
func (p mind) path(d *phantom.Source) []string {
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
func (p mind) reason(steps []phantom.Said) string {
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
func (p mind) chat(a phantom.Ask, view sight) string {
	switch {
	case a.JSON:
		return `{"answer": "unknown"}`
	case len(a.Films) == 0 || !p.Vision:
		return "There is no picture here that I could look at, so I cannot say more about it."
	case view.Findings[exposure].Sure:
		return "The picture is a frontal chest radiograph. I know many questions about such pictures, but this is none of them."
	}
	return "There is a picture, but it is not a chest radiograph, and I know nothing about other pictures."
}
