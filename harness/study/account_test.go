package study

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/harness/score"
	"assay/results"
)

// TestTimesAreMarked: a table says which requests its TTFT is of, and of how many
// times that are in it the first chunk is late or holds several tokens.
func TestTimesAreMarked(t *testing.T) {
	d, yes, no := time.Second, true, false
	count := func(n int) *int { return &n }
	rows := []results.Row{
		{TTFT: &d, Latency: &d, TTFTAtMost: &yes, LatencyAtMost: &no, FirstTokens: count(1), CompletionTokens: count(9)},
		{TTFT: &d, Latency: &d, TTFTAtMost: &no, LatencyAtMost: &no, FirstTokens: count(3), CompletionTokens: count(9)},
		{TTFT: &d, Latency: &d, TTFTAtMost: &no, LatencyAtMost: &yes, CompletionTokens: count(9)}, // more tokens than chunks
		{TTFT: &d, Latency: &d, FirstTokens: nil}, // an old store, a server that counts nothing
		{TTFT: &d, Latency: &d, TTFTAtMost: &yes, LatencyAtMost: &yes, FirstTokens: count(5), Flags: []results.Flag{results.FlagTruncated}}, // not in the table's times
		{Failed: true, Kind: "stalled"},
	}
	said := func(turns int, rows ...results.Row) (all []string) {
		a := NewAccount(&Basis{}, "m", "x")
		a.Turns = turns
		s := &score.PairSample{}
		for _, r := range rows {
			a.Add(s.Item(), r, nil, nil, nil)
		}
		a.Score(s)
		s.Run(1, 10)
		table := accountTable("s", "", []*Account{a}, new(Basis).latencies())
		for i, c := range table.Columns {
			if e := table.Rows[0][i].Estimate; slices.Contains([]string{"ttft_at_most", "latency_at_most", "first_several"}, c.Name) {
				if e.Value == nil {
					all = append(all, "? "+e.Why)
					continue
				}
				all = append(all, fmt.Sprintf("%v of %d", *e.Value, e.N))
			} else if c.Name == "ttft_of" {
				all = append(all, table.Rows[0][i].Text)
			}
		}
		return all
	}
	if got, want := said(1, rows...), []string{"the request", "1 of 3", "1 of 3", "2 of 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// Three first chunks of one token each hold three.
	three := results.Row{TTFT: &d, Latency: &d, TTFTAtMost: &no, LatencyAtMost: &no, FirstTokens: count(3), CompletionTokens: count(9)}
	if got, want := said(3, three), []string{"3 requests, summed", "0 of 1", "0 of 1", "0 of 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := said(1, rows[3]), []string{"the request", "? it is not known of any answer", "? it is not known of any answer", "? it is not known of any answer"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
