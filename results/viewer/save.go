package viewer

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"assay/results"
)

// mostSaved trials go into one file: each brings its pictures.
const mostSaved = 100

type savePage struct {
	head
	Trials []trialView
	Of     int
	Made   string
}

// save answers with a file that needs nothing else: one trial, or those of a view. It
// has no script, and asks nobody for anything.
func (v *viewer) save(w http.ResponseWriter, req *http.Request, r *Run) error {
	ctx, q := req.Context(), req.URL.Query()
	var keys []results.Key
	page := savePage{}
	name := "trial"
	if q.Has("item") {
		k, err := keyOf(q)
		if err != nil {
			return wrong(err)
		}
		keys, page.Of = []results.Key{k}, 1
	} else {
		asked, err := parseView(q)
		if err != nil {
			return wrong(err)
		}
		_, s, err := r.selected(asked)
		if err != nil {
			return err
		}
		trials, err := s.Page(0, mostSaved)
		if err != nil {
			return err
		}
		for _, x := range trials {
			keys = append(keys, x.Key)
		}
		if page.Of, err = s.Len(); err != nil {
			return err
		}
		name = "trials"
	}
	for _, k := range keys {
		t, err := v.whole(ctx, r, k, true)
		if err != nil {
			return err
		}
		page.Trials = append(page.Trials, t)
	}
	h, err := r.head(ctx, r.Name, "")
	if err != nil {
		return err
	}
	page.head, page.Made = h, v.now().UTC().Format("2006-01-02 15:04")+" UTC"
	css, err := savedStyle()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(css)
	page.Saved, page.Style = true, template.CSS(css)
	page.Policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'"
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="assay-%s.html"`, name))
	v.page(w, http.StatusOK, "save.html", page)
	return nil
}

// savedStyle is the look of the pages, as one text.
func savedStyle() ([]byte, error) {
	shared, err := style()
	if err != nil {
		return nil, err
	}
	own, err := staticFiles.ReadFile("static/viewer.css")
	return bytes.Join([][]byte{shared, own}, []byte("\n")), err
}

// dataURL is a picture inside a page.
func dataURL(p Picture) template.URL {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/gif"}, p.MIME) {
		return ""
	}
	return template.URL("data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Bytes))
}
