package cli

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"assay/results/store"
	"assay/results/text"
)

// printLeft prints what can still be read of a damaged store.
func printLeft(w io.Writer, path string, left store.Left) {
	unknown := "unknown"
	say := func(format string, args ...any) { fmt.Fprintln(w, text.VisibleLines(fmt.Sprintf(format, args...))) }
	if left.Name == "" && left.Items == nil && len(left.Blocks) == 0 {
		say("nothing can be read of %s", path)
		return
	}
	say("what can still be read of %s:", path)
	created := unknown
	if !left.Created.IsZero() {
		created = left.Created.Format(time.RFC3339)
	}
	say("  run %s, made %s by assay %s", cmp.Or(left.Name, unknown), created, cmp.Or(left.Version, unknown))
	if left.Items != nil {
		say("  %d items", *left.Items)
	}
	for _, b := range left.Blocks {
		broken := ""
		if b.Broken {
			broken = ", and then it breaks off"
		}
		say("  study %s, model %s: %d answers, %d failures, %d judgments%s", b.Study, b.Model, b.Answers, b.Failures, b.Judgments, broken)
	}
	if len(left.Blocks) == 0 {
		say("  no trials")
	}
}
