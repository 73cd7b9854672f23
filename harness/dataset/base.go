package dataset

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"assay/harness/dataset/table"
)

// The JSON Schema (2020-12) of a knowledge base file.
//
//go:embed knowledge.schema.json
var knowledgeSchema string

// maxKnowledge is the largest knowledge base that is read, in bytes.
const maxKnowledge = 16 << 20

// knowledgeBase is what is clinically right to say, by question and answer.
type knowledgeBase struct {
	questions map[string]map[string]*Knowledge // by folded question and folded answer
}

// readKnowledge reads a knowledge base file. The error lists all that is wrong
// with its content: an entry that was misread would judge every answer wrongly.
func readKnowledge(path string) (*knowledgeBase, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the knowledge base: %w", err)
	}
	kb, problems := parseKnowledge(path, data)
	if len(problems) > 0 {
		return nil, fmt.Errorf("read the knowledge base: %w", table.Listed(problems))
	}
	return kb, nil
}

// parseKnowledge parses a knowledge base (knowledge.schema.json). It is nil when there
// are problems; file is for their positions.
func parseKnowledge(file string, data []byte) (*knowledgeBase, []table.Problem) {
	var problems []table.Problem
	bad := func(column, want, got string) {
		problems = append(problems, table.Problem{File: file, Column: column, Want: want, Got: got})
	}
	if len(data) > maxKnowledge {
		bad("", fmt.Sprintf("at most %d bytes", maxKnowledge), fmt.Sprint(len(data)))
		return nil, problems
	}
	v, issues := table.ParseJSON(data)
	for _, i := range issues {
		bad(i.Path, i.Want, i.Got)
	}
	if len(issues) > 0 {
		return nil, problems
	}
	schema, err := table.Compile(knowledgeSchema, "knowledge")
	if err != nil {
		bad("", "a schema", err.Error())
		return nil, problems
	}
	if err := schema.Validate(v); err != nil {
		table.Violations(err, v, bad)
		return nil, problems
	}
	kb, more := parsed(file, data)
	return kb, append(problems, more...)
}

// ownKnowledge parses a knowledge base that a test checks with parseKnowledge: that takes
// several times as long. It panics where it is none.
func ownKnowledge(data []byte) *knowledgeBase {
	kb, problems := parsed("", data)
	if len(problems) > 0 {
		panic(fmt.Sprintf("dataset: internal error: knowledge base: %v", table.Listed(problems)))
	}
	return kb
}

// parsed is a base that keeps the schema, with what a schema cannot say.
func parsed(file string, data []byte) (*knowledgeBase, []table.Problem) {
	var problems []table.Problem
	bad := func(column, want, got string) {
		problems = append(problems, table.Problem{File: file, Column: column, Want: want, Got: got})
	}
	var questions map[string]knowledgeQuestion
	if err := json.Unmarshal(data, &questions); err != nil { // the schema should leave nothing to find
		bad("$", "an object that keeps the schema", err.Error())
		return nil, problems
	}
	kb := &knowledgeBase{questions: map[string]map[string]*Knowledge{}}
	for _, q := range slices.Sorted(maps.Keys(questions)) {
		path := "$." + q
		if kb.questions[foldText(q)] != nil {
			bad(path, "each question once", "it again, in other case or space")
			continue
		}
		answers := map[string]*Knowledge{}
		kb.questions[foldText(q)] = answers
		for _, a := range slices.Sorted(maps.Keys(questions[q].Answers)) {
			at := path + ".answers." + a
			if answers[foldText(a)] != nil {
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
			answers[foldText(a)] = &k
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
		Notes tableLines `json:"notes"`
		Caps  []Cap      `json:"caps"`
	} `json:"context"`
}

func (e knowledgeEntry) knowledge(g knowledgeGuidance) Knowledge {
	return Knowledge{MustAll: e.MustAll, AtLeast: e.AtLeast, Forbidden: e.Forbidden,
		Notes: strings.Join(e.Context.Notes, "\n"), Caps: e.Context.Caps, Rules: g.Rules, Alternates: g.Alternates}
}

// tableLines is one text or several.
type tableLines []string

func (l *tableLines) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = tableLines{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// Lookup finds the entry of a question and its answer. An answer of the base by
// another name is what means says. why says what is missing.
func (kb *knowledgeBase) Lookup(question, answer string, means func(label string) (answer string, ok bool)) (k *Knowledge, why string) {
	answers := kb.questions[foldText(question)]
	if answers == nil {
		return nil, "it has no entry for the question"
	}
	if k := answers[foldText(answer)]; k != nil {
		return k, ""
	}
	labels := slices.Sorted(maps.Keys(answers))
	for _, label := range labels {
		if a, ok := means(label); ok && a == answer {
			return answers[label], ""
		}
	}
	return nil, "it knows the answers " + strings.Join(labels, ", ")
}
