package study

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/results"
	"assay/results/text"
)

// Unread is the rubric of answers that rules do not read, under which judges are asked that have
// reads: unread. It is the name of its prompt, too, and of what is added up of it.
const Unread = "unread"

// Names of the scores that stand beside accuracy where a judge reads what rules do not.
const (
	ScoreReadByJudge = "read_by_judge"
	ScoreJudgeRead   = "accuracy_judge_read"
)

//go:embed templates/*.tmpl
var files embed.FS

// unreadCase is what a judge sees of an answer that rules do not read: never the gold one.
type unreadCase struct {
	Question string           `json:"question"`
	Type     string           `json:"type"`
	Options  []dataset.Option `json:"options,omitempty"`
	Answer   string           `json:"answer"`
}

// read is an answer as rules read it.
func (u unreadCase) read(answer string) text.Commitment {
	return text.ReadAnswer(u.Type, choices(u.Options), answer)
}

// reading is a verdict: the label or the answer that a text commits to; nil: none.
type reading struct {
	Answer *string `json:"answer"`
}

func (r reading) said() string {
	if r.Answer == nil {
		return ""
	}
	return strings.TrimSpace(*r.Answer)
}

const unreadSchema = `{"type":"object","additionalProperties":false,"required":["answer"],"properties":{
"answer":{"type":["string","null"]}}}`

// loadBeside reads a study's templates and that of Unread.
func (p Prompts) loadBeside(given map[string]string) (Templates, error) {
	two := []dataset.Option{{Label: "A", Text: "left"}, {Text: "right"}}
	own := Prompts{Files: files, Funcs: template.FuncMap{"unlisted": Unlisted}, List: []Wording{{Names: []string{Unread},
		Usable: ".Question .Type .Options .Answer, fence and unlisted", Must: []string{"Question", "Answer"}}}}
	for _, typ := range []string{text.Single, text.Multiple, text.Bool, text.Short} {
		own.List[0].Try = append(own.List[0].Try, unreadCase{Question: "Which?", Type: typ, Answer: "Well."}, unreadCase{Question: "Which?", Type: typ, Options: two, Answer: "Well."})
	}
	l, err := p.Load(given)
	more, failed := own.Load(given)
	maps.Copy(l.ByName, more.ByName)
	maps.Copy(l.Texts, more.Texts)
	maps.Copy(l.Usable, more.Usable)
	return l, errors.Join(err, failed)
}

// UnreadRubric is asked of what UnreadCase makes.
func UnreadRubric(l Templates) judge.Rubric {
	return judge.Rubric{Name: Unread, Template: l.ByName[Unread], Schema: json.RawMessage(unreadSchema),
		Accept: judge.Accept{Keys: map[string]string{"final_answer": "answer", "option": "answer", "choice": "answer", "label": "answer"}},
		Check:  judge.Checked(checkReading),
		Read: judge.Read(func(r reading) results.Reading {
			said := r.said()
			if said == "" {
				said = "none"
			}
			return results.Reading{Fields: []results.Field{{Name: "answer", Text: said, Decides: true}}}
		})}
}

// checkReading finds a reading that is no option of the question, or does not stand in the text.
func checkReading(u unreadCase, r reading) (results.Status, string) {
	said := r.said()
	if r.Answer == nil {
		return "", ""
	}
	if c := u.read(said); !c.IsRead() || c.Other {
		return results.StatusSchema, fmt.Sprintf("%q is not an answer of type %s that the question has; null says that the text commits to none", said, u.Type)
	}
	if u.Type == text.Short && !text.Occurs(said, u.Answer) {
		return results.StatusEvidence, fmt.Sprintf("the answer %q does not stand in the text", said)
	}
	return "", ""
}

// UnreadCase is the case of an answer of some type that says something, for judges who are asked
// because rules do not read it.
func UnreadCase(question, kind string, options []dataset.Option, answer string) judge.Case {
	return judge.Case{Rubric: Unread, Fields: unreadCase{question, kind, options, answer}}
}

// Unread is the case of an answer that rules do not read; false: they read it, or it is empty.
func (c AccuracyCase) Unread() (judge.Case, bool) {
	if strings.TrimSpace(c.Answer) == "" || text.ReadAnswer(c.Type, choices(c.Options), c.Answer).IsRead() {
		return judge.Case{}, false
	}
	return UnreadCase(c.Question, c.Type, c.Options, c.Answer), true
}

// GoldKey is what is stored of an item to score what a judge read of its answers.
type GoldKey struct {
	Type    string           `json:"type,omitempty"` // "": the store is of an older assay
	Options []dataset.Option `json:"options,omitempty"`
	Golds   []string         `json:"golds,omitempty"` // of which any is right
}

// GoldKey is that of the item that a case is of.
func (c AccuracyCase) GoldKey() GoldKey { return GoldKey{c.Type, c.Options, c.golds()} }

// Reads says of a text whether rules read an answer in it, and whether that is right; nil: it is
// not known what is right.
func (k GoldKey) Reads() func(answer string) (read, right bool) {
	if k.Type == "" {
		return nil
	}
	return func(answer string) (read, right bool) {
		read = text.ReadAnswer(k.Type, choices(k.Options), answer).IsRead()
		return read, slices.ContainsFunc(k.Golds, func(gold string) bool {
			v, _, err := Compare(k.Type, k.Options, gold, answer)
			return v == Correct && err == nil
		})
	}
}

// UnreadScores are what judges read of a trial's answer where rules read nothing, as reads says.
// What neither reads is unread and wrong, as in the accuracy. There are none where no judge is
// asked.
func UnreadScores(s score.Sample, reads func(answer string) (read, right bool)) (out []score.Value) {
	judges := s.Judges(Unread)
	if len(judges) == 0 {
		return nil
	}
	why := ""
	switch {
	case s.Failed:
		why = score.Failure
	case reads == nil:
		why = "the store is of an older assay and does not say what is right; assay run stores it"
	}
	var read, right bool
	if why == "" {
		if read, right = reads(s.Output.Answer); !read && strings.TrimSpace(text.Outside(s.Output.Answer)) != "" {
			out = s.Verdicts(Unread)
		}
	}
	if why != "" {
		for _, j := range append([]string{""}, judges...) {
			out = append(out, score.Invalid(ScoreReadByJudge, j, why), score.Invalid(ScoreJudgeRead, j, why))
		}
		return out
	}
	var readBy, hits score.JudgeMean
	for _, j := range judges {
		var v reading
		by, hit := false, right
		if !read && s.Verdict(Unread, j, &v) && v.said() != "" {
			by = true
			_, hit = reads(v.said())
		}
		readBy.Add(score.OneIf(by))
		hits.Add(score.OneIf(hit))
		out = append(out, score.ValueOf(ScoreReadByJudge, j, score.OneIf(by)), score.ValueOf(ScoreJudgeRead, j, score.OneIf(hit)))
	}
	return append(out, readBy.Value(s, ScoreReadByJudge), hits.Value(s, ScoreJudgeRead))
}

// UnreadNames documents these scores.
func UnreadNames(source string) []score.Name {
	return append([]score.Name{
		{Name: ScoreReadByJudge, Unit: "1", Better: score.None, Rubric: Unread, Source: source, Help: "1: a judge read the answer where rules did not; 0: rules read it, or neither did; of all judges the mean"},
		{Name: ScoreJudgeRead, Unit: "1", Better: score.Higher, Rubric: Unread, Source: source, Help: "1: the answer as rules read it is correct, or where they do not, as a judge read it; of all judges the mean"},
	}, score.VerdictNames(Unread)...)
}

// UnreadLeaves add them up where judges are asked.
func UnreadLeaves(judges map[string][]string) []score.Leaf {
	if len(judges[Unread]) == 0 {
		return nil
	}
	const none = "no answers"
	return []score.Leaf{{Name: Unread, Score: ScoreReadByJudge, Why: none}, {Score: ScoreJudgeRead, Why: none}}
}
