package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/results"
	"assay/results/store"
)

// Beside is what a trial's row has that no store holds.
type Beside struct {
	Questions questions
	Images    *Images // nil: no column of them
}

// question is what an item asks.
type question struct{ Text, Options, Gold string }

// questions are what was asked, by study and item; nil: not known.
type questions map[string]map[string]question

// QuestionsOf are those of a store's items, from those of the data sets of a bench.yaml whose
// content is that which was asked about; why says of which studies it is not, or gives no data.
func QuestionsOf(cfg *config.Config, sets map[string]*dataset.Dataset, man results.Manifest) (q questions, why error) {
	q = questions{}
	var errs []error
	for _, sc := range cfg.Studies {
		set := sets[sc.Dataset]
		if !slices.ContainsFunc(man.Datasets, func(d results.DatasetInfo) bool {
			return d.Name == sc.Dataset && d.Digest == results.Digest(set.Digest) && man.Study(sc.Name).Dataset == d.Name
		}) {
			errs = append(errs, fmt.Errorf("study %s: the data set %s of %s is not the one that was asked about", sc.Name, sc.Dataset, cfg.File))
			continue
		}
		of := map[string]question{}
		for _, it := range set.Items {
			var options []string
			for _, o := range it.Options {
				if o.Label != "" {
					o.Text = o.Label + ". " + o.Text
				}
				options = append(options, o.Text)
			}
			of[it.ID] = question{it.Question, strings.Join(options, "\n"), it.Gold()}
		}
		q[sc.Name] = of
	}
	return q, errors.Join(errs...)
}

func questionColumns() []results.FileColumn {
	const from = ", from the data set of bench.yaml; nothing where that is not at hand or has changed"
	return []results.FileColumn{text("question", "as the data set words it"+from), text("options", "one a line"+from), text("gold", "the right answer as the data set has it"+from)}
}

func (q questions) row(row []any, k results.Key) []any {
	of := q[k.Study][k.Item]
	return append(row, some(of.Text), some(of.Options), some(of.Gold))
}

// Images writes the pictures that trials were sent, each once.
type Images struct {
	Dir string // exists
	// Of makes a trial's pictures again; the text is why it cannot.
	Of func(context.Context, results.Trial) (list []backends.Image, lacks string, err error)

	saved map[string]bool
}

func imagesColumn() results.FileColumn {
	return prose("images", "files of the images as they were sent, in order, separated by spaces; an image that several trials share is one file")
}

// save writes the pictures of a trial that no trial before it was sent, and returns
// the names of all.
func (g *Images) save(ctx context.Context, st *store.Store, k results.Key) (names, lacks string, err error) {
	t, ok, err := st.Trial(ctx, k)
	if err != nil || !ok {
		return "", "", err
	}
	list, lacks, err := g.Of(ctx, t)
	if err != nil || lacks != "" {
		return "", lacks, err
	}
	if g.saved == nil {
		g.saved = map[string]bool{}
	}
	var all []string
	for _, img := range list {
		sum := sha256.Sum256(img.Bytes)
		name := hex.EncodeToString(sum[:12]) + extension(img.MIME)
		if all = append(all, name); g.saved[name] {
			continue
		}
		if err := os.WriteFile(filepath.Join(g.Dir, name), img.Bytes, 0o600); err != nil {
			return "", "", err
		}
		g.saved[name] = true
	}
	return strings.Join(all, " "), "", nil
}

func extension(mime string) string {
	switch mime {
	case "image/jpeg":
		return ".jpg"
	case "image/webp":
		return ".webp"
	}
	return ".png"
}
