package dataset

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"assay/harness/dataset/table"
	"assay/perturb"
)

//go:embed taix.yaml
var taixRegions string

// RegionNames are the region tables that are built in.
func RegionNames() []string { return []string{"taix"} }

// maxRegions is the largest region file that is read, in bytes.
const maxRegions = 1 << 18

// regions say of a data set's questions what its own files do not: where their
// findings show, in what other words answers come, how grades are ordered.
type regions struct {
	boxes     map[string]map[string][]perturb.Region // by finding and side
	questions []tableAsked
	aliases   map[string][]string // by folded alias
	scales    [][]string
}

// tableAsked is a line that tells a question by its words.
type tableAsked struct {
	words         []string // in lower case
	finding, side string
}

// regionFile is the YAML of a region file.
type regionFile struct {
	Boxes     map[string]any `yaml:"boxes"`
	Questions []struct {
		Words   string `yaml:"words"`
		Finding string `yaml:"finding"`
		Side    string `yaml:"side"`
	} `yaml:"questions"`
	Aliases map[string][]string `yaml:"aliases"`
	Scales  [][]string          `yaml:"scales"`
}

// ReadRegions gives a built-in table (RegionNames) or reads a file. The error
// lists all that is wrong with it.
func ReadRegions(nameOrPath string) (*regions, error) {
	text := []byte(taixRegions)
	if !slices.Contains(RegionNames(), nameOrPath) {
		var err error
		if text, err = os.ReadFile(nameOrPath); err != nil {
			return nil, fmt.Errorf("read the regions: %w; name a file, or one of the built-in tables (%s)", err, strings.Join(RegionNames(), ", "))
		}
	}
	r, problems := parseRegions(nameOrPath, text)
	if len(problems) > 0 {
		return nil, fmt.Errorf("read the regions: %w", table.Listed(problems))
	}
	return r, nil
}

// parseRegions parses a region file: YAML with boxes by finding (per cent, with
// right and left where they differ), questions with their words and finding, and
// optionally aliases and scales. It is nil when there are problems.
func parseRegions(file string, text []byte) (*regions, []table.Problem) {
	var problems []table.Problem
	bad := func(row int, column, want, got string) {
		problems = append(problems, table.Problem{File: file, Row: row, Column: column, Want: want, Got: got})
	}
	if row, want, got := plainYAML(text); got != "" {
		bad(row, "", want, got)
		return nil, problems
	}
	var f regionFile
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		row, msg := 0, err.Error()
		var at yaml.Error
		if errors.As(err, &at) {
			msg = at.GetMessage()
			if tk := at.GetToken(); tk != nil && tk.Position != nil {
				row = tk.Position.Line
			}
		}
		bad(row, "", "YAML with the keys boxes, questions, aliases and scales", msg)
		return nil, problems
	}
	r := &regions{boxes: map[string]map[string][]perturb.Region{}, aliases: map[string][]string{}}
	if len(f.Boxes) == 0 {
		bad(0, "boxes", "at least one finding with its box", "none")
	}
	for _, finding := range slices.Sorted(maps.Keys(f.Boxes)) {
		r.boxes[finding] = sidedBoxes("boxes."+finding, f.Boxes[finding], func(column, want, got string) { bad(0, column, want, got) })
	}
	for i, q := range f.Questions {
		at := fmt.Sprintf("questions[%d]", i)
		words := strings.Fields(strings.ToLower(q.Words))
		boxes, known := r.boxes[q.Finding]
		switch {
		case len(words) == 0:
			bad(0, at+".words", "words that stand in the question", "none")
		case !known:
			bad(0, at+".finding", "one of the findings under boxes", table.Quote(q.Finding))
		case q.Side != "" && len(boxes[q.Side]) == 0:
			bad(0, at+".side", "a side that "+q.Finding+" has boxes for, or none", table.Quote(q.Side))
		}
		r.questions = append(r.questions, tableAsked{words, q.Finding, q.Side})
	}
	for _, alias := range slices.Sorted(maps.Keys(f.Aliases)) {
		if foldText(alias) == "" || r.aliases[foldText(alias)] != nil || len(f.Aliases[alias]) == 0 || slices.ContainsFunc(f.Aliases[alias], func(a string) bool { return foldText(a) == "" }) {
			bad(0, "aliases."+alias, "each alias once, with the answers it may stand for", fmt.Sprintf("%q", f.Aliases[alias]))
			continue
		}
		r.aliases[foldText(alias)] = f.Aliases[alias]
	}
	for i, scale := range f.Scales {
		seen := map[string]bool{}
		for _, g := range scale {
			seen[foldText(g)] = true
		}
		if len(scale) < 2 || len(seen) != len(scale) || seen[""] {
			bad(0, fmt.Sprintf("scales[%d]", i), "at least two different grades from least to most", fmt.Sprintf("%q", scale))
		}
	}
	r.scales = f.Scales
	if len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// Findings are those that have boxes, by name.
func (r *regions) Findings() []string { return slices.Sorted(maps.Keys(r.boxes)) }

// Boxes are where a finding shows, by side as in Item.Regions; nil: it is unknown.
func (r *regions) Boxes(finding string) map[string][]perturb.Region { return r.boxes[finding] }

// plainYAML refuses what a table does not need and a parser may take ages over.
func plainYAML(text []byte) (row int, want, got string) {
	if len(text) > maxRegions {
		return 0, fmt.Sprintf("at most %d bytes", maxRegions), fmt.Sprint(len(text))
	}
	if !utf8.Valid(text) {
		return 0, "UTF-8 text", "bytes that are not UTF-8"
	}
	const most = 16
	depth, dashes, line := 0, 0, 0
	for _, tk := range lexer.Tokenize(string(text)) {
		if tk.Position.Line != line {
			line, dashes = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType, token.DirectiveType:
			return line, "mappings, lists, text and numbers", table.Quote(tk.Value)
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if depth > most || dashes > most {
			return line, fmt.Sprintf("at most %d levels", most), "more"
		}
	}
	return 0, "", ""
}

// sidedBoxes reads one box, a list of boxes, or these by side.
func sidedBoxes(path string, v any, bad func(column, want, got string)) map[string][]perturb.Region {
	sides, ok := v.(map[string]any)
	if !ok {
		return map[string][]perturb.Region{"": boxList(path, v, bad)}
	}
	out := map[string][]perturb.Region{}
	if len(sides) == 0 {
		bad(path, "right or left with boxes", "nothing")
	}
	for _, side := range slices.Sorted(maps.Keys(sides)) {
		if side != "right" && side != "left" {
			bad(path+"."+side, "the side right or left", table.Quote(side))
			continue
		}
		out[side] = boxList(path+"."+side, sides[side], bad)
	}
	return out
}

func boxList(path string, v any, bad func(column, want, got string)) []perturb.Region {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		bad(path, "a box [x0, y0, x1, y1] in per cent, or a list of boxes", fmt.Sprint(v))
		return nil
	}
	if _, nested := list[0].([]any); !nested {
		list = []any{v}
	}
	var out []perturb.Region
	for i, b := range list {
		corners, ok := b.([]any)
		var n [4]int
		if ok = ok && len(corners) == 4; ok {
			for k, c := range corners {
				u, whole := c.(uint64)
				ok = ok && whole && u <= 100
				n[k] = int(min(u, 100))
			}
		}
		r := perturb.Region{X0: n[0], Y0: n[1], X1: n[2], Y1: n[3]}
		if !ok || r.Check() != nil {
			bad(fmt.Sprintf("%s[%d]", path, i), "four whole numbers x0 y0 x1 y1 of 0 to 100, x0 < x1 and y0 < y1", fmt.Sprint(b))
			continue
		}
		out = append(out, r)
	}
	return out
}

// About is the finding a question asks about, and on which side; "" for none.
func (r *regions) About(question string) (finding, side string) {
	before, _, _ := cutBrackets(question)
	words := strings.FieldsFunc(strings.ToLower(before), func(c rune) bool { return !isWord(c) })
	for _, q := range r.questions {
		if !slices.ContainsFunc(q.words, func(w string) bool { return !slices.Contains(words, w) }) {
			return q.finding, q.side
		}
	}
	return "", ""
}

func isWord(c rune) bool {
	return c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= utf8.RuneSelf
}

// Scales are the known orders of grades, each from least to most.
func (r *regions) Scales() [][]string { return r.scales }

// Scale is the known order of options, in their own spelling; nil: there is none.
func (r *regions) Scale(options []string) []string {
	for _, known := range r.scales {
		var out []string
		for _, g := range known {
			for _, o := range options {
				if foldText(o) == foldText(g) {
					out = append(out, o)
				}
			}
		}
		if len(out) > 1 && len(out) == len(options) {
			return out
		}
	}
	return nil
}

// Aliases are the table's other words for options.
func (r *regions) Aliases(options []string) map[string]string { return aliases(r.aliases, options) }

// aliases are the other words, in lower case, that stand for one of options and
// are none themselves; of several that a word may stand for, the first. nil: none.
func aliases(words map[string][]string, options []string) map[string]string {
	find := func(answer string) (string, bool) {
		i := slices.IndexFunc(options, func(o string) bool { return foldText(o) == foldText(answer) })
		if i < 0 {
			return "", false
		}
		return options[i], true
	}
	out := map[string]string{}
	for alias, of := range words {
		if _, own := find(alias); own {
			continue
		}
		for _, answer := range of {
			if option, ok := find(answer); ok {
				out[foldText(alias)] = option
				break
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
