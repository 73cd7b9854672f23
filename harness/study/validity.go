package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/backends"
	"assay/harness/score"
	"assay/results"
)

// validity is what is counted of the times of one model's answers in one arm.
type validity struct {
	valid    int                                    // answers whose time counts
	repeats  int                                    // attempts that were made again because theirs did not
	repeated map[results.Flag]int                   // of these, by flag
	policies map[results.CachePolicy]int            // answers by policy; "": not timed
	timeless int                                    // answers that no time is known of, as imported ones
	caches   map[backends.CacheState]map[string]int // answers by state, and by what proves it or why nothing does
}

func newValidity() validity {
	return validity{repeated: map[results.Flag]int{}, policies: map[results.CachePolicy]int{}, caches: map[backends.CacheState]map[string]int{}}
}

func (v *validity) add(r *results.Row) {
	again := r.Invalid
	if len(again) > 0 && len(score.Lost(r)) > 0 {
		again = again[:len(again)-1] // the last of them is the attempt that counts
	}
	v.repeats += len(again)
	for _, flags := range again {
		for _, f := range flags {
			v.repeated[f]++
		}
	}
	if r.Failed {
		return
	}
	if _, ok := score.Seconds(r); ok {
		v.valid++
	}
	if r.CachePolicy == "" && r.Latency == nil {
		v.timeless++
		return
	}
	v.policies[r.CachePolicy]++
	if r.CacheState != "" {
		v.note(r.CacheState, r.CacheNote, 1)
	}
}

func (v *validity) note(s backends.CacheState, why string, n int) {
	if v.caches[s] == nil {
		v.caches[s] = map[string]int{}
	}
	v.caches[s][why] += n
}

// join adds what another arm counts, of what a sentence says.
func (v *validity) join(o validity) {
	v.timeless += o.timeless
	for f, n := range o.repeated {
		v.repeated[f] += n
	}
	for p, n := range o.policies {
		v.policies[p] += n
	}
	for s, by := range o.caches {
		for why, n := range by {
			v.note(s, why, n)
		}
	}
}

// in is how many answers are in a state, and the reasons in words.
func (v validity) in(s backends.CacheState) (n int, why string) {
	var parts []string
	for _, w := range slices.Sorted(maps.Keys(v.caches[s])) {
		n += v.caches[s][w]
		parts = append(parts, w)
		if len(v.caches[s]) > 1 {
			parts[len(parts)-1] = fmt.Sprintf("%d: %s", v.caches[s][w], w)
		}
	}
	return n, strings.Join(parts, "; ")
}

// byFlag lists counts in words: "cache hit 3, throttled 1".
func byFlag(n map[results.Flag]int) string {
	var parts []string
	for _, f := range results.Flags() {
		if n[f] > 0 && f.Disqualifies() {
			parts = append(parts, fmt.Sprintf("%s %d", words(f), n[f]))
		}
	}
	return strings.Join(parts, ", ")
}

func words(f results.Flag) string { return strings.ReplaceAll(string(f), "_", " ") }

// cacheMethods says for the methods section what is known of the servers' caches in a
// study's answers: once of models of which the same holds.
func cacheMethods(study string, accounts []*Account) []string {
	var out []string
	at := map[string]int{}
	for _, n := range cacheNotes(accounts) {
		model, says, _ := strings.Cut(n, ": ")
		says = strings.TrimSuffix(says, ".")
		if i, ok := at[says]; ok {
			out[i] = model + " and " + out[i]
			continue
		}
		at[says] = len(out)
		out = append(out, model+": "+says)
	}
	if len(out) == 0 {
		return nil
	}
	return []string{"Caches of the servers in study " + study + ": " + strings.Join(out, "; ") + "."}
}

// cacheNotes say per model what is known of the server's caches in its answers.
func cacheNotes(accounts []*Account) []string {
	var models []string
	by := map[string]*validity{}
	for _, a := range accounts {
		if by[a.Model] == nil {
			v := newValidity()
			by[a.Model] = &v
			models = append(models, a.Model)
		}
		by[a.Model].join(a.times)
	}
	var out []string
	for _, m := range models {
		out = append(out, m+": "+by[m].sentence())
	}
	return out
}

func (v validity) sentence() string {
	var parts []string
	if n := v.policies[results.PolicyCold]; n > 0 {
		parts = append(parts, "caches were to be cold")
	}
	if n := v.policies[results.PolicyWarm]; n > 0 {
		parts = append(parts, "caches were left as they were (cache: warm)")
	}
	for _, s := range []struct {
		state backends.CacheState
		is    string
	}{{backends.CacheCold, "proven cold"}, {backends.CacheUnverified, "unverified"}, {backends.CacheHit, "answered with a cache"}} {
		if n, why := v.in(s.state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", n, s.is, why))
		}
	}
	if n := v.repeated[results.FlagCacheHit]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d hits done again", n))
	}
	if n := v.policies[""]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not timed: the server may have reused a cache", n))
	}
	if v.timeless > 0 {
		parts = append(parts, fmt.Sprintf("%d without times", v.timeless))
	}
	if len(parts) == 0 {
		return "no answers."
	}
	return strings.Join(parts, ", ") + "."
}
