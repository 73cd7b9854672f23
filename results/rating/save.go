package rating

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// click is what a rater's browser asks to keep.
type click struct {
	ID      string   `json:"id"` // of the click: asked for again, it is kept once
	Kind    string   `json:"kind"`
	Show    int      `json:"position"`
	Field   string   `json:"field"`
	Value   []string `json:"value"`
	Seconds float64  `json:"seconds"`
}

// kept is the answer to a click.
type kept struct {
	Saved   bool     `json:"saved"`
	Why     string   `json:"why,omitempty"`
	Missing []string `json:"missing,omitempty"` // fields that still have to be answered
}

// longestSight is more than anybody looks at a case without a click in between.
const longestSight = 24 * time.Hour

// save keeps a click of a rater; the status is that of HTTP.
func (l *Log) save(who *person, c click) (int, kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refuse := func(status int, why string) (int, kept) { return status, kept{Why: why} }
	if len(c.ID) < 8 || len(c.ID) > 64 || !slices.Contains([]string{kindRate, kindTime, kindSubmit}, c.Kind) ||
		math.IsNaN(c.Seconds) || c.Seconds < 0 || c.Seconds > longestSight.Seconds() || c.Show < 1 || c.Show > len(who.order) {
		return refuse(http.StatusBadRequest, "this cannot be kept: reload the page")
	}
	if who.ids[c.ID] {
		return http.StatusOK, kept{Saved: true}
	}
	switch {
	case c.Show <= who.done && c.Kind == kindTime:
		return http.StatusOK, kept{Saved: true} // a page that was left open
	case c.Show <= who.done:
		return refuse(http.StatusConflict, "this case is submitted and locked")
	case c.Show > who.done+1:
		return refuse(http.StatusConflict, "another case comes first: reload the page")
	}
	e := event{Kind: c.Kind, Rater: who.name, ID: c.ID, Show: c.Show, Seconds: c.Seconds}
	about := l.state.study.of(who.order[c.Show-1])
	switch c.Kind {
	case kindRate:
		if !about.takes(c.Field, c.Value) {
			return refuse(http.StatusUnprocessableEntity, "this field does not take this value: reload the page")
		}
		e.Field, e.Value = c.Field, c.Value
	case kindSubmit:
		if missing := about.missing(who.sheet[c.Show-1].values); len(missing) > 0 {
			return http.StatusUnprocessableEntity, kept{Why: "something is not answered yet", Missing: missing}
		}
	}
	if err := l.put(e); err != nil {
		return refuse(http.StatusInternalServerError, "this could not be written to the disk; it is tried again")
	}
	return http.StatusOK, kept{Saved: true}
}

// save answers a click.
func (a *app) save(w http.ResponseWriter, r *http.Request, s session, token string) {
	answer := func(status int, k kept) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(k) // a browser that left asks again
	}
	if !a.vouched(r, token) {
		answer(http.StatusForbidden, kept{Why: "this page is of another session: reload it"})
		return
	}
	// So that no form of another page can send it.
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		answer(http.StatusUnsupportedMediaType, kept{Why: "expected JSON"})
		return
	}
	var c click
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			answer(http.StatusRequestEntityTooLarge, kept{Why: "this is too long"})
			return
		}
		answer(http.StatusBadRequest, kept{Why: "this cannot be read: reload the page"})
		return
	}
	answer(a.log.save(s.who, c))
}
