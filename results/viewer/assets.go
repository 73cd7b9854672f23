package viewer

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var files embed.FS

// Assets are the files that pages share, under /assets/: page.css, picture.js.
func Assets() http.Handler { return Files(files, "assets") }

// Files shows the files of a folder by their last name. A browser asks each time whether
// one is still the same.
func Files(from embed.FS, folder string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		b, err := from.ReadFile(path.Join(folder, name))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256(b)
		tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		head := w.Header()
		head.Set("Cache-Control", "no-cache")
		head.Set("ETag", tag)
		switch path.Ext(name) {
		case ".css":
			head.Set("Content-Type", "text/css; charset=utf-8")
		case ".js":
			head.Set("Content-Type", "text/javascript; charset=utf-8")
		default:
			head.Set("Content-Type", "application/octet-stream")
		}
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(b) // a browser that left is told nothing
	})
}
