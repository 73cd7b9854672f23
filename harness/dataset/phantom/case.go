package phantom

import (
	"fmt"
	"strings"

	"assay/backends/phantom"
)

// diagnosis is the type of the question about a case of several films.
const diagnosis = "diagnosis"

// patient is several films of one patient. One of them shows a severe finding, the
// others next to nothing, so that the diagnosis hangs on that film alone.
type patient struct {
	Films      []Scene
	Question   Question
	History    string // says nothing of what is found
	Diagnosis  string // as the option words it
	Key        int    // the film that the answer hangs on, from 1
	Captions   []string
	Findings   string
	Discussion []section
}

// section is a named part of a discussion.
type section struct{ Name, Text string }

// diagnoses are the findings that can be a case's.
func diagnoses() []Site {
	return []Site{effusionRight, effusionLeft, opacityRight, opacityLeft, atelectasisRight, atelectasisLeft, congestion}
}

// NewCase draws a case of so many films, whose key film is the keyth, from 1, and
// whose right option the goldth, from 0, of five.
func NewCase(seed uint64, index, films, key, gold int) patient {
	r := phantom.NewSource(phantom.Mix(seed^0x63617365) + uint64(index))
	sites := diagnoses()
	shuffle(r, sites)
	sites = sites[:5]
	c := patient{Key: key, Diagnosis: named(sites[gold])}
	q := Query{Kind: askCase, Type: diagnosis, Options: lettered(allNamed(sites))}
	all := Findings{} // of the films together
	var shown []string
	for n := range films {
		truth := Findings{}
		for s := range NumSites {
			truth[s].Sure = true
		}
		for _, s := range diagnoses() {
			truth[s].Grade = r.Weighted(70, 30) // nothing, or questionable
		}
		if n == key-1 {
			truth[sites[gold]].Grade = severe
		}
		s := showing(seed, index*MaxFilms+n, truth)
		c.Films = append(c.Films, s)
		c.Captions = append(c.Captions, caption(truth))
		shown = append(shown, fmt.Sprintf("Image %d: %s", n+1, c.Captions[n]))
		for s, f := range truth {
			if f.Grade >= all[s].Grade {
				all[s] = f
			}
		}
	}
	texts := q.about().texts[diagnosis]
	c.Question = Question{Query: q, Text: texts[r.Below(len(texts))], Task: q.Task(), Answer: q.Answer(q.Solve(all)), Paths: [][]step{q.Steps(all, r.Below(voices))}}
	c.History = history(r)
	c.Findings = strings.Join(shown, " ")
	c.Discussion = discuss(q, all, shown)
	return c
}

// MaxFilms is the most films of a case.
const MaxFilms = 49

// history is a patient's, drawn without a look at the films.
func history(r *phantom.Source) string {
	word := func(list ...string) string { return list[r.Below(len(list))] }
	return fmt.Sprintf("A %s of %d years came with %s for %d days. %s", word("man", "woman"), r.Span(24, 88),
		word("a cough", "shortness of breath", "chest pain", "fever", "tiredness"), r.Span(2, 20),
		word("There was no injury.", "There were no earlier films.", "An operation lay some years back.", "The blood count was normal."))
}

// caption says what stands out on a film.
func caption(f Findings) string {
	worst := most(f, diagnoses())
	return capital(appearance(worst, f[worst].Grade)) + "."
}

// discuss writes the discussion of a case with these findings, whose films show
// what shown says.
func discuss(q Query, f Findings, shown []string) []section {
	return []section{
		{"Background", sentence("", q.fill(q.about().remark)) + " One film out of several may decide."},
		{"Clinical perspective", "The complaint fits more than one diagnosis. The films have to tell them apart."},
		{"Imaging perspective", strings.Join(shown, " ")},
		{"Outcome", sentence("", q.conclusion(f)) + " Later films were advised."},
		{"Take-home", "Look at every film of a case before you name a diagnosis."},
	}
}

// CaseIn is the question of a case whose options stand in a text; where none do, with
// every diagnosis that there is.
func CaseIn(text string) Query {
	q := Query{Kind: askCase, Type: diagnosis, Options: parseOptions(text)}
	if len(q.Sites()) == 0 {
		q.Options = lettered(allNamed(diagnoses()))
	}
	return q
}

// Told adds to findings what a text says of a query's sites in the words of
// captions, where it says more than they hold.
func (q Query) Told(text string, f Findings) (Findings, []Site) {
	var told []Site
	text = strings.ToLower(text)
	for _, s := range q.Sites() {
		for g := severe; g >= moderate; g-- {
			if strings.Contains(text, appearance(s, g)) {
				if !f[s].Sure || g > f[s].Grade {
					f[s] = reading{Grade: g, Sure: true}
					told = append(told, s)
				}
				break
			}
		}
	}
	return f, told
}
