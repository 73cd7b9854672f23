package dataset

import (
	"slices"
	"strings"

	"assay/harness/dataset/table"
)

// sniffTable tells the format of a table by its first bytes: text with a header that names a
// question, or UTF-16, of which reading it says what is wrong; "": it is none.
func sniffTable(head []byte) string {
	line, _, _ := strings.Cut(string(head), "\n")
	at := comma([]byte(line))
	var names []string
	for _, h := range strings.Split(strings.TrimRight(line, "\r"), string(at)) {
		names = append(names, fold(strings.Trim(h, `"`)))
	}
	has := func(field string) bool {
		for _, f := range Fields() {
			if f.Name == field {
				return slices.ContainsFunc(f.Names, func(n string) bool { return slices.Contains(names, fold(n)) })
			}
		}
		return false
	}
	switch {
	case strings.HasPrefix(line, "\xff\xfe"), strings.HasPrefix(line, "\xfe\xff"):
		return KindCSV
	case len(names) < 2:
		return ""
	case at == '\t' && slices.Contains(names, "index") && slices.Contains(names, "question") && slices.Contains(names, "answer") && has(fieldImage):
		return KindVLMEvalKit
	case !has(fieldQuestion) && !has(fieldAnswer) && !has(fieldImage):
		return ""
	case at == '\t':
		return kindTSV
	}
	return KindCSV
}

// tableInJSONL says whether a JSONL file is a table, by its first line (or element of an array): it lacks what the plain
// format has, or has its options as texts.
func tableInJSONL(path string) bool {
	f, err := table.OpenRoot(path, table.MaxTable)
	if err != nil {
		return false
	}
	defer f.Close()
	return mapped(table.FirstBytes(f, maxText))
}

func mapped(line []byte) bool {
	v, issues := table.ParseJSON(line)
	object, ok := v.(map[string]any)
	if !ok || len(issues) > 0 {
		return false
	}
	for _, key := range []string{"id", "images", "question", "type", "answer"} {
		if _, ok := object[key]; !ok {
			return true
		}
	}
	options, _ := object["options"].([]any)
	return slices.ContainsFunc(options, func(o any) bool { _, ok := o.(string); return ok })
}
