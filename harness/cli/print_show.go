package cli

import (
	"fmt"
	"io"
	"time"

	"assay/harness/experiment"
	"assay/results"
)

// proof is what a cache state rests on, in words.
func proof(c results.Cache) string {
	s := ""
	if c.Field != "" {
		s = fmt.Sprintf(" (%s: %s)", c.Field, c.Value)
	}
	if c.Reason != "" {
		s += ": " + c.Reason
	}
	return s
}

// printShown prints a trial's requests and what is stored of it.
func printShown(w io.Writer, o *experiment.Shown) {
	k := o.Key
	fmt.Fprintf(w, "study %s, model %s, item %s, arm %s, condition %s\n", k.Study, k.Model, k.Item, k.Arm, k.Condition)
	for _, made := range o.Made {
		fmt.Fprintf(w, "picture: %s\n", made)
	}
	for i, t := range o.Turns {
		fmt.Fprintf(w, "\n--- turn %d: prompt\n%s\n", i+1, t.Prompt)
		for _, img := range t.Images {
			fmt.Fprintf(w, "--- image: %s\n", img)
		}
		if t.Nonce != "" {
			fmt.Fprintf(w, "--- nonce of the first attempt, to keep the server's caches cold: %s\n", t.Nonce)
		}
		if t.Written {
			fmt.Fprintf(w, "--- request\n%s\n", t.Curl)
		} else {
			fmt.Fprintf(w, "--- request (--out FOLDER writes its body and pictures)\n%s\n", t.Curl)
		}
	}
	if o.Stored == nil {
		fmt.Fprintln(w, "\nnot in the store yet")
		return
	}
	for i, a := range o.Stored.Attempts {
		fmt.Fprintf(w, "\n--- attempt %d", i+1)
		if !a.Started.IsZero() { // of answers that were imported
			fmt.Fprint(w, ", ", a.Started.Format(time.RFC3339))
		}
		for _, f := range a.Flags {
			fmt.Fprintf(w, ", %s", f)
		}
		fmt.Fprintln(w)
		if c := a.Cache; c != nil && c.State != "" {
			fmt.Fprintf(w, "server caches: %s%s\n", c.State, proof(*c))
		}
		if a.Failure != nil {
			fmt.Fprintf(w, "failed: %s: %s\n", a.Failure.Kind, a.Failure.Message)
			continue
		}
		for _, turn := range a.Turns {
			if d, ok := turn.Trace.TTFT(); ok {
				fmt.Fprintf(w, "first content after %s", results.DurationWords(d.Seconds()))
			}
			if d, ok := turn.Trace.Latency(); ok {
				fmt.Fprintf(w, ", last after %s (%s stamps)", results.DurationWords(d.Seconds()), turn.Trace.Stamps)
			}
			fmt.Fprintln(w)
		}
		if a.Output.Reasoning != "" {
			fmt.Fprintf(w, "reasoning channel:\n%s\n", a.Output.Reasoning)
		}
		fmt.Fprintln(w, a.Output.Answer)
	}
	for _, j := range o.Verdicts {
		judged(w, "judgment: "+j.Rubric+" by "+j.Judge, j)
	}
	for _, j := range o.Former {
		version := "unknown"
		if j.By != "" {
			version = j.By.Short()
		}
		judged(w, fmt.Sprintf("former judgment: %s by %s as of version %s", j.Rubric, j.Judge, version), j)
	}
}

func judged(w io.Writer, what string, j results.Judgment) {
	fmt.Fprintf(w, "%s: %s", what, j.Status)
	if j.Repeat > 0 {
		fmt.Fprintf(w, " when judged again (%d)", j.Repeat)
	}
	if j.Verdict != nil {
		fmt.Fprintf(w, " %s", j.Verdict)
	}
	if j.Detail != "" {
		fmt.Fprintf(w, " (%s)", j.Detail)
	}
	fmt.Fprintln(w)
}
