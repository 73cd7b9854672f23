// Package agree says how well judges agree with people who rated the same answers.
//
//  1. Package rated joins ratings with the answers and judgments of a store, and puts
//     rated answers into two parts, once and for all.
//  2. measure.go computes: consensus, tau-b, kappa, alpha, AC1, each with intervals.
//  3. Package gate says which judges may be used, and selects one.
//  4. draw.go draws answers to be rated; correct.go corrects judged means by labels of
//     such answers.
//  5. tables.go lays it out.
package agree

import "assay/harness/agree/rated"

// data is what is known of one study's rated answers.
type data struct{ *rated.Data }

// RefusedError says why something is not done that was asked for.
type RefusedError = rated.RefusedError
