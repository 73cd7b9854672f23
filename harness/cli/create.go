package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/wire"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/harness/plan"
	"assay/results/text"
)

// made is what a new file is about.
type made struct {
	Models []backends.Identity
	// Unasked says which models are missing, or stand there without what the server knows
	// of them, because it took too long or has too many; "": none.
	Unasked string
	Planned *experiment.Bench // what was written, read back
	plan    *plan.Plan
	all     int // models of the server
}

// How long init waits in all, about how many models it asks at most, and how many it
// writes without having asked about them.
const (
	askWithin   = 10 * time.Second
	mostAsked   = 1000
	mostUnasked = 20
)

// wrongError is something that was wanted and cannot be had.
type wrongError struct{ error }

func (e wrongError) Unwrap() error { return e.error }

func draftWrong(format string, args ...any) error { return wrongError{fmt.Errorf(format, args...)} }

// Create asks the server which models it has, and writes a file that is not there
// yet, of what known has. lib is for data whose kind is not said. What is wrong with what is
// wanted is a wrongError.
func (w wanted) Create(ctx context.Context, out string, known config.Known) (made, error) {
	var made made
	if _, err := os.Lstat(out); err == nil {
		return made, draftWrong("%s exists and is not overwritten; name another file with --out", out)
	}
	if w.Dataset == "" {
		var err error
		if w.Dataset, err = dataset.SniffMapped(w.Path, w.Columns); err != nil {
			return made, wrongError{err}
		}
	}
	for _, sw := range w.Sweeps {
		if !sweep.MatchString(sw) {
			return made, draftWrong("--sweep: expected CONDITION@PARAMETER=LEVELS, such as VB-HM-@opacity=.1,.3,.6, found %q", sw)
		}
	}
	for _, level := range w.InFlight {
		if n, err := strconv.Atoi(level); err != nil || n < 1 {
			return made, draftWrong("--in-flight: expected numbers of requests, such as 1,2,4, found %q", level)
		}
	}
	if p, err := strconv.ParseFloat(w.GPUHour, 64); w.GPUHour != "" && (err != nil || !(p >= 0) || math.IsInf(p, 0)) {
		return made, draftWrong("--gpu-hour: expected a price such as 0.40, found %q", w.GPUHour)
	}
	kind, _ := kinds.Named(w.Kind, "")
	w.URL = strings.TrimSuffix(strings.TrimRight(cmp.Or(w.URL, kind.URL), "/"), "/v1")
	if w.KeyEnv != "" && w.KeyFile != "" {
		return made, draftWrong("expected either --key-env or --key-file, found both")
	}
	// An address that cannot be read is named below.
	if _, here, err := machine.ThisMachine().At(ctx, w.URL); w.KeyEnv != "" && err == nil && here {
		return made, draftWrong("--key-env: a key from the environment is never sent to a server on this machine; put it into a file and give that with --key-file")
	}
	key, err := backends.APIKey("backend server", w.KeyEnv, w.KeyFile, os.Getenv)
	if err != nil {
		return made, wrongError{err}
	}
	for _, path := range []*string{&w.Path, &w.KeyFile} {
		if *path, err = fromFolder(out, *path); err != nil {
			return made, err
		}
	}
	if made, err = w.ask(ctx, &kind, key); err != nil {
		return made, err
	}
	w.Kind = kind.Name
	if w.Name == "" { // two files beside each other have two stores
		w.Name = nameOf(out)
	}
	written := w.Write(made.Models)
	if made.Planned, made.plan, err = w.planned(ctx, out, written, known); err != nil {
		return made, err
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return made, err
	}
	_, err = f.WriteString(written)
	if err = errors.Join(err, f.Close()); err != nil {
		return made, fmt.Errorf("write %s: %w", out, err)
	}
	return made, nil
}

// planned reads back what is to be written, and plans it: an experiment without a trial is none.
func (w wanted) planned(ctx context.Context, out, written string, known config.Known) (*experiment.Bench, *plan.Plan, error) {
	cfg, errs := config.Parse(out, []byte(written), known, onDisk{})
	if len(errs) > 0 {
		return nil, nil, draftWrong("what you asked for does not make an experiment:\n%w", errs)
	}
	b, err := experiment.Assemble(ctx, cfg)
	if err != nil {
		return nil, nil, wrongError{err}
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return nil, nil, wrongError{err}
	}
	if slices.ContainsFunc(p.Blocks, func(bl plan.Block) bool { return len(bl.Trials) > 0 }) {
		return b, p, nil
	}
	why := ""
	for i, l := range p.LeftOut {
		if i == 10 {
			why += fmt.Sprintf("\n  and %d more", len(p.LeftOut)-i)
			break
		}
		why += "\n  " + l.What + ": " + l.Why
	}
	return nil, nil, draftWrong("study %s asks none of the questions of %s:%s\nassay dataset check says what is in a data set; another study may ask its questions", w.Study, w.Path, why)
}

// sweep is how one is asked for; whether there is such a condition the file's reader says.
var sweep = regexp.MustCompile(`^[A-Za-z0-9+-]+@[a-z_]+=[0-9.]+(,[0-9.]+)+$`)

// nameOf is a name for an experiment by that of its file: what cannot be in one is -.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return r
		}
		return '-'
	}, base)
	return cmp.Or(strings.TrimLeft(name, "._-"), "bench")
}

// ask asks a server which models it has, and what it knows of those wanted, and finds out
// its kind where that is not known. It ends in time with what was found so far.
func (w wanted) ask(parent context.Context, kind *kinds.Kind, key string) (made made, err error) {
	ctx, cancel := context.WithTimeout(parent, askWithin)
	defer cancel()
	to := wire.Config{URL: w.URL, Key: key}
	var names []string
	var cut error // why there may be more models
	if w.Kind == "" {
		*kind, names, cut = kinds.FindServer(ctx, to)
	} else {
		names, cut = kind.Models(ctx, to)
	}
	if parent.Err() != nil {
		return made, context.Cause(parent)
	}
	if len(names) == 0 && cut != nil {
		if w.Kind == "" {
			return made, fmt.Errorf("no server that assay knows lists its models at %s: %w; name its kind (--backend KIND --url %s) to see why", w.URL, cut, w.URL)
		}
		return made, fmt.Errorf("ask %s for its models: %w", w.URL, cut)
	}
	be, err := kind.Connect(to)
	if err != nil {
		return made, wrongError{err}
	}
	made.all = len(names)
	for _, name := range w.Models {
		if len(names) > 0 && cut == nil && !slices.Contains(names, name) && !slices.Contains(names, name+":latest") {
			return made, draftWrong("--models: the server has no %q%s; it has %s", name, text.DidYouMean(name, names), some(names))
		}
	}
	if len(w.Models) > 0 {
		names = w.Models
	}
	if len(names) == 0 {
		var ways []string
		for _, k := range kinds.All() {
			if k.Get != "" {
				ways = append(ways, k.Get)
			}
		}
		return made, fmt.Errorf("the server at %s has no models; give it one (%s) and try again, or name those of a server that lists none (--models NAME)", w.URL, strings.Join(ways, ", "))
	}
	tooMany := cut == nil && len(names) > mostAsked
	for i, name := range names {
		id := backends.Identity{Model: name}
		if cut == nil && !tooMany {
			if id, err = be.Identify(ctx, name); err != nil && ctx.Err() == nil {
				return made, fmt.Errorf("ask %s about %s: %w", w.URL, name, err)
			}
		}
		if cut != nil || tooMany || ctx.Err() != nil {
			rest := names[i:min(i+mostUnasked, len(names))]
			for _, name := range rest {
				made.Models = append(made.Models, backends.Identity{Model: name})
			}
			made.Unasked = fmt.Sprintf("it was not asked about the last %d models in the file, and %d more are left out", len(rest), len(names)-len(made.Models))
			switch {
			case tooMany:
				made.Unasked += fmt.Sprintf(": it has %d", len(names))
			case cut != nil:
				made.Unasked += ": its list of models is cut (" + cut.Error() + ")"
			default:
				made.Unasked += fmt.Sprintf(": %v were over after %d of %d", askWithin, i, len(names))
			}
			made.Unasked += "; name those that you want with --models"
			break
		}
		made.Models = append(made.Models, id)
	}
	if parent.Err() != nil {
		return made, context.Cause(parent)
	}
	if seeing(made.Models) == 0 {
		return made, fmt.Errorf("no model at %s sees images (%s); give it a vision-language model, for llama.cpp with --mmproj", w.URL, some(names))
	}
	return made, nil
}

// some are names for an error.
func some(names []string) string {
	const most = 10
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}

// seeing is how many of the models may see pictures.
func seeing(ids []backends.Identity) int {
	n := 0
	for _, id := range ids {
		if !blind(id) {
			n++
		}
	}
	return n
}

// Share says how many of the server's models are meant, in words.
func (m made) Share() string { return share(seeing(m.Models), m.all) }

func share(some, all int) string {
	switch {
	case all == 1:
		return "the server's one model"
	case some == all:
		return fmt.Sprintf("all %d of the server's models", all)
	}
	return fmt.Sprintf("%d of the server's %d models", some, all)
}

// fromFolder is a path as it stands in a file at out: such paths count from the
// folder of the file.
func fromFolder(out, path string) (string, error) {
	if path == "" || filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := filepath.Abs(filepath.Dir(out))
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(dir, abs); err == nil {
		path = rel
	}
	return path, nil
}

// onDisk is the file system of the machine.
type onDisk struct{}

func (onDisk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (onDisk) ReadFile(path string) ([]byte, error)  { return os.ReadFile(path) }
