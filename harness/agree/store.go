// Store makes a reader study of answers that were drawn, and reads it back.
//
//  1. This file makes its cases: what a rater is shown and asked, and nothing of whose
//     answer it is.
//  2. form.go makes the form of a case from the rubrics, and verdicts from what people said.
//  3. picture.go makes the pictures again, as they were sent.
//  4. export.go writes what people said, for assay people agree and for judges of kind human.

package agree

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/results"
	"assay/results/rating"
	"assay/results/store"
	"assay/results/text"
)

// Selection is which study is wanted of a store.
type Selection struct {
	Study   string   // "": of the last draw
	Rubrics []string // nil: all that a form can be made of
	Also    []string // axes that people alone rate
}

// Set is a reader study with what it was made of.
type Set struct {
	rating.Study
	// Left are drawn answers under which nothing is asked that a form can ask.
	Left  int
	draw  results.Draw
	forms map[string][]form // by case
	cases map[string]map[string]results.Digest
	axes  []judge.Axis // asked for with Also
}

// StoreRefusedError says why something is not done that was asked for.
type StoreRefusedError struct{ Why string }

func (e *StoreRefusedError) Error() string { return e.Why }

// ReadStore makes the reader study of the answers that were drawn last.
func ReadStore(ctx context.Context, st *store.Store, w Selection) (*Set, error) {
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	draw, found := lastDraw(man, w.Study)
	if !ok || !found {
		return nil, &StoreRefusedError{"no answers were drawn for people to rate: assay people sample draws them"}
	}
	p, err := experiment.NewStudy(draw.Study, nil, study.Choice{})
	if err != nil {
		return nil, err
	}
	s := &Set{draw: draw, forms: map[string][]form{}, cases: map[string]map[string]results.Digest{}}
	rubrics, err := s.asked(p, man.Rubrics[p.Name], w)
	if err != nil {
		return nil, err
	}
	s.Title, s.Seed, s.Synthetic = "Rating answers", draw.Seed, len(man.Synthetic) > 0
	for _, d := range draw.Cases {
		c, ok, err := s.one(ctx, st, p, rubrics, d)
		if err != nil {
			return nil, err
		}
		if ok {
			s.Cases = append(s.Cases, c)
		} else {
			s.Left++
		}
	}
	for _, d := range draw.Calibration {
		c, ok, err := s.one(ctx, st, p, rubrics, d)
		if err != nil {
			return nil, err
		}
		if ok {
			s.Calibration = append(s.Calibration, c)
		}
	}
	if len(s.Cases) == 0 {
		return nil, &StoreRefusedError{fmt.Sprintf("none of the %d answers that were drawn has a judgment under a rubric that people can be asked: run assay judge first, or draw other answers", len(draw.Cases))}
	}
	b, err := json.Marshal([]any{draw.Study, draw.Seed, s.Cases, s.Calibration})
	if err != nil {
		return nil, err
	}
	s.Digest = strings.TrimPrefix(string(results.DigestOf(b)), "sha256:")
	return s, nil
}

func lastDraw(man results.Manifest, study string) (results.Draw, bool) {
	if man.People == nil {
		return results.Draw{}, false
	}
	for _, d := range slices.Backward(man.People.Draws) {
		if study == "" || d.Study == study {
			return d, true
		}
	}
	return results.Draw{}, false
}

// asked are the rubrics that people are asked under, of those that judges were asked
// under: a form needs what a judge was shown.
func (s *Set) asked(p study.Study, judged map[string][]string, w Selection) ([]judge.Rubric, error) {
	var out []judge.Rubric
	var names []string
	for _, r := range p.Rubrics {
		if len(judged[r.Name]) == 0 {
			continue
		}
		names = append(names, r.Name)
		if w.Rubrics == nil || slices.Contains(w.Rubrics, r.Name) {
			out = append(out, r)
		}
	}
	for _, name := range w.Rubrics {
		if !slices.Contains(names, name) {
			return nil, &StoreRefusedError{fmt.Sprintf("--rubrics: expected rubrics that judges were asked under (%s), found %q", strings.Join(names, ", "), name)}
		}
	}
	for _, name := range w.Also {
		i := slices.IndexFunc(p.Rating.People, func(a judge.Axis) bool { return a.Name == name })
		if i < 0 {
			var known []string
			for _, a := range p.Rating.People {
				known = append(known, a.Name)
			}
			return nil, &StoreRefusedError{fmt.Sprintf("--also: expected what people rate of study %s beside its rubrics (%s), found %q", p.Name, strings.Join(known, ", "), name)}
		}
		s.axes = append(s.axes, p.Rating.People[i])
	}
	return out, nil
}

// told is what is read of what judges were shown; a study has its own.
type told struct {
	Question    string       `json:"question"`
	Options     []toldOption `json:"options"`
	Gold        string       `json:"gold"`
	History     string       `json:"history"`
	Captions    string       `json:"captions"`
	Findings    string       `json:"findings"`
	Discussion  string       `json:"discussion"`
	Reasoning   string       `json:"reasoning"`
	Explanation string       `json:"explanation"`
	Case        *told        `json:"case"`
}

type toldOption struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// one makes a case; false: nothing is asked of it.
func (s *Set) one(ctx context.Context, st *store.Store, p study.Study, rubrics []judge.Rubric, d results.Drawn) (rating.Case, bool, error) {
	c := rating.Case{Name: d.Case, Group: d.Key.Model + "\n" + d.Key.Condition, Item: d.Key.Item}
	tr, _, err := st.Trial(ctx, d.Key)
	if err != nil {
		return c, false, err
	}
	last, ok := tr.Last()
	if !ok || last.Output == nil {
		return c, false, fmt.Errorf("%s: its answer went missing", d.Key.Name())
	}
	said, err := st.JudgmentsOf(ctx, d.Key)
	if err != nil {
		return c, false, err
	}
	var all told
	key := false
	s.cases[d.Case] = map[string]results.Digest{}
	for _, r := range rubrics {
		i := slices.IndexFunc(said, func(j results.Said) bool { return j.Rubric == r.Name && len(j.Fields) > 0 })
		if i < 0 {
			continue
		}
		f, ok := formOf(r, said[i].Fields, p.Rating.Asks)
		if !ok {
			continue
		}
		var t told
		if err := json.Unmarshal(said[i].Fields, &t); err != nil {
			return c, false, fmt.Errorf("%s: what a judge was shown cannot be read: %w", d.Key.Name(), err)
		}
		all.add(t)
		key = key || p.Rating.Asks[r.Name].Key
		s.forms[d.Case] = append(s.forms[d.Case], f)
		s.cases[d.Case][r.Name] = said[i].Case
		c.Form = append(c.Form, f.fields...)
	}
	if len(c.Form) == 0 {
		return c, false, nil
	}
	for _, a := range s.axes {
		c.Form = append(c.Form, axisField(a, p.Rating.Asks))
	}
	c.Texts = all.texts(*last.Output, key)
	return c, true, nil
}

// add fills in what is not known yet.
func (t *told) add(o told) {
	for _, x := range []struct{ to, from *string }{{&t.Question, &o.Question}, {&t.Gold, &o.Gold}, {&t.History, &o.History}, {&t.Captions, &o.Captions},
		{&t.Findings, &o.Findings}, {&t.Discussion, &o.Discussion}, {&t.Reasoning, &o.Reasoning}, {&t.Explanation, &o.Explanation}} {
		if *x.to == "" {
			*x.to = *x.from
		}
	}
	if len(t.Options) == 0 {
		t.Options = o.Options
	}
	if o.Case != nil {
		t.add(*o.Case)
	}
}

// texts are what a rater reads; key: the answer key too, and what experts say.
func (t *told) texts(out results.Output, key bool) []rating.Text {
	var list []rating.Text
	add := func(title, body string, folded bool) {
		if strings.TrimSpace(body) != "" {
			list = append(list, rating.Text{Title: title, Body: strings.TrimSpace(body), Folded: folded})
		}
	}
	var options []string
	for _, o := range t.Options {
		options = append(options, strings.TrimSpace(o.Label+". "+o.Text))
	}
	add("Clinical history", t.History, false)
	add("Question", t.Question, false)
	if !slices.ContainsFunc(t.Options, func(o toldOption) bool { return o.Text != "" && strings.Contains(t.Question, o.Text) }) {
		add("Options", strings.Join(options, "\n"), false)
	}
	if key {
		gold := t.Gold
		for _, o := range t.Options {
			if o.Label == gold && o.Text != gold {
				gold = o.Label + ". " + o.Text
			}
		}
		add("Answer key", gold, false)
		add("What experts say of the images", t.Captions, true)
		add("Findings of experts", t.Findings, true)
		add("Discussion by experts", t.Discussion, true)
	}
	answer, reasoning := text.Shown(out.Answer, out.Reasoning)
	add("Answer", answer, false)
	add("Reasoning", reasoning, false)
	return list
}
