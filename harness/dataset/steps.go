package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"
)

// StepKind is the category of a reasoning step (M3CoTBench).
type StepKind string

const (
	StepModality   StepKind = "modality"   // examination type
	StepFeature    StepKind = "feature"    // what is seen
	StepConclusion StepKind = "conclusion" // key conclusion
	StepOther      StepKind = "other"      // additional analysis
)

// Step is one gold step.
type Step struct {
	Kind StepKind `json:"kind"`
	Text string   `json:"text"`
}

// stepColumns are the four steps of a gold path, in order, by the data set's names.
func stepColumns() []string {
	return []string{"modality", "feature", "key_conclusion", "additional_analysis"}
}

func stepKinds() []StepKind {
	return []StepKind{StepModality, StepFeature, StepConclusion, StepOther}
}

// path makes a gold path of up to four texts in order; an empty one is not
// applicable.
func path(texts []string) []Step {
	var path []Step
	for i, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			path = append(path, Step{Kind: stepKinds()[i], Text: s})
		}
	}
	return path
}

// paths reads the column key_annotation_steps: a JSON object of
// "solution1", "solution2", ...
//
// The released tools write one text (or null) per solution; these are not four
// ways to the answer but the four steps of one path, in the order of the columns.
// Where a solution is itself an object with the columns' names, or a list of up to
// four texts in their order, each is a path of its own.
func paths(text string) ([][]Step, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	v, issues := table.ParseJSON([]byte(text))
	if len(issues) > 0 {
		return nil, fmt.Errorf("%s: expected %s, found %s", issues[0].Path, issues[0].Want, issues[0].Got)
	}
	if v == nil {
		return nil, nil
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("expected an object of solutions, found %s", table.Kind(v))
	}
	byNumber := map[int]any{}
	var numbers []int
	for key, val := range obj {
		digits, ok := strings.CutPrefix(key, "solution")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 1 || strconv.Itoa(n) != digits {
			return nil, fmt.Errorf("expected keys solution1, solution2, ..., found %s", table.Quote(key))
		}
		byNumber[n] = val
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	flat := make([]string, len(stepColumns()))
	texts := 0 // solutions that are a text
	var paths [][]Step
	for _, n := range numbers {
		var steps []string
		var err error
		switch val := byNumber[n].(type) {
		case nil:
			continue
		case string:
			if n > len(flat) {
				return nil, fmt.Errorf("solution%d: a text is one of at most %d steps", n, len(flat))
			}
			flat[n-1] = val
			texts++
			continue
		case map[string]any:
			steps, err = stepObject(val)
		case []any:
			steps, err = stepList(val)
		default:
			err = fmt.Errorf("expected a text, an object or a list, found %s", table.Kind(val))
		}
		if err != nil {
			return nil, fmt.Errorf("solution%d: %w", n, err)
		}
		if p := path(steps); len(p) > 0 {
			paths = append(paths, p)
		}
	}
	if texts == 0 {
		return paths, nil
	}
	if len(paths) > 0 {
		return nil, fmt.Errorf("some solutions are a single text and some are whole paths: expected one or the other")
	}
	if p := path(flat); len(p) > 0 {
		paths = append(paths, p)
	}
	return paths, nil
}

func stepObject(obj map[string]any) ([]string, error) {
	steps := make([]string, len(stepColumns()))
	for key, val := range obj {
		i := slices.Index(stepColumns(), key)
		if i < 0 {
			return nil, fmt.Errorf("expected the keys %s, found %s", strings.Join(stepColumns(), ", "), table.Quote(key))
		}
		var err error
		if steps[i], err = stepText(val); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return steps, nil
}

func stepList(list []any) ([]string, error) {
	if len(list) > len(stepColumns()) {
		return nil, fmt.Errorf("expected at most %d steps, found %d", len(stepColumns()), len(list))
	}
	steps := make([]string, len(list))
	for i, val := range list {
		var err error
		if steps[i], err = stepText(val); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return steps, nil
}

func stepText(v any) (string, error) {
	switch s := v.(type) {
	case nil:
		return "", nil
	case string:
		return s, nil
	}
	return "", fmt.Errorf("expected a text or null, found %s", table.Kind(v))
}
