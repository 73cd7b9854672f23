//go:build browser

package cli_test

import (
	"fmt"
	"html"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"assay/harness/cli"
	"assay/results"
	"assay/results/browser"
	"assay/results/store"
	"assay/results/viewer"
)

// These tests need a Chromium on the PATH:
//
//	go test -tags browser -run InABrowser ./harness/cli/
//
// ASSAY_SCREENSHOTS names a folder that keeps what they saw.

// see audits a page at three widths, light and dark, and keeps pictures of it.
func see(b *browser.Tab, name, address string) {
	for _, l := range browser.Looks() {
		b.Look(l)
		b.Open(address)
		b.See("view-"+name, l)
	}
}

const storeHostile = `<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)></svg><a href="javascript:alert(4)">x</a><style>*{display:none}</style><iframe src="http://127.0.0.1:1/"></iframe>`

// hostileCopy is the tour with an answer that wants to be more than text, open to be
// written to.
func hostileCopy(t *testing.T, dir string) (string, *store.Store, results.Key) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "tour.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tour.sqlite")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), path)
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
		a.Output.Answer += "\n" + storeHostile + strings.Repeat("W", 2000)
		a.Output.Reasoning = storeHostile
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
	r, err := cli.OpenView(t.Context(), path, []string{filepath.Join(dir, "bench.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	v := viewer.New([]*viewer.Run{r})
	v.Refresh(t.Context(), r)
	srv := httptest.NewServer(viewer.Guard(viewer.Options{Listen: "127.0.0.1:0"}, v.Handler()))
	defer srv.Close()
	b := browser.Start(t)
	trial := srv.URL + fmt.Sprintf("/run/tour/trial?study=%s&model=%s&item=%s&arm=%s&condition=%s&repeat=0", k.Study, k.Model, k.Item, k.Arm, k.Condition)
	for name, address := range map[string]string{
		"list": srv.URL + "/", "run": srv.URL + "/run/tour/", "trials": srv.URL + "/run/tour/trials?study=faithfulness", "trials-cot": srv.URL + "/run/tour/trials?study=cot&sort=-latency_s&show=item&show=model&show=latency_s&show=ttft_s",
		"hostile": trial, "words": strings.Replace(trial, "VB-BB-", "TB-LA-", 1), "item": srv.URL + "/run/tour/item?study=faithfulness&item=" + k.Item, "reply": strings.NewReplacer("/trial?", "/reply?", "VB-BB-", "TB-LA-").Replace(trial) + "&rubric=CA&judge=lexical",
		"diagnosis": srv.URL + "/run/tour/trials?study=diagnosis&is.arm=mcq",
		"none":      srv.URL + "/run/tour/trials?study=faithfulness&is.model=nobody",
	} {
		see(b, name, address)
	}
	lost := b.Another("lost", "404")
	see(lost, "problem", srv.URL+"/run/tour/trials?study=none")
	lost.Fine()
	// Files that are sent to somebody: opened without a server.
	for name, q := range map[string]string{"saved": "study=faithfulness&is.condition=VB-BB-&is.item=" + k.Item, "saved-one": strings.Replace(strings.TrimPrefix(trial, srv.URL+"/run/tour/trial?"), "VB-BB-", "TB-LA-", 1)} {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(get(t, srv.URL+"/run/tour/save?"+q)), 0o600); err != nil {
			t.Fatal(err)
		}
		see(b, name, "file://"+file)
		if got := browser.Eval[[]int](b, "[document.images.length, [...document.images].filter(i => i.naturalWidth === 0).length, performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length]"); got[0] == 0 || got[1] != 0 || got[2] != 0 {
			t.Errorf("%s: %d pictures, %d of them not shown, %d things loaded", name, got[0], got[1], got[2])
		}
	}

	b.Look(browser.Look{Width: 1280, Height: 900, Scheme: "light"})
	b.Open(srv.URL + "/run/tour/trials?study=faithfulness")
	// By a script: chromedp types the character, too, whatever became of the key.
	browser.Eval[bool](b, "document.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))")
	b.Until("document.activeElement.id === 'search'")
	b.Do(chromedp.KeyEvent("answer\r"))
	b.Until("new URLSearchParams(location.search).get('q') === 'answer' && " + browser.Shown)
	before := browser.Eval[string](b, "document.querySelector('[role=status] b').textContent")
	browser.Eval[bool](b, "(() => { const s = document.querySelector('select[name=\"is.condition\"]'); s.value = 'TB-LA-'; s.form.requestSubmit(); return true; })()")
	b.Until("new URLSearchParams(location.search).get('is.condition') === 'TB-LA-' && " + browser.Shown)
	if after := browser.Eval[string](b, "document.querySelector('[role=status] b').textContent"); after == before || after == "0" {
		t.Errorf("%s trials before the filter, %s after", before, after)
	}
	for _, want := range []string{"ascending", "descending"} {
		browser.Eval[bool](b, "(() => { [...document.querySelectorAll('thead th a')].find(a => a.textContent.startsWith('tokens')).click(); return true; })()")
		b.Until("document.querySelector('th[aria-sort=" + want + "]') && " + browser.Shown)
	}
	tokens := browser.Eval[[]float64](b, "(() => { const at = [...document.querySelectorAll('thead tr')[0].children].findIndex(c => c.textContent.startsWith('tokens')); return [...document.querySelectorAll('tbody tr')].map(r => Number(r.children[at].textContent)); })()")
	for i := 1; i < len(tokens); i++ {
		if tokens[i] > tokens[i-1] {
			t.Errorf("the table is not in order: %v", tokens)
		}
	}
	browser.Eval[bool](b, "(() => { document.querySelector('a.open').click(); return true; })()")
	b.Until("location.pathname.endsWith('/trial') && " + browser.Shown)
	first := browser.Eval[string](b, "location.href")
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.Until("location.href !== " + fmt.Sprintf("%q", first) + " && location.pathname.endsWith('/trial') && " + browser.Shown)
	b.Do(chromedp.KeyEvent(kb.ArrowLeft))
	b.Until("location.href === " + fmt.Sprintf("%q", first) + " && " + browser.Shown)
	b.Do(chromedp.KeyEvent("u"))
	b.Until("location.pathname.endsWith('/trials') && new URLSearchParams(location.search).get('q') === 'answer'")

	b.Open(trial)
	readout := func() string {
		return browser.Eval[string](b, "document.querySelector('.picture-readout').textContent")
	}
	grey := readout()
	at := browser.Eval[[]float64](b, "(() => { const c = document.querySelector('canvas'); c.scrollIntoView(); const r = c.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()")
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]-60, at[1]+40, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0]-60, at[1]+40, chromedp.ButtonLeft))
	b.Until("document.querySelector('.picture-readout').textContent.split('·')[1] !== " + fmt.Sprintf("%q", strings.Split(grey, "·")[1]))
	pixels := "(() => { const c = document.querySelector('canvas'); return c.toDataURL().length; })()"
	for _, mode := range []string{"other", "beside", "slider", "difference"} {
		browser.Eval[bool](b, "(() => { const s = document.querySelector('.picture-bar select'); s.value = '"+mode+"'; s.dispatchEvent(new Event('change')); return true; })()")
		b.Until("document.querySelector('.picture-bar input[type=range]').hidden === " + fmt.Sprint(mode != "slider"))
		if mode == "difference" {
			b.Until("/largest difference is [1-9]/.test(document.querySelector('.picture-said').textContent)")
		}
		if browser.Eval[int](b, pixels) < 1000 {
			t.Errorf("%s: the picture is empty", mode)
		}
	}
	if got := browser.Eval[int](b, "document.querySelectorAll('main iframe, main script, main style').length"); got != 0 {
		t.Error("a text of a model has become elements")
	}

	b.Open(srv.URL + "/run/tour/")
	stored := browser.Eval[string](b, "document.querySelector('main table').innerText")
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
	b.Until("document.querySelector('main table').innerText !== " + fmt.Sprintf("%q", stored))
	b.Fine()
}

// TestCompareInABrowser: two runs chosen by the form, what changed beyond noise, its
// items, both trials of one, the next by keyboard; at three widths, light and dark.
func TestCompareInABrowser(t *testing.T) {
	dir, err := besides()
	if err != nil {
		t.Fatal(err)
	}
	third, err := toured()
	if err != nil {
		t.Fatal(err)
	}
	base, _ := opened(t, filepath.Join(dir, "seeing.sqlite"), filepath.Join(dir, "blind.sqlite"), filepath.Join(third, "tour.sqlite"))
	b := browser.Start(t)
	b.Look(browser.Look{Width: 1280, Height: 900, Scheme: "light"})
	b.Open(base + "/")
	browser.Eval[bool](b, "(() => { [...document.querySelectorAll('nav a')].find(a => a.textContent === 'Compare').click(); return true; })()")
	b.Until("location.pathname === '/compare' && " + browser.Shown)
	browser.Eval[bool](b, "(() => { const f = document.querySelector('form'); f.a.value = 'seeing'; for (const c of f.elements.b) c.checked = c.value !== 'seeing'; f.requestSubmit(); return true; })()")
	b.Until("document.querySelector('tr.worse') && new URLSearchParams(location.search).getAll('b').join() === 'blind,tour'")
	b.Until("!document.querySelector('main[data-live]') || !document.body.innerText.includes('waits')")
	b.Open(base + "/compare?a=seeing&b=blind&b=tour&all=1")
	rows := browser.Eval[int](b, "document.querySelectorAll('.differences tbody tr').length")
	browser.Eval[bool](b, "(() => { const s = document.querySelector('select[name=model]'); s.value = 'reader'; s.form.requestSubmit(); return true; })()")
	b.Until("new URLSearchParams(location.search).get('model') === 'reader' && " + browser.Shown)
	if left := browser.Eval[int](b, "document.querySelectorAll('.differences tbody tr').length"); left != rows/2 {
		t.Errorf("%d rows of one of two models, %d of both", left, rows)
	}
	browser.Eval[bool](b, "(() => { document.querySelector('tr.worse a.open').click(); return true; })()")
	b.Until("location.pathname === '/compare/items' && " + browser.Shown)
	items := browser.Eval[string](b, "location.href")
	browser.Eval[bool](b, "(() => { document.querySelector('a.open').click(); return true; })()")
	b.Until("location.pathname === '/compare/trial' && document.querySelectorAll('canvas').length === 2 && " + browser.Shown)
	trial := browser.Eval[string](b, "location.href")
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.Until(fmt.Sprintf("location.href !== %q && location.pathname === '/compare/trial' && ", trial) + browser.Shown)
	b.Do(chromedp.KeyEvent("u"))
	b.Until("location.pathname === '/compare/items' && " + browser.Shown)
	for name, address := range map[string]string{"runs": base + "/", "compare": base + "/compare?a=seeing&b=blind&b=tour&all=1", "compare-none": base + "/compare", "changed": items, "beside": trial} {
		see(b, name, address)
	}
	b.Fine()
}

// TestImagesForTheReadme takes the viewer's pictures of docs/images; .ci/screenshots names
// the folder.
func TestImagesForTheReadme(t *testing.T) {
	keep := os.Getenv("ASSAY_IMAGES")
	if keep == "" {
		keep = t.TempDir()
	}
	dir, err := besides()
	if err != nil {
		t.Fatal(err)
	}
	third, err := toured()
	if err != nil {
		t.Fatal(err)
	}
	base, _ := opened(t, filepath.Join(dir, "seeing.sqlite"), filepath.Join(dir, "blind.sqlite"), filepath.Join(third, "tour.sqlite"))
	b := browser.Start(t)
	flipped := opens.FindStringSubmatch(get(t, base+"/run/tour/trials?study=faithfulness&is.flip=1&is.condition=VO-BB"))
	if flipped == nil {
		t.Fatal("no trial of the tour has flipped")
	}
	compared(t, base+"/compare?a=seeing&b=blind")
	for name, address := range map[string]string{"view-trial": html.UnescapeString(flipped[1]), "view-compare": "/compare?a=seeing&b=blind&all=1&order=p"} {
		b.Look(browser.Look{Width: 1280, Height: 900, Scheme: "light"})
		b.Open(base + address)
		if name == "view-trial" {
			browser.Eval[bool](b, "(() => { const s = document.querySelector('.picture-bar select'); s.value = 'beside'; s.dispatchEvent(new Event('change')); return true; })()")
		}
		b.Drawn()
		b.Image(filepath.Join(keep, name+".png"))
	}
	b.Fine()
}
