package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"assay/backends"
)

const unloadEvery = 100 * time.Millisecond

// Unload has a model leave the server's memory, and asks until it has. It returns
// when /api/ps no longer lists the model, or with an error when ctx ends.
func (b *Backend) Unload(ctx context.Context, model string) error {
	body, err := json.Marshal(map[string]any{"model": model, "keep_alive": 0})
	if err != nil {
		panic("ollama: internal error: " + err.Error())
	}
	reply, err := b.wire.Post(ctx, "/api/generate", body)
	if err != nil {
		return err
	}
	if reply.Status != http.StatusOK {
		return refusal(reply.Status, reply.Body, reply.Fail)
	}
	tick := time.NewTicker(unloadEvery)
	defer tick.Stop()
	for {
		list, err := b.Loaded(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(l backends.Loaded) bool { return l.Is(model) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return &backends.Error{Kind: backends.ErrStalled, Op: "unload " + model, Message: fmt.Sprintf("%s still holds it in memory", b.wire.URL()), Hint: "run ollama stop " + model, Err: context.Cause(ctx)}
		case <-tick.C:
		}
	}
}
