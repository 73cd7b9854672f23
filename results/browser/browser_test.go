//go:build browser

package browser

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const wrong = `<!DOCTYPE html><body><h1>x</h1><h3>y</h3><h1>z</h1><script>1</script><p style="color:#ccc">pale words</p><input type="checkbox"><button tabindex="3">b</button>
<div style="width:3000px">wide</div><table><tr><th>a</th></tr></table><svg width="9" height="9"></svg><img src="data:,x"><i id="q"></i><i id="q"></i><select></select>
<figure><div class="draw" role="img"></div></figure><a href="#nowhere">a</a><form id="form"></form>`

// TestTheAuditCanFail: a page with one mistake of each kind is found out, whether it is
// served or a file.
func TestTheAuditCanFail(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(wrong))
	}))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "wrong.html")
	if err := os.WriteFile(file, []byte(wrong+`<div class="wide"><table><caption>wide</caption><tbody><tr><td>`+strings.Repeat("W", 400)+`</td><th scope="row">n</th></tr></tbody></table></div><a href="http://127.0.0.1:1/">elsewhere</a>`+
		`<style>.wide{overflow:auto}.cut{overflow:hidden;width:3em}</style><div class="cut">`+strings.Repeat("W", 40)+`</div>`), 0o644); err != nil {
		t.Fatal(err)
	}
	b := Start(t)
	b.Look(Look{390, 844, "light", ""})
	for address, more := range map[string][]string{srv.URL: nil, "file://" + file: {"leave with the rest", `"elsewhere" leads nowhere`, "overflows"}} {
		b.Open(address)
		all := strings.Join(b.Audit(), "\n")
		for _, want := range append(more, "the page is", "no language", "no title", "a script stands", "has style", "reaches from", "has no name", "leaves the order", "no fieldset", "table \"a\" has no title", "has no scope", "has no caption",
			"svg \"\" has no alternative text", "img \"\" has no alternative text", "is not shown", "follows a heading", "not one h1", "not one main", "there twice", `"a" leads nowhere`, "nothing is told", "contrast", " x ") {
			if !strings.Contains(all, want) {
				t.Errorf("%s: the audit does not find %q in\n%s", address, want, all)
			}
		}
	}
}
