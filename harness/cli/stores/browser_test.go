//go:build browser

package stores_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"assay/harness/view"
	"assay/results"
	"assay/results/serve"
	"assay/results/sqlite"
	"assay/results/viewer"
)

// These tests need a Chromium on the PATH:
//
//	go test -tags browser -run InABrowser ./harness/cli/stores/
//
// ASSAY_SCREENSHOTS names a folder that keeps what they saw.

type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	events []string // what should not happen
}

// chromium starts a browser that talks to nobody but the pages.
func chromium(t *testing.T) *tab {
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
	b := &tab{t: t, ctx: ctx}
	for _, enable := range []func() error{
		func() error { return chromedp.Do(ctx) },
		func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(ctx, page.Enable, page.EnableParams{}); return err },
	} {
		if err := enable(); err != nil {
			t.Fatal(err)
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
			b.events = append(b.events, "the browser says: "+ev.Entry.Text+" "+ev.Entry.URL)
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
		b.t.Fatal(err)
	}
}

func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
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
			b.t.Fatalf("never: %s (%v)\n%s", expression, err, where)
		}
	}
}

// shown waits until the page and its pictures are there.
const shown = `document.readyState === 'complete' && [...document.querySelectorAll('.picture')].every(e => e.dataset.state === 'shown' && e.querySelector('.picture-readout').textContent)`

func (b *tab) open(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
	b.until(shown)
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

// audit is JavaScript that lists what is wrong with a page for somebody who uses a
// phone, a keyboard or a screen reader.
const audit = `(() => {
const bad = [], vw = document.documentElement.clientWidth;
for (const d of document.querySelectorAll('details')) d.open = true;
const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.baseVal === undefined ? '.' + e.className : '') + ' "' + (e.textContent || '').trim().slice(0, 40) + '"';
const shown = e => e.checkVisibility() && !e.closest('.skip');
if (document.documentElement.scrollWidth > vw) bad.push('the page is ' + document.documentElement.scrollWidth + ' wide, the window ' + vw);
if (!document.documentElement.lang) bad.push('the page has no language');
if (!document.title) bad.push('the page has no title');
for (const s of document.scripts) if (!s.src) bad.push('a script stands in the page');
for (const e of document.querySelectorAll('body *')) {
  for (const a of e.attributes) if (/^on/i.test(a.name) || a.name === 'style') bad.push(name(e) + ' has ' + a.name);
  if (!shown(e) || e.closest('.wide') && e !== e.closest('.wide') || e.closest('.show') || e.closest('svg') && e.tagName !== 'svg') continue;
  const r = e.getBoundingClientRect();
  if (r.width && (r.right > vw + 1 || r.left < -1)) bad.push(name(e) + ' reaches from ' + r.left + ' to ' + r.right);
}
const called = e => (e.getAttribute('aria-label') || (e.labels && [...e.labels].map(l => l.textContent).join(' ')) || e.textContent || '').trim();
for (const e of document.querySelectorAll('button, a[href], input:not([type=hidden]), select, canvas, [tabindex="0"]')) {
  if (!shown(e)) continue;
  if (!called(e) && !e.querySelector('img[alt]')) bad.push(name(e) + ' has no name');
  if (e.tabIndex > 0) bad.push(name(e) + ' leaves the order of the page');
  const r = (e.closest('label') || e).getBoundingClientRect();
  if (!e.matches('p a, header a, h3 a, th a') && (r.width < 24 || r.height < 20)) bad.push(name(e) + ' is ' + r.width + ' x ' + r.height);
}
for (const i of document.querySelectorAll('input[type=radio], input[type=checkbox]')) {
  const f = i.closest('fieldset');
  if (!f || !f.querySelector('legend') || !f.querySelector('legend').textContent.trim()) bad.push(name(i) + ' is in no fieldset with a legend');
}
for (const t of document.querySelectorAll('table')) {
  if (!t.caption) bad.push(name(t) + ' has no title');
  for (const th of t.querySelectorAll('th')) if (!/^(col|row)$/.test(th.scope)) bad.push(name(th) + ' has no scope');
}
for (const e of document.querySelectorAll('svg')) if (!e.getAttribute('aria-hidden') && (e.getAttribute('aria-label') || '').length < 10) bad.push(name(e) + ' has no alternative text');
for (const i of document.querySelectorAll('img')) {
  if (!i.hasAttribute('alt') || !i.alt && !called(i.closest('a') || i)) bad.push(name(i) + ' has no alternative text');
  if (i.complete && !i.naturalWidth && shown(i)) bad.push('the picture ' + i.src + ' is not shown');
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
  if (!walker.currentNode.data.trim() || !shown(e) || e.closest('svg')) continue;
  const c = rgb(getComputedStyle(e).color), b = behind(e);
  if (!c) continue;
  const x = lum(c), y = lum(b), ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05), key = c + '/' + b;
  if (ratio < 4.5 && !seen.has(key)) { seen.add(key); bad.push(name(e) + ': contrast ' + ratio.toFixed(2)); }
}
return bad;
})()`

// see audits a page at three widths, light and dark, and keeps pictures of it.
func (b *tab) see(name, address string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, w := range []struct{ width, height int64 }{{390, 844}, {820, 1180}, {1440, 900}} {
			b.look(w.width, w.height, scheme)
			b.open(address)
			if keep := os.Getenv("ASSAY_SCREENSHOTS"); keep != "" {
				shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				if err != nil {
					b.t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(keep, fmt.Sprintf("view-%s-%d-%s.png", name, w.width, scheme)), shot, 0o644); err != nil {
					b.t.Fatal(err)
				}
			}
			for _, f := range eval[[]string](b, audit) {
				b.t.Errorf("%s at %d, %s: %s", name, w.width, scheme, f)
			}
		}
	}
}

const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)></svg><a href="javascript:alert(4)">x</a><style>*{display:none}</style><iframe src="http://127.0.0.1:1/"></iframe>`

// hostileCopy is the tour with an answer that wants to be more than text, open to be
// written to.
func hostileCopy(t *testing.T, dir string) (string, *sqlite.Store, results.Key) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "tour.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tour.sqlite")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	for trial, err := range st.Trials(t.Context(), "faithfulness") {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Key.Condition != "VB-BB-" {
			continue
		}
		a := &trial.Attempts[len(trial.Attempts)-1]
		a.Output.Answer += "\n" + hostile + strings.Repeat("W", 2000)
		a.Output.Reasoning = hostile
		if err := st.PutTrial(t.Context(), trial); err != nil {
			t.Fatal(err)
		}
		return path, st, trial.Key
	}
	t.Fatal("no trial to change")
	return "", nil, results.Key{}
}

// TestViewInABrowser drives every page of a phantom run of all studies: search, filter,
// order, open, go on by keyboard, window and level, slider, difference, live update;
// three widths, light and dark; hostile answers run nothing.
func TestViewInABrowser(t *testing.T) {
	dir, err := toured()
	if err != nil {
		t.Fatal(err)
	}
	path, st, k := hostileCopy(t, dir)
	r, err := view.Open(t.Context(), path, []string{filepath.Join(dir, "bench.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	v := viewer.New([]*viewer.Run{r})
	v.Refresh(t.Context(), r)
	srv := httptest.NewServer(serve.Guard(serve.Options{Listen: "127.0.0.1:0"}, v.Handler()))
	defer srv.Close()
	b := chromium(t)
	trial := srv.URL + fmt.Sprintf("/run/tour/trial?study=%s&model=%s&item=%s&arm=%s&condition=%s&repeat=0", k.Study, k.Model, k.Item, k.Arm, k.Condition)
	for name, address := range map[string]string{
		"list": srv.URL + "/", "run": srv.URL + "/run/tour/", "trials": srv.URL + "/run/tour/trials?study=faithfulness", "trials-cot": srv.URL + "/run/tour/trials?study=cot&sort=-latency_s&show=item&show=model&show=latency_s&show=ttft_s",
		"hostile": trial, "words": strings.Replace(trial, "VB-BB-", "TB-LA-", 1), "item": srv.URL + "/run/tour/item?study=faithfulness&item=" + k.Item, "reply": strings.NewReplacer("/trial?", "/reply?", "VB-BB-", "TB-LA-").Replace(trial) + "&rubric=CA&judge=lexical",
		"diagnosis": srv.URL + "/run/tour/trials?study=diagnosis&is.arm=mcq",
	} {
		b.see(name, address)
	}

	b.look(1280, 900, "light")
	b.open(srv.URL + "/run/tour/trials?study=faithfulness")
	// By a script: chromedp types the character, too, whatever became of the key.
	eval[bool](b, "document.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))")
	b.until("document.activeElement.id === 'search'")
	b.do(chromedp.KeyEvent("answer\r"))
	b.until("new URLSearchParams(location.search).get('q') === 'answer' && " + shown)
	before := eval[string](b, "document.querySelector('[role=status] b').textContent")
	eval[bool](b, "(() => { const s = document.querySelector('select[name=\"is.condition\"]'); s.value = 'TB-LA-'; s.form.requestSubmit(); return true; })()")
	b.until("new URLSearchParams(location.search).get('is.condition') === 'TB-LA-' && " + shown)
	if after := eval[string](b, "document.querySelector('[role=status] b').textContent"); after == before || after == "0" {
		t.Errorf("%s trials before the filter, %s after", before, after)
	}
	for _, want := range []string{"ascending", "descending"} {
		eval[bool](b, "(() => { [...document.querySelectorAll('thead th a')].find(a => a.textContent.startsWith('tokens')).click(); return true; })()")
		b.until("document.querySelector('th[aria-sort=" + want + "]') && " + shown)
	}
	tokens := eval[[]float64](b, "(() => { const at = [...document.querySelectorAll('thead tr')[0].children].findIndex(c => c.textContent.startsWith('tokens')); return [...document.querySelectorAll('tbody tr')].map(r => Number(r.children[at].textContent)); })()")
	for i := 1; i < len(tokens); i++ {
		if tokens[i] > tokens[i-1] {
			t.Errorf("the table is not in order: %v", tokens)
		}
	}
	eval[bool](b, "(() => { document.querySelector('a.open').click(); return true; })()")
	b.until("location.pathname.endsWith('/trial') && " + shown)
	first := eval[string](b, "location.href")
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.until("location.href !== " + fmt.Sprintf("%q", first) + " && location.pathname.endsWith('/trial') && " + shown)
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.until("location.href === " + fmt.Sprintf("%q", first) + " && " + shown)
	b.do(chromedp.KeyEvent("u"))
	b.until("location.pathname.endsWith('/trials') && new URLSearchParams(location.search).get('q') === 'answer'")

	b.open(trial)
	readout := func() string { return eval[string](b, "document.querySelector('.picture-readout').textContent") }
	grey := readout()
	at := eval[[]float64](b, "(() => { const c = document.querySelector('canvas'); c.scrollIntoView(); const r = c.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()")
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]-60, at[1]+40, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0]-60, at[1]+40, chromedp.ButtonLeft))
	b.until("document.querySelector('.picture-readout').textContent.split('·')[1] !== " + fmt.Sprintf("%q", strings.Split(grey, "·")[1]))
	pixels := "(() => { const c = document.querySelector('canvas'); return c.toDataURL().length; })()"
	for _, mode := range []string{"other", "beside", "slider", "difference"} {
		eval[bool](b, "(() => { const s = document.querySelector('.picture-bar select'); s.value = '"+mode+"'; s.dispatchEvent(new Event('change')); return true; })()")
		b.until("document.querySelector('.picture-bar input[type=range]').hidden === " + fmt.Sprint(mode != "slider"))
		if mode == "difference" {
			b.until("/largest difference is [1-9]/.test(document.querySelector('.picture-said').textContent)")
		}
		if eval[int](b, pixels) < 1000 {
			t.Errorf("%s: the picture is empty", mode)
		}
	}
	if got := eval[int](b, "document.querySelectorAll('main iframe, main script, main style').length"); got != 0 {
		t.Error("a text of a model has become elements")
	}

	b.open(srv.URL + "/run/tour/")
	stored := eval[string](b, "document.querySelector('main table').innerText")
	for trial, err := range st.Trials(t.Context(), "cot") {
		if err != nil {
			t.Fatal(err)
		}
		trial.Key.Repeat = 7
		if err := st.PutTrial(t.Context(), trial); err != nil {
			t.Fatal(err)
		}
		break
	}
	b.until("document.querySelector('main table').innerText !== " + fmt.Sprintf("%q", stored))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		t.Error(e)
	}
}

// TestTheAuditCanFail: a page with one mistake of each kind is found out.
func TestTheAuditCanFail(t *testing.T) {
	const wrong = `<!DOCTYPE html><title>x</title><body><h1>x</h1><h3>y</h3><h1>z</h1><script>1</script><p style="color:#ccc">pale words</p><input type="checkbox"><button tabindex="3">b</button>
<div style="width:3000px">wide</div><table><tr><th>a</th></tr></table><svg width="9" height="9"></svg><img src="data:,x"><i id="q"></i><i id="q"></i><select></select>`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, wrong)
	}))
	defer srv.Close()
	b := chromium(t)
	b.look(390, 844, "light")
	b.open(srv.URL)
	all := strings.Join(eval[[]string](b, audit), "\n")
	for _, want := range []string{"the page is", "no language", "a script stands", "has style", "reaches from", "has no name", "leaves the order", "no fieldset", "has no title", "has no scope", "no alternative text", "is not shown", "follows a heading", "not one h1", "not one main", "there twice", "contrast"} {
		if !strings.Contains(all, want) {
			t.Errorf("the audit does not find %q in\n%s", want, all)
		}
	}
}
