package viewer

import (
	"bytes"
	"html/template"
	"image"
	"image/jpeg"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/image/draw"

	"assay/results"
)

type itemPage struct {
	head
	Item       string
	Question   string
	Gold       string
	Options    []string
	Columns    []itemColumn
	Rows       []itemRow
	N          string
	Cut        string // not "": there are more trials than are shown
	Prev, Next template.URL
	All        template.URL
}

// itemColumn is an arm under a condition.
type itemColumn struct {
	Arm, Condition string
	Repeat         int
}

type itemRow struct {
	Model string
	Cells []itemCell
}

type itemCell struct {
	There   bool
	Link    template.URL
	Thumb   template.URL
	Answer  string
	Tick    string
	Failure string
	Flags   string
}

// mostCells of an item are shown: each is read whole.
const mostCells = 400

func (v *viewer) item(w http.ResponseWriter, req *http.Request, r *Run) error {
	ctx, q := req.Context(), req.URL.Query()
	study, id := q.Get("study"), q.Get("item")
	t, s, err := r.selected(view{Study: study, Query: query{Where: []Filter{{Column: KeyItem, Op: Is, Values: []string{id}}}}})
	if err != nil {
		return err
	}
	n, err := s.Len()
	if err != nil {
		return err
	}
	if n == 0 {
		return missing("no trial of an item %q is indexed", id)
	}
	h, err := r.head(ctx, "Item "+id, study)
	if err != nil {
		return err
	}
	page := itemPage{head: h, Item: id, N: results.Count(n, "trial", "trials"), All: r.Link("trials", url.Values{"study": {study}, "is.item": {id}})}
	trials, err := s.Page(0, mostCells)
	if err != nil {
		return err
	}
	if n > mostCells {
		page.Cut = "Only the first " + strconv.Itoa(mostCells) + " are shown here."
	}
	cells := map[string]map[itemColumn]itemCell{}
	drawn := map[results.Digest]template.URL{} // trials with the same inputs were sent the same pictures
	var sample *results.Trial
	for _, x := range trials {
		k := x.Key
		c := itemColumn{k.Arm, k.Condition, k.Repeat}
		if !slices.Contains(page.Columns, c) {
			page.Columns = append(page.Columns, c)
		}
		if cells[k.Model] == nil {
			cells[k.Model] = map[itemColumn]itemCell{}
			page.Rows = append(page.Rows, itemRow{Model: k.Model})
		}
		tr, ok, err := r.Store.Trial(ctx, k)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if sample == nil {
			sample = &tr
		}
		cells[k.Model][c] = r.cell(x, tr, drawn)
	}
	slices.SortStableFunc(page.Columns, func(a, b itemColumn) int { // the baseline first
		switch {
		case a.Arm != b.Arm || (a.Condition == baseline) == (b.Condition == baseline):
			return 0
		case a.Condition == baseline:
			return -1
		}
		return 1
	})
	for i := range page.Rows {
		for _, c := range page.Columns {
			page.Rows[i].Cells = append(page.Rows[i].Cells, cells[page.Rows[i].Model][c])
		}
	}
	if sample != nil {
		known := r.sent(ctx, *sample)
		page.Question, page.Gold, page.Options = known.Question, known.Gold, known.Options
	}
	if page.Prev, page.Next, err = r.besideItem(t, id); err != nil {
		return err
	}
	v.page(w, http.StatusOK, "item.html", page)
	return nil
}

func (r *Run) cell(x Trial, tr results.Trial, drawn map[results.Digest]template.URL) itemCell {
	q := addressKey(tr.Key)
	c := itemCell{There: true, Link: r.Link("trial", q), Thumb: drawn[tr.Inputs]}
	if c.Thumb == "" {
		c.Thumb = r.Link("thumb", q)
		if tr.Inputs != "" {
			drawn[tr.Inputs] = c.Thumb
		}
	}
	last, ok := tr.Last()
	switch {
	case ok && last.Failure != nil:
		c.Failure = last.Failure.Kind
	case ok && last.Output != nil:
		c.Answer = short(last.Output.Answer)
	}
	if v := x.Cell(r.Right); v.Kind == Number && (v.Number == 0 || v.Number == 1) {
		c.Tick = map[bool]string{true: "right", false: "wrong"}[v.Number == 1]
	}
	c.Flags = x.Cell("flags").Text
	return c
}

// besideItem are the pages of the items before and after one.
func (r *Run) besideItem(t *Table, id string) (prev, next template.URL, err error) {
	before, after, err := t.besideItem(id)
	link := func(item string) template.URL {
		if item == "" {
			return ""
		}
		return r.Link("item", url.Values{"study": {t.Study}, "item": {item}})
	}
	return link(before), link(after), err
}

// thumbSide is the longest side of a small picture.
const thumbSide = 160

// thumb answers with a small copy of the first picture that a trial was sent.
func (v *viewer) thumb(w http.ResponseWriter, req *http.Request, r *Run) error {
	q := req.URL.Query()
	q.Set("n", "1")
	req.URL.RawQuery = q.Encode()
	p, err := r.pictureOf(req)
	if err != nil {
		return plain(w, err)
	}
	b, err := small(p)
	if err != nil {
		return plain(w, missing("the picture cannot be decoded here: %v", err))
	}
	w.Header().Set("Content-Type", "image/jpeg")
	w.Header().Set("Cache-Control", "private, max-age=600")
	_, _ = w.Write(b)
	return nil
}

func small(p Picture) ([]byte, error) {
	img, _, err := image.Decode(bytes.NewReader(p.Bytes))
	if err != nil {
		return nil, err
	}
	side := img.Bounds()
	scale := min(1, float64(thumbSide)/float64(max(side.Dx(), side.Dy())))
	to := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(side.Dx())*scale)), max(1, int(float64(side.Dy())*scale))))
	draw.ApproxBiLinear.Scale(to, to.Bounds(), img, side, draw.Src, nil)
	var b bytes.Buffer
	err = jpeg.Encode(&b, to, &jpeg.Options{Quality: 85})
	return b.Bytes(), err
}
