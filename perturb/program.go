package perturb

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// FamilyOwn begins the names of conditions whose op is a program of the user's: "OWN-mine".
const FamilyOwn = "OWN-"

// Program is an op of the user's own: a command that reads a PNG on standard input and writes
// one to standard output. This package says what it is given; package render runs it.
type Program struct {
	Path    string        // of what is run, absolute
	Command []string      // the program and its arguments, as bench.yaml has them
	Dir     string        // it runs there
	Limit   time.Duration // of one call
	Params  []Param
	Digest  string // of Command and the files that it names: with another one it is another program
}

// String tells programs apart.
func (p *Program) String() string {
	if p == nil {
		return ""
	}
	return p.Digest
}

// Own is the condition of a program of the user's.
func Own(name string, p *Program) Condition {
	return Condition{Name: FamilyOwn + name, Family: FamilyOwn + name, Kind: KindControl, Program: p.Digest, Ops: []Op{{Name: name, Program: p}},
		Does: "the picture is changed by a program of your own"}
}

// ByProgram is the op of the user's that changes what was loaded; false: there is none.
func (c Condition) ByProgram() (Op, bool) {
	last := len(c.Ops) - 1
	if last < 0 || c.Ops[last].Program == nil {
		return Op{}, false
	}
	return c.Ops[last], true
}

// Flags are what the program of an op is given beside a picture of w x h pixels: its parameters,
// a seed from 0 to 2^31-1, and regions, half-open.
//
//	--strength 0.5 --seed 7 --region 10,20,60,80
func (o Op) Flags(w, h int, seed uint64) (out []string) {
	for _, p := range o.Program.Params {
		out = append(out, "--"+p.Name, strconv.FormatFloat(o.value(p.Name), 'g', -1, 64))
	}
	out = append(out, "--seed", strconv.FormatUint(seed>>33, 10))
	for _, r := range o.Regions {
		at := r.Pixels(w, h)
		out = append(out, "--region", fmt.Sprintf("%d,%d,%d,%d", at.Min.X, at.Min.Y, at.Max.X, at.Max.Y))
	}
	return out
}

// spec is what is known of the op: of the table, or of its program.
func (o Op) spec() (Spec, bool) {
	if o.Program == nil {
		return SpecOf(o.Name)
	}
	return Spec{Name: o.Name, Params: slices.Clone(o.Program.Params)}, true
}
