// Scene is what one can ask about chest phantoms, and what is right.
// Package film draws the phantoms and reads them back; its words are this package's,
// too.
//
//  1. New draws a case, Render its radiograph.
//  2. Questions words what can be asked, with the gold answer and gold paths.
//     EachDrafts, NextType and Rarest choose, so that types, tasks and answers are asked
//     equally often (balance.go).
//  3. Understand finds in a prompt's text alone what it asks.
//  4. Solve answers a query from findings: from the truth it gives the gold
//     answer, from what a reader saw the reader's.

package phantom

// Version changes whenever the same seed, index and size would give another file
// or other words than before: with it they name a picture and its questions.
const Version = 6
