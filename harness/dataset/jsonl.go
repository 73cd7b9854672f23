package dataset

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/harness/dataset/table"
)

// jsonlSchema is the JSON Schema (2020-12) of a line of a plain JSONL data set.
//
//go:embed jsonl.schema.json
var jsonlSchema string

// maxLine is the longest line that is read, in bytes: it holds text and paths,
// never pictures.
const maxLine = 4 << 20

// jsonl reads a plain JSONL file (jsonlSchema). Every violation is a Problem with its line and
// JSON path, and its line is left out. history, captions and findings are those of
// TypeDiagnosis; of other types they are checked and dropped, so that they cannot reach
// a prompt, and told as unused.
func jsonl(s Source) (*Dataset, error) {
	path := s.Path
	if s.Columns != nil || tableInJSONL(path) {
		return own(s)
	}
	if s.Split != "" {
		return nil, fmt.Errorf("split: expected nothing, because the lines of %s have none, found %q; leave it out", path, s.Split)
	}
	more, err := s.extras()
	if err != nil {
		return nil, err
	}
	f, err := table.OpenRoot(path, table.MaxTable)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	schema, err := compileSchema()
	if err != nil {
		return nil, err
	}
	read, problems, err := parseJSONL(path, f, schema, s.column())
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: s.Name, Kind: KindJSONL, Problems: problems}
	var rows []row
	dropped := map[string]bool{}
	for _, l := range read {
		l.drop(dropped)
		sums := make([][sha256.Size]byte, len(l.Images))
		bad := false
		for i, im := range l.Images {
			var want, got string
			var image Image
			if image, sums[i], want, got = more.picture(s, im); got != "" {
				d.Problems = append(d.Problems, Problem{File: path, Row: l.row, Column: fmt.Sprintf("$.images[%d]", i), Want: want, Got: got})
				bad = true
			}
			l.item.Images = append(l.item.Images, image)
		}
		if bad {
			continue
		}
		l.item.cluster = l.cluster
		rows = append(rows, row{l.item, sums, l.boxes, path, l.row, "$.boxes"})
	}
	d.add(s, more, rows)
	d.Unused = slices.Sorted(maps.Keys(dropped))
	return d, nil
}

// drop adds which keys of a line its type does not take.
func (l *jsonlLine) drop(dropped map[string]bool) {
	for name, given := range map[string]bool{"captions": l.Captions != nil, "findings": l.Findings != "", "history": l.History != ""} {
		if given && l.Type != TypeDiagnosis {
			dropped[name+" of type "+l.Type] = true
		}
	}
}

// jsonlLine is a line that keeps the schema.
type jsonlLine struct {
	ID       string            `json:"id"`
	Images   []string          `json:"images"`
	Question string            `json:"question"`
	Type     string            `json:"type"`
	Options  []Option          `json:"options"`
	Answer   golds             `json:"answer"`
	Any      golds             `json:"answer_any"`
	Task     string            `json:"task"`
	Modality string            `json:"modality"`
	GoldPath [][]Step          `json:"gold_path"`
	Finding  string            `json:"finding"`
	Boxes    json.RawMessage   `json:"boxes"`
	Captions []*string         `json:"captions"`
	History  string            `json:"history"`
	Findings string            `json:"findings"`
	Scale    []string          `json:"scale"`
	Aliases  map[string]string `json:"aliases"`
	cluster  string
	boxes    sides
	row      int
	item     Item // without images
}

// parseJSONL parses the lines of a file, of which it holds one at a time, each with what it
// has under the key cluster ("": none), which the schema need not know. The
// error is for a file that cannot be read, or holds no lines at all.
func parseJSONL(file string, in io.Reader, schema *jsonschema.Schema, cluster string) (out []jsonlLine, problems []Problem, err error) {
	first := map[string]int{} // line by id
	problems, err = table.EachLine(file, in, maxLine, func(row int, line []byte, bad func(column, want, got string)) {
		ok := true
		l := parseLine(line, schema, cluster, func(column, want, got string) {
			ok = false
			bad(column, want, got)
		})
		if !ok {
			return
		}
		if r := first[l.ID]; r > 0 {
			bad("$.id", "each id once", fmt.Sprintf("%s, which line %d already has", table.Quote(l.ID), r))
			return
		}
		first[l.ID] = row
		l.row = row
		out = append(out, l)
	})
	return out, problems, err
}

func parseLine(line []byte, schema *jsonschema.Schema, cluster string, bad func(column, want, got string)) (l jsonlLine) {
	v, issues := table.ParseJSON(line)
	for _, i := range issues {
		bad(i.Path, i.Want, i.Got)
	}
	if v == nil && len(issues) > 0 {
		return l
	}
	if object, ok := v.(map[string]any); ok && cluster != "" {
		said, plain := table.Plain(object[cluster])
		if said = strings.TrimSpace(said); !plain {
			bad("$."+cluster, table.Together(cluster), table.Kind(object[cluster]))
		} else if said == "" {
			bad("$."+cluster, table.Together(cluster), table.Keys(object, cluster))
		}
		if l.cluster = said; schema.Properties[cluster] == nil {
			delete(object, cluster)
			line, _ = json.Marshal(object) // what was parsed can be written
		}
	}
	if err := schema.Validate(v); err != nil {
		table.Violations(err, v, bad)
		return l
	}
	if err := json.Unmarshal(line, &l); err != nil { // the schema should leave nothing to find
		bad("$", "an object that keeps the schema", err.Error())
		return l
	}
	answer, also := l.golds(bad)
	l.check(bad)
	if slices.Contains(ClosedTypes(), l.Type) {
		l.closed(answer, bad)
		return l
	}
	for _, key := range []struct {
		name  string
		given bool
	}{{"scale", l.Scale != nil}, {"aliases", l.Aliases != nil}} {
		if key.given {
			bad("$."+key.name, "no such key: it belongs to the types "+strings.Join(ClosedTypes(), ", "), "the type "+l.Type)
		}
	}
	l.item = Item{ID: l.ID, Question: strings.TrimSpace(l.Question), Type: l.Type, Options: l.Options, Answer: answer, Also: also,
		Task: l.Task, Modality: strings.TrimSpace(l.Modality), GoldPaths: l.GoldPath, Finding: strings.TrimSpace(l.Finding)}
	if l.Type == TypeDiagnosis {
		l.diagnosis(bad)
	}
	return l
}

// golds are the gold answer, and others of which any is right: those of a short answer, and what
// stands under answer_any. Of type multiple a list is the set to choose.
func (l *jsonlLine) golds(bad func(column, want, got string)) (answer string, also []string) {
	if l.Type == typeMultiple {
		if l.Any != nil {
			bad("$.answer_any", "no such key of type multiple, whose answer is a set", fmt.Sprintf("%d answers", len(l.Any)))
		}
		return strings.TrimSpace(strings.Join(l.Answer, ", ")), nil
	}
	all := slices.Clone(l.Answer)
	if l.Type == typeShort {
		all = strings.Split(strings.Join(all, "|"), "|")
	} else if len(all) > 1 {
		bad("$.answer", "one answer, or several under answer_any of which any is right", fmt.Sprintf("a list of %d", len(all)))
	}
	if l.Any != nil && l.Type != typeShort && l.Type != TypeSingle {
		bad("$.answer_any", "no such key: it belongs to the types single and short", "the type "+l.Type)
	}
	for _, g := range append(all, l.Any...) {
		switch g = strings.TrimSpace(g); {
		case g == "" || g == answer || slices.Contains(also, g):
		case answer == "":
			answer = g
		default:
			also = append(also, g)
		}
	}
	return answer, also
}

// diagnosis adds what belongs to a case of several images.
func (l *jsonlLine) diagnosis(bad func(column, want, got string)) {
	if !slices.ContainsFunc(l.Options, func(o Option) bool { return o.Label == l.item.Answer }) {
		bad("$.answer", "the label of one of the options", table.Quote(l.item.Answer))
	}
	l.item.Case = &Case{History: strings.TrimSpace(l.History)}
	l.item.leaking = Leaking{Findings: strings.TrimSpace(l.Findings)}
	for _, c := range l.Captions {
		text := ""
		if c != nil {
			text = strings.TrimSpace(*c)
		}
		l.item.leaking.Captions = append(l.item.leaking.Captions, text)
	}
	if !slices.ContainsFunc(l.item.leaking.Captions, func(c string) bool { return c != "" }) {
		l.item.leaking.Captions = nil
	}
}

// check is what a JSON Schema cannot say. It fills in options that stand only
// inside the question.
func (l *jsonlLine) check(bad func(column, want, got string)) {
	unlabelled := slices.Contains(ClosedTypes(), l.Type) && !slices.ContainsFunc(l.Options, func(o Option) bool { return o.Label != "" })
	for i, o := range l.Options {
		if want := LabelAt(l.Options[0].Label, i); o.Label != want && !unlabelled {
			bad(fmt.Sprintf("$.options[%d].label", i), want+": labels in order, each once", table.Quote(o.Label))
		}
	}
	inside, err := ParseOptions(l.Question)
	switch {
	case err != nil:
		bad("$.question", "options A, B, C, ... each once and in order", err.Error())
	case len(inside) > 0 && len(l.Options) == 0:
		l.Options = inside
	case len(inside) > 0 && !slices.Equal(inside, l.Options):
		bad("$.options", "the options as they stand in the question, or none", fmt.Sprintf("%d others", len(l.Options)))
	}
	var ok bool
	if l.boxes, ok = parse(string(l.Boxes)); !ok {
		bad("$.boxes", boxWanted, table.Quote(string(l.Boxes)))
	}
	if n := len(l.Captions); n > 0 && n != len(l.Images) {
		bad("$.captions", fmt.Sprintf("%d, one per image", len(l.Images)), strconv.Itoa(n))
	}
}

// closed makes the item of a question whose answer is one of its options.
func (l *jsonlLine) closed(answer string, bad func(column, want, got string)) {
	it := Item{ID: l.ID, Question: strings.TrimSpace(l.Question), Type: l.Type, Options: l.Options, Task: l.Task,
		Modality: strings.TrimSpace(l.Modality), GoldPaths: l.GoldPath, Finding: strings.TrimSpace(l.Finding)}
	if len(it.Options) == 0 {
		for _, o := range bracketOptions(it.Question) {
			it.Options = append(it.Options, Option{Text: o})
		}
	}
	if len(it.Options) == 0 {
		bad("$.options", "the answers to choose from, here or in brackets at the end of the question", "none")
		return
	}
	for i, o := range it.Options {
		if slices.ContainsFunc(it.Options[:i], func(p Option) bool { return foldText(p.Text) == foldText(o.Text) }) {
			bad(fmt.Sprintf("$.options[%d].text", i), "each answer once", table.Quote(o.Text))
		}
	}
	for alias, of := range l.Aliases {
		option, ok := it.resolve(of)
		if !ok {
			bad("$.aliases."+alias, "one of the options "+strings.Join(it.optionTexts(), ", "), table.Quote(of))
			continue
		}
		if it.Aliases == nil {
			it.Aliases = map[string]string{}
		}
		it.Aliases[foldText(alias)] = option
	}
	switch sorted := slices.Sorted(slices.Values(l.Scale)); {
	case l.Type != TypeOrdinal && l.Scale != nil:
		bad("$.scale", "none: only ordinal answers have an order", fmt.Sprintf("%d grades", len(l.Scale)))
	case l.Type == TypeOrdinal && l.Scale == nil:
		it.Scale = it.optionTexts()
	case l.Type == TypeOrdinal && !slices.Equal(sorted, slices.Sorted(slices.Values(it.optionTexts()))):
		bad("$.scale", "the options "+strings.Join(it.optionTexts(), ", ")+" from least to most", strings.Join(l.Scale, ", "))
	default:
		it.Scale = l.Scale
	}
	var ok bool
	if it.Answer, ok = it.resolve(answer); !ok {
		bad("$.answer", "one of the options "+strings.Join(it.optionTexts(), ", "), table.Quote(answer))
	}
	l.item = it
}

// golds are gold answers: a text, or a list of them.
type golds []string

func (g *golds) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*g = golds{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(g))
}

func compileSchema() (*jsonschema.Schema, error) { return table.Compile(jsonlSchema, "jsonl") }
