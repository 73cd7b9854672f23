package rating

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// state is what a log says.
type state struct {
	study    *Study
	salt     string
	raters   []*person // in the order of joining
	lead     *person
	sessions map[string]session // by digest
}

// person is a rater, or the coordinator.
type person struct {
	name  string
	code  string // digest
	order []showing
	sheet []sheet // by place in order
	done  int     // the sheets that are submitted are the first ones
	ids   map[string]bool
	last  time.Time
}

// sheet is what a rater said of one showing.
type sheet struct {
	values    map[string][]string
	seconds   float64 // in sight
	submitted time.Time
}

// session is a browser that showed a code.
type session struct {
	who   *person
	lead  bool
	until time.Time
}

// sessionLife is how long a browser need not show the code again.
const sessionLife = 14 * 24 * time.Hour

func newState(s *Study) state { return state{study: s, sessions: map[string]session{}} }

func (s *state) rater(name string) *person {
	for _, p := range s.raters {
		if p.name == name {
			return p
		}
	}
	return nil
}

// apply takes in an event of the log; what cannot be is an error.
func (s *state) apply(e event) error {
	if e.Kind != kindBegin && e.Kind != kindMended && s.salt == "" {
		return errors.New("expected the beginning of a study")
	}
	who := s.rater(e.Rater)
	if e.Lead {
		who = s.lead
	}
	if who != nil {
		who.last = e.At
	}
	switch e.Kind {
	case kindMended:
	case kindBegin:
		if e.Study != s.study.Digest {
			return fmt.Errorf("these are ratings of other answers (%.12s) than those that were drawn last (%.12s): they were drawn anew, judged anew, or are asked otherwise; name another file with --log to begin anew", e.Study, s.study.Digest)
		}
		s.salt = e.Salt
	case kindCode:
		if who == nil {
			who = &person{name: e.Rater, ids: map[string]bool{}}
			if e.Lead {
				s.lead = who
			} else {
				s.raters = append(s.raters, who)
			}
		}
		who.code = e.Code
		for d, at := range s.sessions { // of the code before
			if at.who == who {
				delete(s.sessions, d)
			}
		}
	case kindSignIn:
		if who == nil {
			return fmt.Errorf("nobody is called %q", e.Rater)
		}
		s.sessions[e.Session] = session{who, e.Lead, e.At.Add(sessionLife)}
	case kindSignOut:
		delete(s.sessions, e.Session)
	case kindOrder, kindRate, kindTime, kindSubmit:
		if who == nil || e.Lead {
			return fmt.Errorf("nobody is called %q", e.Rater)
		}
		return s.rated(who, e)
	default:
		return fmt.Errorf("an event of the unknown kind %q: a newer assay wrote it", e.Kind)
	}
	return nil
}

func (s *state) rated(who *person, e event) error {
	if e.Kind == kindOrder {
		for _, sh := range e.Order {
			if s.study.of(sh) == nil {
				return fmt.Errorf("case %s was not drawn", sh.Case)
			}
		}
		who.order, who.sheet = e.Order, make([]sheet, len(e.Order))
		return nil
	}
	if e.Show < 1 || e.Show > len(who.order) {
		return fmt.Errorf("position %d is not in the rater's order", e.Show)
	}
	sh := &who.sheet[e.Show-1]
	sh.seconds += e.Seconds
	who.ids[e.ID] = true
	switch e.Kind {
	case kindRate:
		if !sh.submitted.IsZero() {
			return errors.New("a rating of what was locked")
		}
		if sh.values == nil {
			sh.values = map[string][]string{}
		}
		sh.values[e.Field] = slices.Clone(e.Value)
	case kindSubmit:
		if e.Show != who.done+1 {
			return errors.New("a case is done before another one")
		}
		sh.submitted = e.At
		who.done++
	}
	return nil
}

// rated is what a rater said of one showing.
type rated struct {
	Rater     string
	Position  int // from 1
	Showing   showing
	Values    map[string][]string // by field
	Remark    string
	Seconds   float64 // that it was in sight
	Submitted bool    // false: it may still change
}

// Rated is everything that was said, by rater and position.
func (l *Log) Rated() []rated {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []rated
	for _, p := range l.state.raters {
		for i, s := range p.sheet {
			if len(s.values) == 0 && s.submitted.IsZero() {
				continue
			}
			r := rated{Rater: p.name, Position: i + 1, Showing: p.order[i], Values: map[string][]string{}, Seconds: s.seconds, Submitted: !s.submitted.IsZero()}
			for field, v := range s.values {
				if field == remark {
					r.Remark = v[0]
				} else {
					r.Values[field] = slices.Clone(v)
				}
			}
			out = append(out, r)
		}
	}
	return out
}
