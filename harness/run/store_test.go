package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"assay/backends"
	"assay/results"
	"assay/results/store"
)

// The same with the store that a run really has: cut off again and again, with
// failures of every sort, then failures tried again.
func TestARunOnARealStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	second := arm("second", []string{"direct"}, `{{.Question}} after {{index .Outputs "direct"}}`)
	list := items(30)
	list[4].Question = "{{broken}}" // only a text: it must reach the server as it is
	list = append(list, item("odd", picture(8, 8, 1)))
	b := planned("s", "a", list, direct(), second)
	var first map[results.Key]string
	for n := 0; ; n++ {
		st, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		now := stored(t, st)
		for k, was := range first {
			if now[k] != was {
				t.Fatalf("%s was\n%s\nis\n%s", k.Name(), was, now[k])
			}
		}
		first = now
		ctx, cancel := context.WithCancel(t.Context())
		s := &server{}
		s.reply = func(c call) (*backends.Response, error) {
			if n < 4 && c.n == 9 {
				cancel()
			}
			if strings.HasPrefix(c.last(), "question i07") {
				return nil, fail(backends.ErrContextExceeded, "too long")
			}
			return nil, nil
		}
		j := job(s, st, b).set("s", func(s *Settings) { s.InFlight = 3 })
		sum, err := Run(ctx, j)
		cancel()
		balanced(t, j, sum)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			if n != 4 || sum.Skipped == 0 {
				t.Errorf("run %d was the last: %+v", n, sum)
			}
			break
		}
	}
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	out, err := st.Outcomes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for k, o := range out {
		// In flight together their times do not count, and nobody asked for times.
		want := results.Outcome{Attempts: 1, Invalid: o.Invalid, Invalids: o.Invalids}
		if k.Item == "i07" {
			want.Failed, want.Kind = true, map[string]string{"direct": "context_exceeded", "second": "needs"}[k.Arm]
		}
		tr, ok, err := st.Trial(t.Context(), k)
		if o != want || err != nil || !ok || (tr.Inputs == "") != (o.Kind == "needs") {
			t.Errorf("%s: %+v with inputs %q (%v), want %+v", k.Name(), o, tr.Inputs, err, want)
		}
	}
	j := job(&server{}, st, b)
	j.RetryFailed = true
	if sum := must(t, j); sum.Done != 2 || sum.Skipped != 60 || len(out) != 62 {
		t.Errorf("%d stored, tried again: %+v", len(out), sum)
	}
	for k, text := range stored(t, st) {
		if n := strings.Count(text, `"started"`); n != 1 && k.Item != "i07" || n != 2 && k.Item == "i07" {
			t.Errorf("%s has %d attempts", k.Name(), n)
		}
	}
}

// stored is every trial as text.
func stored(t *testing.T, st *store.Store) map[results.Key]string {
	t.Helper()
	out := map[results.Key]string{}
	for tr, err := range st.Trials(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%+v %s", tr.Key, tr.Inputs)
		for _, a := range tr.Attempts {
			text += fmt.Sprintf("\n\"started\" %v %+v %+v %+v", a.Started, a.Flags, a.Output, a.Failure)
			for _, turn := range a.Turns {
				text += fmt.Sprintf("\n  %v", turn.Sent)
			}
		}
		out[tr.Key] = text
	}
	return out
}
