// Package check puts assay itself to the test: it measures what it was built to
// know, and compares.
//
//  1. Instrument runs phantom readers and judges through the whole pipeline.
//     Where nothing is sampled, scores have to equal the ledger; elsewhere their
//     intervals have to hold what the profiles say.
//  2. Coverage draws many stores from known distributions and counts how often
//     the intervals hold the truth.
//
// No truth comes from the code under test: the ledger is the reader's own, and
// what a distribution gives is derived by hand or by adding up all cases.
package check
