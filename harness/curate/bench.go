package curate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
)

// Wanted is what of a bench.yaml is looked into.
type Wanted struct {
	ContaminationSettings
	Dataset string   // "": its only one
	Models  []string // nil: all
	Limit   int      // of texts; 0: none
}

// RefusedError is something asked for that a bench.yaml does not have.
type RefusedError struct{ error }

func (e *RefusedError) Unwrap() error { return e.error }

// Report is what came of it.
type Report struct {
	About   about
	Results []contaminationResult
	Created time.Time // of the store
	// Identities of the models, by name, and why results are synthetic; none: they are not.
	Run results.Manifest
}

// Unanswered is an error where some texts have no continuation.
func (r *Report) Unanswered() error {
	n := 0
	for _, m := range r.Results {
		n += m.Failed
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d continuations are missing; the report says why, and the same command asks for them again", n)
}

// beside is a store of what else models and judges are asked, beside a run's.
func beside(store, what string) string {
	return strings.TrimSuffix(store, filepath.Ext(store)) + "-" + what + ".sqlite"
}

// StoreOf is where continuations of a run's models are kept.
func StoreOf(store string) string { return beside(store, "contamination") }

// LookForContamination asks the models of a bench.yaml to go on with the texts of one of its data sets,
// and measures what they said. What is wrong with what is wanted is a *RefusedError. A
// model whose server cannot be asked is left out, and the error says so, beside the
// report of the others; nil: there are none.
func LookForContamination(ctx context.Context, b *experiment.Bench, w Wanted, notes io.Writer) (*Report, error) {
	set, how, err := chosen(b, w)
	if err != nil {
		return nil, &RefusedError{err}
	}
	texts, without := texts(set, w.Of)
	if b.Config.Rules == results.RulesReleased { // which draw items
		for i := range texts {
			texts[i].Cluster = ""
		}
	}
	r := &Report{About: about{Dataset: set.Name, Without: without, Same: len(set.Items) - without - len(texts)}}
	if w.Limit > 0 && len(texts) > w.Limit {
		texts = texts[:w.Limit]
	}
	if r.About.Texts = len(texts); len(texts) < 2 {
		return nil, &RefusedError{fmt.Errorf("data set %s has %d texts of kind %s; two are needed at least, because each is compared with another", set.Name, len(texts), w.Of)}
	}
	path := StoreOf(b.Config.Store)
	if formerly(path) {
		return nil, &RefusedError{fmt.Errorf("%s has what models said to an earlier assay, which kept it otherwise: move it away, and they are asked anew", path)}
	}
	st, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	defer context.AfterFunc(ctx, st.MarkStopping)()
	man, ok, err := st.Manifest(ctx)
	if err == nil && !ok {
		man = results.Manifest{Name: b.Config.Name, Created: time.Now().UTC().Truncate(time.Second), Seed: b.Config.Seed}
		err = st.PutManifest(ctx, man)
	}
	if err != nil {
		return nil, err
	}
	r.Created = man.Created
	srv := servers.NewServers(experiment.Setup(b.Config))
	defer srv.Close()
	r.Run = results.Manifest{Name: b.Config.Name, Created: r.Created, Seed: b.Config.Seed, Models: map[string]backends.Identity{}}
	if set.Synthetic {
		r.Run.Synthetic = append(r.Run.Synthetic, fmt.Sprintf("dataset %s is made of phantom cases", set.Name))
	}
	var models []continuedModel
	var lost []error
	for _, name := range b.Config.Models {
		if w.Models != nil && !slices.Contains(w.Models, name.Name) {
			continue
		}
		m, err := ask(ctx, b, st, srv, name, how, w.ContaminationSettings, texts, notes)
		srv.Down(name.Backend)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, new(*results.Trouble)):
			return nil, err
		case err != nil:
			lost = append(lost, err)
			continue
		}
		r.Run.Models[name.Name] = m.Identity
		if m.Identity.Synthetic {
			r.Run.Synthetic = append(r.Run.Synthetic, fmt.Sprintf("model %s is a phantom reader", name.Name))
		}
		models = append(models, m)
	}
	if models == nil {
		return nil, errors.Join(lost...)
	}
	r.Results = measureContamination(models, w.ContaminationSettings)
	return r, errors.Join(lost...)
}

// chosen is the data set that is wanted, and how models are asked about it.
func chosen(b *experiment.Bench, w Wanted) (*dataset.Dataset, config.Study, error) {
	for _, name := range w.Models {
		if !slices.ContainsFunc(b.Config.Models, func(m backends.Model) bool { return m.Name == name }) {
			return nil, config.Study{}, fmt.Errorf("%s has no model %q", b.Config.File, name)
		}
	}
	var names []string
	for _, s := range b.Config.Studies {
		if !slices.Contains(names, s.Dataset) {
			names = append(names, s.Dataset)
		}
	}
	name := w.Dataset
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	for _, s := range b.Config.Studies {
		if s.Dataset == name {
			return b.Sets[name], s, nil
		}
	}
	if name == "" {
		return nil, config.Study{}, fmt.Errorf("%s has the data sets %s: say which with --dataset", b.Config.File, strings.Join(names, ", "))
	}
	return nil, config.Study{}, fmt.Errorf("%s has no study of a data set %q; there are %s", b.Config.File, name, strings.Join(names, ", "))
}

// ask has one model asked.
func ask(ctx context.Context, b *experiment.Bench, st *store.Store, srv *servers.Servers, model backends.Model, how config.Study, set ContaminationSettings, texts []sourceText, notes io.Writer) (continuedModel, error) {
	end, err := experiment.Connect(b.Config, model.Name, srv)
	if err != nil {
		return continuedModel{}, err
	}
	plain := end.Backend
	if m, ok := plain.(*servers.Backend); ok {
		plain = m.Backend
	}
	return continueTexts(ctx, st, asked{Name: model.Name, End: end, Plain: plain, InFlight: max(1, how.InFlight), Timeouts: how.Timeouts, Retries: how.Retries,
		Seed: b.Config.Seed, Notes: notes}, set, texts)
}

// formerly says whether an earlier assay made the file, in tables of its own, which one that was
// killed may have left beside it.
func formerly(path string) bool {
	for _, name := range []string{path, path + "-wal"} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		head := make([]byte, 1<<16)
		n, _ := io.ReadFull(f, head)
		f.Close()
		if bytes.Contains(head[:n], []byte("CREATE TABLE continuation")) {
			return true
		}
	}
	return false
}
