package ollama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/wire"
)

// A model that leaves after some looks, and one that never does.
func TestUnloadLooksUntilTheModelIsGone(t *testing.T) {
	for _, stays := range []int{0, 2, 1 << 30} {
		looks, asked := 0, ""
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/generate":
				b, _ := io.ReadAll(r.Body)
				asked = string(b)
				fmt.Fprint(w, `{"done":true,"done_reason":"unload"}`)
			case "/api/ps":
				looks++
				if looks <= stays {
					fmt.Fprint(w, `{"models":[{"name":"m:latest","model":"m:latest"},{"name":"other:1b"}]}`)
				} else {
					fmt.Fprint(w, `{"models":[{"name":"other:1b"}]}`)
				}
			}
		}))
		b, err := New(wire.Config{URL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		err = b.Unload(ctx, "m")
		cancel()
		srv.Close()
		if asked != `{"keep_alive":0,"model":"m"}` {
			t.Errorf("asked for %s", asked)
		}
		if stays < 10 && (err != nil || looks != stays+1) || stays > 10 && !errors.Is(err, backends.ErrStalled) && !errors.Is(err, backends.ErrCancelled) {
			t.Errorf("a model that stays for %d looks: %d looks, %v", stays, looks, err)
		}
	}
}
