package rating

import (
	"bytes"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"assay/results/text"
	"assay/results/viewer"
)

//go:embed templates
var templates embed.FS

//go:embed assets
var assets embed.FS

type app struct {
	study   *Study
	log     *Log
	pics    Pictures
	guesses *guesses
	pages   *template.Template
	cookie  string
}

// Handler is the application. It is to be put behind viewer.Guard.
func Handler(s *Study, l *Log, pics Pictures) http.Handler {
	a := &app{study: s, log: l, pics: pics, guesses: newGuesses(), cookie: "assay-rating-" + digest(s.Digest)[:8]}
	a.pages = template.Must(template.New("").Funcs(template.FuncMap{"visible": text.VisibleLines}).ParseFS(templates, "templates/*.html"))
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", viewer.Assets())
	mux.Handle("GET /rating/", viewer.Files(assets, "assets"))
	mux.HandleFunc("GET /{$}", a.start)
	mux.HandleFunc("POST /sign-in", a.signIn)
	mux.HandleFunc("POST /sign-out", a.signOut)
	mux.HandleFunc("GET /instructions", a.rater(a.instructions))
	mux.HandleFunc("GET /case", a.rater(a.one))
	mux.HandleFunc("GET /picture/{position}/{n}", a.rater(a.picture))
	mux.HandleFunc("POST /save", a.rater(a.save))
	mux.HandleFunc("GET /coordinator", a.coordinator)
	return mux
}

// sessionOf is who asks.
func (a *app) sessionOf(r *http.Request) (session, string, bool) {
	c, err := r.Cookie(a.cookie)
	if err != nil {
		return session{}, "", false
	}
	s, ok := a.log.session(c.Value)
	return s, c.Value, ok
}

// rater lets raters through; others are led to the sign-in.
func (a *app) rater(h func(http.ResponseWriter, *http.Request, session, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, token, ok := a.sessionOf(r)
		switch {
		case (!ok || s.lead) && r.Method == http.MethodPost:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(kept{Why: "your session has ended: sign in again; what you rated is kept"})
		case !ok:
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case s.lead:
			http.Redirect(w, r, "/coordinator", http.StatusSeeOther)
		default:
			h(w, r, s, token)
		}
	}
}

// proof ties a page to its session: a page of somebody else's cannot know it.
func proof(token string) string { return digest("page of " + token) }

func (a *app) vouched(r *http.Request, token string) bool {
	got := r.Header.Get("X-Assay-Proof")
	if got == "" {
		got = r.PostFormValue("proof")
	}
	return subtle.ConstantTimeCompare([]byte(got), []byte(proof(token))) == 1
}

// view is what a page shows.
type view struct {
	Title     string
	Study     string
	Synthetic bool
	Proof     string
	Key       string // under which a browser keeps what is not saved yet
	Wrong     string // what was wrong with the sign-in
	Begun     bool
	Calibrate int // cases
	Cases     int // in all
	Done      int
	Case      *caseView
	Lead      *leadView
}

type caseView struct {
	Position    int
	Calibration bool
	Texts       []Text
	Pictures    string // JSON for picture.js; "": none
	NoPicture   string
	Fields      []fieldView
	Remark      string
}

type fieldView struct {
	Field
	ID      string
	Options []optionView
	Any     bool // several can be chosen
	Need    bool // has to be answered
}

type optionView struct {
	ID, Value, Text, Key string
	Chosen               bool
}

func (a *app) show(w http.ResponseWriter, status int, page string, v view) {
	v.Study, v.Synthetic = a.study.Title, a.study.Synthetic
	var b bytes.Buffer
	if err := a.pages.ExecuteTemplate(&b, page, v); err != nil {
		http.Error(w, "This page could not be made; the one who leads the study has to see the log.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // a browser that left
}

func (a *app) start(w http.ResponseWriter, r *http.Request) {
	s, _, ok := a.sessionOf(r)
	switch {
	case !ok:
		a.show(w, http.StatusOK, "signin.html", view{Title: "Sign in"})
	case s.lead:
		http.Redirect(w, r, "/coordinator", http.StatusSeeOther)
	default:
		done, begun, _ := a.log.progress(s.who)
		if done == 0 && !begun {
			http.Redirect(w, r, "/instructions", http.StatusSeeOther)
			return
		}
		http.Redirect(w, r, "/case", http.StatusSeeOther)
	}
}

func (a *app) signIn(w http.ResponseWriter, r *http.Request) {
	if !a.guesses.allow(viewer.Client(r), a.log.now()) {
		w.Header().Set("Retry-After", "60")
		a.show(w, http.StatusTooManyRequests, "signin.html", view{Title: "Sign in", Wrong: "Too many codes were tried. Wait a minute and try again."})
		return
	}
	token, _, err := a.log.signIn(r.PostFormValue("code"))
	if err != nil {
		wrong := "This code is not known. Look at it again: it has 16 letters and digits."
		status := http.StatusForbidden
		if err != errCode {
			wrong, status = "Signing in does not work at the moment. Tell the one who leads the study.", http.StatusInternalServerError
		}
		a.show(w, status, "signin.html", view{Title: "Sign in", Wrong: wrong})
		return
	}
	http.SetCookie(w, &http.Cookie{Name: a.cookie, Value: token, Path: "/", HttpOnly: true, Secure: viewer.Secure(r), SameSite: http.SameSiteStrictMode, MaxAge: int(sessionLife.Seconds())})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (a *app) signOut(w http.ResponseWriter, r *http.Request) {
	if _, token, ok := a.sessionOf(r); ok && a.vouched(r, token) {
		if err := a.log.signOut(token); err != nil {
			http.Error(w, "Signing out could not be kept.", http.StatusInternalServerError)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: a.cookie, Path: "/", HttpOnly: true, Secure: viewer.Secure(r), SameSite: http.SameSiteStrictMode, MaxAge: -1})
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// progress is how many cases a rater has done, whether he saw the first, and how many
// there are.
func (l *Log) progress(who *person) (done int, begun bool, all int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range who.sheet {
		begun = begun || who.sheet[i].seconds > 0 || len(who.sheet[i].values) > 0
	}
	return who.done, begun, len(who.order)
}

// current is the showing that a rater is to rate, from 1, with what he said so far;
// false: he is done.
func (l *Log) current(who *person) (int, showing, map[string][]string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if who.done >= len(who.order) {
		return 0, showing{}, nil, false
	}
	values := map[string][]string{}
	for k, v := range who.sheet[who.done].values {
		values[k] = slices.Clone(v)
	}
	return who.done + 1, who.order[who.done], values, true
}

func (a *app) page(s session, token, title string) view {
	done, begun, all := a.log.progress(s.who)
	return view{Title: title, Proof: proof(token), Key: digest(a.study.Digest + s.who.name)[:16], Done: done, Begun: begun || done > 0, Cases: all, Calibrate: len(a.study.Calibration)}
}

func (a *app) instructions(w http.ResponseWriter, r *http.Request, s session, token string) {
	a.show(w, http.StatusOK, "instructions.html", a.page(s, token, "Instructions"))
}

func (a *app) one(w http.ResponseWriter, r *http.Request, s session, token string) {
	at, sh, values, more := a.log.current(s.who)
	v := a.page(s, token, "Done")
	if !more {
		a.show(w, http.StatusOK, "done.html", v)
		return
	}
	c := a.study.of(sh)
	v.Title = fmt.Sprintf("Case %d of %d", at, v.Cases)
	out := &caseView{Position: at, Calibration: sh.Calibration, Texts: c.Texts, NoPicture: c.NoPicture}
	if len(values[remark]) == 1 {
		out.Remark = values[remark][0]
	}
	type picture struct {
		Name   string `json:"name"`
		URL    string `json:"url"`
		Beside string `json:"beside,omitempty"`
	}
	var pics []picture
	for n, name := range c.Pictures {
		p := picture{Name: name, URL: fmt.Sprintf("/picture/%d/%d", at, n)}
		if c.Unchanged {
			p.Beside = p.URL + "?unchanged"
		}
		pics = append(pics, p)
	}
	if len(pics) > 0 {
		b, err := json.Marshal(pics)
		if err != nil {
			panic("rating: internal error: " + err.Error())
		}
		out.Pictures = string(b)
	}
	for i, f := range c.Form {
		fv := fieldView{Field: f, ID: fmt.Sprintf("f%d", i), Any: f.Several, Need: !f.Several && !f.Optional}
		options := slices.Clone(f.Options)
		if fv.Need {
			options = append(options, Option{Value: CannotJudge, Text: "cannot judge", Key: "c"})
		}
		for k, o := range options {
			label := o.Text
			if label == "" {
				label = o.Value
			}
			fv.Options = append(fv.Options, optionView{fmt.Sprintf("f%d-%d", i, k), o.Value, label, o.Key, slices.Contains(values[f.Name], o.Value)})
		}
		out.Fields = append(out.Fields, fv)
	}
	v.Case = out
	a.show(w, http.StatusOK, "case.html", v)
}

// picture shows a picture of the case that a rater is to rate.
func (a *app) picture(w http.ResponseWriter, r *http.Request, s session, _ string) {
	at, sh, _, more := a.log.current(s.who)
	n, err := strconv.Atoi(r.PathValue("n"))
	c := a.study.of(sh)
	if !more || err != nil || r.PathValue("position") != strconv.Itoa(at) || n < 0 || n >= len(c.Pictures) || r.URL.Query().Has("unchanged") && !c.Unchanged {
		http.Error(w, "this picture is not of the case that is to be rated: reload the page", http.StatusNotFound)
		return
	}
	img, err := a.pics.Picture(r.Context(), sh.Case, n, r.URL.Query().Has("unchanged"))
	if err != nil {
		http.Error(w, "it cannot be made again from the data set", http.StatusInternalServerError)
		return
	}
	_ = viewer.Samples(w, r, img) // a browser that left asks again
}
