// Package viewer shows stores as pages: runs, trials, single trials and items.
//
//  1. Serve shows pages to people in their browsers, and to nobody else (serve.go, guard.go).
//  2. A Run is a store with what its pages need besides: an index of its trials, which is asked
//     by SQL to filter, sort, count and search them (index.go, build.go, query.go; reader.go for
//     comparisons), and somebody who knows what was sent.
//  3. Watch keeps the indexes up to date while a run writes.
//  4. Handler shows the pages (overview.go, trials.go, trial.go, item.go, compare.go); every
//     view is a link (address.go). graph.go draws, save.go writes trials as one file.
//  5. pair.go and keeper.go keep the comparisons of runs that pages ask for.
//
// Pages are made here, so that they can be read without a script. Texts of models
// and data sets are never more than text.
package viewer

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/results/text"
)

//go:embed templates/*.html
var pageFiles embed.FS

//go:embed static
var staticFiles embed.FS

// Run is a store under view.
type Run struct {
	Name  string // in links; no two alike
	Path  string
	Store *store.Store
	Sent  sender
	Index indexer
	// Read is what a verdict says, as its rubric reads it.
	Read func(study string, j results.Judgment) results.Reading
	// Right is the score that says whether an answer is correct; Shown are the columns
	// that a table of trials begins with, Facets those that are offered to choose by.
	Right  string
	Shown  []string
	Facets []string
	Finds  []Find

	mu     sync.Mutex
	tables map[string]*Table
	found  map[string]studyFinds // in the tables
	state  state
	extent extents
}

// Find is a choice of trials that is one click away.
type Find struct {
	Title string
	Where []Filter
}

// state is how far the indexes of a run are.
type state struct {
	revision int64 // that the indexes are of
	at       time.Time
	making   string // study whose index is being made; "": none is
	done     int    // trials of it
	problem  string // why there is none
}

// sender knows what was sent for a trial. The error says why it does not.
type sender interface {
	Of(ctx context.Context, t results.Trial) (*Sent, error)
}

// Sent is what was sent for a trial, and what is known of its question.
type Sent struct {
	Question, Gold string
	Options        []string
	Target         string // that the condition points to; "": none
	Turns          []SentTurn
	Pictures       []Picture
	Why            string // not "": these are not shown, and why; Turns and Pictures are empty
}

// SentTurn is one request.
type SentTurn struct {
	Prompt string
	Nonce  string // what the request has besides, to be new to the server; "": nothing
	Curl   string
	Body   []byte
}

// Picture is one that was sent, as it was.
type Picture struct {
	MIME          string
	Bytes         []byte
	Width, Height int
}

// indexer makes the indexes of a store's trials; tell is told how far it is.
type indexer interface {
	Tables(ctx context.Context, tell func(study string, trials int)) ([]*Table, error)
}

// viewer shows runs.
type viewer struct {
	// Comparer puts runs beside each other; nil: nobody does.
	Comparer comparer

	runs   []*Run
	pages  *template.Template
	now    func() time.Time
	keeper *keeper
}

// New is a viewer of runs.
func New(runs []*Run) *viewer {
	v := &viewer{runs: runs, now: time.Now, keeper: newKeeper(time.Now)}
	v.pages = template.Must(template.New("").Funcs(template.FuncMap{
		"visible": text.Visible, "lines": text.VisibleLines, "words": words, "number": graphNumber, "title": title, "several": func() bool { return len(runs) > 1 }, "plus": func(a, b int) int { return a + b },
	}).ParseFS(pageFiles, "templates/*.html"))
	return v
}

// words is a machine name as a person reads it.
func words(name string) string {
	return text.Visible(strings.ReplaceAll(strings.ReplaceAll(name, "__", " by "), "_", " "))
}

// title is a column's name as a person reads it, with its unit once.
func title(c results.FileColumn) string {
	if c.Unit == "" || c.Unit == "1" || c.Unit == c.Name {
		return words(c.Name)
	}
	name, judge, _ := strings.Cut(c.Name, "__")
	name = strings.TrimSuffix(name, "_"+strings.ToLower(c.Unit))
	if judge != "" {
		name += "__" + judge
	}
	return words(name) + " (" + c.Unit + ")"
}

// Watch brings the indexes of a run up to date, again and again until ctx ends. It
// takes at most a tenth of the time.
func (v *viewer) Watch(ctx context.Context, r *Run) {
	const least = 2 * time.Second
	for {
		start := v.now()
		v.Refresh(ctx, r)
		wait := max(least, 10*v.now().Sub(start))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Refresh makes the indexes of a run where the store has changed since.
func (v *viewer) Refresh(ctx context.Context, r *Run) {
	fail := func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.state.making, r.state.problem = "", ""; err != nil && ctx.Err() == nil {
			r.state.problem = err.Error()
		}
	}
	revision, err := r.Store.Revision(ctx)
	if err != nil {
		fail(err)
		return
	}
	r.mu.Lock()
	fresh := r.tables != nil && r.state.revision == revision
	r.mu.Unlock()
	if fresh {
		return
	}
	tables, err := r.Index.Tables(ctx, func(study string, n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.state.making, r.state.done = study, n
	})
	if err != nil {
		fail(err)
		return
	}
	made, found := map[string]*Table{}, map[string]studyFinds{}
	for _, t := range tables {
		made[t.Study] = t
		if found[t.Study], err = r.finds(t); err != nil {
			fail(err)
			return
		}
	}
	if man, ok, err := r.Store.Manifest(ctx); err == nil && ok {
		_, _ = v.counted(ctx, r, man) // ahead of the first page, which says what is wrong
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Requests may still read former ones: the garbage collector closes them.
	r.tables, r.found = made, found
	r.state = state{revision: revision, at: v.now()}
}

// table is the index of a study; nil: there is none yet.
func (r *Run) table(study string) (*Table, state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tables[study], r.state
}

// findsIn is what finds has found in a study's table.
func (r *Run) findsIn(study string) studyFinds {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found[study]
}

// studies are those that have an index.
func (r *Run) studies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.tables))
}

// Handler shows the pages. It is to stand behind Guard.
func (v *viewer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", Assets())
	mux.Handle("GET /static/", Files(staticFiles, "static"))
	mux.HandleFunc("GET /{$}", v.list)
	for path, do := range map[string]func(http.ResponseWriter, *http.Request) error{"": v.compare, "/items": v.changed, "/trial": v.beside} {
		mux.HandleFunc("GET /compare"+path, func(w http.ResponseWriter, r *http.Request) {
			if err := do(w, r); err != nil && r.Context().Err() == nil {
				v.fail(w, err)
			}
		})
	}
	for path, do := range map[string]func(http.ResponseWriter, *http.Request, *Run) error{
		"": v.run, "trials": v.trials, "trial": v.trial, "item": v.item, "raw": v.raw, "picture": v.picture, "thumb": v.thumb, "body": v.body, "reply": v.reply, "save": v.save,
	} {
		mux.HandleFunc("GET /run/{run}/"+path+map[bool]string{true: "{$}"}[path == ""], func(w http.ResponseWriter, r *http.Request) {
			run := v.named(r.PathValue("run"))
			if run == nil {
				v.fail(w, missing("there is no run %q here", r.PathValue("run")))
				return
			}
			if err := do(w, r, run); err != nil && r.Context().Err() == nil {
				v.fail(w, err)
			}
		})
	}
	return mux
}

// problem is an error with the status that a browser is told.
type problem struct {
	status int
	error
}

func missing(format string, args ...any) error {
	return problem{http.StatusNotFound, fmt.Errorf(format, args...)}
}

func bad(format string, args ...any) error {
	return problem{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// wrong is what an address has that cannot be read.
func wrong(err error) error { return problem{http.StatusBadRequest, err} }

func (v *viewer) fail(w http.ResponseWriter, err error) {
	p, ok := err.(problem)
	if !ok {
		p = problem{http.StatusInternalServerError, err}
	}
	v.page(w, p.status, "problem.html", problemPage{head: head{Title: "This cannot be shown"}, Text: p.Error()})
}

type problemPage struct {
	head
	Text string
}

// head is what every page has.
type head struct {
	Title     string
	Run       *Run
	Study     string
	Synthetic bool
	Live      bool // the page is to be asked for again now and then
	Pictures  bool // it shows some
	Saved     bool // it is a file of its own
	Style     template.CSS
	Policy    string
}

// page answers with a template, whole or not at all.
func (v *viewer) page(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := v.pages.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "The page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that left is told nothing
}

// head of a page of a run.
func (r *Run) head(ctx context.Context, title, study string) (head, error) {
	man, _, err := r.Store.Manifest(ctx)
	return head{Title: title, Run: r, Study: study, Synthetic: len(man.Synthetic) > 0}, err
}

// Link is the address of one of the run's pages.
func (r *Run) Link(page string, q url.Values) template.URL {
	u := "/run/" + url.PathEscape(r.Name) + "/" + page
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	return template.URL(u)
}

// Trials is the address of the table of a study's trials.
func (r *Run) Trials(study string) template.URL {
	return r.Link("trials", url.Values{"study": {study}})
}
