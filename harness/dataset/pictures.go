package dataset

import (
	"encoding/base64"
	"fmt"
	"strings"

	"assay/harness/dataset/table"
	"assay/perturb"
)

// longest is the most characters that the index of another row has where a picture is
// expected: more are the picture, as VLMEvalKit has it.
const longest = 64

// pictures are the pictures that a cell holds in base64, one or a list of them; nil: it
// holds none.
func pictures(cell string) []string {
	if len(cell) <= longest {
		return nil
	}
	all := []string{cell}
	if many, ok := list(cell); ok {
		all = many
	}
	for _, s := range all {
		if len(s) <= longest || !encoded(s) {
			return nil
		}
	}
	return all
}

// encoded says whether a text begins as base64 does.
func encoded(s string) bool {
	if strings.HasPrefix(s, "data:image/") {
		return true
	}
	for _, c := range []byte(s[:longest]) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}

func decoded(s string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(s, "data:image/"); ok {
		if _, s, ok = strings.Cut(rest, ";base64,"); !ok {
			return nil, fmt.Errorf("an address that begins with data:image/ and has no base64")
		}
	}
	s = strings.TrimRight(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' {
			return -1
		}
		return r
	}, s), "=")
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("base64 that is damaged: %w", err)
	}
	return b, nil
}

// unreadable says what is wrong with a picture; "": nothing.
func unreadable(b []byte) string {
	if len(b) > table.MaxPicture {
		return fmt.Sprintf("%d bytes, expected at most %d MB", len(b), table.MaxPicture>>20)
	}
	if _, _, _, err := perturb.Config(b); err != nil {
		return err.Error()
	}
	return ""
}

const questionReadable = "a readable PNG, JPEG, WebP, GIF, BMP or TIFF image"

// byIndex is the rows that have pictures of their own, by id: other rows may name them.
func (r *questionReader) byIndex() map[string]questionRow {
	out := map[string]questionRow{}
	if r.of.Format != KindVLMEvalKit {
		return nil
	}
	for _, x := range r.rows {
		for _, c := range r.fields[fieldImage] {
			if id, _ := r.get(x, fieldID); len(x.values[c].in) > 0 {
				out[id] = x
			}
		}
	}
	return out
}

// shown adds the pictures of a row.
func (r *questionReader) shown(x questionRow, q *tableQuestion, others map[string]questionRow) {
	columns, before := r.fields[fieldImage], len(r.Problems)
	for _, c := range columns {
		v := x.values[c]
		if other, ok := others[strings.TrimSpace(v.text)]; ok && v.text != "" {
			v = other.values[c]
		}
		for _, p := range v.in {
			if p.bad != "" {
				r.bad(x.file, x.at, c, questionReadable, p.bad)
				continue
			}
			q.Pictures = append(q.Pictures, picture{Column: c, Load: p.load, Sum: p.sum})
		}
		paths := v.list
		if s := strings.TrimSpace(v.text); paths == nil && s != "" {
			var ok bool
			if paths, ok = list(s); !ok {
				paths = []string{s}
			}
		}
		for _, p := range paths {
			switch p = strings.TrimSpace(p); {
			case strings.Contains(p, "://"):
				r.bad(x.file, x.at, c, "a picture file: nothing is downloaded", table.Quote(p))
			case p == "" || strings.ContainsRune(p, 0):
				r.bad(x.file, x.at, c, "a picture file", table.Quote(p))
			default:
				q.Pictures = append(q.Pictures, picture{Column: c, Path: p})
			}
		}
		// Of VLMEvalKit's two columns the second names the files of the first.
		if r.of.Format == KindVLMEvalKit && r.guessed[fieldImage] && (len(q.Pictures) > 0 || len(v.in) > 0) {
			return
		}
	}
	if len(q.Pictures) == 0 && len(r.Problems) == before {
		r.bad(x.file, x.at, strings.Join(columns, ", "), "a picture", "none")
	}
}
