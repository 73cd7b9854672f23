package qa

import (
	"errors"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/results/text"
)

// example is a right answer to an item in the form that an arm asks for. Arm reason shows
// the gold steps first: an example without them would teach not to reason.
func example(arm string, it dataset.Item) (string, error) {
	final, err := finalOf(it)
	if err != nil || arm == armAnswer {
		return final, err
	}
	if len(it.GoldPaths) == 0 || len(it.GoldPaths[0]) == 0 {
		return "", errors.New("no gold steps, with which arm " + armReason + " shows how to reason")
	}
	var b strings.Builder
	for _, s := range it.GoldPaths[0] {
		b.WriteString(strings.TrimSpace(s.Text) + "\n")
	}
	return b.String() + "Final answer: " + final, nil
}

// finalOf is the gold answer as prompts ask for it: of options their letters.
func finalOf(it dataset.Item) (string, error) {
	gold := strings.TrimSpace(it.Answer)
	if gold == "" {
		return "", errors.New("no gold answer")
	}
	options := lettered(it.Options)
	switch kind(it.Type, it.Options) {
	case text.Single:
		if len(options) == 0 || slices.ContainsFunc(options, func(o dataset.Option) bool { return strings.EqualFold(o.Label, gold) }) {
			return gold, nil
		}
		for _, o := range options {
			if text.Fold(o.Text) == text.Fold(gold) {
				return o.Label, nil
			}
		}
		return "", errors.New("a gold answer that is none of their options")
	case yesNo:
		return text.Fold(gold), nil
	}
	return gold, nil
}
