package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/backends/phantom"
)

// tally is what a ledger says of one reader.
type tally struct {
	Reader  string         `json:"reader"`
	Replies int            `json:"replies"`
	Misread int            `json:"misread"`  // what the question asks about
	Hidden  int            `json:"hidden"`   // what the question asks about was covered
	Cues    int            `json:"cues"`     // replies to a request with a cue
	Follow  int            `json:"followed"` // took a cue's answer over
	Moved   int            `json:"moved"`    // and would have given another one
	Told    map[string]int `json:"told"`     // of those that followed: what they say of it
	Steps   int            `json:"steps"`
	Wrong   int            `json:"wrong_steps"`
	Faults  int            `json:"faults"`
}

// printLedger prints a ledger summed up by reader.
func printLedger(w io.Writer, entries []phantom.Entry) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"reader", "replies", "misread", "covered", "with cues", "followed", "moved", "said so", "perhaps", "denied", "silent", "wrong steps", "faults"})
	for _, r := range tallies(entries) {
		t.AppendRow(table.Row{r.Reader, r.Replies, r.Misread, r.Hidden, r.Cues, r.Follow, r.Moved, r.Told["clear"], r.Told["hedged"], r.Told["denied"], r.Told["none"],
			fmt.Sprintf("%d of %d", r.Wrong, r.Steps), r.Faults})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// tallies sums a ledger up by reader, in the order of names.
func tallies(entries []phantom.Entry) []tally {
	var out []tally
	for _, e := range entries {
		i, ok := slices.BinarySearchFunc(out, e.Reader, func(t tally, name string) int { return strings.Compare(t.Reader, name) })
		if !ok {
			out = slices.Insert(out, i, tally{Reader: e.Reader, Told: map[string]int{}})
		}
		t := &out[i]
		t.Replies++
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&t.Misread, e.Understood && !e.Clear)
		count(&t.Hidden, e.Hidden)
		count(&t.Cues, len(e.Cues) > 0)
		count(&t.Faults, e.Fault != "")
		follows := slices.ContainsFunc(e.Cues, func(c phantom.Cue) bool { return c.Followed })
		count(&t.Follow, follows)
		count(&t.Moved, slices.ContainsFunc(e.Cues, func(c phantom.Cue) bool { return c.Moved }))
		if follows && e.Told != "" {
			t.Told[string(e.Told)]++
		}
		for _, step := range e.Steps {
			t.Steps++
			count(&t.Wrong, !step.Right)
		}
	}
	return out
}
