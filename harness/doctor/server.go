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
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/ollama"
	"assay/harness/config"
	"assay/harness/managed"
	"assay/harness/monitor"
	"assay/results"
	"assay/timing"
)

// Server is what the doctor found of one server.
type Server struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	URL  string `json:"url,omitempty"`
	// Place is whether devices of this machine may work for it, and PlaceWhy what tells.
	Place     results.Place `json:"place"`
	PlaceWhy  string        `json:"place_why"`
	Reachable bool          `json:"reachable"`
	Command   []string      `json:"command,omitempty"`
	Models    []Model       `json:"models,omitempty"`
}

// Model is what was found of a model.
type Model struct {
	Name     string            `json:"name"` // in bench.yaml; of a judge: "judge NAME"
	Identity backends.Identity `json:"identity"`
	// First, Repeated and Cold are TTFT less loading, of a new request, of the same
	// one, and of the same one with caches kept cold.
	First    *time.Duration  `json:"first_ns,omitempty"`
	Repeated *time.Duration  `json:"repeated_ns,omitempty"`
	Cold     *time.Duration  `json:"cold_ns,omitempty"`
	Cache    *backends.Cache `json:"cache,omitempty"` // of the cold one
	Advice   []string        `json:"flags_to_change,omitempty"`
	Longest  *Longest        `json:"longest_prompt,omitempty"` // nil: no prompt is planned, or nothing was asked
}

const (
	identifyWithin = 30 * time.Second
	probeWithin    = 5 * time.Minute // the model may have to be loaded
)

func (d *examination) server(ctx context.Context, b config.Backend) Server {
	st := Server{Name: b.Name, Kind: b.Kind, URL: b.URL, Command: b.Command}
	about := "backend " + b.Name
	d.place(ctx, b, &st)
	be, err := d.Backend(b.Name)
	if err != nil {
		d.say(problem, about, err.Error(), "")
		return st
	}
	if m, ok := be.(*managed.Backend); ok {
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
func (d *examination) place(ctx context.Context, b config.Backend, st *Server) {
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
func (d *examination) managed(ctx context.Context, b config.Backend, m *managed.Backend) {
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
	words := strings.Join(b.Command, " ")
	if b.Kind == "ollama" && d.timed() && !strings.Contains(words, oneSlot) && os.Getenv("OLLAMA_NUM_PARALLEL") != "1" {
		d.say(warning, about, "it may work on several requests at once", "for timed studies give it one slot: command: [env, "+oneSlot+", "+strings.Join(b.Command, ", ")+"]")
	}
	for _, model := range d.Config.Models {
		if model.Backend == b.Name {
			d.fits(ctx, b, model.Name, "model "+model.Name, backends.Identity{}, false)
		}
	}
	for _, flag := range coldFlags(b.Kind) {
		if !strings.Contains(words, flag) {
			d.say(warning, about, "its command lacks "+flag, "add it for timed studies")
		}
	}
}

// oneSlot makes an Ollama server work on one request at a time.
const oneSlot = "OLLAMA_NUM_PARALLEL=1"

// coldFlags are what a server of a kind is to be started with for timed studies.
func coldFlags(kind string) []string {
	switch kind {
	case "llamacpp":
		return []string{"-np 1", "--cache-ram 0"}
	case "vllm":
		return []string{"--no-enable-prefix-caching", "--mm-processor-cache-gb 0", "--enable-prompt-tokens-details", "--enable-per-request-metrics"}
	}
	return nil
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

func (d *examination) model(ctx context.Context, be backends.Backend, b config.Backend, name, model string, sees bool) (Model, bool) {
	st := Model{Name: name}
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
		d.say(warning, about, "the server does not say whether it sees pictures", "a text-only model may answer without having seen any")
	case !*id.Vision:
		d.say(problem, about, "it cannot see pictures, and a study shows them", "serve a model with vision, or take it out of the study")
		return st, true
	}
	if id.Digest == "" && id.Path == "" {
		d.say(note, about, "the server says nothing of the weights: that they stay the same cannot be checked", "")
	}
	if !d.Quick {
		d.probe(ctx, be, b, model, about, sees && (id.Vision == nil || *id.Vision), &st)
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
		d.say(warning, about, "whether it sees pictures could not be found out: "+err.Error(), "")
	case found != nil && *found:
		id.Vision = found
		d.say(fine, about, "reads two words in a picture", "")
	case found != nil:
		id.Vision = found
		d.say(warning, about, said, "where it sees pictures all the same, say vision: true of it in bench.yaml")
	}
}

// unloads says whether a keep_alive takes a model out of memory after each request.
func unloads(keep any) bool {
	switch v := keep.(type) {
	case nil:
		return false
	case string:
		d, err := time.ParseDuration(v)
		return v == "0" || err == nil && d == 0
	}
	return fmt.Sprint(keep) == "0"
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
		parts = append(parts, map[bool]string{true: "sees pictures", false: "sees no pictures"}[*id.Vision])
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
func (d *examination) probe(ctx context.Context, be backends.Backend, b config.Backend, model, about string, picture bool, st *Model) {
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
		d.say(warning, about, "every reply came in one piece: when its first token came cannot be known", backends.Unbuffer)
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
	if b.Kind == "vllm" || b.Kind == "phantom" && b.Protocol == "vllm" {
		if r.Usage.CachedTokens == nil {
			st.Advice = append(st.Advice, "--enable-prompt-tokens-details")
		}
		if r.Server.Raw == nil {
			st.Advice = append(st.Advice, "--enable-per-request-metrics")
		}
	}
}

// advise says which flags of the server to change.
func (d *examination) advise(ctx context.Context, be backends.Backend, b config.Backend, model, about string, st *Model) {
	kind := b.Kind
	if kind == "phantom" {
		kind = b.Protocol
	}
	id := st.Identity
	if !d.timed() || id.Synthetic && b.Kind == "phantom" {
		return
	}
	switch kind {
	case "llamacpp":
		if id.Slots != nil && *id.Slots > 1 {
			st.Advice = append(st.Advice, "-np 1")
			d.say(warning, about, fmt.Sprintf("the server has %d slots: neighbours slow each other, and an old prompt can hit through another slot", *id.Slots), "start it with -np 1")
		}
		d.say(note, about, "no field shows whether the prompt cache in RAM is on; it costs up to 430 ms of a fresh prompt", "start the server with --cache-ram 0")
	case "vllm":
		if n := len(st.Advice); n > 0 {
			d.say(warning, about, "the server does not say all that a timed study wants to know", "start it with "+strings.Join(st.Advice, " "))
		}
		d.say(note, about, "each request is kept out of vLLM's caches by a salt and by the pictures' ids", "to switch them off as well: --no-enable-prefix-caching --mm-processor-cache-gb 0")
	case "ollama":
		if _, ok := b.Options["num_ctx"]; !ok {
			st.Advice = append(st.Advice, "options: {num_ctx: N}")
			d.say(warning, about, "num_ctx is not given: the server's default may cut long prompts, and a change of it reloads the model", "give options: {num_ctx: 8192} to backend "+b.Name)
		}
		if unloads(b.Options["keep_alive"]) {
			d.say(problem, about, "keep_alive is 0: the model is loaded anew for every request", "give options: {keep_alive: 30m} to backend "+b.Name)
		}
		if id.Slots == nil {
			d.say(note, about, "no field shows how many requests this Ollama works on at once; with two, equal requests differed by a quarter", "for timed studies start it with "+oneSlot+" in its environment")
		}
		if newer(id.Version, 0, 30) {
			d.say(note, about, "this Ollama runs llama-server, whose prompt cache in RAM no field shows", "start it with LLAMA_ARG_CACHE_RAM=0 in its environment")
		}
		d.memory(ctx, be, b.Name, model, about)
	case "openai":
		d.say(note, about, "nothing is known of this server's caches, so times are unverified", "")
	}
}

// memory says whether an Ollama model is on the GPU as a whole.
func (d *examination) memory(ctx context.Context, be backends.Backend, name, model, about string) {
	o, ok := be.(*ollama.Backend)
	if !ok {
		return
	}
	list, err := o.Loaded(ctx)
	if err != nil {
		return
	}
	var total int64
	d.vram[name] = &total
	if !d.Quick && !slices.ContainsFunc(list, func(l ollama.Loaded) bool { return monitor.Same(l.Model, model) }) {
		d.say(problem, about, "it left the server's memory right after a request: the model is loaded anew for every one", "set OLLAMA_KEEP_ALIVE=30m for the server, or options: {keep_alive: 30m}")
	}
	for _, l := range list {
		total += l.BytesVRAM
		switch {
		case !monitor.Same(l.Model, model):
			d.say(warning, about, fmt.Sprintf("%s is in memory, too (%.1f GB)", l.Model, float64(l.Bytes)/1e9), "run ollama stop "+l.Model)
		case l.BytesVRAM < l.Bytes:
			d.say(note, about, fmt.Sprintf("%.1f of %.1f GB are on a GPU; the rest runs on the CPU", float64(l.BytesVRAM)/1e9, float64(l.Bytes)/1e9), "")
		default:
			d.say(fine, about, fmt.Sprintf("all %.1f GB are on the GPU", float64(l.Bytes)/1e9), "")
		}
	}
}

// newer says whether a version is major.minor or later; false where it cannot be read.
func newer(version string, major, minor int) bool {
	a, rest, _ := strings.Cut(version, ".")
	b, _, _ := strings.Cut(rest, ".")
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	return err1 == nil && err2 == nil && (x > major || x == major && y >= minor)
}
