// Package plan turns what is asked for into every trial of a run, in a seeded
// order.
//
//  1. A Request names the models and, per study, its protocol, its data set and
//     what of them is wanted. A Filter narrows it for one invocation.
//  2. Items are selected per question type by a seeded draw.
//  3. Items stand in one seeded order, which is the same for every model, so
//     that blocks are comparable. Each repeat has its own order and comes after
//     the whole of the one before, so that no prompt follows itself.
//  4. Inside an item, arms and conditions interleave in a seeded, balanced
//     order, and a trial stands after those it needs.
//  5. Compare says what a store has of it. Of each trial it keeps a byte, so that a
//     million of them can be compared.
//
// Every draw is the rank of a hash of the seed and the names involved. So a
// larger selection contains the smaller one, a limit is the beginning of the
// whole run, and adding a model or an item moves nothing else.
package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/render"
	"assay/perturb"
	"assay/results"
)

// Request is what is to be planned.
type Request struct {
	Seed    uint64
	Models  []string // names in bench.yaml, in the order of their blocks
	Studies []Study  // in the order they run inside a block
}

// Study is what of one study is wanted, and of which items: Models are of
// Request.Models, Arms of Protocol.Arms.
type Study struct {
	config.Study
	Protocol render.Protocol
	Set      *dataset.Dataset
}

// Filter narrows a plan for one invocation. The zero Filter narrows nothing.
type Filter struct {
	Limit   int      // the first items of each study's order; 0: all
	Shard   Shard    // of those items
	Models  []string // empty: all
	Studies []string // empty: all
}

// Shard is one of equal parts of a plan: neighbouring items of each study's order, with
// all their trials, so that no trial needs one of another part. The zero Shard is all.
type Shard struct{ Part, Of int } // Part from 1

// ParseShard reads PART/OF.
func ParseShard(s string) (Shard, error) {
	var sh Shard
	part, of, ok := strings.Cut(s, "/")
	var err1, err2 error
	sh.Part, err1 = strconv.Atoi(part)
	sh.Of, err2 = strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || sh.Of < 1 || sh.Part < 1 || sh.Part > sh.Of {
		return Shard{}, fmt.Errorf("expected PART/OF, as 2/8, the second of eight parts, found %q", s)
	}
	return sh, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Part, s.Of) }

// Store is where a shard's results go, given the store of the whole.
func (s Shard) Store(path string) string {
	if s.Of == 0 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%dof%d%s", strings.TrimSuffix(path, ext), s.Part, s.Of, ext)
}

// of are the ranks of n items that belong to the shard.
func (s Shard) of(n int) (from, to int) {
	if s.Of == 0 {
		return 0, n
	}
	return (s.Part - 1) * n / s.Of, s.Part * n / s.Of
}

// Plan is every trial of a run.
type Plan struct {
	Studies []Selection // in the order of the request
	Blocks  []Block     // in the order of the request's models; never empty ones
	LeftOut []LeftOut
	// Narrowed says that a Filter left a part of the request out.
	Narrowed bool
}

// Trial is a planned one; false: it is not planned.
func (p *Plan) Trial(k results.Key) (Trial, bool) {
	for _, b := range p.Blocks {
		if b.Model != k.Model {
			continue
		}
		if i := slices.IndexFunc(b.Trials, func(t Trial) bool { return t.Key == k }); i >= 0 {
			return b.Trials[i], true
		}
	}
	return Trial{}, false
}

// Split is the plan without the models that are so, and their blocks.
func (p *Plan) Split(so func(model string) bool) (*Plan, []Block) {
	rest := *p
	rest.Blocks = nil
	var apart []Block
	for _, b := range p.Blocks {
		if so(b.Model) {
			apart = append(apart, b)
		} else {
			rest.Blocks = append(rest.Blocks, b)
		}
	}
	return &rest, apart
}

// Selection is what of a study is planned.
type Selection struct {
	Study      string
	Items      []*dataset.Item // in the data set's order
	Known      []*dataset.Item // those of all shards, in that order: stores of them are to be alike
	Arms       []string        // in the order of the request
	Conditions []string        // in the study's order, the baseline first
}

// Block is the trials of one model, in the order they run. Arms of the same
// item stand next to each other in a seeded order; a trial stands after those it needs.
type Block struct {
	Model  string
	Trials []Trial
}

// Trial is one answer to be had.
type Trial struct {
	Key       results.Key
	Item      *dataset.Item
	Arm       *render.Arm
	Condition *perturb.Condition // shared by the models and repeats of an item
}

// InFlight is how many requests are to be on the wire together, in a sweep of that; 0:
// as the study's settings say.
func (t Trial) InFlight() int { return t.Condition.InFlight() }

// Needs are the trials whose answers enter its prompt.
func (t Trial) Needs() []results.Key {
	var keys []results.Key
	arms, _ := t.Arm.NeedsUnder(t.Item, t.Condition)
	for _, arm := range arms {
		k := t.Key
		k.Arm, k.Condition = arm, perturb.Baseline().Name
		keys = append(keys, k)
	}
	return keys
}

// LeftOut says what is not planned and why.
type LeftOut struct {
	Study  string `json:"study"`
	What   string `json:"what"` // "images.xlsx:17", "arm direct", "model blind"
	Why    string `json:"why"`
	Trials *int   `json:"trials"` // nil: not known, as for a file that could not be read
	// Unlisted: bench.yaml does not ask for it. Trials are those that it would add.
	Unlisted bool `json:"unlisted,omitempty"`
}
