package agree

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"assay/results"
	"assay/results/store"
	reply "assay/results/text"
)

// Drawing is what is to be drawn for people to rate.
type Drawing struct {
	Study      string
	By         string // Strata of items
	Items      int
	Cases      int // at most so many answers to these, drawn at random; 0: all
	Seed       uint64
	Models     []string // empty: all, as arms and conditions
	Arms       []string
	Conditions []string
	// Calibration is how many answers to other items raters are to see first; negative: up
	// to so many, as there are.
	Calibration int
}

// Bys are what items can be drawn within: kinds of Wanted.By.
func Bys() []string { return []string{"type", "task", "modality", "none"} }

func kindOf(it results.Item, by string) string {
	switch by {
	case "type":
		return it.Type
	case "task":
		return it.Task
	case "modality":
		return it.Modality
	}
	return ""
}

// Draw draws, of the answers that judges are asked about, items at random within strata, each stratum in proportion to its
// size and at least two of it, then answers to these, and keeps in the store what was drawn with which
// probability. It writes what raters are shown as JSON lines, in an order of chance:
// neither model nor condition.
func Draw(ctx context.Context, st *store.Store, w Drawing, out io.Writer) (results.Draw, error) {
	var none results.Draw
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return none, err
	}
	if !ok {
		return none, fmt.Errorf("the store holds no run; assay run makes one")
	}
	all, err := protocols(man)
	if err != nil {
		return none, err
	}
	var names []string
	var p *protocol
	for i := range all {
		names = append(names, all[i].Name)
		if all[i].Name == w.Study || w.Study == "" && len(all) == 1 {
			p = &all[i]
		}
	}
	if p == nil {
		return none, &RefusedError{Why: fmt.Sprintf("--study: expected one of %s, found %q", strings.Join(names, ", "), w.Study)}
	}
	of, err := read(ctx, st, man, *p)
	if err != nil {
		return none, err
	}
	d := &data{of}
	strata := map[string][]string{} // items
	byItem := map[string][]answer{}
	for _, a := range d.Answers {
		if !a.Asked || !within(w.Models, a.Key.Model) || !within(w.Arms, a.Key.Arm) || !within(w.Conditions, a.Key.Condition) {
			continue
		}
		if len(byItem[a.Key.Item]) == 0 {
			kind := kindOf(a.Item, w.By)
			strata[kind] = append(strata[kind], a.Key.Item)
		}
		byItem[a.Key.Item] = append(byItem[a.Key.Item], a)
	}
	draw := results.Draw{Study: p.Name, By: w.By, Seed: w.Seed, Made: time.Now().UTC().Truncate(time.Second)}
	digest := func(what, name string) string {
		return strings.TrimPrefix(string(results.DigestOf(binary.LittleEndian.AppendUint64(nil, w.Seed), []byte(what), []byte(name))), "sha256:")
	}
	drawn := func(k results.Key) results.Drawn {
		return results.Drawn{Case: digest("case", k.Name())[:24], Key: k}
	}
	if draw.Strata, err = share(strata, w.Items, len(byItem)); err != nil {
		return none, err
	}
	for _, s := range draw.Strata {
		items := strata[s.Name]
		slices.SortFunc(items, func(a, b string) int { return strings.Compare(digest("item", a), digest("item", b)) })
		for _, item := range items[:s.Drawn] {
			own := each(byItem[item], drawn)
			slices.SortFunc(own, func(a, b results.Drawn) int { return strings.Compare(a.Case, b.Case) })
			for _, c := range own {
				c.Stratum = s.Name
				draw.Cases = append(draw.Cases, c)
			}
		}
	}
	if n := len(draw.Cases); w.Cases > 0 && w.Cases < n {
		start := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("within "), w.Seed))
		draw.Within = float64(w.Cases) / float64(n)
		draw.Cases = evenly(draw.Cases, w.Cases, binary.LittleEndian.Uint64(start[:])%uint64(n))
	}
	// One answer to each of the items that were not drawn.
	var rest []results.Drawn
	for _, s := range draw.Strata {
		for _, item := range strata[s.Name][s.Drawn:] {
			rest = append(rest, slices.MinFunc(each(byItem[item], drawn), func(a, b results.Drawn) int { return strings.Compare(a.Case, b.Case) }))
		}
	}
	slices.SortFunc(rest, func(a, b results.Drawn) int { return strings.Compare(a.Case, b.Case) })
	if w.Calibration > len(rest) {
		return none, &RefusedError{Why: fmt.Sprintf("--calibration: %d answers to other items than those that are drawn are asked for, there are %d: draw fewer items, or ask for fewer", w.Calibration, len(rest))}
	}
	draw.Calibration = rest[:min(len(rest), max(w.Calibration, -w.Calibration))]
	slices.SortFunc(draw.Cases, func(a, b results.Drawn) int { return strings.Compare(a.Case, b.Case) })
	if man.People == nil {
		man.People = &results.People{}
	}
	man.People.Draws = append(man.People.Draws, draw)
	if err := d.show(ctx, st, draw, out); err != nil {
		return none, err
	}
	return draw, st.PutManifest(ctx, man)
}

// evenly draws n of a list, each with the same probability, where each start below the list's length is as likely as
// another: every so manieth, so that answers to one item, which stand together in an order of chance, are drawn in equal shares.
func evenly(list []results.Drawn, n int, start uint64) []results.Drawn {
	var out []results.Drawn
	all := uint64(len(list))
	for i, c := range list {
		at := uint64(i)*uint64(n) + start
		if (at+uint64(n))/all > at/all {
			out = append(out, c)
		}
	}
	return out
}

func each(answers []answer, of func(results.Key) results.Drawn) []results.Drawn {
	var out []results.Drawn
	for _, a := range answers {
		out = append(out, of(a.Key))
	}
	return out
}

func within(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }

// share says how many items of each stratum are drawn.
func share(strata map[string][]string, want, all int) ([]results.Stratum, error) {
	var out []results.Stratum
	left := want
	for name, items := range strata {
		// Two tell a variance; all of a stratum leave none without a label.
		n := max(2, want*len(items)/max(1, all))
		out = append(out, results.Stratum{Name: name, Items: len(items), Drawn: n})
		left -= n
	}
	slices.SortFunc(out, func(a, b results.Stratum) int {
		if a.Items != b.Items {
			return b.Items - a.Items
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i := 0; left > 0 && i < len(out); i++ { // what rounding left, to the largest
		out[i].Drawn++
		left--
	}
	for ; left < 0 && len(out) > 0; left++ { // two of each small one are more than their part
		most := 0
		for i := range out {
			if out[i].Drawn > out[most].Drawn {
				most = i
			}
		}
		if out[most].Drawn == 2 {
			break
		}
		out[most].Drawn--
	}
	for _, s := range out {
		if s.Drawn > s.Items {
			return nil, &RefusedError{Why: fmt.Sprintf("--items: %d items are asked for; stratum %q has %d answered items, and %d of them would be drawn: draw fewer items, or within other strata (--by)", want, s.Name, s.Items, s.Drawn)}
		}
	}
	if left < 0 {
		return nil, &RefusedError{Why: fmt.Sprintf("--items: %d strata need at least two items each, expected %d or more, found %d: draw more items, or within fewer strata (--by none)", len(out), 2*len(out), want)}
	}
	if len(out) == 0 {
		return nil, &RefusedError{Why: "there is no answer to draw: expected answers of the models, arms and conditions named; assay run makes them"}
	}
	return out, nil
}

// shown is what a rater is shown of an answer.
type shown struct {
	Case      string   `json:"case"`
	Question  string   `json:"question,omitempty"`
	Answer    string   `json:"answer"`
	Reasoning string   `json:"reasoning,omitempty"`
	Axes      []string `json:"axes"`
}

// How long a rater is taken to need.
const (
	WordsAMinute  = 200
	SecondsAGrade = 10
)

// Minutes is about how long a rater needs for what Draw wrote, rounded up.
func Minutes(written io.Reader) (int, error) {
	seconds := 0.
	for in := json.NewDecoder(written); ; {
		var s shown
		if err := in.Decode(&s); errors.Is(err, io.EOF) {
			return int(math.Ceil(seconds / 60)), nil
		} else if err != nil {
			return 0, err
		}
		words := len(strings.Fields(s.Question)) + len(strings.Fields(s.Answer)) + len(strings.Fields(s.Reasoning))
		seconds += 60*float64(words)/WordsAMinute + SecondsAGrade*float64(len(s.Axes))
	}
}

// show writes what raters are shown.
func (d *data) show(ctx context.Context, st *store.Store, draw results.Draw, w io.Writer) error {
	out := json.NewEncoder(w)
	var axes []string
	for _, a := range d.protocol.Axes {
		if a.Rubric != "" {
			axes = append(axes, a.Name)
		}
	}
	for _, c := range draw.Cases {
		tr, _, err := st.Trial(ctx, c.Key)
		if err != nil {
			return err
		}
		last, ok := tr.Last()
		if !ok || last.Output == nil {
			return fmt.Errorf("%s: its answer went missing", c.Key.Name())
		}
		s := shown{Case: c.Case, Axes: axes}
		s.Answer, s.Reasoning = reply.Shown(last.Output.Answer, last.Output.Reasoning)
		said, err := st.JudgmentsOf(ctx, c.Key)
		if err != nil {
			return err
		}
		for _, j := range said {
			var f struct{ Question string }
			if json.Unmarshal(j.Fields, &f) == nil && f.Question != "" {
				s.Question = f.Question
			}
		}
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return nil
}
