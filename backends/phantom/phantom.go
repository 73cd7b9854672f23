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
	name    string
	serve   func(*server) *http.ServeMux
	headers func(http.Header, *http.Request)              // of every reply; nil: none
	words   func() map[problem]words                      // of what is wrong
	problem func(say words, j job) any                    // their shape
	refuse  func(w http.ResponseWriter, j job, say words) // nil: the problem alone
	keeps   habits
	loads   bool            // a reader is loaded when it is first asked
	events  string          // the type of a stream
	blank   string          // what clients of a stream have to overlook
	build   string          // what replies call it
	thinks  string          // the field of a message's reasoning
	logs    json.RawMessage // what stands for token IDs and their chances, which nobody knows
}

func protocols() []protocol {
	return []protocol{
		{name: "ollama", serve: (*server).ollama, words: ollamaWords, problem: ollamaError, refuse: ollamaRefuse,
			keeps: habits{Block: 1, Pictures: 4}, loads: true, events: "application/x-ndjson", blank: "\n"},
		{name: "llamacpp", serve: (*server).llamacpp, headers: llamaHeaders, words: llamaWords, problem: llamaError, refuse: llamaRefuse,
			keeps: habits{Block: 1}, build: llamaBuild, events: "text/event-stream", blank: ":\n\n", thinks: "reasoning_content"},
		{name: "vllm", serve: (*server).vllm, headers: vllmHeaders, words: vllmWords, problem: vllmError,
			keeps: habits{Block: 16, Pictures: allPictures}, events: "text/event-stream; charset=utf-8", blank: ": ping\n\n",
			thinks: "reasoning", logs: json.RawMessage("null")},
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
	s := &server{options: o, began: time.Now(), used: map[string]time.Time{}, judges: map[string]Judge{}, loaded: map[string]bool{},
		seen: map[string]int{}, tokens: map[string]int{}, slots: make(chan struct{}, cmp.Or(o.Slots, 1<<16))}
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
	inner := s.protocol.serve(s)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(header, "1")
		if s.protocol.headers != nil {
			s.protocol.headers(w.Header(), r)
		}
		if _, pattern := inner.Handler(r); pattern == "" {
			s.refuse(w, job{trouble: trouble{is: nowhere}})
			return
		}
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
	tokens    map[string]int  // by text
	texts     []string        // by token
	unwritten error           // of the ledger
}

// totals count finished replies for /metrics.
type totals struct {
	replies, prompt, generated int
	first                      time.Duration
}

// reader finds a reader by name.
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
