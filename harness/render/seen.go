package render

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"assay/harness/dataset"
	"assay/perturb"
	"assay/results/text"
)

// Ways in which a condition shows options (perturb.Condition.Options).
const (
	OptionsRotated  = "rotated"
	OptionsShuffled = "shuffled"
	OptionsLettered = "lettered" // by other letters
	OptionsMore     = "more"     // with none of the above
)

// noneOfThese is the option that OptionsMore adds.
const noneOfThese = "None of the above"

// Seen is an item as it is asked under a condition: with its options in another order, its
// sides exchanged with those of a mirrored picture, itself in other words. The gold
// answers stay right.
func Seen(it dataset.Item, c perturb.Condition) dataset.Item {
	switch c.Words {
	case perturb.WordsUpper:
		it.Question = strings.ToUpper(it.Question)
	case perturb.WordsTypos:
		it.Question = typos(it.Question, it.ID)
	default:
		if w, ok := it.Texts[c.Words]; ok {
			it = w.In(it)
		}
	}
	if c.Mirror {
		it.Question = OtherSides(it.Question)
	}
	if c.Options == "" && !c.Mirror {
		return it
	}
	golds := SeenOptions(&it.Options, it.Golds(), it.Type, c, it.ID)
	it.Answer, it.Also = golds[0], golds[1:]
	if len(it.Also) == 0 {
		it.Also = nil
	}
	return it
}

// SeenOptions puts the options of an item of some type into the order and letters in which a
// condition shows them, and says what its gold answers are called then.
func SeenOptions(options *[]dataset.Option, golds []string, typ string, c perturb.Condition, item string) []string {
	golds = slices.Clone(golds)
	list := slices.Clone(*options)
	if c.Mirror {
		for i := range list {
			list[i].Text = OtherSides(list[i].Text)
		}
		for i := range golds {
			golds[i] = OtherSides(golds[i])
		}
	}
	was := slices.Clone(list)
	for i, from := range Order(len(list), c, item) {
		list[i].Text = was[from].Text
	}
	switch c.Options {
	case OptionsLettered:
		for i := range list {
			if list[i].Label != "" {
				list[i].Label = string(rune('Z' - len(list) + 1 + i))
			}
		}
	case OptionsMore:
		more := dataset.Option{Text: noneOfThese}
		if n := len(list); n > 0 && list[n-1].Label != "" {
			more.Label = next(list[n-1].Label)
		}
		list = append(list, more)
	}
	*options = list
	named := func(gold string) string {
		at := slices.IndexFunc(was, func(o dataset.Option) bool {
			return o.Label != "" && strings.EqualFold(o.Label, strings.TrimSpace(gold))
		})
		if at < 0 {
			return gold
		}
		return list[slices.IndexFunc(list, func(o dataset.Option) bool { return o.Text == was[at].Text })].Label
	}
	for i, gold := range golds {
		if typ != text.Multiple {
			golds[i] = named(gold)
			continue
		}
		parts := strings.Split(gold, ",")
		for k := range parts {
			parts[k] = named(parts[k])
		}
		slices.Sort(parts)
		golds[i] = strings.Join(parts, ", ")
	}
	return golds
}

// Order is, by place, which of an item's n options a condition shows there. A drawn order is
// the same in every run, and never that of the item.
func Order(n int, c perturb.Condition, item string) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
		if c.Options == OptionsRotated {
			out[i] = (i + c.Draw) % n
		}
	}
	if c.Options == OptionsShuffled && n > 1 {
		r := random("options", fmt.Sprint(c.Draw), item)
		for slices.IsSorted(out) {
			r.Shuffle(n, func(i, k int) { out[i], out[k] = out[k], out[i] })
		}
	}
	return out
}

func next(label string) string {
	if r := []rune(label); len(r) == 1 {
		return string(r[0] + 1)
	}
	return label + "+"
}

// random is a source that words seed.
func random(words ...string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", words)
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

// sides are a side by itself, or both of them named together, as in a list of answers.
var sides = regexp.MustCompile(`(?i)\b(?:left|right)(?:\s*(?:,|/|and|or|, or)\s*(?:left|right))\b|\b(?:left|right)`)

// OtherSides exchanges left and right in a text, where it does not name both together.
func OtherSides(s string) string {
	return sides.ReplaceAllStringFunc(s, func(word string) string {
		if len(word) > len("right") {
			return word
		}
		other := map[string]string{"left": "right", "right": "left"}[strings.ToLower(word)]
		switch {
		case word == strings.ToUpper(word):
			return strings.ToUpper(other)
		case unicode.IsUpper([]rune(word)[0]):
			return strings.ToUpper(other[:1]) + other[1:]
		}
		return other
	})
}

// typos exchanges two letters inside of every third word of four letters or more.
func typos(s, item string) string {
	r := random("typos", item)
	n := 0
	return words.ReplaceAllStringFunc(s, func(w string) string {
		if n++; n%3 != 0 {
			return w
		}
		letters := []rune(w)
		at := 1 + r.IntN(len(letters)-2)
		if at == len(letters)-2 {
			at--
		}
		letters[at], letters[at+1] = letters[at+1], letters[at]
		return string(letters)
	})
}

var words = regexp.MustCompile(`\pL{4,}`)
