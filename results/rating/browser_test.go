//go:build browser

package rating

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	chromium "assay/results/browser"
)

// These tests need a Chromium on the PATH:
//
//	go test -tags browser -run InABrowser ./results/rating/
//
// ASSAY_SCREENSHOTS names a folder that keeps what they saw.

var (
	desk = chromium.Look{Width: 1280, Height: 900, Scheme: "light"}
	wide = chromium.Look{Width: 1440, Height: 900, Scheme: "light"}
)

// meant are complaints of the browser about lost connections and a wrong code.
var meant = []string{"net::ERR_", "403 (Forbidden)"}

// signIn types the code, by keyboard alone.
func signIn(b *chromium.Tab, address, code string) {
	b.Do(chromedp.Navigate(address))
	b.Until("document.activeElement && document.activeElement.id === 'code'")
	b.Do(chromedp.KeyEvent(code + "\r"))
	b.Until("location.pathname !== '/' && document.querySelector('h1')")
}

// tabTo presses Tab until an element has the focus.
func tabTo(b *chromium.Tab, element string) {
	for range 60 {
		b.Do(chromedp.KeyEvent("\t"))
		if chromium.Eval[bool](b, "document.activeElement === "+element) {
			return
		}
	}
	b.Until("false && 'Tab does not lead there'")
}

// see audits a page at phone and desktop width, light and dark, and keeps pictures of it.
func see(b *chromium.Tab, name string) {
	for _, l := range chromium.Looks() {
		if l.Width == 820 {
			continue
		}
		b.Look(l)
		b.Drawn()
		b.See("rating-"+name, l)
	}
}

// served is assay people serve, as a process that can be killed.
type served struct {
	t       *testing.T
	dir     string
	address string
	codes   map[string]string
	cmd     *exec.Cmd
}

// serve starts it at an address; the codes that it prints are added.
func (s *served) serve(listen string, more ...string) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.dir, "assay"), append([]string{"people", "serve", "-c", "bench.yaml", "--listen", listen, "--also", "helpfulness"}, append(more, "f.sqlite")...)...)
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.cmd = cmd
	s.t.Cleanup(s.kill)
	code := regexp.MustCompile(`^code of (\S+): (\S+)$`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := code.FindStringSubmatch(lines.Text()); m != nil {
			s.codes[m[1]] = m[2]
		}
		if at, ok := strings.CutPrefix(lines.Text(), "study server at "); ok {
			s.address, _, _ = strings.Cut(at, " ")
			return
		}
	}
	s.t.Fatal("assay people serve ended")
}

func (s *served) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *served) assay(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.dir, "assay"), args...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("assay %v: %v\n%s", args, err, out)
	}
	return string(out)
}

const bench = `name: f
store: f.sqlite
datasets:
  chest: {kind: phantom, items: 8, size: 256}
backends:
  p: {kind: phantom, protocol: ollama}
models:
  honest: {backend: p, model: honest}
judges:
  lexical: {kind: lexical}
studies:
  faithfulness:
    dataset: chest
    arms: [structured]
    conditions: [sham, VB-BB-]
`

// TestStudyInABrowser: three raters at once. One uses the keyboard alone, one reloads in
// the middle, one loses the connection; the server is killed while all three are at work
// and started again. Every rating is kept once, and is the one that was chosen.
func TestStudyInABrowser(t *testing.T) {
	s := &served{t: t, dir: t.TempDir(), codes: map[string]string{}}
	if err := os.WriteFile(filepath.Join(s.dir, "bench.yaml"), []byte(bench), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(s.dir, "assay"), "assay").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.assay("run")
	s.assay("people", "sample", "--by", "none", "--items", "3", "--calibration", "1", "--out", "cases.jsonl", "f.sqlite")
	s.serve("127.0.0.1:0", "--rater", "keys", "--rater", "reloads", "--rater", "offline")
	first := chromium.Start(t)
	names := []string{"keys", "reloads", "offline"}
	tabs := map[string]*chromium.Tab{}
	for _, name := range names {
		tabs[name] = first.Another(name, meant...)
		tabs[name].Look(desk)
		signIn(tabs[name], s.address, s.codes[name])
		tabs[name].Until("location.pathname === '/instructions'")
		// The last link of the page is the way on.
		tabTo(tabs[name], "[...document.querySelectorAll('a')].at(-1)")
		tabs[name].Do(chromedp.KeyEvent("\r"))
		tabs[name].Until("location.pathname === '/case'")
	}
	// One case to learn by, those drawn (some items lack a condition), one of them again.
	all := chromium.Eval[int](tabs["keys"], "document.querySelector('progress').max")
	if all < 6 {
		t.Fatalf("%d cases are too few", all)
	}
	lead := first.Another("coordinator", meant...)
	lead.Look(desk)
	signIn(lead, s.address, s.codes[Coordinator])
	lead.Until("document.querySelectorAll('tbody')[0].rows.length === 3")

	type grade struct {
		rater, field string
		position     int
	}
	chosen := map[grade]string{}
	for i, name := range names {
		for at := 1; at <= all; at++ {
			for k, field := range []string{"CF", "CA", "CT", "helpfulness"} {
				chosen[grade{name, field, at}] = fmt.Sprint(1 + (at+2*k+i)%5)
			}
		}
	}
	on := func(name string, at int) {
		tabs[name].Until(fmt.Sprintf("document.readyState === 'complete' && document.getElementById('main').dataset.position === '%d' && document.querySelector('.picture').dataset.state === 'shown'", at))
	}
	// rate presses the grade of each field; the focus goes on by itself.
	rate := func(name string, at int, fields ...string) {
		for _, f := range fields {
			tabs[name].Do(chromedp.KeyEvent(chosen[grade{name, f, at}]))
			tabs[name].Until(fmt.Sprintf("document.querySelector('fieldset[data-field=%s] input[value=\"%s\"]').checked", f, chosen[grade{name, f, at}]))
		}
	}
	// With everything answered the focus is on the button.
	submit := func(name string) {
		tabs[name].Until("document.activeElement.id === 'submit'")
		tabs[name].Do(chromedp.KeyEvent("\r"))
	}
	saved := func(name string) { tabs[name].Until("document.getElementById('saved').textContent === 'All saved.'") }
	whole := []string{"CF", "CA", "CT", "helpfulness"}

	for _, name := range names {
		on(name, 1)
		rate(name, 1, whole...)
		submit(name)
	}
	for _, name := range names {
		on(name, 2)
	}
	// Nothing is answered: the button says so, and leads to the first question.
	tabTo(tabs["keys"], "document.getElementById('submit')")
	tabs["keys"].Do(chromedp.KeyEvent("\r"))
	tabs["keys"].Until("!document.getElementById('wrong').hidden && document.activeElement.name === 'CF'")
	rate("keys", 2, whole...)
	tabTo(tabs["keys"], "document.getElementById('remark')")
	tabs["keys"].Do(chromedp.KeyEvent("12 <b>said</b> 5"))
	tabTo(tabs["keys"], "document.getElementById('submit')")
	submit("keys")

	// One reloads between two clicks, and goes back and forth.
	rate("reloads", 2, "CF", "CA")
	saved("reloads")
	tabs["reloads"].Do(chromedp.Reload())
	on("reloads", 2)
	tabs["reloads"].Until(fmt.Sprintf("document.querySelector('fieldset[data-field=CA] input[value=\"%s\"]').checked", chosen[grade{"reloads", "CA", 2}]))
	tabs["reloads"].Do(chromedp.Navigate(s.address+"instructions"), chromedp.NavigateBack())
	on("reloads", 2)
	rate("reloads", 2, "CT", "helpfulness")
	submit("reloads")

	// One loses the connection, rates on, and reloads nothing: the clicks wait.
	tabs["offline"].Offline(true)
	rate("offline", 2, whole...)
	submit("offline")
	tabs["offline"].Until("document.getElementById('saved').textContent.startsWith('Not saved yet')")
	if n := chromium.Eval[int](tabs["offline"], "JSON.parse(localStorage.getItem(Object.keys(localStorage)[0])).length"); n != 5 {
		t.Errorf("%d clicks wait, want 5", n)
	}
	tabs["offline"].Offline(false)
	on("offline", 3)
	on("keys", 3)
	on("reloads", 3)

	// The server is killed while all are at work, and comes back.
	for _, name := range names {
		rate(name, 3, "CF", "CA")
	}
	s.kill()
	for _, name := range names {
		rate(name, 3, "CT", "helpfulness")
		submit(name)
		tabs[name].Until("document.getElementById('saved').textContent.startsWith('Not saved yet')")
	}
	host := strings.TrimSuffix(strings.TrimPrefix(s.address, "http://"), "/")
	if l, err := net.Listen("tcp", host); err != nil {
		t.Fatalf("somebody took the port: %v", err)
	} else {
		l.Close()
	}
	s.serve(host)
	for at := 4; at <= all; at++ {
		for _, name := range names {
			on(name, at)
			rate(name, at, whole...)
			submit(name)
		}
	}
	for _, name := range names {
		tabs[name].Until("document.querySelector('h1').textContent === 'All cases are rated'")
		if n := chromium.Eval[int](tabs[name], "Object.keys(localStorage).length"); n != 0 {
			t.Errorf("%s: something waits at the end", name)
		}
	}
	lead.Until(fmt.Sprintf("[...document.querySelectorAll('tbody')[0].rows].every(r => r.cells[2].textContent === '%d of %d')", all, all))
	lead.Keep("rating-coordinator-study", true)
	for _, b := range append([]*chromium.Tab{lead}, tabs["keys"], tabs["reloads"], tabs["offline"]) {
		b.Fine()
	}
	s.kill()

	// What is in the log, read as plain lines: each last value is what was chosen, each
	// case submitted once, each click there once.
	content, err := os.ReadFile(filepath.Join(s.dir, "f-ratings.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	got, submits, clicks := map[grade]string{}, map[grade]int{}, map[string]int{}
	for line := range strings.Lines(string(content)) {
		var e struct {
			Kind, Rater, ID, Field string
			Position               int
			Value                  []string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Kind == "rate" && e.Field == "remark":
			if e.Value[0] != "12 <b>said</b> 5" {
				t.Errorf("the remark is %q", e.Value)
			}
		case e.Kind == "rate":
			got[grade{e.Rater, e.Field, e.Position}] = e.Value[0]
		case e.Kind == "submit":
			submits[grade{e.Rater, "", e.Position}]++
		}
		if e.ID != "" {
			clicks[e.Rater+e.ID]++
		}
	}
	for g, want := range chosen {
		if got[g] != want {
			t.Errorf("%+v: %q is kept, %q was chosen", g, got[g], want)
		}
		if submits[grade{g.rater, "", g.position}] != 1 {
			t.Errorf("%+v: submitted %d times", g, submits[grade{g.rater, "", g.position}])
		}
	}
	for c, n := range clicks {
		if n != 1 {
			t.Errorf("click %s is there %d times", c, n)
		}
	}
	// And as assay people agree reads it: 3 raters x the cases (one of them twice) x 4 axes.
	if out := s.assay("people", "export", "--also", "helpfulness", "--out", "ratings.csv", "f.sqlite"); !strings.Contains(out, fmt.Sprintf("%d ratings", 3*(all-1)*4)) {
		t.Errorf("the export says %s", out)
	}
	if out := s.assay("people", "agree", "--draws", "200", "--ratings", "ratings.csv", "f.sqlite"); !strings.Contains(out, fmt.Sprintf("3 people rated %d answers of study faithfulness", all-2)) {
		t.Errorf("assay people agree says %s", out)
	}
}

// TestPagesInABrowser audits every page, of answers that want to be more than text, and
// tries what a picture does.
func TestPagesInABrowser(t *testing.T) {
	study := made(4)
	study.Synthetic = true
	for i := range study.Cases {
		study.Cases[i].Pictures = []string{"Picture 1 of 2 as it was sent", "Picture 2 of 2 as it was sent"}
	}
	study.Cases[0].Texts = append(study.Cases[0].Texts, Text{Title: "Reasoning", Body: strings.Repeat("The heart is large. ", 40) + strings.Repeat("x", 300)})
	b := begin(t, study, "anna", "ben", "cara")
	w := chromium.Start(t).Another("anna", meant...)
	w.Look(wide)
	w.Do(chromedp.Navigate(b.server.URL + "/"))
	see(w, "signin")
	w.Do(chromedp.Evaluate[chromedp.Void]("void document.getElementById('code').focus()"), chromedp.KeyEvent("0000\r"))
	w.Until("document.querySelector('[role=alert]')")
	see(w, "signin-wrong")
	signIn(w, b.server.URL+"/", b.codes["anna"])
	see(w, "instructions")
	w.Do(chromedp.Navigate(b.server.URL + "/case"))
	w.Until("document.querySelector('fieldset')")
	see(w, "calibration")
	w.Do(chromedp.KeyEvent("3\r"))
	w.Until("document.getElementById('main').dataset.position === '2' && document.querySelector('.picture').dataset.state === 'shown'")
	see(w, "case")

	// The picture: grey values by dragging, zoom by the wheel, both pictures.
	w.Look(wide)
	read := func() string {
		return chromium.Eval[string](w, "document.querySelector('.picture-readout').textContent")
	}
	w.Until("document.querySelector('.picture-readout').textContent.includes('64 × 48, 16 bits')")
	before := read()
	at := chromium.Eval[[]float64](w, "(() => { const r = document.querySelector('.picture canvas').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
	w.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void (() => { const c = document.querySelector('.picture canvas'); c.setPointerCapture = () => {};
for (const [type, dx] of [['pointerdown', 0], ['pointermove', 80], ['pointerup', 80]]) c.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: %f + dx, clientY: %f, bubbles: true })); })()`, at[0], at[1])))
	w.Until(fmt.Sprintf("document.querySelector('.picture-readout').textContent !== %q", before))
	if s := read(); !strings.Contains(s, "16 bits") {
		t.Errorf("after dragging: %s", s)
	}
	w.Do(chromedp.Evaluate[chromedp.Void]("void document.querySelector('.picture canvas').focus()"), chromedp.KeyEvent("0"))
	w.Until(fmt.Sprintf("document.querySelector('.picture-readout').textContent === %q", before))
	w.Do(chromedp.KeyEvent("+"))
	w.Until(fmt.Sprintf("document.querySelector('.picture-readout').textContent !== %q", before))
	for _, mode := range []string{"other", "beside", "slider", "difference", "one"} {
		w.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("void (() => { const s = document.querySelector('.picture select'); s.value = %q; s.dispatchEvent(new Event('change')); })()", mode)))
		w.Drawn()
		if mode == "difference" {
			w.Until("document.querySelector('.picture-said').textContent.includes('largest difference')")
		}
		w.Keep("rating-picture-"+mode, false)
	}
	w.Do(chromedp.Evaluate[chromedp.Void]("void [...document.querySelectorAll('.picture-bar button')].find(b => b.getAttribute('aria-label') === 'next picture').click()"))
	w.Until("document.querySelector('.picture').dataset.state === 'shown' && document.querySelector('.picture-where').textContent === '2 of 2' && document.querySelector('.picture canvas').getAttribute('aria-label').startsWith('Picture 2 of 2')")
	// A digit on the picture rates, and 0 does not.
	w.Do(chromedp.Evaluate[chromedp.Void]("void document.querySelector('.picture canvas').focus()"), chromedp.KeyEvent("4"))
	w.Until("document.querySelector('fieldset[data-field=CF] input[value=\"4\"]').checked && document.activeElement.name === 'CA'")
	w.Do(chromedp.KeyEvent("c"))
	w.Until("document.querySelector('fieldset[data-field=CA] input[value=cannot]').checked")
	w.Until("document.getElementById('saved').textContent === 'All saved.'")
	see(w, "case-answered")
	anna := b.signIn("anna")
	for p := 2; p <= 6; p++ {
		anna.rate(p, "2", "3")
	}
	w.Do(chromedp.Navigate(b.server.URL + "/case"))
	w.Until("document.querySelector('h1').textContent === 'All cases are rated'")
	see(w, "done")
	lead := w.Another("coordinator", meant...)
	lead.Look(wide)
	signIn(lead, b.server.URL+"/", b.codes[Coordinator])
	see(lead, "coordinator")
	w.Fine()
	lead.Fine()
}
