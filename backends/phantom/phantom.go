// Package phantom serves readers whose behaviour is known: model servers on
// loopback that answer from the picture and the prompt they are sent.
//
//  1. A Profile says how a reader behaves: what it sees, how it reasons, how
//     fast it is.
//  2. A Skill turns a request's prompt and pictures into a reply. It knows the
//     request and nothing else, least of all the case behind the picture.
//  3. A protocol reads requests and frames replies as the real server does:
//     Ollama's /api/chat, llama-server's and vLLM's /v1/chat/completions.
//  4. Chunks leave at deadlines of their own, so that time is measured on
//     something: what takes work is done before the first chunk is due.
//
// Every response carries the header Assay-Phantom: 1.
package phantom

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// header marks every response of a phantom; package backends looks for it.
const header = "Assay-Phantom"

// Options of a phantom server.
type Options struct {
	Protocol string // of Protocols()
	Seed     uint64 // of what readers leave to chance
	// Skill is what the readers know; servers may share it.
	Skill skill
	// Readers are served beside Profiles; one of the same name takes its place.
	Readers []Profile
	// Judges are served beside Judges(); one of the same name takes its place.
	Judges []Judge
	// Caches are what the server remembers; nil: nothing.
	Caches *Caches
	// Ledger is written the truth behind every reply, an Entry to a line; nil:
	// nobody keeps it.
	Ledger io.Writer
	// Slots is how many replies are worked on together; others wait. 0: all are.
	Slots int
	// Activity is told what replies are on their way; nil: nobody watches.
	Activity *Activity
	// Loaded is the reader that a llamacpp server has loaded: it answers to names
	// that the server does not know, as llama-server does. "": such names are
	// errors. The other protocols have no such thing.
	Loaded string
}

// protocol is what phantoms of one kind of server do otherwise than others.
type protocol struct {
	name  string
	serve func(*server) http.Handler
	keeps habits
	loads bool // a reader is loaded when it is first asked
}

func protocols() []protocol {
	return []protocol{
		{name: "ollama", serve: (*server).ollama, keeps: habits{Block: 1, Pictures: 4}, loads: true},
		{name: "llamacpp", serve: (*server).llamacpp, keeps: habits{Block: 1}},
		{name: "vllm", serve: (*server).vllm, keeps: habits{Block: 16, Pictures: allPictures}},
	}
}

// Protocols are the kinds of servers that a phantom can be, by name.
func Protocols() []string {
	var names []string
	for _, p := range protocols() {
		names = append(names, p.name)
	}
	return names
}

// Handler is a phantom server's HTTP side. A reply ends with its request's context.
func Handler(o Options) (http.Handler, error) {
	h, _, err := newServer(o)
	return h, err
}

func newServer(o Options) (http.Handler, *server, error) {
	s := &server{options: o, began: time.Now(), used: map[string]time.Time{}, judges: map[string]Judge{}, loaded: map[string]bool{}, seen: map[string]int{}, slots: make(chan struct{}, cmp.Or(o.Slots, 1<<16))}
	if o.Skill == nil {
		return nil, nil, errors.New("phantom: readers need a Skill")
	}
	for _, p := range slices.Concat(o.Readers, Profiles()) {
		if _, ok := s.reader(p.Name); !ok {
			s.readers = append(s.readers, p)
		}
	}
	for _, j := range slices.Concat(o.Judges, Judges(), []Judge{CaseJudge()}) {
		if _, ok := s.judges[j.Name]; !ok {
			s.judges[j.Name] = j
			s.readers = append(s.readers, Profile{Name: j.Name, PerChunk: j.PerChunk, Context: 16384, Weights: 9_000_000_000}) // it reads no pictures
		}
	}
	if _, ok := s.reader(o.Loaded); o.Loaded != "" && !ok {
		return nil, nil, fmt.Errorf("phantom: no reader %q to load: expected one of %s", o.Loaded, strings.Join(ProfileNames(), ", "))
	}
	i := slices.Index(Protocols(), o.Protocol)
	if i < 0 {
		return nil, nil, fmt.Errorf("phantom: expected protocol %s, found %q", strings.Join(Protocols(), ", "), o.Protocol)
	}
	s.protocol = protocols()[i]
	inner := rawHandler(o.Protocol, s.goesOn, s.protocol.serve(s))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(header, "1")
		inner.ServeHTTP(w, r)
	}), s, nil
}

// Server is a phantom server that is listening.
type Server struct {
	URL  string // "http://127.0.0.1:40123"
	http *http.Server
	of   *server
	stop context.CancelFunc
	done chan struct{}
}

// Listen serves on a loopback address such as "127.0.0.1:0" until Close.
func Listen(addr string, o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("phantom: listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("phantom: listen on %s: phantoms are for this machine alone: use an address such as 127.0.0.1:0", addr)
	}
	h, shared, err := newServer(o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("phantom: listen on %s: %w", addr, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{URL: "http://" + l.Addr().String(), of: shared, stop: stop, done: make(chan struct{})}
	s.http = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		defer close(s.done)
		s.http.Serve(l) // returns when Close is called
	}()
	return s, nil
}

// Close ends the server and every reply on its way. The error may be that the
// ledger could not be written.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	<-s.done
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return errors.Join(err, s.of.unwritten)
}

// server is what the protocols share.
type server struct {
	slots    chan struct{} // one for each reply that is worked on
	options  Options
	protocol protocol
	readers  []Profile
	judges   map[string]Judge // among the readers, by name
	began    time.Time

	mu        sync.Mutex
	last      uint64               // reply id
	busy      int                  // replies on their way
	used      map[string]time.Time // when a reader was last asked
	done      totals
	loaded    map[string]bool // readers, for Ollama
	seen      map[string]int  // requests by digest, for faults
	unwritten error           // of the ledger
}

// totals count finished replies for /metrics.
type totals struct {
	replies, prompt, generated int
	first, decode              time.Duration
}

// reader finds a reader by name; Ollama's tag "latest" may be left out.
func (s *server) reader(name string) (Profile, bool) {
	i := slices.IndexFunc(s.readers, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return s.readers[i], true
}

// digest stands for a reader's weights.
func digest(p Profile) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "phantom reader %+v", p))
	return hex.EncodeToString(sum[:])
}

// job is one request as a protocol has read it.
type job struct {
	began     time.Time // the request was read
	body      []byte
	reader    Profile
	name      string // the model as the request names it
	ask       Ask
	prompt    Prompt
	pixels    int64
	maxTokens int // 0: as many as it takes
	stream    bool
}

// chunk is a part of a reply that is sent by itself.
type chunk struct {
	text     string
	thinking bool
	tokens   int
}

// take is a reply on its way.
type take struct {
	job
	chunks       []chunk
	cut          bool // the token limit was reached
	promptTokens int
	reused       Reuse
	load         time.Duration // of the model, before it could begin
	fault        FaultKind
	pace         *Source   // of jitter
	due          time.Time // first chunk
	first, last  time.Time // when chunks were sent
}

// prepare does everything that takes work.
func (s *server) prepare(j job) (*take, error) {
	reply, err := s.reply(j)
	if err != nil {
		return nil, err
	}
	t := &take{job: j, promptTokens: promptTokens(j), load: s.load(j.reader)}
	s.strike(t, &reply)
	thinking, answer := split(reply.Thinking), split(reply.Answer)
	if n := j.maxTokens; n > 0 && len(thinking)+len(answer) > n {
		thinking = thinking[:min(n, len(thinking))]
		answer, t.cut = answer[:n-len(thinking)], true
	}
	s.record(t, reply)
	together := max(j.reader.ChunkTokens, 1)
	if t.fault == faultManyTokens {
		together = 8
	}
	for c := range slices.Chunk(thinking, together) {
		t.chunks = append(t.chunks, chunk{strings.Join(c, ""), true, len(c)})
	}
	for c := range slices.Chunk(answer, together) {
		t.chunks = append(t.chunks, chunk{strings.Join(c, ""), false, len(c)})
	}
	t.reused = s.options.Caches.Take(s.protocol.keeps, j.reader.Name, j.prompt, t.promptTokens)
	t.due = j.began.Add(t.load + t.jittered(j.reader.Prefill(t.promptTokens-t.reused.Tokens, j.pixels-t.reused.Pixels)))
	return t, nil
}

// tokens are those of the whole reply.
func (t *take) tokens() int {
	n := 0
	for _, p := range t.chunks {
		n += p.tokens
	}
	return n
}

// jittered is a time as it comes out this once.
func (t *take) jittered(d time.Duration) time.Duration {
	if t.reader.Jitter == 0 {
		return d
	}
	return d + time.Duration(float64(d)*t.reader.Jitter*(2*t.pace.Unit()-1))
}

// load is what a reader's first reply waits for; the other protocols have loaded
// their model before they listen.
func (s *server) load(p Profile) time.Duration {
	if !s.protocol.loads || p.Load == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded[p.Name] {
		return 0
	}
	s.loaded[p.Name] = true
	return p.Load
}

// promptTokens counts about four letters to a token and 28 x 28 pixels.
func promptTokens(j job) int { return len(j.ask.Prompt)/4 + 1 + int(j.pixels/784) }

// play sends the chunks when they are due. A chunk that is late does not delay
// the next one; a first chunk that is late, because reading took longer than it
// should, moves the others.
func (s *server) play(ctx context.Context, t *take, send func(i int, p chunk) error) error {
	s.count(t.reader.Name, 1)
	defer s.count(t.reader.Name, -1)
	due, asked := t.due, time.Now()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		due = due.Add(time.Since(asked))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	work := s.options.Activity.Begin()
	defer work.End()
	if now := time.Now(); now.After(due) {
		due = now
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for i, p := range t.chunks {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		t.last = time.Now()
		if i == 0 {
			t.first = t.last
			work.Decode()
		}
		if err := send(i, p); err != nil {
			return err
		}
		due = due.Add(t.jittered(t.reader.PerChunk * time.Duration(p.tokens)))
		timer.Reset(time.Until(due))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done.replies++
	s.done.prompt += t.promptTokens
	s.done.generated += t.tokens()
	s.done.first += t.first.Sub(t.began)
	s.done.decode += t.last.Sub(t.first)
	return nil
}

func (s *server) count(name string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
	s.used[name] = time.Now()
}

// text is what was said so far, by channel.
func text(chunks []chunk) (thinking, answer string) {
	var b [2]strings.Builder
	for _, p := range chunks {
		if p.thinking {
			b[0].WriteString(p.text)
		} else {
			b[1].WriteString(p.text)
		}
	}
	return b[0].String(), b[1].String()
}

// maxBody is more than any request needs: forty pictures of 2048 pixels.
const maxBody = 512 << 20

var errLong = errors.New("the request is too long")

func body(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errLong
	}
	if r.ContentLength >= 0 { // io.ReadAll would copy it several times
		b := make([]byte, r.ContentLength)
		n, err := io.ReadFull(r.Body, b)
		return b[:n], err
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(b) > maxBody {
		err = errLong
	}
	return b, err
}

// look opens a picture of the conversation; named is what the request calls it,
// "" for nothing.
func (j *job) look(skill skill, file []byte, named string) (Film, error) {
	one, err := skill.Open(file)
	if err != nil {
		return one, err
	}
	j.pixels += int64(one.Size.X) * int64(one.Size.Y)
	j.prompt.Show(one.File, one.Size, named)
	return one, nil
}

// encode writes JSON as servers do, without the escapes meant for web pages.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("phantom: internal error: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// reply sends a whole JSON body.
func reply(w http.ResponseWriter, status int, v any) {
	b := encode(v)
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	w.WriteHeader(status)
	w.Write(b) // a client that is gone needs no answer
}
