// Package scene is what one can ask about chest phantoms, and what is right.
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
package scene

import "assay/harness/dataset/phantom/film"

// Version changes whenever the same seed, index and size would give another file
// or other words than before: with it they name a picture and its questions.
const Version = 6

// What films hold.
type (
	Scene    = film.Scene
	Site     = film.Site
	Reading  = film.Reading
	Findings = film.Findings
	Box      = film.Box
)

// New draws case number index of a seed.
func New(seed uint64, index int) Scene { return film.New(seed, index) }

// The sites and grades of package film.
const (
	EffusionRight    = film.EffusionRight
	EffusionLeft     = film.EffusionLeft
	OpacityRight     = film.OpacityRight
	OpacityLeft      = film.OpacityLeft
	AtelectasisRight = film.AtelectasisRight
	AtelectasisLeft  = film.AtelectasisLeft
	Heart            = film.Heart
	Congestion       = film.Congestion
	VenousCatheter   = film.VenousCatheter
	GastricTube      = film.GastricTube
	ChestTubeRight   = film.ChestTubeRight
	ChestTubeLeft    = film.ChestTubeLeft
	Pacemaker        = film.Pacemaker
	Exposure         = film.Exposure
	NumSites         = film.NumSites

	None       = film.None
	Mild       = film.Mild
	Moderate   = film.Moderate
	Severe     = film.Severe
	Borderline = film.Borderline
	Absent     = film.Absent
	Misplaced  = film.Misplaced
)
