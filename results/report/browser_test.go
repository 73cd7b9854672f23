//go:build browser

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
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

	"assay/results"
)

// These tests open reports in Chromium, which must be on the PATH:
//
//	go test -tags browser ./results/report/
//
// ASSAY_SCREENSHOTS names a folder that keeps what they saw.

// browser starts a Chromium that talks to nobody.
func browser(t *testing.T) context.Context {
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
	return ctx
}

// defaultReport is the page of the default run, as a person makes it.
var defaultReport = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-report-")
	if err != nil {
		return "", err
	}
	bench, err := os.ReadFile(filepath.Join("..", "..", "bench.yaml"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), bench, 0o644); err != nil {
		return "", err
	}
	for _, cmd := range []*exec.Cmd{exec.Command("go", "build", "-o", filepath.Join(dir, "assay"), "assay"), exec.Command(filepath.Join(dir, "assay"), "run")} {
		if cmd.Args[0] != "go" {
			cmd.Dir = dir
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, ".assay", "*-report", "report.html"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the default run left the reports %v (%v)", found, err)
	}
	return found[0], nil
})

// hostileReport is a page whose every text wants to be more than text.
func hostileReport(t *testing.T) string {
	t.Helper()
	bad := `<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)></svg><a href="javascript:alert(4)">x</a><style>*{display:none}</style><iframe src="http://127.0.0.1:1/"></iframe>` + hostile
	sections, m := fixture(true)
	m.Title, m.Manifest.Name = bad, bad
	sections[0].Notes, sections[0].Warnings, sections[0].Intro = []string{bad}, []string{bad}, bad
	sections[0].Tables[0].Columns[1].Title, sections[0].Tables[0].Columns[1].Unit = bad[:80], bad[:30]
	sections[0].Tables[0].Rows[0][0].Text = strings.Repeat("W", 400)
	sections[0].Figures[0].Title, sections[0].Figures[0].Alt, sections[0].Figures[0].X.Title = bad, bad, bad
	sections[0].Figures[0].Series[0].Name = bad
	m.Examples[0].Question, m.Examples[0].Views[0].Output.Answer = bad, bad+" the heart is large "+strings.Repeat("x", 3000)
	m.Examples[0].Views[0].Judgments[0].Verdict = json.RawMessage(`{"quote":"<script>alert(1)</script>","verdict":"<b>correct</b>"}`)
	m.Examples[0].Views[0].Judgments[0].Reading = results.Reading{More: true, Fields: []results.Field{{Name: "<i>verdict</i>", Text: "<b>correct</b>"}},
		Quotes: []results.Quote{{Text: "<script>alert(1)</script>", Says: "<b>correct</b>"}}}
	var b bytes.Buffer
	if err := HTML(&b, sections, m); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hostile.html")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// look is one way to open a page.
type look struct {
	width, height int64
	scheme, media string
}

func (l look) String() string { return fmt.Sprintf("%d-%s%s", l.width, l.scheme, l.media) }

func looks() []look {
	var out []look
	for _, scheme := range []string{"light", "dark"} {
		out = append(out, look{390, 844, scheme, ""}, look{820, 1180, scheme, ""}, look{1440, 900, scheme, ""})
	}
	return append(out, look{794, 1123, "dark", "print"})
}

// open loads a page in one look.
func open(ctx context.Context, path string, l look) error {
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.width < 500}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: l.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}); err != nil {
		return err
	}
	return chromedp.Do(ctx, chromedp.Navigate("file://"+path))
}

// audit is JavaScript that lists what is wrong with a page.
const audit = `(() => {
const bad = [], vw = document.documentElement.clientWidth;
for (const d of document.querySelectorAll('details')) d.open = true;
const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.baseVal === undefined ? '.' + e.className : '') + ' "' + (e.textContent || '').trim().slice(0, 40) + '"';
const shown = e => e.checkVisibility();
if (document.documentElement.scrollWidth > vw) bad.push('the page is ' + document.documentElement.scrollWidth + ' wide, the window ' + vw);
if (document.scripts.length) bad.push('there are scripts');
const print = matchMedia('print').matches;
for (const e of document.querySelectorAll('body *')) {
  for (const a of e.attributes) if (/^on|^style$/i.test(a.name)) bad.push(name(e) + ' has ' + a.name);
  if (!shown(e) || e.closest('.wide') && e !== e.closest('.wide') || e.closest('svg') && e.tagName !== 'svg' || e.closest('.skip')) continue;
  const r = e.getBoundingClientRect();
  if (r.width && (r.right > vw + 1 || r.left < -1)) bad.push(name(e) + ' reaches from ' + r.left + ' to ' + r.right);
  if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth && getComputedStyle(e).overflowX !== 'visible' && !e.matches('.wide')) bad.push(name(e) + ' overflows');
}
for (const w of document.querySelectorAll('.wide')) {
  if (print) continue;
  w.scrollLeft = 1e6;
  const left = w.getBoundingClientRect().left;
  for (const th of w.querySelectorAll('tbody th')) if (Math.abs(th.getBoundingClientRect().left - left) > 2) { bad.push('the row names of ' + name(w) + ' leave with the rest'); break; }
  const span = w.querySelector('caption>span'), cap = span && span.getBoundingClientRect();
  if (cap && (cap.right > vw + 1 || cap.left < left - 1)) bad.push('the title of ' + name(w) + ' leaves');
  w.scrollLeft = 0;
  const th = w.querySelector('tbody th');
  if (th && w.scrollWidth > w.clientWidth && th.offsetWidth > 0.6 * w.clientWidth) bad.push('the row names of ' + name(w) + ' leave no room');
}
for (const t of document.querySelectorAll('table')) {
  if (!t.caption || t.caption.textContent.trim().length < 5) bad.push(name(t) + ' has no title');
  for (const th of t.querySelectorAll('th')) if (!/^(col|row)$/.test(th.scope)) bad.push(name(th) + ' has no scope');
}
for (const f of document.querySelectorAll('figure')) {
  const cap = f.querySelector('figcaption');
  if (!cap || !cap.textContent.trim()) bad.push(name(f) + ' has no caption');
  for (const d of f.querySelectorAll('[role=img]')) if ((d.getAttribute('aria-label') || '').length < 20) bad.push(name(f) + ' has no alternative text');
  const drawings = [...f.querySelectorAll('.draw')].filter(shown);
  if (f.querySelector('.draw') && drawings.length !== 1) bad.push(name(f) + ' shows ' + drawings.length + ' drawings');
  for (const d of drawings) {
    const svg = d.querySelector('svg');
    if (!svg) { bad.push(name(f) + ' has no drawing'); continue; }
    const r = svg.getBoundingClientRect();
    for (const t of svg.querySelectorAll('text')) {
      const b = t.getBoundingClientRect();
      if (b.left < r.left - 2 || b.right > r.right + 2 || b.top < r.top - 2 || b.bottom > r.bottom + 2) bad.push('in ' + name(f) + ' the words "' + t.textContent + '" are cut');
      if (b.height && b.height < 8) bad.push('in ' + name(f) + ' the words "' + t.textContent + '" are ' + b.height + ' px tall');
    }
  }
}
for (const i of document.querySelectorAll('img')) {
  if (!i.alt || i.alt.length < 10) bad.push(name(i) + ' has no alternative text');
  if (!i.complete || !i.naturalWidth) bad.push('a picture is not shown');
}
let level = 0;
for (const h of document.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
  const l = +h.tagName[1];
  if (l > level + 1) bad.push(name(h) + ' follows a heading of level ' + level);
  level = l;
}
if (document.querySelectorAll('h1').length !== 1) bad.push('not one h1');
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
if (new Set(ids).size !== ids.length) bad.push('an id is there twice');
for (const a of document.querySelectorAll('a')) if (!document.getElementById(decodeURIComponent(a.hash.slice(1)))) bad.push(name(a) + ' leads nowhere');
const rgb = s => { const m = s.match(/rgba?\(([^)]+)\)/); if (!m) return null; const v = m[1].split(/[ ,/]+/).map(Number); return v.length < 4 || v[3] > 0 ? v : null; };
const lum = c => { const f = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
const seen = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !shown(e) || e.closest('svg') && !e.getAttribute('class')) continue;
  const st = getComputedStyle(e), c = rgb(e.closest('svg') ? st.fill : st.color), b = behind(e);
  if (!c) continue;
  const x = lum(c), y = lum(b), ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05), key = c + '/' + b;
  if (ratio < 4.5 && !seen.has(key)) { seen.add(key); bad.push(name(e) + ': contrast ' + ratio.toFixed(2)); }
}
if (print) {
  if (lum(behind(document.body)) < 0.9) bad.push('print is dark');
  if (shown(document.querySelector('nav'))) bad.push('print shows the contents');
}
return bad;
})()`

// TestInABrowser opens pages at three widths, light and dark, and in print: no
// text runs, nothing is fetched or refused, nothing overflows, and what a person
// needs who does not see the page is there.
func TestInABrowser(t *testing.T) {
	path, err := defaultReport()
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	var mu sync.Mutex
	var events []string
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(ctx, page.Enable, page.EnableParams{}); return err },
	} {
		if err := enable(); err != nil {
			t.Fatal(err)
		}
	}
	err = chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case *page.EventJavascriptDialogOpening:
			events = append(events, "a script ran: "+ev.Message)
			go chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		case *runtime.EventExceptionThrown:
			events = append(events, "a script threw: "+ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			events = append(events, "the browser says: "+ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !strings.HasPrefix(u, "file://") && !strings.HasPrefix(u, "data:") {
				events = append(events, "the page asks for "+u)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	keep := os.Getenv("ASSAY_SCREENSHOTS")
	for name, path := range map[string]string{"default": path, "hostile": hostileReport(t)} {
		for _, l := range looks() {
			if err := open(ctx, path, l); err != nil {
				t.Fatalf("%s at %v: %v", name, l, err)
			}
			found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](audit))
			if err != nil {
				t.Fatalf("%s at %v: %v", name, l, err)
			}
			for _, f := range found {
				t.Errorf("%s at %v: %s", name, l, f)
			}
			if keep != "" {
				shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(keep, fmt.Sprintf("%s-%v.png", name, l)), shot, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, e := range events {
		t.Error(e)
	}
}

// TestTheAuditCanFail: a page with one mistake of each kind is found out.
func TestTheAuditCanFail(t *testing.T) {
	const wrong = `<!DOCTYPE html><title>x</title><body><h1>x</h1><h3>y</h3><h1>z</h1><script>1</script><p style="color:#ccc">pale words</p>
<div style="width:3000px">wide</div><table><tr><th>a</th></tr></table><figure><div class="draw" role="img"></div></figure><img src="data:,x"><a href="#nowhere">a</a><i id="q"></i><i id="q"></i>`
	path := filepath.Join(t.TempDir(), "wrong.html")
	if err := os.WriteFile(path, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	if err := open(ctx, path, look{390, 844, "light", ""}); err != nil {
		t.Fatal(err)
	}
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](audit))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(found, "\n")
	for _, want := range []string{"the page is", "scripts", "has style", "reaches from", "has no title", "has no scope", "has no caption", "alternative text", "not shown", "follows a heading", "not one h1", "there twice", "leads nowhere", "contrast"} {
		if !strings.Contains(all, want) {
			t.Errorf("the audit does not find %q in\n%s", want, all)
		}
	}
}

// TestImagesForTheReadme takes the pictures of docs/images; .ci/screenshots
// names the folder. Each begins where at is, an expression of JavaScript for an
// element; "": at the top.
func TestImagesForTheReadme(t *testing.T) {
	dir := os.Getenv("ASSAY_IMAGES")
	if dir == "" {
		dir = t.TempDir()
	}
	path, err := defaultReport()
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	id := func(name string) string { return fmt.Sprintf("document.getElementById(%q)", name) }
	for _, shot := range []struct {
		name string
		look
		at string
	}{
		{"report", look{1280, 960, "light", ""}, ""},
		{"report-study", look{1280, 900, "light", ""}, id("h-cot")},
		{"report-conditions", look{760, 820, "dark", ""}, id("f-faithfulness-flips")},
		{"report-example", look{1280, 900, "light", ""}, "[...document.querySelectorAll('.example')].find(e => e.querySelectorAll('img').length > 1)"},
		{"report-phone", look{390, 844, "dark", ""}, ""},
	} {
		if err := open(ctx, path, shot.look); err != nil {
			t.Fatal(err)
		}
		if shot.at != "" {
			found, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(() => { const e = "+shot.at+"; if (e) scrollTo(0, e.getBoundingClientRect().top + scrollY - 16); return !!e; })()"))
			if err != nil || !found {
				t.Errorf("%s: the page does not have what it shows (%v)", shot.name, err)
				continue
			}
		}
		taken, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := png.Decode(bytes.NewReader(taken))
		if err != nil {
			t.Fatal(err)
		}
		// 32 shades of each colour are enough, and make a file half as large.
		small := image.NewRGBA(decoded.Bounds())
		draw.Draw(small, small.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
		for i, v := range small.Pix {
			small.Pix[i] = uint8((int(v)*31 + 127) / 255 * 255 / 31)
		}
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
			t.Fatal(err)
		}
		if b.Len() < 10_000 || b.Len() > 300_000 {
			t.Errorf("%s: %d bytes", shot.name, b.Len())
		}
		if err := os.WriteFile(filepath.Join(dir, shot.name+".png"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
