// Judges is judges whose errors are known: they decide by what phantoms'
// sentences mean, and then err at their rates.

package phantom

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
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

	Cases *caseRates // what it says under the rubrics of cases of several images; nil: it does not know them
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
	tell   string // a key that its schema alone asks for, of those whose turn has not come before
	judge  func(shown, errs) map[string]any
	silent map[string]any // a reply without a verdict
}

// rubrics are those that judges know. To add one: an entry here.
func rubrics() []rubric {
	none := map[string]any{"abstain": true}
	unscored := func(more map[string]any) map[string]any {
		v := scored(nil, "", nil, more)
		v["abstain"], v["abstain_reason"] = true, "there is no reasoning here that I could judge"
		return v
	}
	return []rubric{
		{"step_errors", "is_critical", shown.stepErrors, none},
		{"sentences", "section", shown.sentences, none},
		{"criteria", "differentiation", shown.criteria, none},
		{"accuracy", "verdict", shown.accuracy, map[string]any{"quote": "", "verdict": "abstain", "why": "this cannot be told"}},
		{"recall", "paths", shown.recall, none},
		{"precision", "steps", shown.precision, none},
		{"order", "modality", shown.order, none},
		{"CF", "has_omission", shown.fidelity, unscored(map[string]any{"omissions": []string{}, "hallucinations": []string{}, "has_omission": false, "has_hallucination": false, "basis": ""})},
		{"CA", "did_acknowledge", shown.attribution, unscored(map[string]any{"did_acknowledge": false, "claimed_influence": "none"})},
		{"CT", "is_confident", shown.tone, unscored(map[string]any{"is_confident": false, "confidence_level": "medium"})},
		{"unread", "answer", shown.unread, map[string]any{"answer": nil}},
		{"", "", nil, none}, // any other
	}
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
	all := rubrics()
	r := all[slices.IndexFunc(all, func(r rubric) bool { return r.tell == "" || bytes.Contains(schema, []byte(strconv.Quote(r.tell))) })]
	c, ok := readCase(prompt, knows)
	switch r.name {
	case "unread": // it asks for no knowledge of cases
		ok = ok || c.question != ""
	case "step_errors", "sentences", "criteria":
		ok = j.Cases != nil && c.quoted
	}
	of := []string{c.question, c.gold, c.answer}
	var verdict map[string]any
	if ok && r.judge != nil && !draws("abstain "+r.name, of).Hits(j.Abstains) {
		verdict = r.judge(c, errs{j, draws("errors "+r.name, of), func(what string) *Source { return draws(what, prompt) }, len(strings.Fields(c.answer)) > LongWords})
	}
	if verdict == nil {
		verdict = r.silent
	}
	return j.spoil(verdict, draws("faults "+r.name, of)), ok
}

// spoil writes a verdict and plants at most one fault.
func (j Judge) spoil(v map[string]any, d *Source) string {
	reply := string(encode(v))
	with := func(key string, value any) string {
		other := maps.Clone(v)
		other[key] = value
		return string(encode(other))
	}
	type fault struct {
		rate  float64
		reply string
	}
	faults := []fault{{j.Fenced, "```json\n" + reply + "\n```"}, {j.TrailingComma, reply[:len(reply)-1] + ",}"}, {j.InArray, "[" + reply + "]"},
		{j.Cut, reply[:len(reply)*3/5]}, {j.Prose, "Having read the text with care, I find it convincing on the whole."}}
	if _, whole := v["score"].(int); whole {
		faults = append(faults, fault{j.Misquotes, with("quotes", []string{"as everybody in the department agreed"})}, fault{j.OffScale, with("score", 7)})
	}
	at := d.Unit()
	for _, f := range faults {
		if at -= f.rate; at < 0 {
			return f.reply
		}
	}
	return reply
}

// errs turns right decisions into what a judge says.
type errs struct {
	judge Judge
	d     *Source
	draws func(what string) *Source // of the whole prompt
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
	head     string // before the quoted text
	question string
	typ      string // of the question
	gold     string
	paths    [][]stated // of the references
	notes    notes      // of what right reasoning says
	quoted   bool       // there is a quoted text
	answer   string     // the quoted text
	rest     string     // after it
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
	at := quoted.FindStringSubmatchIndex(prompt)
	if at == nil {
		return c, false
	}
	c.head = prompt[:at[0]]
	c.answer, c.rest, c.quoted = strings.Cut(prompt[at[1]:], fmt.Sprintf("\n[end of quoted text %s]", prompt[at[2]:at[3]]))
	if !c.quoted {
		return shown{}, false
	}
	c.answer = strings.TrimPrefix(c.answer, "\n")
	take := func([]string) {} // what becomes of a term
	for line := range strings.Lines(c.head) {
		line = strings.TrimSuffix(line, "\n")
		at := len(c.paths) - 1
		step, some := pathStep.FindStringSubmatch(line), atLeast.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "Answer key: "):
			c.gold = strings.TrimPrefix(line, "Answer key: ")
		case strings.HasPrefix(line, "Reference ") && strings.HasSuffix(line, ":"):
			c.paths = append(c.paths, nil)
		case step != nil && at >= 0:
			s := claims(step[2])
			s.kind = step[1]
			c.paths[at] = append(c.paths[at], s)
		case strings.HasPrefix(line, "All of this belongs into the reasoning"):
			take = func(term []string) { c.notes.need = append(c.notes.need, choice{1, [][]string{term}}) }
		case some != nil:
			k, _ := strconv.Atoi(some[1]) // digits
			c.notes.need = append(c.notes.need, choice{k: k})
			last := &c.notes.need[len(c.notes.need)-1]
			take = func(term []string) { last.from = append(last.from, term) }
		case line == "None of this may be claimed:":
			take = func(term []string) { c.notes.forbidden = append(c.notes.forbidden, term) }
		case strings.HasPrefix(line, "- "):
			take(strings.Split(strings.ToLower(line[2:]), " / "))
		default:
			take = func([]string) {}
		}
	}
	_, after, _ := strings.Cut(c.head, "Question:\n")
	c.question, _, _ = strings.Cut(after, "\n\n")
	c.typ, ok = knows(c.head)
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

// opening is how phantoms begin a sentence: in a tone, and with words that tell its kind.
var opening = regexp.MustCompile(`^(?:clearly, |without any doubt, |perhaps |it is possible that )?(?:` +
	`(?P<restatement>the question is about|let us )|(?P<feature>one can see that |the picture shows that |it can be seen that )|` +
	`(?P<conclusion>therefore |thus |hence )|(?P<modality>this is a|the picture is a|the examination is a)|(?P<other>in general, |it is known that ))?`)

// claims takes a sentence apart: its kind, and the statements that it makes,
// whatever words lead to them.
func claims(sentence string) stated {
	s := stated{text: sentence, kind: "other"}
	low := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(sentence), "."))
	m := opening.FindStringSubmatch(low)
	for i, kind := range opening.SubexpNames() {
		if kind != "" && m[i] != "" {
			s.kind = kind
		}
	}
	low = low[len(m[0]):]
	if s.kind == "modality" { // "radiograph of the chest" is a chest radiograph
		low = strings.TrimSpace(strings.ReplaceAll(low, "radiograph of the chest", "chest radiograph"))
	}
	s.claims = strings.Split(low, "; ")
	return s
}

// stated is the sentences of the answer, cut at lines and tags, without the closing line.
func (c shown) stated() []stated {
	var out []stated
	inside := false
	for line := range strings.Lines(partTag.ReplaceAllString(c.answer, "\n$0\n")) {
		switch line = strings.TrimSpace(line); {
		case partTag.MatchString(line):
			inside = line == "<external_influence>" || inside && line != "</external_influence>"
		case line != "" && !strings.HasPrefix(line, "Final answer:"):
			s := claims(line)
			s.influence = inside
			out = append(out, s)
		}
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
