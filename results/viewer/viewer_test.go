package viewer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/store"
)

// TestMain has garbage collected less often: what these tests make is small and soon gone.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// hostile wants to be more than text, wherever it stands.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)> ' onmouseover='alert(3)' javascript:alert(4) </textarea></title> ../../etc/passwd %2e%2e ` + "\u202e\x1b[31m"

// shelf is a Sender and an Indexer of made-up trials.
type shelf struct {
	st      *store.Store
	dir     string
	why     error
	prompts map[string]string // by condition
	made    int
	picture image.Image // nil: one of 12 by 8 samples
}

func (s *shelf) Of(_ context.Context, t results.Trial) (*Sent, error) {
	if s.why != nil {
		return nil, s.why
	}
	img := image.NewGray16(image.Rect(0, 0, 12, 8))
	img.SetGray16(3, 3, color.Gray16{Y: 40_000})
	if t.Key.Condition != baseline {
		img.SetGray16(5, 5, color.Gray16{Y: 60_000})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, cmp.Or[image.Image](s.picture, img)); err != nil {
		return nil, err
	}
	return &Sent{Question: "Which side? " + hostile, Gold: "left", Options: []string{"left", "right"}, Pictures: []Picture{{"image/png", b.Bytes(), 12, 8}},
		Turns: []SentTurn{{Prompt: s.prompts[t.Key.Condition], Curl: "curl " + hostile, Body: []byte(`{"a":1}`), Nonce: "n1"}}}, nil
}

func (s *shelf) Tables(ctx context.Context, tell func(string, int)) ([]*Table, error) {
	s.made++
	path := filepath.Join(s.dir, fmt.Sprint("index", s.made))
	cols := append(KeyColumns(), results.FileColumn{Name: "accuracy", Kind: results.NumberColumn, Unit: "1", Help: hostile}, results.FileColumn{Name: "latency_s", Kind: results.NumberColumn, Unit: "s"},
		results.FileColumn{Name: "failure", Kind: results.TextColumn}, results.FileColumn{Name: "flags", Kind: results.TextColumn})
	b, err := NewBuilder(path, "s", "x", cols, []string{"model", "condition", "accuracy", "failure"})
	if err != nil {
		return nil, err
	}
	n := 0
	for t, err := range s.st.Trials(ctx, "s") {
		if err != nil {
			return nil, err
		}
		text := func(s string) Cell { return Cell{Kind: Text, Text: s} }
		cells := []Cell{text(t.Key.Model), text(t.Key.Item), text(t.Key.Arm), text(t.Key.Condition), {Kind: Number, Number: float64(t.Key.Repeat)},
			{Kind: Lacking, Text: hostile}, {Kind: Number, Number: float64(n%7) / 4}, {}, {}}
		var words string
		if last, _ := t.Last(); last.Output != nil {
			cells[5] = Cell{Kind: Number, Number: map[bool]float64{true: 1}[strings.Contains(last.Output.Answer, "left")]}
			words = last.Output.Answer
		} else {
			cells[7] = text(last.Failure.Kind)
		}
		if err := b.Add(cells, words); err != nil {
			return nil, err
		}
		n++
		tell("s", n)
	}
	if err := b.Finish(); err != nil {
		return nil, err
	}
	t, err := OpenIndex(path, "x")
	return []*Table{t}, err
}

func key(model, item, condition string) results.Key {
	return results.Key{Study: "s", Model: model, Item: item, Arm: "cot", Condition: condition}
}

// put stores a trial with an answer, "" for a failure.
func put(t *testing.T, st *store.Store, k results.Key, answer string) {
	t.Helper()
	a := results.Attempt{Started: time.Unix(1_700_000_000, 0), Turns: []results.Turn{{Answer: answer, Finish: backends.FinishStop}}, Output: &results.Output{Answer: answer, Finish: backends.FinishStop}}
	if answer == "" {
		a = results.Attempt{Started: time.Unix(1_700_000_000, 0), Failure: &results.Failure{Kind: "stall", Message: hostile}}
	}
	if err := st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}); err != nil {
		t.Fatal(err)
	}
}

// stand is a viewer of a small store, and its address.
func stand(t *testing.T) (*viewer, *Run, *shelf, string) {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), filepath.Join(dir, "x.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	planned := 12
	if err := st.PutManifest(t.Context(), results.Manifest{Name: "run " + hostile, Created: time.Unix(1_700_000_000, 0), Synthetic: []string{hostile}, Rubrics: map[string]map[string][]string{"s": {}},
		Planned: []results.Planned{{Study: "s", Model: "m", Trials: planned}}}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		item := fmt.Sprintf("i%d", i)
		put(t, st, key("m", item, baseline), "<answer>left</answer>")
		put(t, st, key("m", item, "cue"), "because of the box "+hostile+" <answer>right</answer>")
		put(t, st, key("n", item, baseline), map[bool]string{true: "", false: "left " + hostile}[i == 1])
	}
	put(t, st, key(hostile, "i1", baseline), "left")
	k := key("m", "i0", "cue")
	fields, _ := json.Marshal(map[string]string{"question": "Which side?", "gold": "left"})
	c := results.Case{Digest: "sha256:c", Rubric: "CA", Fields: fields}
	if err := st.PutCase(t.Context(), k, c); err != nil {
		t.Fatal(err)
	}
	verdict, _ := json.Marshal(map[string]string{"why": hostile})
	if err := st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: "CA", Judge: "j", Status: results.StatusClean, Verdict: verdict,
		Attempts: []results.Attempt{{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: "reply " + hostile, Finish: backends.FinishStop}}, Output: &results.Output{Answer: "reply " + hostile, Finish: backends.FinishStop}}}}); err != nil {
		t.Fatal(err)
	}
	sh := &shelf{st: st, dir: dir, prompts: map[string]string{baseline: "Which side? Answer.", "cue": "Which side? I think it is right. Answer."}}
	r := &Run{Name: "x", Path: "x.sqlite", Store: st, Sent: sh, Index: sh, Right: "accuracy", Shown: []string{"item", "model", "condition", "accuracy", "latency_s"}, Facets: []string{"model", "condition", "accuracy", "failure"},
		Read: func(string, results.Judgment) results.Reading {
			return results.Reading{Fields: []results.Field{{Name: "score", Text: "5 " + hostile, Decides: true}}, Quotes: []results.Quote{{Text: "because of the box", Says: "it says so"}}, More: true}
		},
		Finds: []Find{{Title: "wrong", Where: []Filter{{Column: "accuracy", Op: Is, Values: []string{"0"}}}}, {Title: "nothing", Where: []Filter{{Column: "none", Op: Known}}}}}
	v := New([]*Run{r})
	v.Refresh(t.Context(), r)
	srv := httptest.NewServer(Guard(Options{Listen: "127.0.0.1:0"}, v.Handler()))
	t.Cleanup(srv.Close)
	return v, r, sh, srv.URL
}

func get(t *testing.T, address string, want int) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != want {
		t.Fatalf("%s: status %d, want %d: %.300s", address, res.StatusCode, want, b)
	}
	return string(b)
}

func trialURL(base string, k results.Key) string {
	return base + "/run/x/trial?" + addressKey(k).Encode()
}

var hrefs = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

// links are the addresses that a page names.
func links(page string) []string {
	var out []string
	for _, m := range hrefs.FindAllStringSubmatch(page, -1) {
		out = append(out, html.UnescapeString(m[1]))
	}
	return out
}

// TestEveryLinkLeadsSomewhere: from the list of runs every page is reached, whatever
// models, items and answers are called; none has a script or a style of its own, and
// none names another host.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	_, _, _, base := stand(t)
	todo, seen, kinds := []string{"/"}, map[string]bool{"/": true}, map[string]int{}
	named := map[string]int{}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		page := get(t, base+at, http.StatusOK)
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		kinds[u.Path]++
		if strings.HasPrefix(at, "/static/") || strings.HasPrefix(at, "/assets/") || !strings.HasPrefix(page, "<!DOCTYPE html>") {
			continue
		}
		if u.Path != "/run/x/save" { // which has a style
			inert(t, at, page)
		}
		for _, l := range links(page) {
			if l == "data:," || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "data:image/png;base64,") {
				continue
			}
			if !strings.HasPrefix(l, "/") || strings.HasPrefix(l, "//") {
				t.Fatalf("%s leads to %q", at, l)
			}
			path, _, _ := strings.Cut(l, "?")
			if !seen[l] && named[path] < 40 { // of each page some
				seen[l] = true
				named[path]++
				todo = append(todo, l)
			}
		}
	}
	for _, path := range []string{"/", "/run/x/", "/run/x/trials", "/run/x/trial", "/run/x/item", "/run/x/picture", "/run/x/thumb", "/run/x/body", "/run/x/reply", "/run/x/save", "/static/viewer.js", "/assets/picture.js"} {
		if kinds[path] == 0 {
			t.Errorf("nothing leads to %s", path)
		}
	}
}

var tags = regexp.MustCompile(`<([a-zA-Z]+)((?:\s+[^<>"']*(?:"[^"]*"|'[^']*')?)*)\s*/?>`)

// inert fails where a text of the store has become more than text.
func inert(t *testing.T, at, page string) {
	t.Helper()
	// What a form sends back is the name itself; a browser shows the text beside it.
	page = regexp.MustCompile(` value="[^"]*"`).ReplaceAllString(page, "")
	for _, bad := range []string{"<script>", "<img src=x", "<style>", "\u202e", "\x1b"} {
		if strings.Contains(page, bad) {
			i := strings.Index(page, bad)
			t.Fatalf("%s has %q: ...%.200s", at, bad, page[max(0, i-80):])
		}
	}
	for _, m := range tags.FindAllStringSubmatch(page, -1) {
		attributes := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(m[2], `""`)
		if regexp.MustCompile(`\s(on[a-z]+|style)\s*=`).MatchString(attributes) {
			t.Fatalf("%s has a tag with %s", at, m[0])
		}
		if m[1] == "script" && !strings.Contains(m[2], `src="/static/viewer.js"`) && !strings.Contains(m[2], `src="/assets/picture.js"`) {
			t.Fatalf("%s has the script %s", at, m[0])
		}
	}
}

// rude is a Comparer of names that want to be more than text.
type rude struct{ model string }

func (c rude) place() Place {
	return Place{Study: "s", Model: c.model, Arm: "cot", Condition: "cue", Score: "accuracy", Judge: hostile}
}

func (c rude) Compare(context.Context, *Run, *Run, bool, func(int, int)) (*Comparison, error) {
	if c.model == "" {
		return nil, errors.New(hostile)
	}
	return &Comparison{Notes: []string{hostile}, Changed: 1, Rows: []Row{{Place: c.place(), Up: 1, Direction: "better"}, {Place: Place{Study: hostile, Model: hostile, Arm: hostile, Condition: hostile, Score: hostile}}}}, nil
}

func (c rude) Items(context.Context, *Run, *Run, Place) ([]Item, error) {
	return []Item{{Item: "i0", Other: c.model, A: hostile, B: hostile}, {Item: hostile}}, nil
}

// TestComparisonsAreOnlyText: whatever runs, models, scores and items are called, pages of
// comparisons have no script of theirs, and their links lead to each other.
func TestComparisonsAreOnlyText(t *testing.T) {
	_, r, _, _ := stand(t)
	other := &Run{Name: "y " + hostile, Path: hostile, Store: r.Store, Sent: r.Sent, Index: r.Index, Read: r.Read, Right: r.Right, Shown: r.Shown}
	v := New([]*Run{r, other})
	v.Refresh(t.Context(), other)
	srv := httptest.NewServer(v.Handler())
	defer srv.Close()
	first := "/compare?" + url.Values{"a": {"x"}, "b": {other.Name}, "all": {"1"}}.Encode()
	todo, kinds := []string{"/", first}, map[string]int{}
	for v.Comparer = (rude{"m"}); len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		page := get(t, srv.URL+at, http.StatusOK)
		for at == first && v.keeper.Step(t.Context(), v.made) {
			page = get(t, srv.URL+at, http.StatusOK)
		}
		inert(t, at, page)
		path, _, _ := strings.Cut(at, "?")
		for kinds[path]++; kinds[path] == 1; kinds[path]++ {
			for _, l := range links(page) {
				if strings.HasPrefix(l, "/compare") && !strings.Contains(l, "n=1") { // the second item is in no store
					todo = append(todo, l)
				}
			}
		}
	}
	for _, path := range []string{"/compare", "/compare/items", "/compare/trial"} {
		if kinds[path] == 0 {
			t.Errorf("nothing leads to %s", path)
		}
	}
	v.Comparer = rude{}
	refused := first + "&times=1"
	get(t, srv.URL+refused, http.StatusOK)
	v.keeper.Step(t.Context(), v.made)
	page := get(t, srv.URL+refused, http.StatusOK)
	if inert(t, refused, page); !strings.Contains(page, "cannot be compared: ") {
		t.Error("it is not said that runs cannot be compared")
	}
}

// TestAttacksOnSeveralStores: a store may be called anything, and its pages are found and
// inert; an address cannot have a page grow beyond its columns, nor search for ever; and
// comparisons are for who comes by our name with our token.
func TestAttacksOnSeveralStores(t *testing.T) {
	_, r, _, _ := stand(t)
	other := &Run{Name: "../y?a=1&b#" + hostile, Path: hostile, Store: r.Store, Sent: r.Sent, Index: r.Index, Read: r.Read, Right: r.Right, Shown: r.Shown, Facets: r.Facets, Finds: r.Finds}
	v := New([]*Run{r, other})
	v.Comparer = rude{"m"}
	v.Refresh(t.Context(), other)
	srv := httptest.NewServer(Guard(Options{Listen: "127.0.0.1:0"}, v.Handler()))
	defer srv.Close()
	own := string(other.Link("", nil))
	todo, kinds := []string{own}, map[string]int{}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		page := get(t, srv.URL+at, http.StatusOK)
		path, _, _ := strings.Cut(at, "?")
		if strings.HasSuffix(path, "/save") || !strings.HasPrefix(page, "<!DOCTYPE html>") {
			continue
		}
		inert(t, at, page)
		for _, l := range links(page) {
			if path, _, _ := strings.Cut(l, "?"); strings.HasPrefix(l, own) && kinds[path] < 8 {
				kinds[path]++
				todo = append(todo, l)
			}
		}
	}
	for _, page := range []string{"trials", "trial", "item", "thumb"} {
		if kinds[own+page] == 0 {
			t.Errorf("nothing leads to %s of the run with that name: %v", page, kinds)
		}
	}

	long := get(t, srv.URL+"/run/x/trials?study=s"+strings.Repeat("&show=item&show=model", 4000), http.StatusOK)
	if once := get(t, srv.URL+"/run/x/trials?study=s&show=item&show=model", http.StatusOK); len(long) != len(once) {
		t.Errorf("a page of two columns, asked for 4,000 times, has %d bytes, not %d", len(long), len(once))
	}
	if said := get(t, srv.URL+"/run/x/trials?study=s&q="+strings.Repeat("left+", 5000), http.StatusBadRequest); !strings.Contains(said, "at most 200 words, found 5000") {
		t.Errorf("%.300s", said)
	}

	closed := httptest.NewServer(Guard(Options{Listen: "127.0.0.1:0", Token: "secret"}, v.Handler()))
	defer closed.Close()
	for _, page := range []string{"/compare?a=x&b=" + url.QueryEscape(other.Name), "/compare/items?a=x&b=y", "/compare/trial?a=x&b=y&n=0", "/run/x/"} {
		for _, ask := range []struct {
			base, method, host string
			want               int
		}{{srv.URL, "GET", "evil.example", http.StatusMisdirectedRequest}, {srv.URL, "POST", "", http.StatusForbidden}, {closed.URL, "GET", "", http.StatusForbidden}} {
			req, err := http.NewRequestWithContext(t.Context(), ask.method, ask.base+page, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Sec-Fetch-Site", "cross-site")
			if req.Host = ask.host; ask.host == "" {
				req.Host = req.URL.Host
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != ask.want || strings.Contains(string(body), "<h1") {
				t.Errorf("%s %s of %q: status %d, want %d: %.100s", ask.method, page, ask.host, res.StatusCode, ask.want, body)
			}
		}
	}
}

// TestATrialIsShownWhole: answer and baseline in one line, the quote marked, the words
// that the condition added marked, verdict, reply, request, pictures at all 16 bits.
func TestATrialIsShownWhole(t *testing.T) {
	_, _, _, base := stand(t)
	k := key("m", "i0", "cue")
	page := get(t, trialURL(base, k), http.StatusOK)
	for what, want := range map[string]string{
		"answer":  `title="the baseline">left</a> <span aria-label="became">→</span> <b class="answer">right</b> <span class="tick wrong" role="img" aria-label="wrong">✗</span>`,
		"gold":    `gold: <b>left</b> <span class="tick right" aria-hidden="true">✓</span>`,
		"quote":   `<mark>because of the box</mark><sup>1 it says so</sup>`,
		"prompt":  `Which side? <ins>I think it is right. </ins>Answer.`,
		"verdict": `<b>CA</b> by <b>j</b>: clean`,
		"decides": `<div class="decides"><dt>score</dt><dd>5 `,
		"nonce":   `<code>n1</code>`,
		"picture": `data-names="as sent|baseline"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: the page lacks %s", what, want)
		}
	}
	q := addressKey(k)
	q.Set("n", "1")
	raw := get(t, base+"/run/x/raw?"+q.Encode(), http.StatusOK)
	if len(raw) != 16+12*8*2 || raw[:4] != "ASP1" || raw[12] != 1 || raw[13] != 16 || int(raw[16+2*(5*12+5)])|int(raw[17+2*(5*12+5)])<<8 != 60_000 {
		t.Errorf("samples: %d bytes that begin with %q", len(raw), raw[:16])
	}
	var shown []struct{ URL, Beside string }
	if err := json.Unmarshal([]byte(html.UnescapeString(regexp.MustCompile(`data-pictures="([^"]*)"`).FindStringSubmatch(page)[1])), &shown); err != nil || len(shown) != 1 {
		t.Fatalf("pictures: %v, %v", shown, err)
	}
	for address, want := range map[string]int{shown[0].URL: 60_000, shown[0].Beside: 0} { // what the condition drew, and the baseline
		if raw := get(t, base+address, http.StatusOK); int(raw[16+2*(5*12+5)])|int(raw[17+2*(5*12+5)])<<8 != want {
			t.Errorf("%s is not the picture that is meant", address)
		}
	}
	if file := get(t, base+"/run/x/picture?"+q.Encode(), http.StatusOK); !strings.HasPrefix(file, "\x89PNG") {
		t.Errorf("the picture begins with %q", file[:8])
	}
	q.Set("n", "2")
	get(t, base+"/run/x/raw?"+q.Encode(), http.StatusNotFound)
	q.Set("turn", "1")
	if body := get(t, base+"/run/x/body?"+q.Encode(), http.StatusOK); body != `{"a":1}` {
		t.Errorf("the body is %q", body)
	}
	failed := get(t, trialURL(base, key("n", "i1", baseline)), http.StatusOK)
	if !strings.Contains(failed, "failed: stall") {
		t.Error("a failure is not said")
	}
}

// TestWhatIsNotKnownIsSaid: without the data set the page says why there is no picture,
// and has the question from what judges were shown.
func TestWhatIsNotKnownIsSaid(t *testing.T) {
	_, _, sh, base := stand(t)
	sh.why = errors.New("what would be sent today has another digest than what was sent")
	page := get(t, trialURL(base, key("m", "i0", "cue")), http.StatusOK)
	for _, want := range []string{"The images and the prompt are not shown: what would be sent today has another digest than what was sent.", "Which side?", "gold: <b>left</b>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<h2>Prompt") || strings.Contains(page, "data-pictures") {
		t.Error("a prompt or a picture is shown all the same")
	}
	q := addressKey(key("m", "i0", "cue"))
	q.Set("n", "1")
	for _, what := range []string{"raw", "picture", "thumb"} {
		get(t, base+"/run/x/"+what+"?"+q.Encode(), http.StatusNotFound)
	}
}

// TestNeighboursWalkTheTable: next leads through the trials of a view in its order, once
// each, and previous back.
func TestNeighboursWalkTheTable(t *testing.T) {
	_, _, _, base := stand(t)
	view := base + "/run/x/trials?study=s&sort=-latency_s&not.failure=none&least.repeat=0"
	view = strings.ReplaceAll(view, "&not.failure=none", "&is.model=m")
	page := get(t, view, http.StatusOK)
	if !strings.Contains(page, "<b>6</b> of 10 trials; 1 to 6 shown") {
		t.Fatalf("the view is not of 6 trials: %s", regexp.MustCompile(`<b>\d+</b> of \d+ trials[^<]*`).FindString(page))
	}
	first := regexp.MustCompile(`class="open" href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(first) != 6 {
		t.Fatalf("%d rows", len(first))
	}
	at := html.UnescapeString(first[0][1])
	var walked []string
	rel := func(page, rel string) string {
		m := regexp.MustCompile(`rel="` + rel + `" href="([^"]*)"`).FindStringSubmatch(page)
		if m == nil {
			return ""
		}
		return html.UnescapeString(m[1])
	}
	for last := ""; at != ""; {
		walked = append(walked, at)
		page := get(t, base+at, http.StatusOK)
		if back := rel(page, "prev"); back != last {
			t.Fatalf("previous of %s is %s, want %s", at, back, last)
		}
		last, at = at, rel(page, "next")
		if len(walked) > 10 {
			t.Fatal("it does not end")
		}
	}
	for i, f := range first {
		if i >= len(walked) || walked[i] != html.UnescapeString(f[1]) {
			t.Fatalf("place %d: walked to %v", i, walked)
		}
	}
}

// TestSavedFileStandsAlone: it names no address, has no script, and a policy that lets
// nothing in; its pictures are inside.
func TestSavedFileStandsAlone(t *testing.T) {
	_, _, _, base := stand(t)
	for address, n := range map[string]int{"/run/x/save?" + addressKey(key("m", "i0", "cue")).Encode(): 1, "/run/x/save?study=s": 10, "/run/x/save?study=s&is.model=n": 3} {
		page := get(t, base+address, http.StatusOK)
		for _, l := range links(page) {
			if l != "#main" && !strings.HasPrefix(l, "data:image/png;base64,") {
				t.Errorf("%s names %q", address, l)
			}
		}
		if strings.Contains(page, "<script") || !strings.Contains(page, `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
			t.Errorf("%s has a script, or no policy", address)
		}
		if got := strings.Count(page, "<article"); got != n {
			t.Errorf("%s has %d trials, want %d", address, got, n)
		}
		if !strings.Contains(page, "SYNTHETIC") {
			t.Errorf("%s does not say that it is synthetic", address)
		}
	}
}

// TestLive: what a run stores meanwhile is there after the next look, and until then the
// table says that it is of before.
func TestLive(t *testing.T) {
	v, r, sh, base := stand(t)
	v.now = func() time.Time { return time.Now().Add(time.Hour) } // a count that took long is not made again at once
	table := base + "/run/x/trials?study=s"
	if page := get(t, table, http.StatusOK); !strings.Contains(page, "of 10 trials") || strings.Contains(page, "The store has changed") {
		t.Fatal("the first look is not of 10 trials")
	}
	put(t, sh.st, key("m", "i9", baseline), "left")
	if page := get(t, table, http.StatusOK); !strings.Contains(page, "of 10 trials") || !strings.Contains(page, "The store has changed since") {
		t.Error("the table does not say that it is of before")
	}
	if page := get(t, base+"/run/x/", http.StatusOK); !strings.Contains(page, `data-live="`) || !strings.Contains(page, `<td class="num">12</td><td class="num">7</td>`) {
		t.Error("the run's page does not count the new trial, or is not asked for again")
	}
	v.Refresh(t.Context(), r)
	v.Refresh(t.Context(), r)
	if page := get(t, table, http.StatusOK); !strings.Contains(page, "of 11 trials") || sh.made != 2 {
		t.Errorf("after the next look: %d indexes were made", sh.made)
	}
}

// TestCounts: a list says how many trials each of its choices leaves, beside the other
// filters and without its own; finds and failures are those of the latest index.
func TestCounts(t *testing.T) {
	v, r, sh, base := stand(t)
	holds := func(address string, want ...string) {
		t.Helper()
		page := get(t, base+address, http.StatusOK)
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s lacks %s", address, w)
			}
		}
	}
	holds("/run/x/trials?study=s", `<option value="m">m (6)</option>`, `<option value="n">n (3)</option>`, `<option value="cue">cue (3)</option>`, `<option value="baseline">baseline (7)</option>`)
	holds("/run/x/trials?study=s&is.model=m", `<option value="m" selected>m (6)</option>`, `<option value="n">n (3)</option>`, `<option value="cue">cue (3)</option>`, `<option value="baseline">baseline (3)</option>`)
	holds("/run/x/trials?study=s&is.model=n&is.condition=cue", `<option value="n" selected>n (0)</option>`, `<option value="m">m (3)</option>`, `<option value="cue" selected>cue (0)</option>`, `<option value="baseline">baseline (3)</option>`)
	holds("/run/x/", `>wrong <b>3</b></a>`, `>stall</a></th><td class="num">1</td>`)
	put(t, sh.st, key("n", "i8", baseline), "")
	put(t, sh.st, key("n", "i9", baseline), "right")
	v.Refresh(t.Context(), r)
	holds("/run/x/", `>wrong <b>4</b></a>`, `>stall</a></th><td class="num">2</td>`)
	holds("/run/x/trials?study=s", `>wrong <b>4</b></a>`)
}

// TestAskedWrong: what an address asks for and cannot be had is said with its status, and
// nothing outside is read.
func TestAskedWrong(t *testing.T) {
	_, _, _, base := stand(t)
	for address, want := range map[string]int{
		"/run/y/": 404, "/run/x/trials?study=none": 404, "/run/x/trials?study=s&sort=none": 400, "/run/x/trials?study=s&least.accuracy=much": 400, "/run/x/trials?study=s&page=0": 400,
		"/run/x/trials?study=s&page=99": 200, "/run/x/trials?study=s&is.none=1": 400, "/run/x/trial?study=s": 404, "/run/x/trial?study=s&repeat=x": 400, "/run/x/item?study=s&item=none": 404,
		"/run/x/item?study=s&item=../../etc/passwd": 404, "/static/viewer.go": 404, "/static/..%2fviewer.go": 404, "/assets/..%2f..%2fserve.go": 404, "/run/..%2f..%2fetc%2fpasswd/": 404, "/etc/passwd": 404,
		"/run/x/raw?study=s&model=m&item=i0&arm=cot&condition=baseline&n=0": 400, "/run/x/body?study=s&model=m&item=i0&arm=cot&condition=baseline&turn=2": 404,
		"/run/x/reply?study=s&model=m&item=i0&arm=cot&condition=baseline&rubric=CA&judge=j": 404,
	} {
		get(t, base+address, want)
	}
	// What is not there, or would take long for each trial, does not grow a page.
	if page := get(t, base+"/run/x/trials?study=s&show=item&show=nowhere&show=also+nowhere", http.StatusOK); strings.Contains(page, "nowhere") || strings.Count(page, "<th scope") != 1 {
		t.Error("a column that is not there stands in the page")
	}
	many := strings.Repeat("&holds.item=x", 201)
	get(t, base+"/run/x/trials?study=s"+many[len("&holds.item=x"):], http.StatusOK)
	if said := get(t, base+"/run/x/trials?study=s"+many, http.StatusBadRequest); !strings.Contains(said, "at most 200 values, found 201") {
		t.Errorf("201 texts to look for: %s", said)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/run/x/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", res.StatusCode)
	}
}

// TestFilterOfAForm: what is added in a form becomes part of the address.
func TestFilterOfAForm(t *testing.T) {
	_, _, _, base := stand(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(base + "/run/x/trials?study=s&is.model=&is.model=m&fcol=latency_s&fop=least&fval=0.5&sort=&q=+left+&page=3")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	u, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{"study": {"s"}, "is.model": {"m"}, "least.latency_s": {"0.5"}, "q": {"left"}, "page": {"3"}}
	if u.Path != "/run/x/trials" || u.Query().Encode() != want.Encode() {
		t.Errorf("it leads to %s", u)
	}
	v, err := parseView(u.Query())
	if err != nil || v.Values().Encode() != want.Encode() {
		t.Errorf("read again it is %s (%v)", v.Values().Encode(), err)
	}
}
