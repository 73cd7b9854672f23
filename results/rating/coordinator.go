package rating

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay/results/stats"
)

// leadView is what the coordinator sees: never what single answers were given.
type leadView struct {
	Now    string
	Raters []raterView
	Axes   []axisView
}

type raterView struct {
	Name, Done, Calibrated, Again, Median, Last string
	Share                                       int // done, in percent
}

type axisView struct {
	Axis, Level, Alpha, Cases, Ratings, Cannot, Self string
}

func (a *app) coordinator(w http.ResponseWriter, r *http.Request) {
	s, token, ok := a.sessionOf(r)
	if !ok || !s.lead { // raters are not told that there is such a page
		http.NotFound(w, r)
		return
	}
	a.show(w, http.StatusOK, "coordinator.html", view{Title: "Progress and agreement", Proof: proof(token), Lead: a.log.lead()})
}

// lead sums the log up.
func (l *Log) lead() *leadView {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &leadView{Now: l.now().UTC().Format("15:04:05 UTC")}
	for _, p := range l.state.raters {
		v.Raters = append(v.Raters, l.raterView(p))
	}
	v.Axes = l.state.agreement()
	return v
}

func (l *Log) raterView(p *person) raterView {
	var calibration, again, calibrated, repeated int
	var seconds []float64
	for i, sh := range p.order {
		done := i < p.done
		switch {
		case sh.Calibration:
			calibration++
			if done {
				calibrated++
			}
		case sh.Repeat > 0:
			again++
			if done {
				repeated++
			}
		}
		if done {
			seconds = append(seconds, p.sheet[i].seconds)
		}
	}
	out := raterView{Name: p.name, Done: fmt.Sprintf("%d of %d", p.done, len(p.order)), Calibrated: fmt.Sprintf("%d of %d", calibrated, calibration),
		Again: fmt.Sprintf("%d of %d", repeated, again), Median: "–", Last: "never"}
	if len(p.order) > 0 {
		out.Share = 100 * p.done / len(p.order)
	}
	if m, ok := stats.Median(seconds); ok {
		out.Median = fmt.Sprintf("%.0f s", m)
	}
	if len(p.ids) > 0 {
		out.Last = p.last.UTC().Format(time.DateTime) + " UTC"
	}
	return out
}

// agreement is how raters agree on each axis, of first showings that were submitted, and
// with themselves where they saw a case again.
func (s *state) agreement() []axisView {
	type column struct{ showing, field string }
	levels := map[string]stats.Level{}
	var axes []string
	columns := map[string][]column{} // by axis
	codes := map[string]float64{}    // of what is no number
	for _, c := range s.study.Cases {
		for _, f := range c.Form {
			if !slices.Contains(axes, f.Axis) {
				axes = append(axes, f.Axis)
				levels[f.Axis] = stats.Nominal
				if f.Number {
					levels[f.Axis] = stats.Ordinal
				}
			}
			columns[f.Axis] = append(columns[f.Axis], column{c.Name, f.Name})
		}
	}
	value := func(axis string, said []string) float64 {
		var x float64
		if levels[axis] == stats.Ordinal {
			if _, err := fmt.Sscan(said[0], &x); err == nil {
				return x
			}
		}
		said = slices.Clone(said)
		slices.Sort(said)
		key := strings.Join(said, "\n")
		if _, known := codes[key]; !known {
			codes[key] = float64(len(codes))
		}
		return codes[key]
	}
	var out []axisView
	for _, axis := range axes {
		at := map[column]int{}
		for i, c := range columns[axis] {
			at[c] = i
		}
		panel := make(stats.Ratings, len(s.raters))
		given, cannot, same, twice := 0, 0, 0, 0
		for r, p := range s.raters {
			panel[r] = make([]stats.Rating, len(at))
			for i, sh := range p.order[:p.done] {
				for field, said := range p.sheet[i].values {
					k, ok := at[column{sh.Case, field}]
					switch {
					case !ok || sh.Repeat > 0 && !panel[r][k].Given:
					case len(said) == 1 && said[0] == CannotJudge:
						if sh.Repeat == 0 {
							cannot++
						}
					case sh.Repeat > 0:
						twice++
						if panel[r][k].Value == value(axis, said) {
							same++
						}
					default:
						given++
						panel[r][k] = stats.Rating{Value: value(axis, said), Given: true}
					}
				}
			}
		}
		shared := 0
		for k := range columns[axis] {
			n := 0
			for r := range panel {
				if panel[r][k].Given {
					n++
				}
			}
			if n > 1 {
				shared++
			}
		}
		v := axisView{Axis: axis, Level: "nominal", Alpha: "–", Cases: fmt.Sprint(shared), Ratings: fmt.Sprint(given), Cannot: fmt.Sprint(cannot), Self: "–"}
		if levels[axis] == stats.Ordinal {
			v.Level = "ordinal"
		}
		p := stats.NewPanel(panel, 0)
		if alpha, why := p.Whole(p.Alpha(levels[axis])); why == "" {
			v.Alpha = fmt.Sprintf("%.2f", alpha)
		} else {
			v.Alpha = "– (" + string(why) + ")"
		}
		if twice > 0 {
			v.Self = fmt.Sprintf("%d of %d", same, twice)
		}
		out = append(out, v)
	}
	return out
}
