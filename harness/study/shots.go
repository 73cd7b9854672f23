// Shots shows questions that are answered before the one that is asked: few-shot
// examples.
//
//  1. Conditions are the numbers of examples, by which trials are told apart; none is the
//     baseline.
//  2. A render.Pool holds what can be an example, and draws an item's from it.

package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/perturb"
	"assay/results"
)

// Param is what is varied.
const Param = "shots"

// Conditions are the numbers of examples: the baseline where there are none. from is
// the data set that they are drawn from; "": the questions' own.
func Conditions(levels []int, from string) []perturb.Condition {
	var out []perturb.Condition
	for _, n := range levels {
		c := perturb.Baseline()
		if n > 0 {
			c = perturb.Condition{Name: fmt.Sprintf("SHOTS@%s=%d", Param, n), Family: "SHOTS", Kind: perturb.KindShots, Does: fmt.Sprintf("%d answered examples before the question", n)}
			if from != "" {
				c.Name, c.Does = c.Name+",from="+from, c.Does+", of data set "+from
			}
		}
		c.Param, c.Level = Param, float64(n)
		out = append(out, c)
	}
	return out
}

// ShotLevel is what a store keeps of a condition.
type ShotLevel struct {
	Shots int    `json:"shots"`
	From  string `json:"from,omitempty"` // data set; "": the questions' own
}

func (l ShotLevel) String() string {
	s := fmt.Sprintf("%d shots", l.Shots)
	if l.Shots == 1 {
		s = "1 shot"
	}
	if l.From != "" {
		s += " of " + l.From
	}
	return s
}

// ShotDescribed is what scores need of the conditions (Study); nil: there are none.
func ShotDescribed(levels []int, from string) map[string]json.RawMessage {
	if len(levels) == 0 {
		return nil
	}
	out := map[string]json.RawMessage{}
	for i, c := range Conditions(levels, from) {
		l := ShotLevel{Shots: levels[i]}
		if l.Shots > 0 {
			l.From = from
		}
		b, err := json.Marshal(map[string]ShotLevel{"few_shot": l})
		if err != nil {
			panic("study: internal error: " + err.Error())
		}
		out[c.Name] = b
	}
	return out
}

// ReadShots is the level that a description of a condition says; false: it is none.
func ReadShots(raw json.RawMessage) (ShotLevel, bool) {
	var d struct {
		Level *ShotLevel `json:"few_shot"`
	}
	if json.Unmarshal(raw, &d) != nil || d.Level == nil {
		return ShotLevel{}, false
	}
	return *d.Level, true
}

// ShotLevels are those of a study of a run, by condition.
func ShotLevels(m results.Manifest, study string) map[string]ShotLevel {
	out := map[string]ShotLevel{}
	for name, raw := range m.Conditions[study] {
		if l, ok := ReadShots(raw); ok {
			out[name] = l
		}
	}
	return out
}

// sorted are the conditions of levels, from fewest examples to most.
func sorted(levels map[string]ShotLevel) []string {
	return slices.SortedFunc(maps.Keys(levels), func(a, b string) int {
		return cmp.Or(cmp.Compare(levels[a].Shots, levels[b].Shots), strings.Compare(levels[a].From, levels[b].From))
	})
}
