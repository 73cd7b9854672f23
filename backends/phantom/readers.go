package phantom

import "assay/backends/phantom/reader"

// What readers are made of.
type (
	Profile  = reader.Profile
	Thinking = reader.Thinking
	Ask      = reader.Ask
	Reply    = reader.Reply
)

// The ways to think.
const (
	ThinksNot     = reader.ThinksNot
	ThinksChannel = reader.ThinksChannel
	ThinksTags    = reader.ThinksTags
)

// Profiles are the readers that every phantom server has.
func Profiles() []Profile { return reader.Profiles() }

// ProfileNames are the names of Profiles.
func ProfileNames() []string { return reader.ProfileNames() }

// Said is one step of a reader's reasoning.
type Said = reader.Said

// Films remembers what eyes found in picture files.
type Films = reader.Films
