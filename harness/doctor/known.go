package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/harness/eye"
)

// knownName is what the known model is called in a server that takes it.
const knownName = "assay-known-eye"

const (
	knownWithin = 10 * time.Minute // all questions, and until somebody has started a server
	knownAgain  = 500 * time.Millisecond
)

// Known is how the known model is tried.
type Known struct {
	Judge *eye.Judge
	Evict bool                             // also where the server has other models in memory
	Dir   string                           // where its files are written, for who starts a server
	Tell  func(format string, args ...any) // says what is to be done meanwhile
}

// host is a Backend whose server takes models.
type host interface {
	backends.Teller
	backends.Unloader
	Create(ctx context.Context, name string, files map[string][]byte, template string, parameters map[string]any) error
	Delete(ctx context.Context, name string) error
}

// ExamineKnown has every server show pictures to a model of which each answer is known, and
// says what becomes of pictures on the way.
func ExamineKnown(ctx context.Context, p Patient, k Known) Diagnosis {
	d := &examination{Patient: p}
	for _, b := range d.Config.Backends {
		if ctx.Err() == nil && !b.Imported() {
			d.known(ctx, b, k)
		}
	}
	return d.out
}

func (d *examination) known(ctx context.Context, b backends.Server, k Known) {
	about := "backend " + b.Name
	if b.Phantom() || len(b.Command) > 0 {
		d.say(note, about, "is started by a run: the known model cannot be loaded into it", "")
		return
	}
	be, err := d.Backend(b.Name)
	if err != nil {
		d.say(problem, about, err.Error(), "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	teller, ok := be.(backends.Teller)
	if !ok {
		d.say(note, about, "the known model cannot be loaded into a server of kind "+b.Kind+": it has files for Ollama and for llama-server", "")
		return
	}
	for _, m := range d.Config.Models {
		if m.Backend != b.Name {
			continue
		}
		if id, err := be.Identify(ctx, m.Model); err == nil && id.Synthetic {
			d.say(note, about, "is a phantom server, which takes no models", "")
			return
		}
	}
	model := knownName
	if h, ok := be.(host); ok {
		if !d.welcome(ctx, about, h, k.Evict) {
			return
		}
		err = h.Create(ctx, knownName, eye.Files(), eye.OllamaTemplate, map[string]any{"num_ctx": 2048, "num_thread": 1, "repeat_penalty": 1})
		// Also after ctx has ended: nothing of ours is left in a server.
		defer func() {
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), identifyWithin)
			defer cancel()
			err := h.Unload(after, knownName) // to delete it alone would leave it in memory
			if err == nil || errors.Is(err, backends.ErrUnknownModel) {
				err = h.Delete(after, knownName)
			}
			if err != nil && !errors.Is(err, backends.ErrUnknownModel) {
				d.say(warning, about, "the known model could not be taken out again: "+err.Error(), "ollama rm "+knownName)
			}
		}()
	} else {
		model, err = d.startedByHand(ctx, b, be, k)
	}
	if err != nil {
		d.say(problem, about, "the known model could not be loaded: "+err.Error(), "")
		return
	}
	said, err := askAll(ctx, teller, model, k.Judge.Chart())
	if err != nil {
		d.say(problem, about, "the known model did not answer: "+err.Error(), "")
		return
	}
	d.judged(about, k.Judge.Judge(said))
}

// welcome says whether a server may be given a model: one that works for others is let alone.
func (d *examination) welcome(ctx context.Context, about string, h host, evict bool) bool {
	loaded, err := h.Loaded(ctx)
	if err != nil {
		d.say(problem, about, err.Error(), "")
		return false
	}
	loaded = slices.DeleteFunc(loaded, func(l backends.Loaded) bool { return l.Is(knownName) })
	if len(loaded) == 0 || evict {
		return true
	}
	var names []string
	for _, l := range loaded {
		names = append(names, l.Model)
	}
	d.say(problem, about, "has "+strings.Join(names, ", ")+" in memory, which the known model might push out", "wait until nobody needs it, or say --evict")
	return false
}

// startedByHand asks for a llama-server with the known model, and waits for it.
func (d *examination) startedByHand(ctx context.Context, b backends.Server, be backends.Backend, k Known) (string, error) {
	var paths []string
	for _, name := range []string{eye.TextFile, eye.ProjectorFile} {
		path := filepath.Join(k.Dir, name)
		if err := os.WriteFile(path, eye.Files()[name], 0o644); err != nil {
			return "", err
		}
		paths = append(paths, path)
	}
	if id, err := be.Identify(ctx, ""); err == nil && filepath.Base(id.Path) != eye.TextFile {
		return "", fmt.Errorf("%s serves %s already; stop it, or name another url", b.URL, id.Model)
	}
	port := b.URL[strings.LastIndex(b.URL, ":")+1:]
	k.Tell("start this where %s listens, and assay goes on:\n  llama-server -m %s --mmproj %s -c 4096 -np 1 --port %s\n", b.URL, paths[0], paths[1], port)
	for {
		id, err := be.Identify(ctx, "")
		if err == nil {
			return id.Model, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("no server with it came up at %s: %w", b.URL, err)
		case <-time.After(knownAgain):
		}
	}
}

// askAll asks the chart's questions one after the other.
func askAll(ctx context.Context, t backends.Teller, model string, chart []eye.Ask) ([]eye.Said, error) {
	var said []eye.Said
	seed := int64(1)
	for i, a := range chart {
		m := backends.Message{Role: backends.User, Text: a.Text()}
		var err error
		if m.Images, err = files(a.Images()); err != nil {
			return nil, err
		}
		l, err := t.Likely(ctx, &backends.Request{Model: model, Messages: []backends.Message{m}, Sampling: backends.Sampling{MaxTokens: eye.ChartTokens, Seed: &seed}})
		if err != nil {
			return nil, fmt.Errorf("question %d of %d: %w", i+1, len(chart), err)
		}
		said = append(said, eye.Said{Text: l.Answer, First: l.First})
	}
	return said, nil
}

// judged says what answers tell.
func (d *examination) judged(about string, v eye.Verdict) {
	asked := fmt.Sprintf("%d questions about images were asked of a model of which every answer is known", v.Cases)
	switch {
	case v.Off == 0 && math.IsNaN(v.Worst):
		d.say(fine, about, asked+"; all answers are right (the server says nothing of probabilities)", "")
	case v.Off == 0:
		d.say(fine, about, fmt.Sprintf("%s; all answers are right, log-probabilities at most %.3f off those of %s", asked, v.Worst, v.Engine), "")
	case v.Fault.Name != "":
		d.say(problem, about, fmt.Sprintf("%s; %d answers are off, as they are where %s (%s)", asked, v.Off, v.Fault.Says, v.Fault.Name), "look at what stands between assay and the server, and at its version")
	default:
		d.say(problem, about, fmt.Sprintf("%s; %d answers are off, and nothing that is known explains it", asked, v.Off), "look at what stands between assay and the server, and at its version")
	}
}
