package backends

import (
	"context"
	"slices"
)

// Unloader is a Backend whose server loads models when they are asked for, and says
// which ones it has in memory.
type Unloader interface {
	Loaded(ctx context.Context) ([]Loaded, error)
	// Unload has a model leave the memory, and returns when it has.
	Unload(ctx context.Context, model string) error
}

// Loaded is a model in a server's memory.
type Loaded struct {
	Model     string   // as the server names it
	Names     []string // by which requests may call it
	Bytes     int64    // in all
	BytesVRAM int64    // on the GPU; fewer than Bytes: part of it runs on the CPU
	Context   *int     // tokens it was loaded with; nil: the server does not say
	Stop      string   // the command that takes it out
}

// Is says whether it is the model that requests call so.
func (l Loaded) Is(model string) bool { return slices.Contains(l.Names, model) }

// Level is how much an Advice matters.
type Level string

const (
	Fine    Level = "ok"
	Note    Level = "note"
	Warning Level = "warning" // times or energies may suffer
	Problem Level = "problem" // a run cannot do what bench.yaml wants
)

// Advice is one thing to know about a server before it is timed.
type Advice struct {
	Level Level
	Text  string
	Do    string // what to change; "": nothing
	Flag  string // that change as a flag or option, where it is one
}

// Checkup is what was seen of a server and one of its models.
type Checkup struct {
	Backend  string // its name in bench.yaml
	Model    string // the server's own name
	Identity Identity
	Options  map[string]any
	Asked    bool     // the model has just answered requests
	Loaded   []Loaded // nil: the server does not say
	Missing  []string // flags without which replies lacked something
}
