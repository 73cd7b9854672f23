// Package plan turns a config, its data sets and its studies into every trial
// of a run, in a seeded order.
package plan

import (
	"assay/harness/dataset"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// Plan is every trial of a run.
type Plan struct {
	Blocks  []Block
	LeftOut []LeftOut
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
	Arm       *study.Arm
	Condition perturb.Condition
}

// LeftOut says what is not planned and why.
type LeftOut struct {
	Study string `json:"study"`
	What  string `json:"what"` // "item 17", "model text-only"
	Why   string `json:"why"`
	Count int    `json:"count"` // trials
}
