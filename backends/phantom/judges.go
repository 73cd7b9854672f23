// Judges is judges whose errors are known: they decide by what phantoms'
// sentences mean, and then err at their rates.

package phantom

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Judge is a judge whose errors are known. It sees the request alone: the JSON
// schema tells it the rubric, the prompt holds gold and answer. It decides by
// what phantoms' sentences mean, and then errs. All rates are 0..1, per decision
// where they are about right and wrong (a final answer, a step, a score), per
// reply otherwise; at most one fault is planted in a reply. The same judge, seed
// and case give the same reply.
type Judge struct {
	Name string // the model's name on the server

	FalsePass float64 // passes what is wrong; gives a score below 5 one too high
	FalseFail float64 // fails what is right; gives a score above 1 one too low
	LongPass  float64 // added to FalsePass where a text has more than LongWords words
	Disorders float64 // per reply: two kinds of steps change places in the order
	Abstains  float64 // where the rubric lets it; otherwise its reply follows no schema

	Fenced, TrailingComma, InArray float64 // JSON that can be repaired
	Cut, Prose                     float64 // a reply without a verdict
	Misquotes, OffScale            float64 // of scores: a quote that stands nowhere; a score that does not exist

	PerChunk time.Duration

	Cases *CaseRates // what it says under the rubrics of cases of several images; nil: it does not know them
}

// Passes is the chance that a judge passes what is wrong in a text, which may be long.
func (j Judge) Passes(long bool) float64 {
	if long {
		return j.FalsePass + j.LongPass
	}
	return j.FalsePass
}

// LongWords is the length from which Judge.LongPass works.
const LongWords = 40

// Judges are the judges that every phantom server has.
func Judges() []Judge {
	return []Judge{
		{Name: "judge-perfect"},
		{Name: "judge-noisy", FalsePass: .1, FalseFail: .1, Disorders: .1},
		{Name: "judge-strict", FalseFail: .2},
		{Name: "judge-lenient", FalsePass: .15, LongPass: .25},
		{Name: "judge-sloppy", Abstains: .06, Fenced: .12, TrailingComma: .08, InArray: .08, Cut: .05, Prose: .05, Misquotes: .05, OffScale: .03},
	}
}

// JudgeNames are the names of Judges.
func JudgeNames() []string {
	var names []string
	for _, j := range Judges() {
		names = append(names, j.Name)
	}
	return names
}

// rubric is what phantoms know of a rubric.
type rubric struct {
	name   string
	tell   string // a key that its schema alone asks for
	judge  func(shown, errs) map[string]any
	silent map[string]any // an abstention, beside what all have
}

// rubrics are those that judges know. To add one: an entry here.
func rubrics() []rubric {
	return []rubric{
		{"accuracy", "verdict", shown.accuracy, map[string]any{"quote": "", "verdict": "abstain", "why": "this cannot be told"}},
		{"unread", "answer", shown.unread, map[string]any{"answer": nil}},
		{"precision", "steps", shown.precision, nil},
		{"recall", "paths", shown.recall, nil},
		{"order", "modality", shown.order, nil},
		{"CF", "has_omission", shown.fidelity, map[string]any{"omissions": []string{}, "hallucinations": []string{}, "has_omission": false, "has_hallucination": false, "basis": ""}},
		{"CA", "did_acknowledge", shown.attribution, map[string]any{"did_acknowledge": false, "claimed_influence": "none"}},
		{"CT", "is_confident", shown.tone, map[string]any{"is_confident": false, "confidence_level": "medium"}},
	}
}

// abstention is a reply without a verdict.
func (r rubric) abstention() map[string]any {
	switch r.name {
	case "accuracy", "unread":
		return r.silent
	case "CF", "CA", "CT":
		v := scored(nil, "", nil, r.silent)
		v["abstain"], v["abstain_reason"] = true, "there is no reasoning here that I could judge"
		return v
	}
	return map[string]any{"abstain": true}
}

// rubricOf tells a rubric from the keys that its schema asks for; its zero value is none
// that phantoms know.
func rubricOf(schema json.RawMessage) rubric {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) == nil {
		for _, r := range rubrics() {
			if _, ok := s.Properties[r.tell]; ok {
				return r
			}
		}
	}
	return rubric{}
}

// knows says of which type the question in a prompt is; false: it is none that
// readers know.
type knows func(prompt string) (typ string, ok bool)

// Reply gives a verdict. ok is false where the judge does not understand the case.
func (j Judge) Reply(seed uint64, prompt string, schema json.RawMessage, knows knows) (text string, ok bool) {
	draws := func(what string, of any) *Source {
		h := sha256.New()
		fmt.Fprintf(h, "%s %s %d %q", j.Name, what, seed, of)
		return NewSource(binary.LittleEndian.Uint64(h.Sum(nil)))
	}
	if of := caseRubric(schema); of != "" && j.Cases != nil {
		v := j.Cases.ofCase(of, prompt, func(what string) *Source { return draws(what, prompt) })
		return judgeEncode(v), v != nil
	}
	r := rubricOf(schema)
	c, ok := readCase(prompt, knows)
	ok = ok || r.name == "unread" && c.question != "" // which asks for no knowledge of cases
	of := []string{c.question, c.gold, c.answer}
	var verdict map[string]any
	if ok && r.judge != nil && !draws("abstain "+r.name, of).Hits(j.Abstains) {
		verdict = r.judge(c, errs{j, draws("errors "+r.name, of), len(strings.Fields(c.answer)) > LongWords})
	}
	if verdict == nil {
		verdict = r.abstention()
	}
	return j.spoil(verdict, draws("faults "+r.name, of)), ok
}

// judgeEncode writes JSON without the escapes meant for web pages.
func judgeEncode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("judges: internal error: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// spoil writes a verdict and plants at most one fault.
func (j Judge) spoil(v map[string]any, d *Source) string {
	reply := judgeEncode(v)
	at := d.Unit()
	planted := func(rate float64) bool {
		at -= rate
		return at < 0 && at >= -rate
	}
	switch {
	case planted(j.Fenced):
		return "```json\n" + reply + "\n```"
	case planted(j.TrailingComma):
		return reply[:len(reply)-1] + ",}"
	case planted(j.InArray):
		return "[" + reply + "]"
	case planted(j.Cut):
		return reply[:len(reply)*3/5]
	case planted(j.Prose):
		return "Having read the text with care, I find it convincing on the whole."
	}
	if _, whole := v["score"].(int); whole && planted(j.Misquotes) {
		v["quotes"] = []string{"as everybody in the department agreed"}
	} else if whole && planted(j.OffScale) {
		v["score"] = 7
	}
	return judgeEncode(v)
}

// errs turns right decisions into what a judge says.
type errs struct {
	judge Judge
	d     *Source
	long  bool
}

// says is whether a judge passes what is right or is not.
func (e errs) says(right bool) bool {
	wrong := e.judge.Passes(e.long)
	if right {
		wrong = e.judge.FalseFail
	}
	return right != e.d.Hits(wrong)
}

// score is a score as the judge gives it: one higher or one lower at its rates.
func (e errs) score(s int) int {
	switch u := e.d.Unit(); {
	case s < 5 && u < e.judge.Passes(e.long):
		return s + 1
	case s > 1 && u >= 1-e.judge.FalseFail:
		return s - 1
	}
	return s
}

// shown is what a judge finds in a prompt.
type shown struct {
	question string
	typ      string // of the question
	gold     string
	paths    [][]stated // of the references
	notes    notes      // of what right reasoning says
	answer   string     // the quoted text
}

var (
	quoted   = regexp.MustCompile(`(?m)^\[begin of quoted text ([0-9a-f]+)\]$`)
	pathStep = regexp.MustCompile(`^(?:- |\d+\. \()(modality|feature|conclusion|other)(?:: |\) )(.+)$`)
	partTag  = regexp.MustCompile(`</?(?:think|step|external_influence)>`)
	atLeast  = regexp.MustCompile(`^At least (\d+) of this:$`)
)

// notes is what a prompt says of right reasoning. A term is its wordings.
type notes struct {
	need      []choice
	forbidden [][]string
}

// choice is terms of which so many are needed.
type choice struct {
	k    int
	from [][]string
}

// readCase reads a prompt; false: it quotes no text, or asks about none of the
// questions that phantoms know.
func readCase(prompt string, knows knows) (c shown, ok bool) {
	head, text, _, ok := quotedIn(prompt)
	if !ok {
		return c, false
	}
	c.answer = text
	list := ""
	for line := range strings.Lines(head) {
		line = strings.TrimSuffix(line, "\n")
		at := len(c.paths) - 1
		switch m := pathStep.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "Answer key: "):
			c.gold = strings.TrimPrefix(line, "Answer key: ")
		case strings.HasPrefix(line, "Reference ") && strings.HasSuffix(line, ":"):
			c.paths = append(c.paths, nil)
		case m != nil && at >= 0:
			s := claims(m[2])
			s.kind = m[1]
			c.paths[at] = append(c.paths[at], s)
		case strings.HasPrefix(line, "All of this belongs into the reasoning"), line == "None of this may be claimed:":
			list = line[:4]
		case atLeast.MatchString(line):
			k, _ := strconv.Atoi(atLeast.FindStringSubmatch(line)[1]) // digits
			list, c.notes.need = "some", append(c.notes.need, choice{k: k})
		case !strings.HasPrefix(line, "- "):
			list = ""
		default:
			term := strings.Split(strings.ToLower(line[2:]), " / ")
			switch list {
			case "All ":
				c.notes.need = append(c.notes.need, choice{1, [][]string{term}})
			case "some":
				last := &c.notes.need[len(c.notes.need)-1]
				last.from = append(last.from, term)
			case "None":
				c.notes.forbidden = append(c.notes.forbidden, term)
			}
		}
	}
	_, after, _ := strings.Cut(head, "Question:\n")
	c.question, _, _ = strings.Cut(after, "\n\n")
	c.typ, ok = knows(head)
	return c, ok
}

// same is whether two final answers mean the same.
func (c shown) same(a, b string) bool {
	norm := func(s string) string {
		s = strings.ToLower(strings.Trim(s, " ."))
		if c.typ == "multiple" {
			labels := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
			slices.Sort(labels)
			s = strings.Join(slices.Compact(labels), ",")
		}
		return s
	}
	return norm(a) == norm(b)
}

func (c shown) accuracy(e errs) map[string]any {
	text := strings.TrimSpace(c.answer)
	quote := strings.TrimSpace(strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], "Final answer:"))
	switch {
	case c.gold == "":
		return nil
	case quote == "":
		return map[string]any{"quote": "", "verdict": "no_answer", "why": "the text is empty"}
	case e.says(c.same(quote, c.gold)):
		return map[string]any{"quote": quote, "verdict": "correct", "why": "the same as the key"}
	}
	return map[string]any{"quote": quote, "verdict": "incorrect", "why": "the key says something else"}
}

// unread is the one option of the question whose words the last line of a text has: what it commits
// to, if rules could not read it. A judge that fails what is right reads nothing there.
func (c shown) unread(e errs) map[string]any {
	text := strings.ToLower(strings.TrimSpace(c.answer))
	last := text[strings.LastIndexByte(text, '\n')+1:]
	var found []string
	for _, line := range strings.Split(c.question, "\n")[1:] {
		if _, option, ok := strings.Cut(line, ". "); ok && strings.Contains(last, strings.ToLower(option)) {
			found = append(found, option)
		}
	}
	if len(found) != 1 || !e.says(true) {
		return map[string]any{"answer": nil}
	}
	return map[string]any{"answer": found[0]}
}

// stated is a sentence: its kind and what it claims.
type stated struct {
	text, kind string
	influence  bool // it stands between the tags for what else had a part
	claims     []string
}

// claims takes a sentence apart: its kind, and the statements that it makes,
// whatever words lead to them.
func claims(sentence string) stated {
	s := stated{text: sentence, kind: "other"}
	low := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(sentence), "."))
	for _, tone := range []string{"clearly, ", "without any doubt, ", "perhaps ", "it is possible that "} {
		low = strings.TrimPrefix(low, tone)
	}
	for _, lead := range [][2]string{
		{"restatement", "the question is about"}, {"restatement", "let us "},
		{"feature", "one can see that "}, {"feature", "the picture shows that "}, {"feature", "it can be seen that "},
		{"conclusion", "therefore "}, {"conclusion", "thus "}, {"conclusion", "hence "},
		{"modality", "this is a"}, {"modality", "the picture is a"}, {"modality", "the examination is a"},
		{"other", "in general, "}, {"other", "it is known that "},
	} {
		if rest, ok := strings.CutPrefix(low, lead[1]); ok {
			s.kind, low = lead[0], rest
			break
		}
	}
	if s.kind == "modality" { // "radiograph of the chest" is a chest radiograph
		low = strings.TrimSpace(strings.ReplaceAll(low, "radiograph of the chest", "chest radiograph"))
	}
	s.claims = strings.Split(low, "; ")
	return s
}

// stated is the sentences of the answer, cut at lines and tags, without the closing line.
func (c shown) stated() []stated {
	var out []stated
	inside, rest := false, c.answer
	for rest != "" {
		part, tag := rest, ""
		if m := partTag.FindStringIndex(rest); m != nil {
			part, tag, rest = rest[:m[0]], rest[m[0]:m[1]], rest[m[1]:]
		} else {
			rest = ""
		}
		for line := range strings.Lines(part) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Final answer:") {
				s := claims(line)
				s.influence = inside
				out = append(out, s)
			}
		}
		inside = tag == "<external_influence>" || inside && tag != "</external_influence>"
	}
	return out
}

// within is whether all of a stands in b.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}

func (c shown) precision(e errs) map[string]any {
	if len(c.paths) == 0 {
		return nil
	}
	gold := slices.Concat(c.paths...)
	steps := []map[string]string{}
	for _, s := range c.stated() {
		there := slices.ContainsFunc(gold, func(g stated) bool { return g.kind == s.kind })
		right := slices.ContainsFunc(gold, func(g stated) bool { return g.kind == s.kind && within(s.claims, g.claims) })
		passes := right
		if s.kind != "restatement" {
			passes = e.says(right)
		}
		judgment := "na"
		if passes {
			judgment = "match"
		} else if there {
			judgment = "wrong"
		}
		steps = append(steps, map[string]string{"text": s.text, "type": s.kind, "judgment": judgment})
	}
	return map[string]any{"steps": steps}
}

func (c shown) recall(e errs) map[string]any {
	said := map[string][]string{}
	for _, s := range c.stated() {
		said[s.kind] = append(said[s.kind], s.claims...)
	}
	var paths []map[string]any
	for i, p := range c.paths {
		steps := []map[string]any{}
		for k, g := range p {
			steps = append(steps, map[string]any{"step": k + 1, "matched": e.says(within(g.claims, said[g.kind]))})
		}
		paths = append(paths, map[string]any{"path": i + 1, "steps": steps})
	}
	if paths == nil {
		return nil
	}
	return map[string]any{"paths": paths}
}

func (c shown) order(e errs) map[string]any {
	at := map[string]any{"modality": 0, "feature": 0, "conclusion": 0, "other": 0}
	var kinds []string
	for _, s := range c.stated() {
		if at[s.kind] == 0 {
			kinds = append(kinds, s.kind)
			at[s.kind] = len(kinds)
		}
	}
	if len(kinds) > 1 && e.d.Hits(e.judge.Disorders) {
		i := e.d.Below(len(kinds) - 1)
		at[kinds[i]], at[kinds[i+1]] = at[kinds[i+1]], at[kinds[i]]
	}
	return at
}
