package viewer

import (
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/results"
)

// extents are counted anew when trials were stored since, and not all the time.
type extents struct {
	revision int64
	at       time.Time
	took     time.Duration
	list     []results.Extent
}

// counted is how far each model's trials of each study got, as of a little while ago.
func (v *viewer) counted(ctx context.Context, r *Run, man results.Manifest) ([]results.Extent, error) {
	revision, err := r.Store.Revision(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	e := r.extent
	r.mu.Unlock()
	now := v.now()
	if e.list != nil && (e.revision == revision || now.Sub(e.at) < 10*e.took) {
		return e.list, nil
	}
	list, err := r.Store.Extents(ctx, man)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.extent = extents{revision, now, v.now().Sub(now), list}
	r.mu.Unlock()
	return list, nil
}

type listPage struct {
	head
	Runs []listedRun
}

type listedRun struct {
	Run                      *Run
	Name, Created, Progress  string
	Models, Studies, Trouble string
	Trials                   int
	Synthetic                bool
}

func (v *viewer) list(w http.ResponseWriter, req *http.Request) {
	page := listPage{head: head{Title: "Runs", Live: true}}
	for _, r := range v.runs {
		l := listedRun{Run: r, Name: r.Name}
		man, ok, err := r.Store.Manifest(req.Context())
		if err == nil && ok {
			l.Name, l.Synthetic = man.Name, len(man.Synthetic) > 0
			l.Models = fmt.Sprint(len(man.Models))
			l.Studies = strings.Join(slices.Sorted(maps.Keys(man.Rubrics)), ", ")
			if !man.Created.IsZero() {
				l.Created = man.Created.UTC().Format("2006-01-02 15:04") + " UTC"
			}
			var list []results.Extent
			if list, err = v.counted(req.Context(), r, man); err == nil {
				run := results.Run{Manifest: man, Extents: list}
				for _, e := range list {
					l.Trials += e.Stored()
				}
				if stored, of, ok := run.Planned(); ok && of > 0 {
					l.Progress = fmt.Sprintf("%d %%", 100*stored/of)
				}
			}
		}
		if err != nil {
			l.Trouble = err.Error()
		}
		page.Runs = append(page.Runs, l)
	}
	v.page(w, http.StatusOK, "list.html", page)
}

type runPage struct {
	head
	Manifest   results.Manifest
	Created    string
	Unfinished string
	Index      string // how far the index is; "": it is up to date
	Trouble    string
	Extents    []extentRow
	Rate       string // of answers
	Course     *curve
	Studies    []studyFinds
	Failures   []failureRow
	Devices    []device
	Events     []results.Event
}

type extentRow struct {
	results.Extent
	Planned string
	Percent string
	Link    template.URL
}

type studyFinds struct {
	Name     string
	Link     template.URL
	N        int
	Finds    []foundTrials
	Failures []failureRow
}

type foundTrials struct {
	Title string
	N     int
	Link  template.URL
}

type failureRow struct {
	Study, Kind string
	N           int
	Link        template.URL
}

// device is what a device of the latest session did of late.
type device struct {
	Name, Kind, Now string
	Power           *curve
}

func (v *viewer) run(w http.ResponseWriter, req *http.Request, r *Run) error {
	ctx := req.Context()
	h, err := r.head(ctx, r.Name, "")
	if err != nil {
		return err
	}
	man, ok, err := r.Store.Manifest(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return missing("the store %s holds no run; assay run makes one", r.Path)
	}
	h.Title, h.Live = man.Name, true
	page := runPage{head: h, Manifest: man, Created: man.Created.UTC().Format("2006-01-02 15:04:05") + " UTC"}
	list, err := v.counted(ctx, r, man)
	if err != nil {
		return err
	}
	page.Unfinished = results.Run{Manifest: man, Extents: list}.Unfinished()
	left := 0
	for _, e := range list {
		row := extentRow{Extent: e, Planned: "not known", Link: r.Link("trials", url.Values{"study": {e.Study}, "is.model": {e.Model}})}
		if e.Planned != nil {
			row.Planned = strconv.Itoa(*e.Planned)
			left += max(0, *e.Planned-e.Stored())
			if *e.Planned > 0 {
				row.Percent = fmt.Sprintf("%d %%", 100*min(e.Stored(), *e.Planned) / *e.Planned)
			}
		}
		page.Extents = append(page.Extents, row)
	}
	if err := v.throughput(ctx, r, &page, left); err != nil {
		return err
	}
	_, st := r.table("")
	page.Trouble = st.problem
	switch {
	case st.making != "":
		page.Index = fmt.Sprintf("The trials of %s are being indexed: %d so far. Tables of trials are of what was there before.", st.making, st.done)
	case st.at.IsZero() && st.problem == "":
		page.Index = "The trials are not indexed yet."
	}
	for _, name := range r.studies() {
		found := r.findsIn(name)
		page.Studies, page.Failures = append(page.Studies, found), append(page.Failures, found.Failures...)
	}
	if page.Devices, err = r.devices(ctx); err != nil {
		return err
	}
	if page.Events, err = r.Store.Events(ctx); err != nil {
		return err
	}
	page.Events = page.Events[max(0, len(page.Events)-20):]
	v.page(w, http.StatusOK, "run.html", page)
	return nil
}

// throughput says how fast answers come, and when the rest will be there.
func (v *viewer) throughput(ctx context.Context, r *Run, page *runPage, left int) error {
	const most, window = 2000, 2 * time.Minute
	recent, err := recent(ctx, r.Store, most)
	if err != nil || len(recent) == 0 {
		return err
	}
	now := v.now()
	n := 0
	for _, a := range recent {
		if now.Sub(a.Started) <= window {
			n++
		}
	}
	switch oldest := now.Sub(recent[len(recent)-1].Started); {
	case n == 0 || left == 0 && now.Sub(recent[0].Started) > 10*time.Second: // it is at its end
		if ordered(recent) { // else it is not known which was the last
			page.Rate = "The last request was begun at " + recent[0].Started.Format("2006-01-02 15:04:05") + " UTC."
		}
	default:
		span := window
		if n == len(recent) {
			span = max(oldest, time.Second)
		}
		perMinute := float64(n) / span.Minutes()
		page.Rate = fmt.Sprintf("%.1f requests a minute over the last %s.", perMinute, span.Round(time.Second))
		if left > 0 {
			page.Rate += fmt.Sprintf(" At that pace the other %d trials take %s.", left, (time.Duration(float64(left) / perMinute * float64(time.Minute))).Round(time.Second))
		}
	}
	course, err := course(ctx, r.Store, 120)
	if err != nil || len(course) < 2 {
		return err
	}
	var xs, ys []float64
	for _, a := range course {
		xs, ys = append(xs, a.Started.Sub(course[0].Started).Seconds()), append(ys, float64(a.Trials))
	}
	if page.Course = line(xs, ys, 0); page.Course != nil {
		last := course[len(course)-1]
		page.Course.First, page.Course.Until = course[0].Started.Format("15:04:05"), last.Started.Format("15:04:05")
		page.Course.Alt = fmt.Sprintf("Trials begun over time: %d from %s to %s UTC", last.Trials, course[0].Started.Format("2006-01-02 15:04:05"), last.Started.Format("2006-01-02 15:04:05"))
	}
	return nil
}

// mostKinds of failures are counted; of more, none.
const mostKinds = 100

// finds are the choices of a study's trials that are one click away, and its failures by
// kind: counted once, when the table is made.
func (r *Run) finds(t *Table) (studyFinds, error) {
	out := studyFinds{Name: t.Study, Link: r.Trials(t.Study), N: t.Rows}
	for _, f := range r.Finds {
		q := url.Values{"study": {t.Study}}
		there := true
		for _, w := range f.Where {
			there = there && t.known(w.Column)
			values := w.Values
			if len(values) == 0 {
				values = []string{"1"}
			}
			q[string(w.Op)+"."+w.Column] = values
		}
		if !there {
			continue
		}
		s, err := t.selects(query{Where: f.Where})
		if err != nil {
			return out, err
		}
		n, err := s.Len()
		if err != nil {
			return out, err
		}
		out.Finds = append(out.Finds, foundTrials{f.Title, n, r.Link("trials", q)})
	}
	all, err := t.selects(query{})
	if err != nil {
		return out, err
	}
	counts, _, err := all.Counts()
	if failures := counts["failure"]; len(failures) <= mostKinds {
		for _, c := range failures {
			if c.Cell.Kind == Text {
				out.Failures = append(out.Failures, failureRow{t.Study, c.Cell.Text, c.N, r.Link("trials", url.Values{"study": {t.Study}, "is.failure": {c.Cell.Text}})})
			}
		}
	}
	return out, err
}

// lately is how much of a device's trace a run's page shows.
const lately = 10 * time.Minute

func (r *Run) devices(ctx context.Context) ([]device, error) {
	sessions, err := r.Store.Sessions(ctx)
	if err != nil || len(sessions) == 0 {
		return nil, err
	}
	ses := sessions[len(sessions)-1]
	var out []device
	for n, d := range ses.Devices {
		end, ok, err := end(ctx, r.Store, ses.ID, n)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		samples, err := graphSamples(ctx, r.Store, ses.ID, n, end-lately, end, 500)
		if err != nil {
			return nil, err
		}
		o := device{Name: d.Name, Kind: d.Kind}
		if d.Synthetic {
			o.Name += " (synthetic)"
		}
		var now []string
		var xs, ys []float64
		for i, s := range samples {
			if mw, ok := power(s); ok {
				xs, ys = append(xs, s.At.Seconds()), append(ys, mw/1000)
			}
			if i == len(samples)-1 {
				now = readings(s)
			}
		}
		o.Now = strings.Join(now, ", ")
		if o.Power = line(xs, ys, 0); o.Power != nil {
			o.Power.First, o.Power.Until = ses.Origin.Add(samples[0].At).Format("15:04:05"), ses.Origin.Add(end).Format("15:04:05")
			o.Power.Alt = fmt.Sprintf("Power of %s from %s to %s UTC, at most %s W", o.Name, o.Power.First, o.Power.Until, o.Power.High)
		}
		if o.Now != "" || o.Power != nil {
			out = append(out, o)
		}
	}
	return out, nil
}
