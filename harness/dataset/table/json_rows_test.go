package table

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// read tells what became of a table, line by line.
func read(content string) (got []string) {
	tell := func(kind string, line int, cells map[string]string) {
		s := fmt.Sprint(kind, " ", line)
		for _, k := range slices.Sorted(maps.Keys(cells)) {
			s += " " + k + "=" + cells[k]
		}
		got = append(got, s)
	}
	r := JSONRows{Header: "a header",
		Bad: func(line int, column, want, found string) {
			got = append(got, fmt.Sprintf("bad %d %s: %s; %s", line, column, want, found))
		},
		Row: func(line int, cells map[string]string) { tell("row", line, cells) },
		Object: func(line int, object map[string]any) {
			cells := map[string]string{}
			for k, v := range object {
				cells[k] = fmt.Sprint(v)
			}
			tell("object", line, cells)
		}}
	r.Names = func(header []string) ([]string, bool) { return header, header[0] != "no" }
	r.Read([]byte(content))
	return got
}

func TestJSONRead(t *testing.T) {
	const bom = "\ufeff"
	for content, want := range map[string][]string{
		"": {"bad 1 : a header; nothing"},
		bom + " a ,b\r\n 1 ,\"x\ny\"\r\n\r\n2,z\n": {"row 2 a=1 b=x\ny", "row 5 a=2 b=z"},
		"no,b\n1,2\n":     {},
		"a,b,a\n1,2,3\n":  {"row 2 a=1 b=2"},
		"a,b\n1\n1,2\n":   {"bad 2 : 2 fields, as the first row has; 1", "row 3 a=1 b=2"},
		"a,b\n1,\"2\n3,4": {`bad 3 : separated values, a text with a quote in it between quotes; extraneous or missing " in quoted-field`},
		"a\n\xff\n":       {"bad 2 : text in UTF-8; the byte 0xff"},
		`{"a":NaN,"b":": NaN","c":-Infinity}` + "\n{\"a\": nan}": {"object 1 a=NaN b=: NaN c=-Infinity", "bad 2 $: a JSON value (null where there is none); the literal nan at byte 7"},
		bom + "\n{\"a\": 1.50}\n\n [2]\n{\"a\": 3\n":             {"object 2 a=1.50", "bad 4 $: an object; a list of 1", "bad 5 $: JSON; a value that ends early"},
	} {
		if got := read(content); !slices.Equal(got, want) {
			t.Errorf("%q:\n%q\nwant\n%q", content, got, want)
		}
	}
}

func TestKnown(t *testing.T) {
	var bad []string
	r := JSONRows{Bad: func(_ int, column, want, got string) { bad = append(bad, column+": "+want+"; "+got) }}
	if !r.Known([]string{"a", "x"}, nil) || !r.Known([]string{"a", "b"}, []string{"a", "b"}) || bad != nil {
		t.Errorf("refused is %q", bad)
	}
	if r.Known([]string{"a", "x", "a"}, []string{"a", "b"}) || !slices.Equal(bad, []string{"x: one of a, b; an unknown column", "a: each column once; it again"}) {
		t.Errorf("refused is %q", bad)
	}
}
