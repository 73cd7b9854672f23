package dataset

import (
	"io"
	"slices"

	"assay/harness/dataset/table"
)

// maxText is the longest text of a cell, and the longest JSON line, in bytes.
const maxText = 4 << 20

// jsonLines reads a file of one JSON object a line.
func (r *questionReader) jsonLines() error {
	f, err := table.OpenRoot(r.of.Path, table.MaxTable)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.objects(f)
}

func (r *questionReader) objects(in io.Reader) error {
	problems, err := table.EachLine(r.of.Path, in, maxText, func(at int, line []byte, bad func(column, want, got string)) {
		v, issues := table.ParseJSON(line)
		for _, i := range issues {
			bad(i.Path, i.Want, i.Got)
		}
		object, ok := v.(map[string]any)
		switch {
		case len(issues) > 0:
		case !ok:
			bad("$", "an object", table.Kind(v))
		default:
			r.object(at, object)
		}
	})
	r.Problems = append(r.Problems, problems...)
	slices.Sort(r.columns)
	return err
}

// object is a line.
func (r *questionReader) object(at int, object map[string]any) {
	x := questionRow{file: r.of.Path, at: at, values: map[string]value{}}
	for key, v := range object {
		if !slices.Contains(r.columns, key) {
			r.columns = append(r.columns, key)
		}
		one := value{text: questionSaid(v)}
		switch of := v.(type) {
		case map[string]any:
			one.any = of
		case []any:
			one.any = of
			for _, s := range of {
				if s, ok := s.(string); ok {
					one.list = append(one.list, s)
				}
			}
			if len(one.list) < len(of) {
				one.list = nil
			}
			one.text = ""
			if one.list == nil || len(of) > 0 {
				one.text = questionSaid(v)
			}
		}
		x.values[key] = one
	}
	r.rows = append(r.rows, x)
}
