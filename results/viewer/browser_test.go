//go:build browser

package viewer

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"assay/results/browser"
)

// TestGreyOf16BitsInABrowser: what stands on the canvas are the samples of the file that
// was sent, through the window that the page names, at first and after dragging: samples
// that one of 256 greys would show alike are told apart.
func TestGreyOf16BitsInABrowser(t *testing.T) {
	_, _, sh, base := stand(t)
	const w, h, dark, step = 12, 8, 30_000, 7 // 95 steps are 665 of 65,535: fewer than three of 256
	ramp := image.NewGray16(image.Rect(0, 0, w, h))
	for i := range w * h {
		ramp.SetGray16(i%w, i/w, color.Gray16{Y: uint16(dark + step*(i*37%(w*h)))})
	}
	sh.picture = ramp
	q := addressKey(key("m", "i0", "cue"))
	q.Set("n", "1")
	res, err := http.Get(base + "/run/x/picture?" + q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	file, err := png.Decode(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	sent, ok := file.(*image.Gray16)
	if !ok {
		t.Fatalf("the file holds %T", file)
	}

	b := browser.Start(t)
	b.Look(browser.Look{Width: 1280, Height: 900, Scheme: "light"})
	b.Open(trialURL(base, key("m", "i0", "cue")))
	look := func(when string) (low, high float64) {
		b.Drawn()
		window := browser.Eval[[]float64](b, "(() => { const p = document.querySelector('.picture').picture; return [p.low, p.high]; })()")
		low, high = window[0], window[1]
		if said := browser.Eval[string](b, "document.querySelector('.picture-readout').textContent"); !strings.Contains(said, fmt.Sprintf("12 × 8, 16 bits · grey values %.0f to %.0f ·", low, high)) {
			t.Errorf("%s: the page says %q of a window from %v to %v", when, said, low, high)
		}
		// The middle of each sample's square on the canvas.
		shown := browser.Eval[[][]int](b, fmt.Sprintf(`(() => { const c = document.querySelector('.picture canvas'), s = Math.min(c.width / %d, c.height / %d), copy = new OffscreenCanvas(c.width, c.height).getContext('2d', { willReadFrequently: true }), out = [];
copy.drawImage(c, 0, 0);
const px = copy.getImageData(0, 0, c.width, c.height).data;
for (let y = 0; y < %[2]d; y++) for (let x = 0; x < %[1]d; x++) { const at = 4 * (Math.floor(c.height / 2 + (y + 0.5 - %[2]d / 2) * s) * c.width + Math.floor(c.width / 2 + (x + 0.5 - %[1]d / 2) * s)); out.push([px[at], px[at + 1], px[at + 2]]); }
return out; })()`, w, h))
		greys := map[int]bool{}
		for i, rgb := range shown {
			v := float64(sent.Gray16At(i%w, i/w).Y)
			want := int(math.RoundToEven(min(255, max(0, (v-low)/(high-low)*255))))
			if rgb[0] != want || rgb[1] != want || rgb[2] != want {
				t.Fatalf("%s: the sample %v at (%d, %d) is shown as %v, want %d (window from %v to %v)", when, v, i%w, i/w, rgb, want, low, high)
			}
			greys[want] = true
		}
		if len(greys) < 40 {
			t.Errorf("%s: %d different greys are shown of 96", when, len(greys))
		}
		return low, high
	}
	low, high := look("at first")
	if low != dark || high != dark+step*95 {
		t.Errorf("the window at first is from %v to %v, the file holds %d to %d", low, high, dark, dark+step*95)
	}
	at := browser.Eval[[]float64](b, "(() => { const c = document.querySelector('.picture canvas'); c.scrollIntoView(); const r = c.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()")
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]-90, at[1]+30, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0]-90, at[1]+30, chromedp.ButtonLeft))
	b.Until(fmt.Sprintf("document.querySelector('.picture').picture.high !== %v", high))
	if l, h := look("after dragging"); h-l >= high-low {
		t.Errorf("the window is %v wide after dragging to the left, %v before", h-l, high-low)
	}
	b.Fine()
}
