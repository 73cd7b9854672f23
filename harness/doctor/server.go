package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/servers"
	"assay/results"
	"assay/timing"
)

// serverFound is what the doctor found of one server.
type serverFound struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	URL  string `json:"url,omitempty"`
	// Place is whether devices of this machine may work for it, and PlaceWhy what tells.
	Place     results.Place `json:"place"`
	PlaceWhy  string        `json:"place_why"`
	Reachable bool          `json:"reachable"`
	Command   []string      `json:"command,omitempty"`
	Models    []modelFound  `json:"models,omitempty"`
}

// modelFound is what was found of a model.
type modelFound struct {
	Name     string            `json:"name"` // in bench.yaml; of a judge: "judge NAME"
	Identity backends.Identity `json:"identity"`
	// First, Repeated and Cold are TTFT less loading, of a new request, of the same
	// one, and of the same one with caches kept cold.
	First    *time.Duration  `json:"first_ns,omitempty"`
	Repeated *time.Duration  `json:"repeated_ns,omitempty"`
	Cold     *time.Duration  `json:"cold_ns,omitempty"`
	Cache    *backends.Cache `json:"cache,omitempty"` // of the cold one
	Advice   []string        `json:"flags_to_change,omitempty"`
	Longest  *longest        `json:"longest_prompt,omitempty"` // nil: no prompt is planned, or nothing was asked
	Pictures *pictures       `json:"pictures,omitempty"`       // nil: no trial shows several, or nothing was asked
}

const (
	identifyWithin = 30 * time.Second
	probeWithin    = 5 * time.Minute // the model may have to be loaded
)

func (d *examination) server(ctx context.Context, b backends.Server) serverFound {
	st := serverFound{Name: b.Name, Kind: b.Kind, URL: b.URL, Command: b.Start()}
	about := "backend " + b.Name
	d.place(ctx, b, &st)
	be, err := d.Backend(b.Name)
	if err != nil {
		d.say(problem, about, err.Error(), "")
		return st
	}
	if m, ok := be.(*servers.Backend); ok {
		d.managed(ctx, b, m)
		return st
	}
	look := func(name, model string, options map[string]any, sees bool) {
		if ctx.Err() != nil {
			return
		}
		m, reached := d.model(ctx, be, b, name, model, sees)
		st.Reachable = st.Reachable || reached
		if reached {
			st.Models = append(st.Models, m)
		}
	}
	for _, m := range d.Config.Models {
		if m.Backend == b.Name {
			look(m.Name, m.Model, b.Options, d.shown(m.Name))
		}
	}
	for _, j := range d.Config.Judges {
		if j.Backend == b.Name {
			look("judge "+j.Name, j.Model, b.Options, false)
		}
	}
	return st
}

// place says where a server is, and why.
func (d *examination) place(ctx context.Context, b backends.Server, st *serverFound) {
	w := d.site.Locate(ctx, b)
	st.Place, st.PlaceWhy = w.Place, w.Why
	switch w.Place {
	case results.PlaceLocal:
		d.say(fine, "backend "+b.Name, "is on this machine, so its devices are watched for it: "+w.Why, "")
	case results.PlaceRemote:
		d.say(note, "backend "+b.Name, "is on another machine, so its energies will be unknown: "+w.Why, "if it is here, say place: local")
	}
}

// managed looks at a server that the run will start: whether it can.
func (d *examination) managed(ctx context.Context, b backends.Server, m *servers.Backend) {
	about := "backend " + b.Name
	if path, err := exec.LookPath(b.Command[0]); err != nil {
		d.say(problem, about, fmt.Sprintf("the program of its command is not found: %v", err), "install it, or give its whole path")
	} else {
		d.say(fine, about, "is started by the run: "+path, "")
	}
	ctx, cancel := context.WithTimeout(ctx, identifyWithin)
	defer cancel()
	if _, err := m.Backend.Identify(ctx, ""); !errors.Is(err, backends.ErrUnreachable) {
		d.say(problem, about, "something answers at "+b.URL+" already, where the run is to start a server", "stop it, or choose another port")
	}
	for _, model := range d.Config.Models {
		if model.Backend == b.Name {
			d.fits(ctx, b, model.Name, "model "+model.Name, backends.Identity{}, false)
		}
	}
	if start := kinds.Server(b.Kind, b.Protocol).Start; start != nil {
		for _, a := range start(b.Start(), os.Getenv, d.timed()) {
			d.say(a.Level, about, a.Text, a.Do)
		}
	}
}

// shown says whether a model is shown pictures.
func (d *examination) shown(model string) bool {
	for _, s := range d.Config.Studies {
		for _, m := range s.Models {
			if m == model {
				return true
			}
		}
	}
	return false
}

// timed says whether a study times models with cold caches.
func (d *examination) timed() bool {
	for _, s := range d.Config.Studies {
		if s.Timed && s.Cache == "cold" {
			return true
		}
	}
	return false
}

func (d *examination) model(ctx context.Context, be backends.Backend, b backends.Server, name, model string, sees bool) (modelFound, bool) {
	st := modelFound{Name: name}
	about := "model " + name
	if strings.HasPrefix(name, "judge ") {
		about = name
	}
	short, cancel := context.WithTimeout(ctx, identifyWithin)
	id, err := be.Identify(short, model)
	cancel()
	if err != nil {
		d.say(problem, about, err.Error(), map[bool]string{true: "start the server, or mend url: of backend " + b.Name}[errors.Is(err, backends.ErrUnreachable)])
		return st, !errors.Is(err, backends.ErrUnreachable)
	}
	st.Identity = id
	d.say(fine, about, identity(id), "")
	d.wanted(ctx, be, model, about, sees, &id)
	switch {
	case !sees:
	case id.Vision == nil:
		d.say(warning, about, "the server does not say whether it sees images", "a text-only model may answer without having seen any")
	case !*id.Vision:
		d.say(problem, about, "it cannot see pictures, and a study shows them", "serve a model with vision, or take it out of the study")
		return st, true
	}
	if id.Digest == "" && id.Path == "" {
		d.say(note, about, "the server says nothing of the weights: that they stay the same cannot be checked", "")
	}
	if !d.Quick {
		if l, ok := be.(backends.Limiter); ok {
			switch said, err := l.Limits(ctx, model, b.Options); {
			case errors.Is(err, backends.ErrDropped):
				d.say(problem, about, err.Error(), "")
				return st, true
			case err != nil:
				d.say(warning, about, "whether the server keeps to the limit of an answer could not be found out: "+err.Error(), "")
			case said != "":
				d.say(fine, about, said, "")
			}
		}
		d.probe(ctx, be, b, model, about, sees && (id.Vision == nil || *id.Vision), &st)
		if sees {
			st.Pictures = d.pictures(ctx, name, about, id)
		}
	}
	st.Longest = d.fits(ctx, b, name, about, id, !d.Quick)
	d.advise(ctx, be, b, model, about, &st)
	return st, true
}

// wanted compares what bench.yaml wants of a model with what it can, and finds out
// whether it sees where the server does not say: id then says so.
func (d *examination) wanted(ctx context.Context, be backends.Backend, model, about string, sees bool, id *backends.Identity) {
	for _, m := range d.Config.Models {
		if "model "+m.Name != about {
			continue
		}
		if m.Think != nil && *m.Think && id.Thinking != nil && !*id.Thinking {
			d.say(problem, about, "think: true asks it to think, and the server says that it cannot", "take think: true away")
		}
		if m.Vision != nil {
			id.Vision = m.Vision
		}
	}
	asks, ok := be.(backends.Seer)
	if !ok || !sees || id.Vision != nil || d.Quick {
		return
	}
	switch found, said, err := asks.Sees(ctx, model); {
	case err != nil:
		d.say(warning, about, "whether it sees images could not be found out: "+err.Error(), "")
	case found != nil && *found:
		id.Vision = found
		d.say(fine, about, "reads two words in a picture", "")
	case found != nil:
		id.Vision = found
		d.say(warning, about, said, "where it sees images all the same, say vision: true of it in bench.yaml")
	}
}

// identity is what a server says, in words.
func identity(id backends.Identity) string {
	parts := []string{strings.TrimSpace(id.Server + " " + id.Version), "serves " + id.Model}
	add := func(what, v string) {
		if v != "" {
			parts = append(parts, what+v)
		}
	}
	add("weights ", cutDigest(id.Digest))
	add("file ", id.Path)
	add("quantisation ", id.Quantisation)
	add("parameters ", id.Parameters)
	if id.Context != nil {
		parts = append(parts, fmt.Sprintf("context %d tokens", *id.Context))
	}
	if id.Vision != nil {
		parts = append(parts, map[bool]string{true: "sees images", false: "sees no images"}[*id.Vision])
	}
	if id.Thinking != nil && *id.Thinking {
		parts = append(parts, "thinks")
	}
	if id.Slots != nil {
		parts = append(parts, fmt.Sprintf("%d slots", *id.Slots))
	}
	if id.Synthetic {
		parts = append(parts, "is a phantom")
	}
	return strings.Join(parts, ", ")
}

func cutDigest(s string) string {
	s = strings.TrimPrefix(s, "sha256:")
	return s[:min(len(s), 12)]
}

// probe sends three short requests and sees what the caches do.
func (d *examination) probe(ctx context.Context, be backends.Backend, b backends.Server, model, about string, picture bool, st *modelFound) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	m := backends.Message{Role: backends.User, Text: "Describe what is shown in a few words. If nothing is shown, say so."}
	if picture {
		grey := image.NewGray(image.Rect(0, 0, 448, 448))
		for i := range grey.Pix {
			grey.Pix[i] = uint8(i % 448 / 2)
		}
		var file bytes.Buffer
		if err := png.Encode(&file, grey); err != nil {
			panic("doctor: internal error: " + err.Error())
		}
		m.Images = []backends.Image{{Bytes: file.Bytes(), MIME: "image/png"}}
	}
	seed := int64(1)
	now := time.Now().String()
	together, asked := 0, 0
	ask := func(cold backends.Nonce) (*backends.Response, *time.Duration, error) {
		rec := timing.NewRecorder(timing.NewClock())
		r, err := be.Generate(ctx, &backends.Request{Model: model, Messages: []backends.Message{m}, Sampling: backends.Sampling{Temperature: 0, MaxTokens: 7, Seed: &seed},
			Options: b.Options, Cold: cold, Prove: true, Timeouts: backends.Timeouts{Connect: 10 * time.Second, FirstContent: 5 * time.Minute, Stall: time.Minute, Total: 6 * time.Minute}}, rec)
		if err != nil {
			return nil, nil, err
		}
		asked++
		if n, _, all := rec.Trace().FirstRead(); all && n >= 4 {
			together++
		}
		t, ok := rec.Trace().TTFT()
		if !ok {
			return r, nil, nil
		}
		if r.Server.Load != nil {
			t -= *r.Server.Load
		}
		return r, &t, nil
	}
	var r *backends.Response
	var err error
	// The first one may load the model and warm it up: it is asked with a nonce
	// first, so that "new" is new and nothing else.
	if _, _, err = ask(backends.NonceOf(now, "warm")); err == nil {
		_, st.First, err = ask("")
	}
	if err == nil {
		_, st.Repeated, err = ask("")
	}
	if err == nil {
		r, st.Cold, err = ask(backends.NonceOf(now, "cold"))
	}
	if err != nil {
		d.say(problem, about, "a short request failed: "+err.Error(), "")
		return
	}
	if together == asked {
		d.say(warning, about, "every reply came in one chunk: when its first token came cannot be known", backends.Unbuffer)
	}
	if r.Cache.State != "" {
		st.Cache = &r.Cache
	}
	if st.First != nil && st.Repeated != nil && st.Cold != nil {
		d.say(fine, about, fmt.Sprintf("first content of a new request after %s, repeated %s, repeated with caches kept cold %s",
			st.First.Round(100*time.Microsecond), st.Repeated.Round(100*time.Microsecond), st.Cold.Round(100*time.Microsecond)), "")
	}
	switch r.Cache.State {
	case backends.CacheCold:
		d.say(fine, about, fmt.Sprintf("caches can be kept cold, proven by %s = %s", r.Cache.Field, r.Cache.Value), "")
	case backends.CacheHit:
		d.say(problem, about, fmt.Sprintf("caches answer although they are to be kept cold (%s = %s)", r.Cache.Field, r.Cache.Value), "see the flags below")
	case backends.CacheTimed:
		d.say(note, about, "the server says nothing of its caches: a run judges them by time, and keeps them cold by nonces in the prompt and in the picture's file", "")
	case backends.CacheUnverified:
		d.say(note, about, "cold caches cannot be proven: "+r.Cache.Reason, "")
	}
	if missing := kinds.Server(b.Kind, b.Protocol).Missing; missing != nil {
		st.Advice = missing(r)
	}
}

// advise says what to change of the server.
func (d *examination) advise(ctx context.Context, be backends.Backend, b backends.Server, model, about string, st *modelFound) {
	kind := kinds.Server(b.Kind, b.Protocol)
	if !d.timed() || st.Identity.Synthetic && kind.Phantom {
		return
	}
	c := backends.Checkup{Backend: b.Name, Model: model, Identity: st.Identity, Options: b.Options, Asked: !d.Quick, Missing: st.Advice}
	if u, ok := be.(backends.Unloader); ok {
		if list, err := u.Loaded(ctx); err == nil {
			var total int64
			for _, l := range list {
				total += l.BytesVRAM
			}
			c.Loaded, d.vram[b.Name] = list, &total
		}
	}
	for _, a := range kind.Advise(c) {
		if a.Flag != "" {
			st.Advice = append(st.Advice, a.Flag)
		}
		d.say(a.Level, about, a.Text, a.Do)
	}
}
