//go:build browser

// Package browser drives pages in Chromium for the tests of several packages, which
// are built with the tag browser. Chromium has to be on the PATH.
//
// ASSAY_SCREENSHOTS names a folder that keeps what the tests saw.
package browser

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed audit.js
var audit string

// Tab is a window of a browser. Its methods end the test where something fails.
type Tab struct {
	t    *testing.T
	name string
	ctx  context.Context

	mu     sync.Mutex
	events []string // what should not happen
}

// Start starts a Chromium that talks to nobody but 127.0.0.1 and files.
func Start(t *testing.T) *Tab {
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
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return watched(t, ctx, "browser")
}

// Another is the window of somebody else: its cookies and storage are its own. What the
// browser says may hold one of the words that are forgiven.
func (b *Tab) Another(name string, forgiven ...string) *Tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	b.t.Cleanup(cancel)
	return watched(b.t, ctx, name, forgiven...)
}

func watched(t *testing.T, ctx context.Context, name string, forgiven ...string) *Tab {
	t.Helper()
	b := &Tab{t: t, name: name, ctx: ctx}
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
			if !slices.ContainsFunc(forgiven, func(s string) bool { return strings.Contains(ev.Entry.Text, s) }) {
				b.events = append(b.events, "the browser says: "+ev.Entry.Text+" "+ev.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			u := ev.Request.URL
			if !slices.ContainsFunc([]string{"http://127.0.0.1:", "data:", "file://"}, func(s string) bool { return strings.HasPrefix(u, s) }) {
				b.events = append(b.events, "the page asks for "+u)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// Fine fails the test where a text became more than text, a script threw, the browser
// complained, or a page asked for something elsewhere.
func (b *Tab) Fine() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		b.t.Errorf("%s: %s", b.name, e)
	}
}

// Do takes steps, one after the other.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", b.name, err)
	}
}

// run is what a step brings.
func run[T any](b *Tab, step chromedp.Action[T]) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, step)
	if err != nil {
		b.t.Fatalf("%s: %v", b.name, err)
	}
	return v
}

// Eval is the value of an expression of JavaScript; a promise is waited for.
func Eval[T any](b *Tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %s: %v", b.name, expression, err)
	}
	return v
}

// Told is the tree of the page that a screen reader is given.
func (b *Tab) Told() []*accessibility.Node {
	b.t.Helper()
	got, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.t.Fatalf("%s: %v", b.name, err)
	}
	return got.Nodes
}

// Until waits for an expression to be true, also while a page is being left.
func (b *Tab) Until(expression string) {
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

// Shown is true when the page and its pictures are there.
const Shown = `document.readyState === 'complete' && [...document.querySelectorAll('.picture[data-pictures]')].every(e => e.dataset.state === 'shown' && e.querySelector('.picture-readout').textContent)`

// Open goes to an address and waits until it is shown.
func (b *Tab) Open(address string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(address))
	b.Until(Shown)
}

// Drawn waits for the next frame but one.
func (b *Tab) Drawn() {
	b.t.Helper()
	Eval[bool](b, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// Look is a way to look at pages.
type Look struct {
	Width, Height int64
	Scheme        string // light or dark
	Media         string // "": screen
}

func (l Look) String() string { return fmt.Sprintf("%d-%s%s", l.Width, l.Scheme, l.Media) }

// Looks are a phone, a tablet and a desk, light and dark.
func Looks() (out []Look) {
	for _, scheme := range []string{"light", "dark"} {
		out = append(out, Look{360, 800, scheme, ""}, Look{820, 1180, scheme, ""}, Look{1440, 900, scheme, ""})
	}
	return out
}

// Look sets how pages are looked at.
func (b *Tab) Look(l Look) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.Width, Height: l.Height, DeviceScaleFactor: 1, Mobile: l.Width < 500})
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: l.Media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.Scheme}}})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Offline takes the window off the network, or brings it back.
func (b *Tab) Offline(off bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}}})
	if err == nil {
		_, err = chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Audit lists what is wrong with the page for somebody who uses a phone, a keyboard, a
// screen reader or paper.
func (b *Tab) Audit() []string {
	b.t.Helper()
	return Eval[[]string](b, audit)
}

// See audits the page as it is and keeps a picture of all of it.
func (b *Tab) See(name string, l Look) {
	b.t.Helper()
	for _, f := range b.Audit() {
		b.t.Errorf("%s at %v: %s", name, l, f)
	}
	b.Keep(fmt.Sprintf("%s-%v", name, l), true)
}

// Keep keeps a picture of the window, or of the whole page, where ASSAY_SCREENSHOTS
// names a folder.
func (b *Tab) Keep(name string, whole bool) {
	b.t.Helper()
	dir := os.Getenv("ASSAY_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot := chromedp.CaptureScreenshot()
	const most = 16_000 // pixels; a browser takes no higher picture
	if whole && Eval[int](b, "document.documentElement.scrollHeight") < most {
		shot = chromedp.FullScreenshot(100)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), run(b, shot), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// Pages is how many sheets of A4 the page is printed on.
func (b *Tab) Pages() int {
	b.t.Helper()
	css := true
	r, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69, PreferCSSPageSize: &css})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(r.Data, -1))
}

// Image writes what the window shows as a small PNG file, for documents.
func (b *Tab) Image(path string) {
	b.t.Helper()
	decoded, err := png.Decode(bytes.NewReader(run(b, chromedp.CaptureScreenshot())))
	if err != nil {
		b.t.Fatal(err)
	}
	// 32 shades of each colour are enough, and make a file half as large.
	small := image.NewRGBA(decoded.Bounds())
	draw.Draw(small, small.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	for i, v := range small.Pix {
		small.Pix[i] = uint8((int(v)*31 + 127) / 255 * 255 / 31)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		b.t.Fatal(err)
	}
	if out.Len() < 10_000 || out.Len() > 300_000 {
		b.t.Errorf("%s: %d bytes", path, out.Len())
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
