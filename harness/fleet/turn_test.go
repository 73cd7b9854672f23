//go:build unix

package fleet

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// Locks of one process are as those of several: each is of a file opened anew.
func TestTurns(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	busy := errors.New("busy")
	cancel(busy)
	dir := t.TempDir()
	timed := func(visible string) func(context.Context) (*turn, error) {
		return func(ctx context.Context) (*turn, error) { return timed(ctx, dir, visible) }
	}
	other := func(ctx context.Context) (*turn, error) { return other(ctx, dir) }
	for _, c := range []struct {
		what      string
		has, asks func(context.Context) (*turn, error)
		waits     bool
	}{
		{"all GPUs twice", timed(""), timed(""), true},
		{"one GPU beside all", timed(""), timed("1"), true},
		{"all beside one", timed("1"), timed(""), true},
		{"one GPU twice", timed("0,1"), timed("1"), true},
		{"another GPU", timed("0"), timed("1,2"), false},
		{"another GPU by UUID", timed("GPU-8f4a"), timed("MIG-11/2/0"), false},
		{"untimed beside timed", timed("0"), other, true},
		{"timed beside untimed", other, timed("0"), true},
		{"untimed twice", other, other, false},
	} {
		has, err := c.has(t.Context())
		if err != nil {
			t.Fatal(c.what, err)
		}
		// A context that has ended: who would wait says so at once.
		asks, err := c.asks(over)
		if c.waits != errors.Is(err, busy) || !c.waits && err != nil {
			t.Errorf("%s: waits %v, want %v: %v", c.what, err != nil, c.waits, err)
		}
		asks.Close()
		has.Close()
		if again, err := c.asks(over); err != nil {
			t.Errorf("%s: when it is over: %v", c.what, err)
		} else {
			again.Close()
		}
	}
	if _, mine, err := folder(dir); !mine || err != nil {
		t.Fatal(mine, err)
	}
	if _, mine, err := folder(dir); mine || err != nil {
		t.Error("two workers in a folder", err)
	}
}

func TestGPUs(t *testing.T) {
	for visible, want := range map[string][]string{"": {"gpu-all"}, "0, 1": {"gpu-all", "gpu-0", "gpu-1"}, "GPU-8f/x": {"gpu-all", "gpu-GPU-8f_x"}} {
		if got, shared := gpus(visible); !slices.Equal(got, want) || shared != (visible != "") {
			t.Errorf("%q: %v %v", visible, got, shared)
		}
	}
}
