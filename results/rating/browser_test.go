//go:build browser

package rating

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// These tests need a Chromium on the PATH:
//
//	go test -tags browser -run InABrowser ./results/rating/
//
// ASSAY_SCREENSHOTS names a folder that keeps what they saw.

// chromium starts one that talks to nobody else.
func chromium(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium on the PATH: apt-get install chromium, or leave the tag browser out")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
		chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// tab is one person's browser: its cookies and storage are its own.
type tab struct {
	t    *testing.T
	name string
	ctx  context.Context

	mu     sync.Mutex
	events []string // what should not happen
}

func newTab(t *testing.T, browser context.Context, name string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{t: t, name: name, ctx: ctx}
	for _, enable := range []func() error{
		func() error { return chromedp.Do(ctx) },
		func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(ctx, page.Enable, page.EnableParams{}); return err },
	} {
		if err := enable(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *page.EventJavascriptDialogOpening:
			b.events = append(b.events, "a script ran: "+ev.Message)
			go chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		case *runtime.EventExceptionThrown:
			b.events = append(b.events, "a script threw: "+ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if !strings.Contains(ev.Entry.Text, "net::ERR_") && !strings.Contains(ev.Entry.Text, "403 (Forbidden)") { // lost connections and a wrong code are meant
				b.events = append(b.events, "the browser says: "+ev.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !strings.HasPrefix(u, "http://127.0.0.1:") && !strings.HasPrefix(u, "data:") {
				b.events = append(b.events, "the page asks for "+u)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", b.name, err)
	}
}

func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %s: %v", b.name, expression, err)
	}
	return v
}

// until waits for an expression to be true, also while a page is being left.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && v {
			return
		}
		if time.Now().After(end) || b.ctx.Err() != nil {
			where, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText.slice(0, 800)"))
			b.t.Fatalf("%s: never: %s (%v)\n%s", b.name, expression, err, where)
		}
	}
}

// drawn waits for the next frame but one.
func (b *tab) drawn() {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))", chromedp.EvalAwaitPromise)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) look(width, height int64, scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500})
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) offline(off bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}}})
	if err == nil {
		_, err = chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// signIn types the code, by keyboard alone.
func (b *tab) signIn(address, code string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
	b.until("document.activeElement && document.activeElement.id === 'code'")
	b.do(chromedp.KeyEvent(code + "\r"))
	b.until("location.pathname !== '/' && document.querySelector('h1')")
}

func (b *tab) fine() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		b.t.Errorf("%s: %s", b.name, e)
	}
}

// audit is JavaScript that lists what is wrong with a page for somebody who uses a
// phone, a keyboard or a screen reader.
const audit = `(() => {
const bad = [], vw = document.documentElement.clientWidth;
const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className ? '.' + e.className : '') + ' "' + (e.textContent || '').trim().slice(0, 40) + '"';
const shown = e => e.checkVisibility() && !e.closest('.skip');
if (document.documentElement.scrollWidth > vw) bad.push('the page is ' + document.documentElement.scrollWidth + ' wide, the window ' + vw);
if (!document.documentElement.lang) bad.push('the page has no language');
for (const s of document.scripts) if (!s.src) bad.push('a script stands in the page');
for (const e of document.querySelectorAll('body *')) {
  for (const a of e.attributes) if (/^on/i.test(a.name) || a.name === 'style') bad.push(name(e) + ' has ' + a.name);
  if (!shown(e) || e.closest('.wide') && e !== e.closest('.wide')) continue;
  const r = e.getBoundingClientRect();
  if (r.width && (r.right > vw + 1 || r.left < -1)) bad.push(name(e) + ' reaches from ' + r.left + ' to ' + r.right);
}
const called = e => (e.getAttribute('aria-label') || (e.labels && [...e.labels].map(l => l.textContent).join(' ')) || e.textContent || '').trim();
for (const e of document.querySelectorAll('button, a[href], input:not([type=hidden]), select, textarea, canvas, progress, [tabindex="0"]')) {
  if (!shown(e)) continue;
  if (!called(e)) bad.push(name(e) + ' has no name');
  if (e.tabIndex > 0) bad.push(name(e) + ' leaves the order of the page');
  const r = (e.closest('label') || e).getBoundingClientRect();
  if (!e.matches('progress, p a') && (r.width < 24 || r.height < 20)) bad.push(name(e) + ' is ' + r.width + ' x ' + r.height);
}
for (const i of document.querySelectorAll('input[type=radio], input[type=checkbox]')) {
  const f = i.closest('fieldset');
  if (!f || !f.querySelector('legend') || !f.querySelector('legend').textContent.trim()) bad.push(name(i) + ' is in no fieldset with a legend');
}
if (document.querySelector('form#form')) {
  if (!document.querySelector('[role=status]') || !document.querySelector('[role=alert]')) bad.push('nothing is told to who does not see it');
}
for (const t of document.querySelectorAll('table')) {
  if (!t.caption) bad.push(name(t) + ' has no title');
  for (const th of t.querySelectorAll('th')) if (!/^(col|row)$/.test(th.scope)) bad.push(name(th) + ' has no scope');
}
let level = 0;
for (const h of document.querySelectorAll('h1,h2,h3,h4')) { const l = +h.tagName[1]; if (l > level + 1) bad.push(name(h) + ' follows a heading of level ' + level); level = l; }
if (document.querySelectorAll('h1').length !== 1) bad.push('not one h1');
if (document.querySelectorAll('main').length !== 1) bad.push('not one main');
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
if (new Set(ids).size !== ids.length) bad.push('an id is there twice');
const rgb = s => { const m = s.match(/rgba?\(([^)]+)\)/); if (!m) return null; const v = m[1].split(/[ ,/]+/).map(Number); return v.length < 4 || v[3] > 0 ? v : null; };
const lum = c => { const f = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
const seen = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !shown(e)) continue;
  const c = rgb(getComputedStyle(e).color), b = behind(e);
  if (!c) continue;
  const x = lum(c), y = lum(b), ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05), key = c + '/' + b;
  if (ratio < 4.5 && !seen.has(key)) { seen.add(key); bad.push(name(e) + ': contrast ' + ratio.toFixed(2)); }
}
return bad;
})()`

// see audits a page at phone and desktop width, light and dark, and keeps pictures of it.
func (b *tab) see(name string) {
	b.t.Helper()
	for _, w := range []struct{ width, height int64 }{{390, 844}, {1440, 900}} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(w.width, w.height, scheme)
			b.drawn()
			for _, f := range eval[[]string](b, audit) {
				b.t.Errorf("%s at %d, %s: %s", name, w.width, scheme, f)
			}
			if keep := os.Getenv("ASSAY_SCREENSHOTS"); keep != "" {
				shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				if err != nil {
					b.t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(keep, fmt.Sprintf("rating-%s-%d-%s.png", name, w.width, scheme)), shot, 0o644); err != nil {
					b.t.Fatal(err)
				}
			}
		}
	}
}

// served is assay rate serve, as a process that can be killed.
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
	cmd := exec.Command(filepath.Join(s.dir, "assay"), append([]string{"rate", "serve", "-c", "bench.yaml", "--listen", listen, "--also", "helpfulness"}, append(more, "f.sqlite")...)...)
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
	s.t.Fatal("assay rate serve ended")
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
	s.assay("rate", "sample", "--by", "none", "--items", "3", "--calibration", "1", "--out", "cases.jsonl", "f.sqlite")
	s.serve("127.0.0.1:0", "--rater", "keys", "--rater", "reloads", "--rater", "offline")
	browser := chromium(t)
	names := []string{"keys", "reloads", "offline"}
	tabs := map[string]*tab{}
	for _, name := range names {
		tabs[name] = newTab(t, browser, name)
		tabs[name].look(1280, 900, "light")
		tabs[name].signIn(s.address, s.codes[name])
		tabs[name].until("location.pathname === '/instructions'")
		// The last link of the page is the way on.
		tabs[name].do(chromedp.Evaluate[chromedp.Void]("void [...document.querySelectorAll('a')].at(-1).focus()"), chromedp.KeyEvent("\r"))
		tabs[name].until("location.pathname === '/case'")
	}
	// One case to learn by, those drawn (some items lack a condition), one of them again.
	all := eval[int](tabs["keys"], "document.querySelector('progress').max")
	if all < 6 {
		t.Fatalf("%d cases are too few", all)
	}
	lead := newTab(t, browser, "coordinator")
	lead.look(1280, 900, "light")
	lead.signIn(s.address, s.codes[Coordinator])
	lead.until("document.querySelectorAll('tbody')[0].rows.length === 3")

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
		tabs[name].until(fmt.Sprintf("document.readyState === 'complete' && document.getElementById('main').dataset.position === '%d' && document.querySelector('.picture').dataset.state === 'shown'", at))
	}
	// rate presses the grade of each field; the focus goes on by itself.
	rate := func(name string, at int, fields ...string) {
		for _, f := range fields {
			tabs[name].do(chromedp.KeyEvent(chosen[grade{name, f, at}]))
			tabs[name].until(fmt.Sprintf("document.querySelector('fieldset[data-field=%s] input[value=\"%s\"]').checked", f, chosen[grade{name, f, at}]))
		}
	}
	// With everything answered the focus is on the button.
	submit := func(name string) {
		tabs[name].until("document.activeElement.id === 'submit'")
		tabs[name].do(chromedp.KeyEvent("\r"))
	}
	saved := func(name string) { tabs[name].until("document.getElementById('saved').textContent === 'All saved.'") }
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
	tabs["keys"].do(chromedp.Evaluate[chromedp.Void]("void document.getElementById('submit').focus()"), chromedp.KeyEvent("\r"))
	tabs["keys"].until("!document.getElementById('wrong').hidden && document.activeElement.name === 'CF'")
	rate("keys", 2, whole...)
	tabs["keys"].do(chromedp.Evaluate[chromedp.Void]("void document.getElementById('remark').focus()"), chromedp.KeyEvent("12 <b>said</b> 5"), chromedp.Evaluate[chromedp.Void]("void document.getElementById('submit').focus()"))
	submit("keys")

	// One reloads between two clicks, and goes back and forth.
	rate("reloads", 2, "CF", "CA")
	saved("reloads")
	tabs["reloads"].do(chromedp.Reload())
	on("reloads", 2)
	tabs["reloads"].until(fmt.Sprintf("document.querySelector('fieldset[data-field=CA] input[value=\"%s\"]').checked", chosen[grade{"reloads", "CA", 2}]))
	tabs["reloads"].do(chromedp.Navigate(s.address+"instructions"), chromedp.NavigateBack())
	on("reloads", 2)
	rate("reloads", 2, "CT", "helpfulness")
	submit("reloads")

	// One loses the connection, rates on, and reloads nothing: the clicks wait.
	tabs["offline"].offline(true)
	rate("offline", 2, whole...)
	submit("offline")
	tabs["offline"].until("document.getElementById('saved').textContent.startsWith('Not saved yet')")
	if n := eval[int](tabs["offline"], "JSON.parse(localStorage.getItem(Object.keys(localStorage)[0])).length"); n != 5 {
		t.Errorf("%d clicks wait, want 5", n)
	}
	tabs["offline"].offline(false)
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
		tabs[name].until("document.getElementById('saved').textContent.startsWith('Not saved yet')")
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
		tabs[name].until("document.querySelector('h1').textContent === 'All cases are rated'")
		if n := eval[int](tabs[name], "Object.keys(localStorage).length"); n != 0 {
			t.Errorf("%s: something waits at the end", name)
		}
	}
	lead.until(fmt.Sprintf("[...document.querySelectorAll('tbody')[0].rows].every(r => r.cells[2].textContent === '%d of %d')", all, all))
	if keep := os.Getenv("ASSAY_SCREENSHOTS"); keep != "" {
		shot, err := chromedp.Run(lead.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(keep, "rating-coordinator-study.png"), shot, 0o644)
	}
	for _, b := range append([]*tab{lead}, tabs["keys"], tabs["reloads"], tabs["offline"]) {
		b.fine()
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
	// And as assay agree reads it: 3 raters x the cases (one of them twice) x 4 axes.
	if out := s.assay("rate", "export", "--also", "helpfulness", "--out", "ratings.csv", "f.sqlite"); !strings.Contains(out, fmt.Sprintf("%d ratings", 3*(all-1)*4)) {
		t.Errorf("the export says %s", out)
	}
	if out := s.assay("agree", "--draws", "200", "--ratings", "ratings.csv", "f.sqlite"); !strings.Contains(out, fmt.Sprintf("3 people rated %d answers of study faithfulness", all-2)) {
		t.Errorf("assay agree says %s", out)
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
	w := newTab(t, chromium(t), "anna")
	w.look(1440, 900, "light")
	w.do(chromedp.Navigate(b.server.URL + "/"))
	w.see("signin")
	w.do(chromedp.Evaluate[chromedp.Void]("void document.getElementById('code').focus()"), chromedp.KeyEvent("0000\r"))
	w.until("document.querySelector('[role=alert]')")
	w.see("signin-wrong")
	w.signIn(b.server.URL+"/", b.codes["anna"])
	w.see("instructions")
	w.do(chromedp.Navigate(b.server.URL + "/case"))
	w.until("document.querySelector('fieldset')")
	w.see("calibration")
	w.do(chromedp.KeyEvent("3\r"))
	w.until("document.getElementById('main').dataset.position === '2' && document.querySelector('.picture').dataset.state === 'shown'")
	w.see("case")

	// The picture: grey values by dragging, zoom by the wheel, both pictures.
	w.look(1440, 900, "light")
	read := func() string { return eval[string](w, "document.querySelector('.picture-readout').textContent") }
	w.until("document.querySelector('.picture-readout').textContent.includes('64 × 48, 16 bits')")
	before := read()
	at := eval[[]float64](w, "(() => { const r = document.querySelector('.picture canvas').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
	w.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void (() => { const c = document.querySelector('.picture canvas'); c.setPointerCapture = () => {};
for (const [type, dx] of [['pointerdown', 0], ['pointermove', 80], ['pointerup', 80]]) c.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: %f + dx, clientY: %f, bubbles: true })); })()`, at[0], at[1])))
	w.until(fmt.Sprintf("document.querySelector('.picture-readout').textContent !== %q", before))
	if s := read(); !strings.Contains(s, "16 bits") {
		t.Errorf("after dragging: %s", s)
	}
	w.do(chromedp.Evaluate[chromedp.Void]("void document.querySelector('.picture canvas').focus()"), chromedp.KeyEvent("0"))
	w.until(fmt.Sprintf("document.querySelector('.picture-readout').textContent === %q", before))
	w.do(chromedp.KeyEvent("+"))
	w.until(fmt.Sprintf("document.querySelector('.picture-readout').textContent !== %q", before))
	for _, mode := range []string{"other", "beside", "slider", "difference", "one"} {
		w.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("void (() => { const s = document.querySelector('.picture select'); s.value = %q; s.dispatchEvent(new Event('change')); })()", mode)))
		w.drawn()
		if mode == "difference" {
			w.until("document.querySelector('.picture-said').textContent.includes('largest difference')")
		}
		if keep := os.Getenv("ASSAY_SCREENSHOTS"); keep != "" {
			shot, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(filepath.Join(keep, "rating-picture-"+mode+".png"), shot, 0o644)
		}
	}
	w.do(chromedp.Evaluate[chromedp.Void]("void [...document.querySelectorAll('.picture-bar button')].find(b => b.getAttribute('aria-label') === 'next picture').click()"))
	w.until("document.querySelector('.picture').dataset.state === 'shown' && document.querySelector('.picture-where').textContent === '2 of 2' && document.querySelector('.picture canvas').getAttribute('aria-label').startsWith('Picture 2 of 2')")
	// A digit on the picture rates, and 0 does not.
	w.do(chromedp.Evaluate[chromedp.Void]("void document.querySelector('.picture canvas').focus()"), chromedp.KeyEvent("4"))
	w.until("document.querySelector('fieldset[data-field=CF] input[value=\"4\"]').checked && document.activeElement.name === 'CA'")
	w.do(chromedp.KeyEvent("c"))
	w.until("document.querySelector('fieldset[data-field=CA] input[value=cannot]').checked")
	w.until("document.getElementById('saved').textContent === 'All saved.'")
	w.see("case-answered")
	anna := b.signIn("anna")
	for p := 2; p <= 6; p++ {
		anna.rate(p, "2", "3")
	}
	w.do(chromedp.Navigate(b.server.URL + "/case"))
	w.until("document.querySelector('h1').textContent === 'All cases are rated'")
	w.see("done")
	lead := newTab(t, w.ctx, "coordinator")
	lead.look(1440, 900, "light")
	lead.signIn(b.server.URL+"/", b.codes[Coordinator])
	lead.see("coordinator")
	w.fine()
	lead.fine()
	if t.Failed() {
		return
	}
	// The audit can fail.
	w.do(chromedp.Evaluate[chromedp.Void](`void (document.querySelector('main').innerHTML = '<h3>x</h3><input><p id="a">y</p><i id="a"></i><table><tr><th>z</th></tr></table><input type="radio" aria-label="q">')`))
	found := strings.Join(eval[[]string](w, audit), "\n")
	for _, want := range []string{"has no name", "no fieldset", "no title", "no scope", "there twice", "not one h1", "follows a heading"} {
		if !strings.Contains(found, want) {
			t.Errorf("the audit does not find %q in\n%s", want, found)
		}
	}
}
