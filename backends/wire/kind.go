package wire

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"assay/backends"
)

// KindWithin is how long Kind waits for its answers, all of them.
const KindWithin = 5 * time.Second

// Sign is what a kind of server is known by among others.
type Sign struct {
	Kind   string // as bench.yaml has it
	Called string // for people, with its article
	// Is looks at what the server answers to a GET; a failed one has status 0. It runs
	// beside those of others. nil: nothing tells this kind from others.
	Is func(get func(path string) *Reply) bool
}

// Kind is what kind of server answers, of those in Config.Signs, the first of them that
// knows it; false: it cannot be told. It is asked where a server did not speak as expected.
func (c *Client) Kind(ctx context.Context) (Sign, bool) {
	ctx, cancel := context.WithTimeout(ctx, KindWithin)
	defer cancel()
	var mu sync.Mutex
	seen := map[string]func() *Reply{}
	get := func(path string) *Reply {
		mu.Lock()
		once := seen[path]
		if once == nil {
			once = sync.OnceValue(func() *Reply {
				reply, err := c.Get(ctx, path)
				if err != nil {
					return &Reply{Header: http.Header{}}
				}
				return reply
			})
			seen[path] = once
		}
		mu.Unlock()
		return once()
	}
	// Side by side: a server may leave one of the paths without an end.
	is := make([]bool, len(c.signs))
	var all sync.WaitGroup
	for i, s := range c.signs {
		if s.Is != nil {
			all.Go(func() { is[i] = s.Is(get) })
		}
	}
	all.Wait()
	if i := slices.Index(is, true); i >= 0 {
		return c.signs[i], true
	}
	return Sign{}, false
}

// NotKind is what to do where a server of another kind than the wanted one answers;
// "": it is that kind, or cannot be told.
func (c *Client) NotKind(ctx context.Context, want string) string {
	is, ok := c.Kind(ctx)
	if !ok || is.Kind == want {
		return ""
	}
	return "this is " + is.Called + ": write kind: " + is.Kind
}

// Told is err with what kind of server it was that did not speak as one of the wanted
// kind does, where it answered and that can be told.
func (c *Client) Told(ctx context.Context, want string, err error) error {
	var e *backends.Error
	if !errors.As(err, &e) || e.Kind != backends.ErrMalformed && e.Status != http.StatusNotFound && e.Status != http.StatusMethodNotAllowed || e.Kind == backends.ErrUnknownModel {
		return err
	}
	hint := c.NotKind(ctx, want)
	if hint == "" {
		return err
	}
	told := *e
	told.Hint = hint
	return &told
}
