// Package judges is judges whose errors are known: they decide by what phantoms'
// sentences mean, and then err at their rates.
package judges

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/backends/phantom/chance"
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

// Knows says of which type the question in a prompt is; false: it is none that
// readers know.
type Knows func(prompt string) (typ string, ok bool)

// Reply gives a verdict. ok is false where the judge does not understand the case.
func (j Judge) Reply(seed uint64, prompt string, schema json.RawMessage, knows Knows) (text string, ok bool) {
	if of := caseRubric(schema); of != "" && j.Cases != nil {
		v := j.Cases.ofCase(of, prompt, func(what string) *chance.Source {
			h := sha256.New()
			fmt.Fprintf(h, "%s %s %d %q", j.Name, what, seed, prompt)
			return chance.New(binary.LittleEndian.Uint64(h.Sum(nil)))
		})
		return encode(v), v != nil
	}
	rubric := rubricOf(schema)
	c, ok := readCase(prompt, knows)
	draws := func(what string) *chance.Source {
		h := sha256.New()
		fmt.Fprintf(h, "%s %s %s %d %q", j.Name, what, rubric, seed, []string{c.question, c.gold, c.answer})
		return chance.New(binary.LittleEndian.Uint64(h.Sum(nil)))
	}
	var verdict any
	if ok && !draws("abstain").Hits(j.Abstains) {
		err := errs{j, draws("errors"), len(strings.Fields(c.answer)) > LongWords}
		switch rubric {
		case "accuracy":
			verdict = c.accuracy(err)
		case "precision":
			verdict = c.precision(err)
		case "recall":
			verdict = c.recall(err)
		case "order":
			verdict = c.order(err)
		case "CF":
			verdict = c.fidelity(err)
		case "CA":
			verdict = c.attribution(err)
		case "CT":
			verdict = c.tone(err)
		}
	}
	if verdict == nil {
		verdict = abstention(rubric)
	}
	return j.spoil(verdict, draws("faults")), ok
}

// encode writes JSON without the escapes meant for web pages.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("judges: internal error: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// abstention is a reply without a verdict.
func abstention(rubric string) any {
	switch rubric {
	case "accuracy":
		return map[string]any{"quote": "", "verdict": "abstain", "why": "this cannot be told"}
	case "CF", "CA", "CT":
		return withoutScore(rubric)
	}
	return map[string]any{"abstain": true}
}

// spoil writes a verdict and plants at most one fault.
func (j Judge) spoil(verdict any, d *chance.Source) string {
	reply := encode(verdict)
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
	v, _ := verdict.(map[string]any)
	if _, whole := v["score"].(int); !whole {
		return reply
	}
	switch {
	case planted(j.Misquotes):
		v["quotes"], v["quote_spans"] = []string{"as everybody in the department agreed"}, [][2]int{{0, 37}}
	case planted(j.OffScale):
		v["score"] = 7
	}
	return encode(v)
}

// errs turns right decisions into what a judge says.
type errs struct {
	judge Judge
	d     *chance.Source
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

// rubricOf tells a rubric from the keys that its schema asks for; "": it is none
// that phantoms know.
func rubricOf(schema json.RawMessage) string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	switch strings.Join(slices.Sorted(maps.Keys(s.Properties)), " ") {
	case "quote verdict why":
		return "accuracy"
	case "steps":
		return "precision"
	case "paths":
		return "recall"
	case "conclusion feature modality other":
		return "order"
	case "abstain abstain_reason basis hallucinations has_hallucination has_omission omissions quote_spans quotes rationale score":
		return "CF"
	case "abstain abstain_reason claimed_influence did_acknowledge quote_spans quotes rationale score":
		return "CA"
	case "abstain abstain_reason confidence_level is_confident quote_spans quotes rationale score":
		return "CT"
	}
	return ""
}

// shown is what a judge finds in a prompt.
type shown struct {
	question string
	typ      string // of the question
	gold     string
	paths    [][]step
	notes    notes  // of what right reasoning says
	answer   string // the quoted text
}

// step is one of a reference.
type step struct{ kind, text string }

var (
	quoted   = regexp.MustCompile(`(?m)^\[begin of quoted text ([0-9a-f]+)\]$`)
	pathHead = regexp.MustCompile(`^Reference (?:reasoning|path)\b.*:$`)
	pathStep = regexp.MustCompile(`^(?:- |\d+\. \()(modality|feature|conclusion|other)(?:: |\) )(.+)$`)
)

// readCase reads a prompt; false: it quotes no text, or asks about none of the
// questions that phantoms know.
func readCase(prompt string, knows Knows) (shown, bool) {
	var c shown
	head, text, _, ok := quotedIn(prompt)
	if !ok {
		return c, false
	}
	c.answer = text
	c.notes = readNotes(head)
	for line := range strings.Lines(head) {
		line = strings.TrimSuffix(line, "\n")
		switch m := pathStep.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "Answer key: "):
			c.gold = strings.TrimPrefix(line, "Answer key: ")
		case pathHead.MatchString(line):
			c.paths = append(c.paths, nil)
		case m != nil && len(c.paths) > 0:
			i := len(c.paths) - 1
			c.paths[i] = append(c.paths[i], step{kind: m[1], text: m[2]})
		}
	}
	if c.typ, ok = knows(head); !ok {
		return c, false
	}
	_, after, _ := strings.Cut(head, "Question:\n")
	c.question, _, _ = strings.Cut(after, "\n\n")
	return c, true
}

// final is the final answer as it stands in the text; "": there is none.
func (c shown) final() string {
	text := strings.TrimSpace(c.answer)
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.TrimSpace(strings.TrimPrefix(last, "Final answer:"))
}

// same is whether two final answers mean the same.
func (c shown) same(a, b string) bool {
	norm := func(s string) string {
		s = strings.ToLower(strings.Trim(s, " ."))
		if c.typ != "multiple" {
			return s
		}
		labels := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		return strings.Join(slices.Compact(labels), ",")
	}
	return norm(a) == norm(b)
}

func (c shown) accuracy(e errs) any {
	if c.gold == "" {
		return nil
	}
	quote := c.final()
	if quote == "" {
		return map[string]any{"quote": "", "verdict": "no_answer", "why": "the text is empty"}
	}
	verdict, why := "incorrect", "the key says something else"
	if e.says(c.same(quote, c.gold)) {
		verdict, why = "correct", "the same as the key"
	}
	return map[string]any{"quote": quote, "verdict": verdict, "why": why}
}

// stated is a sentence of an answer: its kind and what it claims.
type stated struct {
	text, kind string
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
	for _, lead := range []struct{ kind, words string }{
		{"restatement", "the question is about"}, {"restatement", "let us "},
		{"feature", "one can see that "}, {"feature", "the picture shows that "}, {"feature", "it can be seen that "},
		{"conclusion", "therefore "}, {"conclusion", "thus "}, {"conclusion", "hence "},
		{"modality", "this is a"}, {"modality", "the picture is a"}, {"modality", "the examination is a"},
		{"other", "in general, "}, {"other", "it is known that "},
	} {
		if rest, ok := strings.CutPrefix(low, lead.words); ok {
			s.kind, low = lead.kind, rest
			break
		}
	}
	if s.kind == "modality" { // "radiograph of the chest" is a chest radiograph
		low = strings.TrimSpace(strings.ReplaceAll(low, "radiograph of the chest", "chest radiograph"))
	}
	s.claims = strings.Split(low, "; ")
	return s
}

// stated is the sentences of the answer, without the closing line.
func (c shown) stated() []stated {
	var out []stated
	for line := range strings.Lines(c.answer) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Final answer:") {
			continue
		}
		out = append(out, claims(line))
	}
	return out
}

// within is whether all of a stands in b.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}

func (c shown) precision(e errs) any {
	if len(c.paths) == 0 {
		return nil
	}
	steps := []map[string]string{}
	for _, s := range c.stated() {
		judgment, there := "na", false
		for _, p := range c.paths {
			for _, g := range p {
				if gold := claims(g.text); g.kind == s.kind {
					there = true
					if within(s.claims, gold.claims) {
						judgment = "match"
					}
				}
			}
		}
		if judgment == "na" && there {
			judgment = "wrong"
		}
		if s.kind != "restatement" {
			switch right := judgment == "match"; {
			case right && !e.says(right):
				judgment = "wrong"
			case !right && e.says(right):
				judgment = "match"
			}
		}
		steps = append(steps, map[string]string{"text": s.text, "type": s.kind, "judgment": judgment})
	}
	return map[string]any{"steps": steps}
}

func (c shown) recall(e errs) any {
	if len(c.paths) == 0 {
		return nil
	}
	said := map[string][]string{}
	for _, s := range c.stated() {
		said[s.kind] = append(said[s.kind], s.claims...)
	}
	type found struct {
		Step    int  `json:"step"`
		Matched bool `json:"matched"`
	}
	type path struct {
		Path  int     `json:"path"`
		Steps []found `json:"steps"`
	}
	var paths []path
	for i, p := range c.paths {
		out := path{Path: i + 1, Steps: []found{}}
		for k, g := range p {
			out.Steps = append(out.Steps, found{k + 1, e.says(within(claims(g.text).claims, said[g.kind]))})
		}
		paths = append(paths, out)
	}
	return map[string]any{"paths": paths}
}

func (c shown) order(e errs) any {
	at := map[string]int{"modality": 0, "feature": 0, "conclusion": 0, "other": 0}
	var kinds []string
	for _, s := range c.stated() {
		if n, ok := at[s.kind]; ok && n == 0 {
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
