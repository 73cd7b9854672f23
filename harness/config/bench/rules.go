package bench

import (
	"fmt"
	"strings"
	"time"

	"assay/harness/config/rules"
	"assay/harness/config/tree"
)

// Rules reads a bench.yaml as Parse does, and says what was asked of each key that the
// file could have: those of a mapping are known once the file has it.
func Rules(file string, text []byte, known Known, files Files) ([]rules.Rule, Errors) {
	var seen rules.Record
	if _, errs := parse(file, text, known, files, &seen); len(errs) > 0 {
		return nil, errs
	}
	return seen.Merged(map[string]string{"judges": "model"}), nil
}

func (s section) asks(key string, r rules.Rule) { s.c.seen.Ask(tree.Join(s.path, key), r) }

// short writes a number as people do: 1e9, not 1e+09.
func short(v float64) string {
	return strings.NewReplacer("e+0", "e", "e+", "e").Replace(fmt.Sprint(v))
}

// plain writes a duration without what is zero in it; "": there is none.
func plain(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
