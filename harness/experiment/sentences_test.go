package experiment_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/report"
	"assay/results/stats"
	"assay/results/store"
)

// asked is where a study's answers are compared: the arm and condition of each side, the
// baseline first.
type asked struct {
	study string
	sides [][2]string
}

func compared() []asked {
	return []asked{
		{"cot", [][2]string{{"direct", "baseline"}, {"cot", "baseline"}}},
		{"qa", [][2]string{{"answer", "baseline"}, {"reason", "baseline"}}},
		{"diagnosis", [][2]string{{"mcq", "baseline"}, {"mcq", "expert-hint"}, {"mcq", "self-both"}, {"mcq", "LOO@1"}, {"mcq", "LOO@2"}}},
	}
}

// scenarios are how answers of sides differ: by anything; those of the first up or down to
// the others; not at all, or in LOO@1 alone.
func scenarios() []string { return []string{"any", "up", "down", "alike", "first"} }

// drawStore writes a store of one study with answers of every kind, of one model, and
// is its sections. how is one of scenarios.
func drawStore(t *rapid.T, dir string, of asked, how string) []results.Section {
	ctx := t.Context()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var choice study.Choice
	if of.study == "diagnosis" {
		choice.Conditions = []string{"LOO", "expert-hint", "self-both"}
	}
	s, err := experiment.NewStudy(of.study, nil, choice)
	must(err)
	st, err := store.Open(ctx, filepath.Join(dir, fmt.Sprint(time.Now().UnixNano())+".sqlite"))
	must(err)
	defer st.Close()
	asks := map[string][]string{}
	for _, r := range s.Rubrics {
		asks[r.Name] = []string{"rules"}
	}
	described := map[string]json.RawMessage{}
	for _, c := range []perturb.Condition{perturb.LeaveOut(1), perturb.LeaveOut(2)} {
		described[c.Name], err = json.Marshal(c)
		must(err)
	}
	must(st.PutManifest(ctx, results.Manifest{Name: "t", Seed: 7, Rubrics: map[string]map[string][]string{of.study: asks}, Conditions: map[string]map[string]json.RawMessage{of.study: described}}))
	least := 1
	if how != "any" {
		least = 24
	}
	n, repeats := rapid.IntRange(least, 30).Draw(t, "items"), rapid.IntRange(1, 2).Draw(t, "repeats")
	options := []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}, {Label: "C", Text: "both"}}
	var items []results.Item
	for i := range n {
		it, err := s.Facts(7, dataset.Item{ID: fmt.Sprint("item ", i), Type: "single", Options: options, Answer: "A"})
		must(err)
		items = append(items, it)
	}
	must(st.PutItems(ctx, items))
	cases := 0
	var puts errgroup.Group // many share a transaction
	for at, side := range of.sides {
		// What a side answers leans to one letter, so that stores differ by more than chance.
		lean, share := rapid.SampledFrom([]string{"A", "B"}).Draw(t, "lean"), rapid.IntRange(0, 10).Draw(t, "share")
		switch {
		case how == "up" || how == "down":
			lean, share = map[bool]string{true: "B", false: "A"}[(at == 0) == (how == "up")], 9
		case how == "alike" || how == "first" && side[1] != "LOO@1":
			lean, share = "A", 10
		case how == "first":
			lean, share = "B", 9
		}
		if how == "unread" {
			lean, share = "none", 10
		}
		for i := range n * repeats {
			answer := lean
			if rapid.IntRange(0, 9).Draw(t, "tilt") >= share {
				answer = rapid.SampledFrom([]string{"A", "B", "C", "none", "failed"}).Draw(t, "answer")
			}
			k := results.Key{Study: of.study, Model: "m", Item: fmt.Sprint("item ", i/repeats), Arm: side[0], Condition: side[1], Repeat: i % repeats}
			a := results.Attempt{Started: time.Unix(1, 0), Failure: &results.Failure{Kind: "stalled", Message: "no"}}
			if answer != "failed" {
				said := "Final answer: " + answer
				a = results.Attempt{Started: time.Unix(1, 0), Output: &results.Output{Answer: said, Finish: backends.FinishStop}, Turns: []results.Turn{{Answer: said, Finish: backends.FinishStop}}}
			}
			tr := results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}
			if answer == "failed" {
				puts.Go(func() error { return st.PutTrial(ctx, tr) })
				continue
			}
			cases++
			c, err := judge.Case{Rubric: "accuracy", Fields: cases}.Stored()
			must(err)
			verdict := map[string]string{"A": "correct", "none": "no_answer"}[answer]
			if verdict == "" {
				verdict = "incorrect"
			}
			j := results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "rules", Status: results.StatusClean, Verdict: fmt.Appendf(nil, `{"quote":"x","verdict":%q,"why":""}`, verdict)}
			puts.Go(func() error {
				return cmp.Or(st.PutTrial(ctx, tr), st.PutCase(ctx, k, c), st.PutJudgment(ctx, j))
			})
		}
	}
	must(puts.Wait())
	secs, err := s.Summarize(ctx, st, asks, kinds.NoDecode)
	must(err)
	return secs
}

func tableOf(secs []results.Section, name string) results.Table {
	for _, s := range secs {
		for _, t := range s.Tables {
			if t.Name == name {
				return t
			}
		}
	}
	return results.Table{}
}

var unchanged = regexp.MustCompile(`^(\w+): no answer changed when an image( other than the first)? was removed \(0 of (\d+)\)`)

// lookedAt holds what is said of images that change no answer against the cells, and names
// it; "": nothing.
func lookedAt(t *rapid.T, secs []results.Section) (kind string) {
	which := tableOf(secs, "diagnosis-which")
	said := map[string][]string{}
	for _, s := range secs {
		for _, note := range s.Notes {
			if m := unchanged.FindStringSubmatch(note); m != nil {
				said[m[1]] = m
			}
		}
	}
	for _, row := range which.Rows {
		if row[1].Text != "one image less" {
			continue
		}
		model := row[0].Text
		any, others := score.FindEstimate(which, "answer_changed", model, "one image less"), score.FindEstimate(which, "answer_changed", model, "any but the first less")
		first := score.FindEstimate(which, "answer_changed", model, "LOO@1")
		m := said[model]
		want := []string(nil)
		switch {
		case others == nil || others.Value == nil || first.Value == nil || others.N < 20 || *others.Value > 0:
		case *any.Value == 0:
			kind, want = "none", []string{"", strconv.Itoa(any.N)}
		default:
			kind, want = "none but the first", []string{" other than the first", strconv.Itoa(others.N)}
		}
		if want == nil && m != nil || want != nil && (m == nil || m[2] != want[0] || m[3] != want[1]) {
			t.Fatalf("%s: said %q, want %q", model, m, want)
		}
	}
	return kind
}

var contrast = regexp.MustCompile(`^(\w+): (?:(reasoning step by step)|arm (\w+)|((?:captions|findings|captions and findings) (?:by experts|of its own))) (raises?|lowers?|do(?:es)? not clearly change) accuracy(?: against arm answer)? \((\S+) points, (?:95 % CI (\S+) to (\S+)|no interval), n = (\d+) (item|items|answers|pairs of answers)(?: \((\d+) (?:answers|pairs of answers)\))?(?:, (?:Holm )?p = (\S+?))?(?:; the interval (excludes|includes) 0, but the test decides)?\)\.$`)

// TestSentencesFollowTheirCells: what is said of a difference is what stands in its row: the
// number, the interval, n and p; the test decides of the words, and where the interval says
// otherwise the sentence says so. So whatever way intervals are made.
func TestSentencesFollowTheirCells(t *testing.T) {
	cells := map[string]func(secs []results.Section, m []string) (e, p *results.Estimate){
		"cot": func(secs []results.Section, m []string) (e, p *results.Estimate) {
			impact := tableOf(secs, "cot-impact")
			return score.FindEstimate(impact, "impact", m[1]), score.FindEstimate(impact, "p", m[1])
		},
		"qa": func(secs []results.Section, m []string) (e, p *results.Estimate) {
			arms := tableOf(secs, "qa-arms")
			return score.FindEstimate(arms, "gain", m[1], m[3]), score.FindEstimate(arms, "p", m[1], m[3])
		},
		"diagnosis": func(secs []results.Section, m []string) (e, p *results.Estimate) {
			condition := map[string]string{"captions by experts": "expert-hint", "captions and findings of its own": "self-both"}[m[4]]
			table := tableOf(secs, "diagnosis-accuracy")
			return score.FindEstimate(table, "gain", m[1], condition), score.FindEstimate(table, "p_holm", m[1], condition)
		},
	}
	checks := flag.Lookup("rapid.checks") // each writes a store
	was := checks.Value.String()
	defer checks.Value.Set(was)
	if was == checks.DefValue {
		checks.Value.Set("4")
	}
	dir := t.TempDir()
	seen := map[string]int{}
	for _, of := range compared() {
		for _, how := range scenarios() {
			rapid.Check(t, func(t *rapid.T) {
				secs := drawStore(t, dir, of, how)
				if of.study == "diagnosis" {
					seen[lookedAt(t, secs)]++
				}
				for _, s := range secs {
					for _, note := range s.Notes {
						if !strings.Contains(note, " accuracy") {
							continue
						}
						m := contrast.FindStringSubmatch(note)
						if m == nil {
							t.Fatalf("no sentence of a difference: %s", note)
						}
						e, p := cells[of.study](secs, m)
						value, low, high := results.EstimateWords("points", *e, true)
						if m[6] != value || m[7] != low || m[8] != high {
							t.Fatalf("%s\nits cell has %s, %s to %s", note, value, low, high)
						}
						tested := p != nil && p.Value != nil
						items, answers := e.N, e.N
						if tested {
							items = p.N
						}
						if m[11] == "" {
							m[11] = m[9]
						}
						if m[9] != strconv.Itoa(items) || m[11] != strconv.Itoa(answers) || tested != strings.HasPrefix(m[10], "item") {
							t.Fatalf("%s\nits cells have %d and %d", note, items, answers)
						}
						// What the interval as it is printed in its table says, and the test.
						zero, way := stats.Fixed(0, 2), 0
						if e.Low != nil && *e.Low > 0 && stats.Fixed(*e.Low, 2) != zero {
							way = 1
						} else if e.Low != nil && *e.High < 0 && stats.Fixed(*e.High, 2) != zero {
							way = -1
						}
						differs := ""
						if tested {
							byTest := 0
							if *p.Value <= .05 && *e.Value != 0 {
								byTest = map[bool]int{true: 1, false: -1}[*e.Value > 0]
							}
							if (byTest == 0) != (way == 0) && e.Low != nil {
								differs = map[bool]string{true: "excludes", false: "includes"}[way != 0]
							}
							way = byTest
							if m[12] != stats.Significant(*p.Value, 2) {
								t.Fatalf("%s\nits p is %v", note, *p.Value)
							}
						}
						said := map[string]int{"raise": 1, "lower": -1}[strings.TrimSuffix(m[5], "s")]
						if said != way || m[13] != differs {
							t.Fatalf("%s\nwant direction %d and that its interval %q 0", note, way, differs)
						}
						seen[fmt.Sprint(of.study, " ", way, " ", differs)]++
					}
				}
			})
		}
	}
	t.Log(seen)
	var told []string // whether or not interval and test agree
	for kind := range seen {
		told = append(told, strings.TrimRight(strings.Split(kind, " leaves")[0], " "))
	}
	for _, want := range []string{"cot 1", "cot -1", "cot 0", "qa 1", "qa -1", "qa 0", "diagnosis 1", "diagnosis -1", "diagnosis 0", "none", "none but the first"} {
		if !slices.Contains(told, want) {
			t.Errorf("no sentence of kind %q was drawn: %q", want, told)
		}
	}
}

// TestUnreadAnswersAreDistrustedFirst: answers that name no answer count as wrong, and that is
// the first thing to be said where they are most of them.
func TestUnreadAnswersAreDistrustedFirst(t *testing.T) {
	dir := t.TempDir()
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	defer checks.Value.Set(was)
	checks.Value.Set("1")
	for _, of := range compared() {
		rapid.Check(t, func(t *rapid.T) {
			secs := drawStore(t, dir, of, "unread")
			first, _ := report.Distrust(secs, results.Run{})
			if len(first) == 0 || !regexp.MustCompile(`^m, arm .*: (\d+) of (\d+) answers could not be read as an answer to the question; they count as wrong\. A judge read 0 of them\.$`).MatchString(first[0].Text) {
				t.Fatalf("%s: %v", of.study, first)
			}
			m := regexp.MustCompile(`(\d+) of (\d+) answers`).FindStringSubmatch(first[0].Text)
			if m[1] != m[2] {
				t.Fatalf("%s: every answer names none: %s", of.study, first[0].Text)
			}
			if !slices.ContainsFunc(secs, func(s results.Section) bool {
				return slices.ContainsFunc(s.Headline, func(h results.Headline) bool { return h.Column == "read" })
			}) {
				t.Fatalf("%s: no headline says what share of answers could be read", of.study)
			}
		})
	}
}
