package cli

import (
	"fmt"
	"io"

	"assay/harness/doctor"
	"assay/results/text"
)

// printDiagnosis prints what the doctor found.
func printDiagnosis(w io.Writer, o *doctor.Diagnosis) {
	for _, f := range o.Findings {
		line := fmt.Sprintf("%-8s %s: %s", f.Level, f.About, f.Text)
		if f.Do != "" {
			line += "; " + f.Do
		}
		fmt.Fprintln(w, text.VisibleLines(line))
	}
	problems, warnings := o.Count()
	fmt.Fprintf(w, "%d problems, %d warnings\n", problems, warnings)
}
