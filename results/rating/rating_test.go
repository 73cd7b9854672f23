package rating

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/results/viewer"
)

// bad is an answer that wants to be more than text.
const bad = `<script>alert(1)</script><img src=x onerror=alert(2)>"><svg onload=alert(3)> Give 5. ` + "\u202e" + `'onmouseover=alert(4)`

// made is a study of n cases, of two groups that share items in pairs.
func made(n int) *Study {
	s := &Study{Title: "Rating answers", Digest: "a study", Seed: 7}
	for i := range n {
		s.Cases = append(s.Cases, Case{Name: fmt.Sprintf("case%02d", i), Group: []string{"model-one\nTB-LA-", "model-two\nTB-LA-"}[i%2], Item: fmt.Sprintf("item-%d", i/2),
			Texts: []Text{{Title: "Question", Body: "Which side?"}, {Title: "Answer", Body: bad}, {Title: "Findings", Body: "kept", Folded: true}}, Pictures: []string{"The image as it was sent"}, Unchanged: true,
			Form: []Field{grades("CF"), grades("CA"), {Name: "types", Axis: "types", Title: "what is wrong", Several: true, About: bad, Options: []Option{{Value: "reasoning", Key: "1"}, {Value: "other", Key: "2"}}}}})
	}
	s.Calibration = []Case{{Name: "calibration", Group: "model-one\nsham", Item: "another", Form: []Field{grades("CF")}}}
	return s
}

func grades(name string) Field {
	f := Field{Name: name, Axis: name, Title: name, Number: true, Help: "How far?"}
	for _, v := range []string{"1", "2", "3", "4", "5"} {
		f.Options = append(f.Options, Option{Value: v, Text: "grade " + v, Key: v})
	}
	return f
}

type onePicture struct{}

func (onePicture) Picture(_ context.Context, _ string, _ int, unchanged bool) (image.Image, error) {
	img := image.NewGray16(image.Rect(0, 0, 64, 48))
	for i := range img.Pix {
		img.Pix[i] = byte(i * 7)
	}
	if unchanged {
		img.Pix[0] = 9
	}
	return img, nil
}

// begun is a study being served, with the codes of its people.
type begun struct {
	t      *testing.T
	path   string
	study  *Study
	log    *Log
	server *httptest.Server
	codes  map[string]string
}

func begin(t *testing.T, s *Study, names ...string) *begun {
	t.Helper()
	b := &begun{t: t, path: filepath.Join(t.TempDir(), "r.jsonl"), study: s}
	b.open()
	var err error
	if b.codes, err = b.log.Codes(names, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *begun) open() {
	b.t.Helper()
	log, err := OpenLog(b.path, b.study)
	if err != nil {
		b.t.Fatal(err)
	}
	b.log = log
	b.server = httptest.NewServer(viewer.Guard(viewer.Options{Listen: "127.0.0.1:0"}, Handler(b.study, log, onePicture{})))
	b.t.Cleanup(b.close)
}

func (b *begun) close() {
	b.server.Close()
	if err := b.log.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		b.t.Error(err)
	}
}

// browser keeps cookies, as a rater's does.
type browser struct {
	b      *begun
	cookie *http.Cookie
}

func (b *begun) signIn(name string) *browser {
	b.t.Helper()
	w := &browser{b: b}
	res := w.send("POST", "/sign-in", "application/x-www-form-urlencoded", url.Values{"code": {b.codes[name]}}.Encode())
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		b.t.Fatalf("%s cannot sign in: %s", name, res.Status)
	}
	w.cookie = res.Cookies()[0]
	if !w.cookie.HttpOnly || w.cookie.SameSite != http.SameSiteStrictMode {
		b.t.Errorf("the session's cookie is %v", w.cookie)
	}
	return w
}

func (w *browser) send(method, path, kind, body string, head ...string) *http.Response {
	w.b.t.Helper()
	r, err := http.NewRequest(method, w.b.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.b.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	if w.cookie != nil {
		r.AddCookie(w.cookie)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.b.t.Fatal(err)
	}
	content, err := io.ReadAll(res.Body)
	if err != nil {
		w.b.t.Fatal(err)
	}
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(content))
	return res
}

func (w *browser) get(path string) (int, string) {
	w.b.t.Helper()
	res := w.send("GET", path, "", "")
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

// click asks to keep something, as rate.js does.
func (w *browser) click(c click) (int, kept) {
	w.b.t.Helper()
	body, err := json.Marshal(c)
	if err != nil {
		w.b.t.Fatal(err)
	}
	res := w.send("POST", "/save", "application/json", string(body), "X-Assay-Proof", proof(w.cookie.Value))
	var k kept
	if err := json.NewDecoder(res.Body).Decode(&k); err != nil {
		w.b.t.Fatal(err)
	}
	return res.StatusCode, k
}

var ids = struct {
	sync.Mutex
	n int
}{}

func id() string {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return fmt.Sprintf("click-%06d", ids.n)
}

// rate answers a case and submits it.
func (w *browser) rate(at int, cf, ca string) {
	w.b.t.Helper()
	calibration := at == 1
	for field, v := range map[string]string{"CF": cf, "CA": ca} {
		if calibration && field == "CA" {
			continue
		}
		if status, k := w.click(click{ID: id(), Kind: kindRate, Show: at, Field: field, Value: []string{v}, Seconds: 1.5}); status != 200 {
			w.b.t.Fatalf("%s of case %d: %d %+v", field, at, status, k)
		}
	}
	if status, k := w.click(click{ID: id(), Kind: kindSubmit, Show: at}); status != 200 {
		w.b.t.Fatalf("submit case %d: %d %+v", at, status, k)
	}
}

// TestAClickIsKeptOnce: whatever a browser asks again, out of turn or too late.
func TestAClickIsKeptOnce(t *testing.T) {
	b := begin(t, made(4), "anna")
	anna := b.signIn("anna")
	first := click{ID: "the-first-click", Kind: kindRate, Show: 1, Field: "CF", Value: []string{"4"}, Seconds: 2}
	for range 3 {
		if status, k := anna.click(first); status != 200 || !k.Saved {
			t.Fatalf("%d %+v", status, k)
		}
	}
	for name, c := range map[string]struct {
		click
		want int
	}{
		"a grade off the scale":         {click{ID: id(), Kind: kindRate, Show: 1, Field: "CF", Value: []string{"6"}}, 422},
		"two grades":                    {click{ID: id(), Kind: kindRate, Show: 1, Field: "CF", Value: []string{"1", "2"}}, 422},
		"a field that is not there":     {click{ID: id(), Kind: kindRate, Show: 1, Field: "CQ", Value: []string{"1"}}, 422},
		"a case that comes later":       {click{ID: id(), Kind: kindRate, Show: 2, Field: "CF", Value: []string{"1"}}, 409},
		"a case that is not there":      {click{ID: id(), Kind: kindRate, Show: 99, Field: "CF", Value: []string{"1"}}, 400},
		"no case":                       {click{ID: id(), Kind: kindRate, Field: "CF", Value: []string{"1"}}, 400},
		"no name":                       {click{Kind: kindRate, Show: 1, Field: "CF", Value: []string{"1"}}, 400},
		"time that went back":           {click{ID: id(), Kind: kindTime, Show: 1, Seconds: -1}, 400},
		"a time of days":                {click{ID: id(), Kind: kindTime, Show: 1, Seconds: 1e6}, 400},
		"another kind":                  {click{ID: id(), Kind: kindBegin, Show: 1}, 400},
		"a remark that is a book":       {click{ID: id(), Kind: kindRate, Show: 1, Field: remark, Value: []string{strings.Repeat("x", longestRemark+1)}}, 422},
		"what only one of several says": {click{ID: id(), Kind: kindRate, Show: 1, Field: "CF", Value: nil}, 422},
	} {
		if status, k := anna.click(c.click); status != c.want || k.Saved {
			t.Errorf("%s: %d %+v, want %d", name, status, k, c.want)
		}
	}
	for range 3 { // the page was hidden, and asked again
		if status, k := anna.click(click{ID: "hidden-after-three", Kind: kindTime, Show: 1, Seconds: 3}); status != 200 || !k.Saved {
			t.Fatalf("%d %+v", status, k)
		}
	}
	if status, k := anna.click(click{ID: "submit-calibration", Kind: kindSubmit, Show: 1}); status != 200 {
		t.Fatalf("%d %+v", status, k)
	}
	if status, _ := anna.click(click{ID: "submit-calibration", Kind: kindSubmit, Show: 1}); status != 200 {
		t.Errorf("a submit that is sent again: %d", status)
	}
	if status, k := anna.click(click{ID: id(), Kind: kindRate, Show: 1, Field: "CF", Value: []string{"5"}}); status != 409 {
		t.Errorf("a locked case is changed: %d %+v", status, k)
	}
	if status, k := anna.click(click{ID: id(), Kind: kindSubmit, Show: 2}); status != 422 || !slices.Equal(k.Missing, []string{"CF", "CA"}) {
		t.Errorf("submitted with nothing answered: %d %+v", status, k)
	}
	for _, v := range [][]string{{"reasoning", "other"}, {}} {
		if status, _ := anna.click(click{ID: id(), Kind: kindRate, Show: 2, Field: "types", Value: v}); status != 200 {
			t.Errorf("%v: %d", v, status)
		}
	}
	if status, _ := anna.click(click{ID: id(), Kind: kindRate, Show: 2, Field: "types", Value: []string{CannotJudge}}); status != 422 {
		t.Errorf("none of several is no answer of its own: %d", status)
	}
	anna.rate(2, CannotJudge, "3")
	content, err := os.ReadFile(b.path)
	if n := bytes.Count(content, []byte("the-first-click")); err != nil || n != 1 {
		t.Errorf("a click that was sent three times is there %d times (%v)", n, err)
	}
	got := b.log.Rated()
	if len(got) != 2 || got[0].Values["CF"][0] != "4" || got[0].Seconds != 5 || !got[0].Submitted || got[1].Values["CF"][0] != CannotJudge || len(got[1].Values["types"]) != 0 || got[1].Seconds != 3 {
		t.Errorf("kept is %+v", got)
	}
}

// TestRatersAtOnce: none of the clicks of five raters at once is lost or kept twice, and
// the file says the same when it is read again.
func TestRatersAtOnce(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	b := begin(t, made(6), names...)
	var wg sync.WaitGroup
	for i, name := range names {
		w := b.signIn(name)
		wg.Go(func() {
			_, _, all := b.log.progress(b.log.state.rater(name))
			for at := 1; at <= all; at++ {
				w.rate(at, fmt.Sprint(1+(at+i)%5), "2")
			}
		})
	}
	wg.Wait()
	before := b.log.Rated()
	if len(before) != 5*(1+6+1) {
		t.Fatalf("%d cases were rated, want 5 times 1 + 6 + 1", len(before))
	}
	b.close()
	b.open()
	after := b.log.Rated()
	equal := slices.EqualFunc(before, after, func(x, y rated) bool {
		return x.Rater == y.Rater && x.Position == y.Position && x.Showing == y.Showing && x.Seconds == y.Seconds && x.Submitted == y.Submitted && maps.EqualFunc(x.Values, y.Values, slices.Equal)
	})
	if !equal {
		t.Errorf("read again it is %+v, was %+v", after, before)
	}
	if status, page := b.signIn("a").get("/case"); status != 200 || !strings.Contains(page, "All cases are rated") {
		t.Errorf("after the last case: %d %s", status, page)
	}
}

// TestPowerCut: whatever was answered with 200 had been brought to the disk before; what the disk
// refuses is neither kept nor said to be, and is kept once when it is asked for again.
func TestPowerCut(t *testing.T) {
	b := begin(t, made(4), "anna")
	var disk []byte // as it was when last it was synced
	full := false
	b.log.sync = func() (err error) {
		if full {
			return errors.New("no space left on device")
		}
		disk, err = os.ReadFile(b.path)
		return err
	}
	anna := b.signIn("anna")
	clicks := []click{
		{ID: "the-first-click", Kind: kindRate, Show: 1, Field: "CF", Value: []string{"4"}, Seconds: 2},
		{ID: "another-grade-1", Kind: kindRate, Show: 1, Field: "CF", Value: []string{"2"}},
		{ID: "the-first-case-", Kind: kindSubmit, Show: 1},
	}
	for _, c := range clicks {
		full = true
		if status, k := anna.click(c); status != 500 || k.Saved {
			t.Errorf("%s, on a full disk: %d %+v", c.ID, status, k)
		}
		if now, err := os.ReadFile(b.path); err != nil || bytes.Contains(now, []byte(c.ID)) {
			t.Errorf("%s is in the log (%v), though it was not kept", c.ID, err)
		}
		full = false
		for range 2 {
			if status, k := anna.click(c); status != 200 || !k.Saved {
				t.Fatalf("%s: %d %+v", c.ID, status, k)
			}
		}
		if n := bytes.Count(disk, []byte(c.ID)); n != 1 {
			t.Errorf("%s was answered with 200, and is on the disk %d times", c.ID, n)
		}
	}
	// The power is cut: what is left is what was on the disk.
	b.close()
	if err := os.WriteFile(b.path, disk, 0o600); err != nil {
		t.Fatal(err)
	}
	b.open()
	if got := b.log.Rated(); len(got) != 1 || !got[0].Submitted || got[0].Values["CF"][0] != "2" {
		t.Errorf("kept is %+v", got)
	}
	if status, page := anna.get("/case"); status != 200 || !strings.Contains(page, `data-position="2"`) {
		t.Errorf("the session: %d", status)
	}
}

// TestMissingLastLinesShow: a log that lost its last lines is refused, by who goes on with it
// and by who reads it; one of an older assay, and one with more lines than were counted when
// the power went, are not.
func TestMissingLastLinesShow(t *testing.T) {
	b := begin(t, made(4), "anna")
	anna := b.signIn("anna")
	for _, v := range []string{"4", "3", "2"} {
		if status, _ := anna.click(click{ID: id(), Kind: kindRate, Show: 1, Field: "CF", Value: []string{v}}); status != 200 {
			t.Fatal(status)
		}
	}
	b.close()
	whole, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	end, err := os.ReadFile(b.path + ".end")
	info, statErr := os.Stat(b.path + ".end")
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(err, statErr, info)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	t.Logf("%d lines, counted %q", len(lines), end)
	earlier := fmt.Appendf(nil, "%020d %s\n", len(lines)-1, digest(string(bytes.TrimSuffix(lines[len(lines)-2], []byte("\n")))))
	other := bytes.Replace(whole, []byte(`"value":["2"]`), []byte(`"value":["1"]`), 1)
	for name, c := range map[string]struct {
		log, end []byte
		want     string
	}{
		"whole":                     {whole, end, ""},
		"without the last line":     {bytes.Join(lines[:len(lines)-1], nil), end, "its last lines are missing"},
		"half of the last line":     {whole[:len(whole)-9], end, "its last lines are missing"},
		"one line":                  {lines[0], end, "its last lines are missing"},
		"nothing":                   {nil, end, "its last lines are missing"},
		"another last line":         {other, end, "was changed"},
		"of an older assay":         {whole, nil, ""},
		"counted before the end":    {whole, earlier, ""},
		"the counter was never put": {whole, []byte{}, ""},
		"the counter is no counter": {whole, []byte("many\n"), "expected a number of lines"},
	} {
		if err := os.WriteFile(b.path, c.log, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(b.path + ".end")
		if c.end != nil {
			if err := os.WriteFile(b.path+".end", c.end, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, reading := ReadLog(b.path, b.study)
		l, err := OpenLog(b.path, b.study)
		if err == nil {
			if now, err := os.ReadFile(b.path + ".end"); err != nil || !bytes.Equal(now, end) {
				t.Errorf("%s: counted %q, %v; expected %q", name, now, err, end)
			}
			l.Close()
		} else if now, _ := os.ReadFile(b.path); !bytes.Equal(now, c.log) {
			t.Errorf("%s: the refused log was written", name)
		}
		for _, err := range []error{reading, err} {
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, expected %q", name, err, c.want)
			}
		}
	}
}

// TestAKilledServerGoesOn: a session lives on, half a line is cut off, and what was told
// to be kept is there.
func TestAKilledServerGoesOn(t *testing.T) {
	b := begin(t, made(4), "anna")
	anna := b.signIn("anna")
	if status, _ := anna.click(click{ID: id(), Kind: kindRate, Show: 1, Field: "CF", Value: []string{"4"}}); status != 200 {
		t.Fatal(status)
	}
	if _, err := OpenLog(b.path, b.study); err == nil || !strings.Contains(err.Error(), "another assay people serve") {
		t.Errorf("a second server: %v", err)
	}
	b.close()
	whole, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path, append(whole, `{"at":"2026-01-01T00:00:00Z","kind":"rate","value":["`+strings.Repeat("x", 2000)...), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open()
	if status, page := anna.get("/case"); status != 200 || !regexp.MustCompile(`value="4"[^>]* checked`).MatchString(page) {
		t.Errorf("after the restart: %d %s", status, page)
	}
	if status, _ := anna.click(click{ID: id(), Kind: kindSubmit, Show: 1}); status != 200 {
		t.Error(status)
	}
	b.close()
	now, err := os.ReadFile(b.path)
	if err != nil || !bytes.HasPrefix(now, whole) || bytes.Count(now, []byte(`"kind":"mended"`)) != 1 || !bytes.HasSuffix(now, []byte("\n")) {
		t.Errorf("the log does not say what was cut off: %v\n%s", err, now[len(whole):])
	}

	lines := bytes.SplitAfter(now, []byte("\n"))
	for name, changed := range map[string][][]byte{
		"a grade that was changed": replaced(lines, `"value":["4"]`, `"value":["5"]`),
		"a line taken out":         slices.Delete(slices.Clone(lines), 2, 3),
		"lines swapped":            {lines[1], lines[0]},
	} {
		if err := os.WriteFile(b.path, bytes.Join(changed, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := OpenLog(b.path, b.study); err == nil {
			l.Close()
			t.Errorf("%s: nobody noticed", name)
		} else if !strings.Contains(err.Error(), b.path+":") {
			t.Errorf("%s: where? %v", name, err)
		}
	}
	if err := os.WriteFile(b.path, now, 0o600); err != nil {
		t.Fatal(err)
	}
	other := made(4)
	other.Digest = "another study"
	if _, err := OpenLog(b.path, other); err == nil || !strings.Contains(err.Error(), "ratings of other answers") {
		t.Errorf("the log of another study: %v", err)
	}
	b.open()
}

func replaced(lines [][]byte, old, new string) [][]byte {
	out := slices.Clone(lines)
	for i := range out {
		out[i] = bytes.ReplaceAll(out[i], []byte(old), []byte(new))
	}
	return out
}

// TestADiskThatIsFull: what cannot be written is not told to be kept, and leaves no half
// line behind.
func TestADiskThatIsFull(t *testing.T) {
	b := begin(t, made(4), "anna")
	anna := b.signIn("anna")
	before, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	file := b.log.file
	read, err := os.Open(b.path) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	b.log.file = read
	if status, k := anna.click(click{ID: "while-it-was-full", Kind: kindRate, Show: 1, Field: "CF", Value: []string{"4"}}); status != 500 || k.Saved {
		t.Errorf("a click that could not be written: %d %+v", status, k)
	}
	after, err := os.ReadFile(b.path)
	if err != nil || !bytes.Equal(before, after) || len(b.log.Rated()) != 0 {
		t.Errorf("something was kept: %v %s", err, after[len(before):])
	}
	read.Close()
	b.log.file, b.log.broken = file, nil
	if status, _ := anna.click(click{ID: "while-it-was-full", Kind: kindRate, Show: 1, Field: "CF", Value: []string{"4"}}); status != 200 {
		t.Errorf("the same click afterwards: %d", status)
	}
}

// TestNobodySeesWhatIsNotHis: raters see no names, no model and no condition; strangers
// see nothing; the coordinator's page is the coordinator's.
func TestNobodySeesWhatIsNotHis(t *testing.T) {
	b := begin(t, made(4), "anna", "ben")
	anna, lead, stranger := b.signIn("anna"), b.signIn(Coordinator), &browser{b: b}
	var seen strings.Builder
	for _, path := range []string{"/instructions", "/case"} {
		status, page := anna.get(path)
		if status != 200 {
			t.Fatalf("%s: %d", path, status)
		}
		seen.WriteString(page)
		if status, page := stranger.get(path); status != http.StatusSeeOther || strings.Contains(page, "Question") {
			t.Errorf("a stranger asks for %s: %d", path, status)
		}
	}
	anna.rate(1, "3", "3")
	for at := 2; at <= 6; at++ {
		_, page := anna.get("/case")
		seen.WriteString(page)
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") || strings.Contains(page, "<svg") || strings.Contains(page, "\u202e") {
			t.Fatalf("an answer is more than text:\n%s", page)
		}
		if status, _ := anna.get(fmt.Sprintf("/picture/%d/0", at)); status != 200 {
			t.Errorf("the picture of case %d: %d", at, status)
		}
		for _, path := range []string{fmt.Sprintf("/picture/%d/0", at+1), fmt.Sprintf("/picture/%d/1", at), fmt.Sprintf("/picture/%d/-1", at), "/picture/../x/0"} {
			if status, _ := anna.get(path); status == 200 {
				t.Errorf("%s is shown while case %d is", path, at)
			}
		}
		anna.rate(at, "2", "3")
	}
	for _, secret := range []string{"model-one", "model-two", "TB-LA-", "sham", "item-", "case0", "repeat", "anna", "ben", "/coordinator"} {
		if i := strings.Index(seen.String(), secret); i >= 0 {
			t.Errorf("raters are shown %q: ...%s...", secret, seen.String()[max(0, i-60):i+40])
		}
	}
	if status, page := anna.get("/coordinator"); status != 404 || strings.Contains(page, "agreement") {
		t.Errorf("a rater looks at the coordinator's page: %d", status)
	}
	if status, _ := lead.get("/case"); status != http.StatusSeeOther {
		t.Errorf("the coordinator rates: %d", status)
	}
	status, page := lead.get("/coordinator")
	if status != 200 || !strings.Contains(page, "6 of 6") || !strings.Contains(page, ">ben<") || strings.Contains(page, "model-one") {
		t.Errorf("the coordinator sees: %d\n%s", status, page)
	}
	// Another page cannot click for her, nor with her session's cookie alone.
	body := `{"id":"somebody-else","kind":"rate","position":7,"field":"CF","value":["1"]}`
	for name, head := range map[string][]string{
		"no proof":       {},
		"ben's":          {"X-Assay-Proof", proof(b.signIn("ben").cookie.Value)},
		"a cross site":   {"X-Assay-Proof", proof(anna.cookie.Value), "Sec-Fetch-Site", "cross-site"},
		"another origin": {"X-Assay-Proof", proof(anna.cookie.Value), "Origin", "http://evil.example"},
	} {
		if res := anna.send("POST", "/save", "application/json", body, head...); res.StatusCode != 403 {
			t.Errorf("a click with %s: %s", name, res.Status)
		}
	}
	if res := anna.send("POST", "/save", "text/plain", body, "X-Assay-Proof", proof(anna.cookie.Value)); res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a click as a form can send it: %s", res.Status)
	}
	if res := anna.send("POST", "/sign-out", "application/x-www-form-urlencoded", url.Values{"proof": {proof(anna.cookie.Value)}}.Encode()); res.StatusCode != http.StatusSeeOther {
		t.Errorf("sign out: %s", res.Status)
	}
	if status, k := anna.click(click{ID: id(), Kind: kindTime, Show: 6}); status != 401 || k.Saved {
		t.Errorf("after the end of the session: %d %+v", status, k)
	}
}

// TestCodes: they are kept as digests, guessing is slow, a new one ends the old one's
// sessions.
func TestCodes(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := made(2)
	path := filepath.Join(t.TempDir(), "r.jsonl")
	l, err := openLog(path, s, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	codes, err := l.Codes([]string{"anna"}, nil)
	if err != nil || len(codes) != 2 {
		t.Fatal(codes, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, code := range codes {
		if !regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$`).MatchString(code) || bytes.Contains(content, []byte(code)) || bytes.Contains(content, []byte(plain(code))) {
			t.Errorf("the code of %s is %s", name, code)
		}
	}
	typed := " " + strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(codes["anna"], "-", " "), "0", "o"))
	token, lead, err := l.signIn(typed)
	if err != nil || lead {
		t.Fatalf("%q: %v %v", typed, lead, err)
	}
	if _, ok := l.session(token); !ok {
		t.Error("the session is not known")
	}
	now = now.Add(sessionLife + time.Second)
	if _, ok := l.session(token); ok {
		t.Error("the session never ends")
	}
	now = now.Add(-sessionLife)
	again, err := l.Codes(nil, []string{"anna"})
	if err != nil || len(again) != 1 || again["anna"] == codes["anna"] {
		t.Fatal(again, err)
	}
	if _, ok := l.session(token); ok {
		t.Error("a session of the old code goes on")
	}
	if _, _, err := l.signIn(codes["anna"]); !errors.Is(err, errCode) {
		t.Errorf("the old code: %v", err)
	}
	if _, _, err := l.signIn(""); !errors.Is(err, errCode) {
		t.Errorf("no code: %v", err)
	}
	if more, err := l.Codes([]string{"anna"}, nil); err != nil || len(more) != 0 {
		t.Errorf("the same rater again gets %v, %v", more, err)
	}

	g, tries := newGuesses(), 0
	for range 100 {
		if g.allow("10.0.0.1", now) {
			tries++
		}
	}
	if tries != 10 || !g.allow("10.0.0.2", now) || g.allow("10.0.0.1", now.Add(5*time.Second)) || !g.allow("10.0.0.1", now.Add(7*time.Second)) {
		t.Errorf("%d codes can be tried at once", tries)
	}
	h := Handler(s, l, nil)
	wrong := 0
	for range 40 {
		r := httptest.NewRequest("POST", "/sign-in", strings.NewReader("code=0000-0000-0000-0000"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusForbidden {
			wrong++
		} else if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Fatalf("a guess: %d", w.Code)
		}
	}
	if wrong != 10 { // the clock of the log stands still
		t.Errorf("%d guesses were looked at", wrong)
	}
	for _, names := range [][]string{{"a", "a"}, {"coordinator"}, {""}, {"Anna B"}, {"a/b"}} {
		if CheckNames(names) == nil {
			t.Errorf("raters %q", names)
		}
	}
}

// TestOrdersAreBalanced: of many raters each case comes everywhere, groups are spread,
// items kept apart, and a tenth comes again late.
func TestOrdersAreBalanced(t *testing.T) {
	s := made(40)
	positions := map[string][]int{}
	for r := range 8 {
		order := showingOrder(s, r)
		if !order[0].Calibration || len(order) != 1+40+4 || !slices.Equal(order, showingOrder(s, r)) {
			t.Fatalf("rater %d: %v", r, order)
		}
		first := map[string]int{}
		var main []string
		for i, sh := range order[1:] {
			if sh.Repeat == 0 {
				if _, twice := first[sh.Case]; twice {
					t.Fatalf("case %s comes twice", sh.Case)
				}
				first[sh.Case] = i
				main = append(main, sh.Case)
				positions[sh.Case] = append(positions[sh.Case], len(main)-1)
				continue
			}
			if at, ok := first[sh.Case]; !ok || i-at < 5 {
				t.Errorf("rater %d sees %s again at %d after %d", r, sh.Case, i, at)
			}
		}
		if len(main) != 40 {
			t.Fatalf("rater %d sees %d cases", r, len(main))
		}
		ones, neighbours := 0, 0
		for i, name := range main {
			c := s.of(showing{Case: name})
			if i < 20 && c.Group == s.Cases[0].Group {
				ones++
			}
			if i > 0 && c.Item == s.of(showing{Case: main[i-1]}).Item {
				neighbours++
			}
		}
		if ones < 9 || ones > 11 || neighbours > 0 {
			t.Errorf("rater %d: %d of a group of 20 in the first half, %d answers to one item in a row", r, ones, neighbours)
		}
	}
	for name, at := range positions {
		for pair := 0; pair < 8; pair += 2 {
			if at[pair]+at[pair+1] != 39 {
				t.Errorf("%s comes at %d and %d for a pair of raters", name, at[pair], at[pair+1])
			}
		}
	}
	if slices.Equal(showingOrder(s, 0), showingOrder(s, 2)) {
		t.Error("two raters have the same order")
	}
}

// TestAgreementIsLive: the coordinator's figures are those of the ratings. Alpha of these
// is computed by hand: two raters, one difference of one grade among four cases.
func TestAgreementIsLive(t *testing.T) {
	b := begin(t, made(4), "anna", "ben")
	said := map[string]map[string]string{"anna": {"case00": "1", "case01": "2", "case02": "3", "case03": "4"}, "ben": {"case00": "1", "case01": "2", "case02": "3", "case03": CannotJudge}}
	for _, name := range []string{"anna", "ben"} {
		w := b.signIn(name)
		for at, sh := range b.log.state.rater(name).order {
			w.rate(at+1, map[bool]string{true: "5", false: said[name][sh.Case]}[sh.Calibration], map[bool]string{true: "3", false: "2"}[name == "ben" && sh.Repeat > 0])
		}
	}
	axes := b.log.lead().Axes
	if len(axes) != 3 || axes[0].Axis != "CF" || axes[0].Alpha != "1.00" || axes[0].Cases != "3" || axes[0].Ratings != "7" || axes[0].Cannot != "1" {
		t.Errorf("CF: %+v", axes)
	}
	if a := axes[1]; a.Alpha == "1.00" || a.Self != "1 of 2" || a.Ratings != "8" {
		t.Errorf("CA, all the same: %+v", a)
	}
}

// TestWhatCannotBeJudgedAgreesWithNothing: of the case that comes again CF cannot be judged at first,
// and CA not the second time. Neither agrees with itself or not, and it is counted where it came first.
func TestWhatCannotBeJudgedAgreesWithNothing(t *testing.T) {
	b := begin(t, made(4), "anna")
	anna := b.signIn("anna")
	var twice string
	order := b.log.state.rater("anna").order
	for _, sh := range order {
		if sh.Repeat > 0 {
			twice = sh.Case
		}
	}
	for at, sh := range order {
		cf, ca := "2", "3"
		switch {
		case sh.Case == twice && sh.Repeat == 0:
			cf = CannotJudge
		case sh.Case == twice:
			ca = CannotJudge
		}
		anna.rate(at+1, cf, ca)
	}
	for i, want := range []axisView{{Axis: "CF", Ratings: "3", Cannot: "1", Self: "–"}, {Axis: "CA", Ratings: "4", Cannot: "0", Self: "–"}} {
		if a := b.log.lead().Axes[i]; a.Axis != want.Axis || a.Ratings != want.Ratings || a.Cannot != want.Cannot || a.Self != want.Self {
			t.Errorf("%+v, want %+v", a, want)
		}
	}
}

// TestProgressIsOfWhatIsDone: a calibration case of 1.5 s and a case of 3 s are submitted; ten minutes
// at the one that is open are no part of the median.
func TestProgressIsOfWhatIsDone(t *testing.T) {
	b := begin(t, made(4), "anna", "ben")
	anna := b.signIn("anna")
	anna.rate(1, "2", "")
	anna.rate(2, "2", "3")
	if status, k := anna.click(click{ID: id(), Kind: kindTime, Show: 3, Seconds: 600}); status != 200 {
		t.Fatalf("%d %+v", status, k)
	}
	got := b.log.lead().Raters
	got[0].Last = ""
	if want := []raterView{{Name: "anna", Done: "2 of 6", Calibrated: "1 of 1", Again: "0 of 1", Median: "2 s", Share: 33}, {Name: "ben", Done: "0 of 6", Calibrated: "0 of 1", Again: "0 of 1", Median: "–", Last: "never"}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSeveralOptionsAgreeInAnyOrder: what is wrong with every other case is ticked in two orders.
func TestSeveralOptionsAgreeInAnyOrder(t *testing.T) {
	b := begin(t, made(4), "anna", "ben")
	for name, ticked := range map[string][]string{"anna": {"reasoning", "other"}, "ben": {"other", "reasoning"}} {
		w := b.signIn(name)
		for at, sh := range b.log.state.rater(name).order {
			if !sh.Calibration {
				types := ticked
				if sh.Case == "case00" || sh.Case == "case01" {
					types = []string{"other"}
				}
				if status, k := w.click(click{ID: id(), Kind: kindRate, Show: at + 1, Field: "types", Value: types}); status != 200 {
					t.Fatalf("%d %+v", status, k)
				}
			}
			w.rate(at+1, "2", "3")
		}
	}
	if a := b.log.lead().Axes[2]; a.Axis != "types" || a.Alpha != "1.00" || a.Cases != "4" || a.Self != "2 of 2" {
		t.Errorf("%+v", a)
	}
}
