package results

import "strings"

// Names keeps one copy of each string, so that the keys of many trials share theirs.
type Names map[string]string

// Of is the copy of s that is kept; s may be a part of something larger.
func (n Names) Of(s string) string {
	if kept, ok := n[s]; ok {
		return kept
	}
	s = strings.Clone(s)
	n[s] = s
	return s
}

// Key puts the kept copies into a key.
func (n Names) Key(k *Key) {
	k.Study, k.Model, k.Item, k.Arm, k.Condition = n.Of(k.Study), n.Of(k.Model), n.Of(k.Item), n.Of(k.Arm), n.Of(k.Condition)
}
