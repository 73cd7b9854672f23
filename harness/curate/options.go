package curate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"assay/harness/dataset"
)

// lengths are the options' lengths in code points, without space around them.
func lengths(options []string) []int {
	var out []int
	for _, o := range options {
		out = append(out, utf8.RuneCountInString(strings.TrimSpace(o)))
	}
	return out
}

// longest says whether an option is longer than all others, and whether none is longer.
func longest(options []string, answer int) (strictly, tied bool) {
	n := lengths(options)
	strictly, tied = true, true
	for i, m := range n {
		if i != answer {
			strictly, tied = strictly && n[answer] > m, tied && n[answer] >= m
		}
	}
	return strictly, tied
}

// toRemove is the fewest of the items whose right option is the longest that have to go
// until they are at most a share of what is left.
func toRemove(items, right int, share float64) int {
	if share >= 1 {
		return 0
	}
	// right - x <= share (items - x), in the numbers that people write shares with.
	x := math.Ceil((float64(right)-share*float64(items))/(1-share) - 1e-9)
	return min(max(int(x), 0), right)
}

// unbiased removes, by chance, items whose right option is longer than all others, until
// they are at most a share of those with options.
func unbiased(items []dataset.Item, share float64, seed uint64) (gone []removed, note string) {
	var right []string
	with := 0
	for _, it := range items {
		texts, at := optionTexts(it)
		if at < 0 {
			continue
		}
		with++
		if strictly, _ := longest(texts, at); strictly {
			right = append(right, it.ID)
		}
	}
	n := toRemove(with, len(right), share)
	note = fmt.Sprintf("the right option is the longest in %d of %d items", len(right), with)
	if n > 0 {
		note += fmt.Sprintf(", in %d of %d after", len(right)-n, with-n)
	}
	draw := rand.New(rand.NewPCG(seed, 0x6c656e677468))
	draw.Shuffle(len(right), func(i, j int) { right[i], right[j] = right[j], right[i] })
	for _, id := range right[:n] {
		gone = append(gone, removed{Item: id, Why: "its right option is longer than all others; drawn by chance"})
	}
	return gone, note
}

// optionTexts are an item's options, and which is right; -1: it has none, or several.
func optionTexts(it dataset.Item) (texts []string, at int) {
	at = -1
	for i, o := range it.Options {
		texts = append(texts, o.Text)
		if o.Label == it.Answer && o.Label != "" || o.Label == "" && o.Text == it.Answer {
			at = i
		}
	}
	return texts, at
}

// prune leaves the right option of each item that has more than most, and of the others
// those that probes took for it most often. Options that were taken equally often are
// drawn by chance; labels are given anew, in the order of before.
func prune(items []dataset.Item, most int, answers *Answers, seed uint64) (list []pruned) {
	for i := range items {
		it := &items[i]
		_, right := optionTexts(*it)
		if len(it.Options) <= most || right < 0 || inside(*it) {
			continue
		}
		draw := rand.New(rand.NewPCG(seed, hash(it.ID)))
		order := draw.Perm(len(it.Options))
		sort.SliceStable(order, func(a, b int) bool { return answers.taken(it.ID, order[a]) > answers.taken(it.ID, order[b]) })
		order = slices.DeleteFunc(order, func(k int) bool { return k == right })[:most-1]
		keep := append(order, right)
		slices.Sort(keep)
		p := pruned{Item: it.ID}
		var left []dataset.Option
		answer := it.Answer
		for k, o := range it.Options {
			if !slices.Contains(keep, k) {
				p.Gone = append(p.Gone, o.Text)
				continue
			}
			if o.Label != "" {
				label := dataset.LabelAt(it.Options[0].Label, len(left))
				if k == right {
					answer = label
				}
				o.Label = label
			}
			left = append(left, o)
		}
		it.Options, it.Answer = left, answer
		list = append(list, p)
	}
	return list
}

// inside says whether the options stand in the question, where they cannot be pruned.
func inside(it dataset.Item) bool {
	options, err := dataset.ParseOptions(it.Question)
	return err != nil || len(options) > 0
}
