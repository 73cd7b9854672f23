// Summary says what a data set holds.

package dataset

import (
	"maps"
	"slices"
	"strconv"
)

// Count is how many items have a value.
type Count struct {
	Name  string `json:"name"`
	Items int    `json:"items"`
}

// Summary is what a data set holds. What items do not state is counted apart, so
// the counts of a group and its None add up to Items.
type Summary struct {
	Name       string    `json:"name"`
	Kind       string    `json:"kind"`
	Digest     string    `json:"digest"`
	Synthetic  bool      `json:"synthetic"`
	Items      int       `json:"items"`
	Images     int       `json:"images"` // shown, over all items
	Types      []Count   `json:"types"`  // in the order of Types and ClosedTypes, then by name
	Tasks      []Count   `json:"tasks"`  // in the paper's order
	Modalities []Count   `json:"modalities"`
	PathSteps  []Count   `json:"path_steps"`     // by the steps of the item's first gold path, shortest first
	Made       []Count   `json:"made,omitempty"` // images made of DICOM files, by how; Items is the number of images
	None       none      `json:"none"`
	Guesses    []string  `json:"guesses,omitempty"` // of a table of questions, what nobody said of its columns
	Unused     []string  `json:"unused,omitempty"`  // columns that nothing is read of
	Gaps       []gap     `json:"gaps"`
	Problems   []Problem `json:"problems"`
}

// none counts the items that do not state something.
type none struct {
	Type     int `json:"type"`
	Task     int `json:"task"`
	Modality int `json:"modality"`
	GoldPath int `json:"gold_path"`

	// Of the items of ClosedTypes.
	Region    int `json:"region"`
	Knowledge int `json:"knowledge"`
}

// Summarize counts what d holds, in an order that only depends on d.
func Summarize(d *Dataset) Summary {
	s := Summary{Name: d.Name, Kind: d.Kind, Digest: d.Digest, Synthetic: d.Synthetic, Items: len(d.Items), Guesses: d.Guesses, Unused: d.Unused, Problems: d.Problems}
	if s.Problems == nil {
		s.Problems = []Problem{}
	}
	if s.Gaps = d.Gaps; s.Gaps == nil {
		s.Gaps = []gap{}
	}
	types, tasks, modalities, steps, made := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	count := func(m map[string]int, key string, none *int) {
		if key == "" {
			*none++
			return
		}
		m[key]++
	}
	for _, it := range d.Items {
		s.Images += len(it.Images)
		for _, im := range it.Images {
			if im.Made != "" {
				made[im.Made]++
			}
		}
		count(types, it.Type, &s.None.Type)
		count(tasks, it.Task, &s.None.Task)
		count(modalities, it.Modality, &s.None.Modality)
		length := ""
		if len(it.GoldPaths) > 0 {
			length = strconv.Itoa(len(it.GoldPaths[0]))
		}
		count(steps, length, &s.None.GoldPath)
		if slices.Contains(ClosedTypes(), it.Type) {
			if len(it.Regions) == 0 {
				s.None.Region++
			}
			if it.Knowledge == nil {
				s.None.Knowledge++
			}
		}
	}
	s.Types, s.Tasks = inOrder(types, append(Types(), ClosedTypes()...)), inOrder(tasks, Tasks())
	s.Modalities, s.PathSteps = inOrder(modalities, nil), inOrder(steps, nil)
	if len(made) > 0 {
		s.Made = inOrder(made, nil)
	}
	return s
}

// inOrder lists the known names first, then the others by name.
func inOrder(m map[string]int, known []string) []Count {
	out := []Count{}
	for _, k := range known {
		if m[k] > 0 {
			out = append(out, Count{k, m[k]})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, k) {
			out = append(out, Count{k, m[k]})
		}
	}
	return out
}
