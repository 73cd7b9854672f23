// Rule is what a parser of bench.yaml asks of the values it reads, taken down where
// it asks: a reference made of rules says what is checked.

package config

import (
	"cmp"
	"slices"
	"strings"
)

// Rule is what is asked of the value of one key.
type Rule struct {
	// Path is that of the key: "models.*.think". A star stands for a name that the file
	// chooses, [] for a place in a list.
	Path string
	Kind string    // what the key kind beside it says; "": there is none
	Type valueType // "": nothing was asked yet
	// Least and Most are limits of numbers and durations, in their own writing.
	Least, Most string
	Default     string   // "": none that the parser knows
	Values      []string // of a choice
	Names       []string // that may stand for a file
	Needed      bool
}

// valueType is what a value is.
type valueType string

const (
	valueText valueType = "text"
	Choice    valueType = "one of"
	Whole     valueType = "whole number"
	Number    valueType = "number"
	Flag      valueType = "true or false"
	List      valueType = "list"
	Duration  valueType = "duration"
	File      valueType = "file"
	Folder    valueType = "folder"
	Mapping   valueType = "mapping"
)

// record takes rules down. A nil Record takes nothing down.
type record struct {
	rules []Rule
	names map[string]string // by the path of what has a name that the file chooses: the same with a star
	kinds map[string]string // by the same path: what its key kind says
}

// Ask notes what is asked of the value at a path.
func (r *record) Ask(path string, rule Rule) {
	if r != nil {
		rule.Path = path
		r.rules = append(r.rules, rule)
	}
}

// Name notes that a path ends in a name which the file chose.
func (r *record) Name(path, star string) {
	if r == nil {
		return
	}
	if r.names == nil {
		r.names = map[string]string{}
	}
	r.names[path] = star
}

// Kind notes what the key kind of a mapping says.
func (r *record) Kind(path, kind string) {
	if r == nil {
		return
	}
	if r.kinds == nil {
		r.kinds = map[string]string{}
	}
	r.kinds[path] = kind
}

// Merged are the rules by path and kind, in the order in which they were first asked.
// usual is the kind of what does not say any, by section.
func (r *record) Merged(usual map[string]string) []Rule {
	var out []Rule
	for _, one := range r.rules {
		if name := r.nameIn(one.Path); name != "" {
			star := r.names[name]
			if one.Kind = r.kinds[name]; one.Kind == "" {
				one.Kind = usual[strings.TrimSuffix(star, ".*")]
			}
			one.Path = star + one.Path[len(name):]
		}
		i := slices.IndexFunc(out, func(o Rule) bool { return o.Path == one.Path && o.Kind == one.Kind })
		if i < 0 {
			out = append(out, one)
			continue
		}
		o := &out[i]
		o.Needed, o.Default = o.Needed || one.Needed, cmp.Or(o.Default, one.Default)
		if one.says(*o) {
			one.Needed = o.Needed
			one.Default = cmp.Or(o.Default, one.Default)
			if len(one.Names) == 0 {
				one.Names = o.Names
			}
			*o = one
		}
	}
	return out
}

// says is whether a rule says more of a value than what was asked before: what is read as a
// text or as a list may be asked more of before or after.
func (one Rule) says(before Rule) bool {
	plain := one.Least == "" && one.Default == "" && len(one.Values)+len(one.Names) == 0
	switch {
	case one.Type == "" || one.Type == valueText && before.Type != "":
		return false
	case one.Type == before.Type && plain:
		return false
	}
	return true
}

// nameIn is the longest beginning of a path that ends in a chosen name: names may hold dots.
func (r *record) nameIn(path string) (name string) {
	for n := range r.names {
		if rest, ok := strings.CutPrefix(path, n); ok && (rest == "" || rest[0] == '.') && len(n) > len(name) {
			name = n
		}
	}
	return name
}
