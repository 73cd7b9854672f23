package viewer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"image"
	_ "image/jpeg" // pictures that were sent
	_ "image/png"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "golang.org/x/image/webp"

	"assay/results"
	"assay/results/report"
	"assay/results/text"
)

// baseline is the condition that changes nothing.
const baseline = "baseline"

type trialPage struct {
	head
	Trial      trialView
	Prev, Next template.URL
	Place, Up  template.URL
	PlaceText  string
}

// trialView is one trial, whole.
type trialView struct {
	Key       results.Key
	Name      string
	Saved     bool
	Item      template.URL
	Save      template.URL
	Question  string
	Options   []string
	Gold      string
	Answer    string // in short; "": none was found
	Before    string // the baseline's
	Twin      template.URL
	TwinSaid  string // what there is to compare with
	Target    string
	Tick      string // "right", "wrong" or ""
	Failure   *results.Failure
	Flags     []string
	Cache     string
	Pictures  string // JSON for picture.js; "": none
	Images    []pictureView
	NoPicture string
	Prompts   []promptView
	Reasoning []report.Span
	Text      []report.Span
	Verdicts  []verdictView
	Timeline  []*timeline
	Ran       results.Hardware
	Scores    []scoreView
	Attempts  []attemptView
}

type pictureView struct {
	URL           template.URL
	Alt           string
	Width, Height int
}

type promptView struct {
	Turn  int
	Parts []text.Part
	Diff  bool // parts say what the condition changed
	Nonce string
	Curl  string
	Body  template.URL
}

type verdictView struct {
	Number                int
	Rubric, Judge, Status string
	Fields                []results.Field
	Detail, Raw           string
	Reply                 template.URL
}

type scoreView struct {
	Name, Value, Why, Help string
}

type attemptView struct {
	Number           int
	Started, Outcome string
	Flags            []string
	Message          string
}

func (v *viewer) trial(w http.ResponseWriter, req *http.Request, r *Run) error {
	ctx, q := req.Context(), req.URL.Query()
	k, err := keyOf(q)
	if err != nil {
		return wrong(err)
	}
	h, err := r.head(ctx, k.Name(), k.Study)
	if err != nil {
		return err
	}
	h.Pictures = true
	page := trialPage{head: h}
	if page.Trial, err = v.whole(ctx, r, k, false); err != nil {
		return err
	}
	at, _ := strconv.Atoi(q.Get("at"))
	if page.Prev, page.Next, page.PlaceText, err = r.neighbours(k, q.Get("in"), at); err != nil {
		return err
	}
	page.Up = r.Trials(k.Study)
	if in, err := url.ParseQuery(q.Get("in")); err == nil && len(in) > 0 {
		page.Up = r.Link("trials", in)
	}
	v.page(w, http.StatusOK, "trial.html", page)
	return nil
}

// whole gathers what is shown of a trial; saved: for a file of its own.
func (v *viewer) whole(ctx context.Context, r *Run, k results.Key, saved bool) (trialView, error) {
	t, ok, err := r.Store.Trial(ctx, k)
	if err != nil {
		return trialView{}, err
	}
	if !ok {
		return trialView{}, missing("no trial %s is stored", k.Name())
	}
	out := trialView{Key: k, Name: text.Visible(k.Name()), Saved: saved, Save: r.Link("save", addressKey(k)), Item: r.Link("item", url.Values{"study": {k.Study}, "item": {k.Item}})}
	said, err := r.Store.JudgmentsOf(ctx, k)
	if err != nil {
		return out, err
	}
	last, _ := t.Last()
	out.Failure = last.Failure
	for _, f := range last.Flags {
		out.Flags = append(out.Flags, words(string(f)))
	}
	if c := last.Cache; c != nil && c.State != "" {
		out.Cache = words(string(c.State))
		if c.Field != "" {
			out.Cache += fmt.Sprintf(" (%s: %s)", c.Field, c.Value)
		}
		if c.Reason != "" {
			out.Cache += ": " + c.Reason
		}
	}
	sent := r.sent(ctx, t)
	var twin *results.Trial
	var before *Sent
	if k.Condition != baseline {
		bk := k
		bk.Condition = baseline
		if b, ok, err := r.Store.Trial(ctx, bk); err != nil {
			return out, err
		} else if ok {
			twin, before = &b, r.sent(ctx, b)
			out.Twin = r.Link("trial", addressKey(bk))
		}
	}
	out.Question, out.Gold, out.Options, out.Target = sent.Question, sent.Gold, sent.Options, sent.Target
	for _, s := range said { // what judges were shown names the question, where the data set is not at hand
		var f struct{ Question, Gold string }
		if json.Unmarshal(s.Fields, &f) == nil {
			if out.Question == "" {
				out.Question = f.Question
			}
			if out.Gold == "" {
				out.Gold = f.Gold
			}
		}
	}
	if last.Output != nil {
		out.Answer = short(last.Output.Answer)
	}
	if twin != nil {
		if b, ok := twin.Last(); ok && b.Output != nil {
			out.Before = short(b.Output.Answer)
		} else {
			out.TwinSaid = "The baseline has no answer."
		}
	} else if k.Condition != baseline {
		out.TwinSaid = "No baseline of this trial is stored."
	}
	if err := r.scores(k, &out); err != nil {
		return out, err
	}
	r.pictures(&out, sent, before, saved)
	prompts(r, &out, sent, before, saved)
	r.verdicts(&out, said, last, saved)
	for i, a := range t.Attempts {
		av := attemptView{Number: i + 1, Started: a.Started.Format(time.RFC3339), Outcome: "answered"}
		for _, f := range a.Flags {
			av.Flags = append(av.Flags, words(string(f)))
		}
		if a.Failure != nil {
			av.Outcome, av.Message = "failed: "+a.Failure.Kind, a.Failure.Message
		}
		out.Attempts = append(out.Attempts, av)
	}
	if out.Ran, err = hardware(ctx, r.Store, last.Session, k.Model); err != nil {
		return out, err
	}
	out.Timeline, err = timelines(ctx, r.Store, last)
	return out, err
}

// sent is what was sent for a trial, or why that is not known.
func (r *Run) sent(ctx context.Context, t results.Trial) *Sent {
	s, err := r.Sent.Of(ctx, t)
	if err != nil {
		return &Sent{Why: err.Error()}
	}
	return s
}

// short is an answer in one line.
func short(answer string) string {
	const most = 160
	s := text.Said(answer)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return text.Visible(s)
}

func (r *Run) scores(k results.Key, out *trialView) error {
	t, _ := r.table(k.Study)
	if t == nil {
		return nil
	}
	x, ok, err := t.Find(k)
	if err != nil || !ok {
		return err
	}
	for _, c := range t.Columns[len(KeyColumns()):] {
		s := scoreView{Name: title(c), Help: c.Help}
		switch v := x.Cell(c.Name); v.Kind {
		case Number:
			s.Value = graphNumber(v.Number)
			if c.Name == r.Right && (v.Number == 0 || v.Number == 1) {
				out.Tick = map[bool]string{true: "right", false: "wrong"}[v.Number == 1]
			}
		case Text:
			s.Value = text.Visible(v.Text)
		case Lacking:
			s.Why = text.Visible(v.Text)
		case absent:
			continue
		}
		out.Scores = append(out.Scores, s)
	}
	return nil
}

// pictures are those of a trial, each beside the baseline's.
func (r *Run) pictures(out *trialView, sent, before *Sent, saved bool) {
	if sent.Why != "" {
		out.NoPicture = "The images and the prompt are not shown: " + text.Visible(strings.TrimSuffix(sent.Why, ".")) + "."
		return
	}
	if len(sent.Pictures) == 0 {
		out.NoPicture = "No image was sent."
		return
	}
	type shown struct {
		Name   string `json:"name"`
		URL    string `json:"url"`
		Beside string `json:"beside,omitempty"`
	}
	var list []shown
	for i, p := range sent.Pictures {
		q := addressKey(out.Key)
		q.Set("n", strconv.Itoa(i+1))
		s := shown{Name: fmt.Sprintf("picture %d", i+1), URL: string(r.Link("raw", q))}
		pv := pictureView{URL: r.Link("picture", q), Alt: fmt.Sprintf("Image %d of %s as it was sent", i+1, out.Name), Width: p.Width, Height: p.Height}
		if saved {
			pv.URL = dataURL(p)
		}
		out.Images = append(out.Images, pv)
		if before != nil && i < len(before.Pictures) && !bytes.Equal(before.Pictures[i].Bytes, p.Bytes) {
			bq := addressKey(out.Key)
			bq.Set("condition", baseline)
			bq.Set("n", strconv.Itoa(i+1))
			s.Beside = string(r.Link("raw", bq))
			if saved {
				out.Images = append(out.Images, pictureView{URL: dataURL(before.Pictures[i]), Alt: fmt.Sprintf("Image %d of the baseline as it was sent", i+1), Width: before.Pictures[i].Width, Height: before.Pictures[i].Height})
			}
		}
		list = append(list, s)
	}
	if before != nil && before.Why == "" && !slices.ContainsFunc(list, func(s shown) bool { return s.Beside != "" }) {
		out.NoPicture = "The baseline was shown the same image."
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic("viewer: internal error: " + err.Error())
	}
	out.Pictures = string(b)
}

// prompts are what was said, with what the condition added or took away.
func prompts(r *Run, out *trialView, sent, before *Sent, saved bool) {
	for i, t := range sent.Turns {
		p := promptView{Turn: i + 1, Nonce: t.Nonce, Curl: t.Curl}
		if !saved {
			q := addressKey(out.Key)
			q.Set("turn", strconv.Itoa(i+1))
			p.Body = r.Link("body", q)
		}
		if before != nil && i < len(before.Turns) {
			p.Parts, p.Diff = text.Changes(before.Turns[i].Prompt, t.Prompt), true
		} else {
			p.Parts = []text.Part{{Text: t.Prompt}}
		}
		for j := range p.Parts {
			p.Parts[j].Text = text.VisibleLines(p.Parts[j].Text)
		}
		out.Prompts = append(out.Prompts, p)
	}
}

// verdicts are those of all judges, and the texts with what they quote.
func (r *Run) verdicts(out *trialView, said []results.Said, last results.Attempt, saved bool) {
	var quoted []report.Quoted
	for i, s := range said {
		read := r.Read(out.Key.Study, s.Judgment)
		vv := verdictView{Number: i + 1, Rubric: text.Visible(s.Rubric), Judge: text.Visible(s.Judge), Status: string(s.Status), Detail: text.Visible(s.Detail), Raw: text.VisibleLines(string(s.Verdict))}
		for _, f := range read.Fields {
			if f.Text != "" {
				vv.Fields = append(vv.Fields, results.Field{Name: text.Visible(f.Name), Text: text.Visible(f.Text), Decides: f.Decides})
			}
		}
		for _, q := range read.Quotes {
			if q.Text != "" {
				quoted = append(quoted, report.Quoted{Quote: q, Judge: i})
			}
		}
		if !saved {
			q := addressKey(out.Key)
			q.Set("rubric", s.Rubric)
			q.Set("judge", s.Judge)
			vv.Reply = r.Link("reply", q)
		}
		out.Verdicts = append(out.Verdicts, vv)
	}
	if last.Output != nil {
		out.Reasoning, out.Text = report.Marked(last.Output.Reasoning, quoted), report.Marked(last.Output.Answer, quoted)
	}
}

// pictureOf is the picture that an address names, and whether it is there.
func (r *Run) pictureOf(req *http.Request) (Picture, error) {
	q := req.URL.Query()
	k, err := keyOf(q)
	if err != nil {
		return Picture{}, wrong(err)
	}
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil || n < 1 {
		return Picture{}, bad("n: expected the number of a picture from 1, found %q", q.Get("n"))
	}
	t, ok, err := r.Store.Trial(req.Context(), k)
	if err != nil {
		return Picture{}, err
	}
	if !ok {
		return Picture{}, missing("no trial %s is stored", k.Name())
	}
	s := r.sent(req.Context(), t)
	if s.Why != "" {
		return Picture{}, missing("the picture is not shown: %s", s.Why)
	}
	if n > len(s.Pictures) {
		return Picture{}, missing("the trial was sent %d pictures", len(s.Pictures))
	}
	return s.Pictures[n-1], nil
}

// raw answers with a picture's samples, for picture.js.
func (v *viewer) raw(w http.ResponseWriter, req *http.Request, r *Run) error {
	p, err := r.pictureOf(req)
	if err != nil {
		return plain(w, err)
	}
	img, _, err := image.Decode(bytes.NewReader(p.Bytes))
	if err != nil {
		return plain(w, missing("the picture cannot be decoded here: %v", err))
	}
	return Samples(w, req, img)
}

// plain tells a script what is wrong.
func plain(w http.ResponseWriter, err error) error {
	status := http.StatusInternalServerError
	if p, ok := err.(problem); ok {
		status = p.status
	}
	http.Error(w, err.Error(), status)
	return nil
}

// picture answers with a picture's bytes as they were sent.
func (v *viewer) picture(w http.ResponseWriter, req *http.Request, r *Run) error {
	p, err := r.pictureOf(req)
	if err != nil {
		return plain(w, err)
	}
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/gif"}, p.MIME) {
		p.MIME = "application/octet-stream"
	}
	w.Header().Set("Content-Type", p.MIME)
	_, _ = w.Write(p.Bytes)
	return nil
}

// body answers with the body of a request, to be sent again by curl.
func (v *viewer) body(w http.ResponseWriter, req *http.Request, r *Run) error {
	q := req.URL.Query()
	k, err := keyOf(q)
	if err != nil {
		return wrong(err)
	}
	t, ok, err := r.Store.Trial(req.Context(), k)
	if err != nil {
		return err
	}
	if !ok {
		return missing("no trial %s is stored", k.Name())
	}
	s := r.sent(req.Context(), t)
	n, err := strconv.Atoi(q.Get("turn"))
	if err != nil || n < 1 || n > len(s.Turns) {
		return missing("there is no request of turn %q; %s", q.Get("turn"), s.Why)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="request-%d.json"`, n))
	_, _ = w.Write(s.Turns[n-1].Body)
	return nil
}

type replyPage struct {
	head
	Back     template.URL
	Judgment results.Judgment
	Verdict  string
	Replies  []replyView
}

type replyView struct {
	Number          int
	Text, Reasoning string
	Failure         string
}

// reply shows what a judge wrote of a trial, word by word.
func (v *viewer) reply(w http.ResponseWriter, req *http.Request, r *Run) error {
	ctx, q := req.Context(), req.URL.Query()
	k, err := keyOf(q)
	if err != nil {
		return wrong(err)
	}
	said, err := r.Store.JudgmentsOf(ctx, k)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(said, func(s results.Said) bool { return s.Rubric == q.Get("rubric") && s.Judge == q.Get("judge") })
	if i < 0 {
		return missing("there is no judgment by %q under %q of this trial", q.Get("judge"), q.Get("rubric"))
	}
	j, _, err := r.Store.Judgment(ctx, said[i].Key())
	if err != nil {
		return err
	}
	h, err := r.head(ctx, "What "+j.Judge+" wrote under "+j.Rubric, k.Study)
	if err != nil {
		return err
	}
	page := replyPage{head: h, Back: r.Link("trial", addressKey(k)), Judgment: j, Verdict: text.VisibleLines(string(j.Verdict))}
	for n, a := range j.Attempts {
		rv := replyView{Number: n + 1}
		if a.Output != nil {
			rv.Text, rv.Reasoning = text.VisibleLines(a.Output.Answer), text.VisibleLines(a.Output.Reasoning)
		}
		if a.Failure != nil {
			rv.Failure = a.Failure.Kind + ": " + a.Failure.Message
		}
		page.Replies = append(page.Replies, rv)
	}
	v.page(w, http.StatusOK, "reply.html", page)
	return nil
}
