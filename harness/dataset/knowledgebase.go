package dataset

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

//go:embed knowledge.schema.json
var knowledgeSchema string

// KnowledgeSchema is the JSON Schema (2020-12) of a knowledge base file.
func KnowledgeSchema() string { return knowledgeSchema }

// maxKnowledge is the largest knowledge base that is read, in bytes.
const maxKnowledge = 16 << 20

// KnowledgeBase is what is clinically right to say, by question and answer.
type KnowledgeBase struct {
	questions map[string]map[string]*Knowledge // by folded question and folded answer
}

// Gap is a question and gold answer of a data set that its knowledge base does
// not know. Its items have no Knowledge.
type Gap struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Items    int    `json:"items"`
	Why      string `json:"why"`
}

// ReadKnowledge reads a knowledge base file. The error lists all that is wrong
// with its content: an entry that was misread would judge every answer wrongly.
func ReadKnowledge(path string) (*KnowledgeBase, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the knowledge base: %w", err)
	}
	kb, problems := ParseKnowledge(path, data)
	if len(problems) > 0 {
		return nil, fmt.Errorf("read the knowledge base: %w", listed(problems))
	}
	return kb, nil
}

// listed is one error of several problems, one a line, the first twenty.
func listed(problems []Problem) error {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	if n := len(lines) - 20; n > 0 {
		lines = append(lines[:20], fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}

// ParseKnowledge parses a knowledge base (KnowledgeSchema). It is nil when there
// are problems; file is for their positions.
func ParseKnowledge(file string, data []byte) (*KnowledgeBase, []Problem) {
	var problems []Problem
	bad := func(column, want, got string) {
		problems = append(problems, Problem{File: file, Column: column, Want: want, Got: got})
	}
	if len(data) > maxKnowledge {
		bad("", fmt.Sprintf("at most %d bytes", maxKnowledge), fmt.Sprint(len(data)))
		return nil, problems
	}
	v, issues := parseJSON(data)
	for _, i := range issues {
		bad(i.path, i.want, i.got)
	}
	if len(issues) > 0 {
		return nil, problems
	}
	schema, err := compile(knowledgeSchema, "knowledge")
	if err != nil {
		bad("", "a schema", err.Error())
		return nil, problems
	}
	if err := schema.Validate(v); err != nil {
		violations(err, v, bad)
		return nil, problems
	}
	var questions map[string]knowledgeQuestion
	if err := json.Unmarshal(data, &questions); err != nil { // the schema should leave nothing to find
		bad("$", "an object that keeps the schema", err.Error())
		return nil, problems
	}
	kb := &KnowledgeBase{questions: map[string]map[string]*Knowledge{}}
	for _, q := range slices.Sorted(maps.Keys(questions)) {
		path := "$." + q
		if kb.questions[fold(q)] != nil {
			bad(path, "each question once", "it again, in other case or space")
			continue
		}
		answers := map[string]*Knowledge{}
		kb.questions[fold(q)] = answers
		for _, a := range slices.Sorted(maps.Keys(questions[q].Answers)) {
			at := path + ".answers." + a
			if answers[fold(a)] != nil {
				bad(at, "each answer once", "it again, in other case or space")
				continue
			}
			entry := questions[q].Answers[a]
			for i, g := range entry.AtLeast {
				if g.K > len(g.AnyOf) {
					bad(fmt.Sprintf("%s.at_least_k_of[%d].k", at, i), fmt.Sprintf("at most the %d terms of any_of", len(g.AnyOf)), fmt.Sprint(g.K))
				}
			}
			if len(entry.MustAll)+len(entry.AtLeast)+len(entry.Forbidden) == 0 {
				bad(at, "at least one term that is required or forbidden", "none: leave the answer out if nothing is known of it")
			}
			k := entry.knowledge(questions[q].Guidance)
			answers[fold(a)] = &k
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return kb, nil
}

// knowledgeQuestion is a question of the file.
type knowledgeQuestion struct {
	Answers  map[string]knowledgeEntry `json:"answers"`
	Guidance knowledgeGuidance         `json:"additional_guidance"`
}

type knowledgeGuidance struct {
	Rules      []string   `json:"disambiguation_rules"`
	Alternates [][]string `json:"acceptable_alternate_terminology"`
}

type knowledgeEntry struct {
	MustAll   []Term    `json:"must_all"`
	AtLeast   []AtLeast `json:"at_least_k_of"`
	Forbidden []Term    `json:"forbidden"`
	Context   struct {
		Notes lines `json:"notes"`
		Caps  []Cap `json:"caps"`
	} `json:"context"`
}

func (e knowledgeEntry) knowledge(g knowledgeGuidance) Knowledge {
	return Knowledge{MustAll: e.MustAll, AtLeast: e.AtLeast, Forbidden: e.Forbidden,
		Notes: strings.Join(e.Context.Notes, "\n"), Caps: e.Context.Caps, Rules: g.Rules, Alternates: g.Alternates}
}

// lines is one text or several.
type lines []string

func (l *lines) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = lines{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// Lookup finds the entry of an item's question and gold answer. An answer of the
// knowledge base that is not among the item's options is what its aliases say.
// why is for a Gap.
func (kb *KnowledgeBase) Lookup(it Item) (k *Knowledge, why string) {
	answers := kb.questions[fold(it.Question)]
	if answers == nil {
		return nil, "it has no entry for the question"
	}
	if k := answers[fold(it.Answer)]; k != nil {
		return k, ""
	}
	labels := slices.Sorted(maps.Keys(answers))
	for _, label := range labels {
		if option, ok := it.resolve(label); ok && option == it.Answer {
			return answers[label], ""
		}
	}
	return nil, "it knows the answers " + strings.Join(labels, ", ")
}

// extras is what stands beside a data set's own files: a table of regions, a
// knowledge base. Either may be missing.
type extras struct {
	regions *Regions
	kb      *KnowledgeBase
	gaps    []Gap // in the order of the items
	at      map[[2]string]int
}

// complete gives an item of the faithfulness study's types what belongs to it.
func (e *extras) complete(it *Item) {
	if !slices.Contains(ClosedTypes(), it.Type) {
		return
	}
	if e.regions != nil {
		e.regions.describe(it)
	}
	if e.kb == nil {
		return
	}
	var why string
	if it.Knowledge, why = e.kb.Lookup(*it); why == "" {
		return
	}
	key := [2]string{it.Question, it.Answer}
	g, ok := e.at[key]
	if !ok {
		if e.at == nil {
			e.at = map[[2]string]int{}
		}
		g = len(e.gaps)
		e.at[key] = g
		e.gaps = append(e.gaps, Gap{Question: it.Question, Answer: it.Answer, Why: why})
	}
	e.gaps[g].Items++
}

// GapError lists the gaps of a knowledge base, for a plan that they stop.
func GapError(gaps []Gap) error {
	if len(gaps) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the knowledge base has no entry for %d of the data set's questions and gold answers:", len(gaps))
	for _, g := range gaps {
		fmt.Fprintf(&b, "\n  %q with the answer %q (%d items): %s", g.Question, g.Answer, g.Items, g.Why)
	}
	b.WriteString("\nadd entries, or set knowledge_gaps: skip to leave clinical fidelity undefined for these")
	return fmt.Errorf("%s", b.String())
}
