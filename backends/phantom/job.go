package phantom

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	// It reads as encoding/json does, in less time: pictures make requests long.
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// job is one request as a protocol has read it.
type job struct {
	began     time.Time // the request was read
	body      []byte
	reader    Profile
	name      string // the model as the request names it
	ask       Ask
	texts     []string // of the conversation, which are ask.Prompt
	prompt    prompt
	pixels    int64
	context   int // tokens that the prompt may have; 0: as many as it has
	maxTokens int // 0: as many as it takes
	stream    bool
	trouble
}

// trouble is why a request has no reply. The protocols have their own words for it.
type trouble struct {
	is    problem
	cause error // where it says more
}

type problem int

const (
	fine    problem = iota
	nowhere         // there is no such path
	emptyBody
	noJSON
	noName
	unknownModel
	noMessages
	badMessages
	badPicture
	elsewhere // a picture is not in the request
	blind     // the model takes no pictures
	unthinking
	badOption
	badFormat
	badSchema
	tooLong
	badToken
	unprompted // a model is asked where it does not answer
	loading
	broken
	webPage // what answers is no model server
)

// maxBody is more than any request needs: forty pictures of 2048 pixels.
const maxBody = 512 << 20

// read reads a request.
func read(w http.ResponseWriter, r *http.Request, into any) job {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	j := job{began: time.Now(), body: body}
	if err == nil && len(bytes.TrimSpace(body)) == 0 {
		j.is = emptyBody
		return j
	}
	if err == nil && jsonv1.NewDecoder(bytes.NewReader(body)).Decode(into) != nil {
		err = json.NewDecoder(bytes.NewReader(body)).Decode(into) // real servers speak of errors in its words
	}
	if err != nil {
		j.trouble = trouble{noJSON, err}
	}
	return j
}

// answered answers with what is read off a request, if there is any, or with what is wrong with it.
func (s *server) answered(do func(w http.ResponseWriter, r *http.Request) (job, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch j, v := do(w, r); {
		case j.is != fine:
			s.refuse(w, j)
		case v != nil:
			send(w, 200, v)
		}
	}
}

// told answers with what a server says of itself.
func told(of func(r *http.Request) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { send(w, 200, of(r)) }
}

// part is a text or a picture of a message.
type part struct {
	text    string
	picture []byte // nil: a text
	named   string // what the request calls the picture, "" for nothing
}

// hear takes a message in. The last message that has pictures gives those that the reader
// looks at, if it can.
func (j *job) hear(skill skill, role string, parts []part) trouble {
	var shown []Film
	line := Line{Role: role}
	before := len(j.texts)
	for _, p := range parts {
		if p.picture == nil {
			j.texts = append(j.texts, p.text)
			j.prompt.say(p.text)
			continue
		}
		line.Shows = true
		if !j.reader.Vision {
			continue
		}
		film, err := skill.Open(p.picture)
		if err != nil {
			return trouble{badPicture, err}
		}
		j.pixels += film.pixels()
		j.prompt.show(film, p.named)
		shown = append(shown, film)
	}
	line.Text = strings.Join(j.texts[before:], "\n")
	j.ask.Prompt = strings.Join(j.texts, "\n")
	j.ask.Talk = append(j.ask.Talk, line)
	if len(shown) > 0 {
		j.ask.Films = shown
	}
	return trouble{}
}

// promptTokens counts about four letters to a token and 28 x 28 pixels.
func (j job) promptTokens() int { return len(j.ask.Prompt)/4 + 1 + int(j.pixels/784) }

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
	tokens       int  // of all chunks
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
func (s *server) prepare(j *job) *take {
	n := j.promptTokens()
	if j.is == fine && j.context > 0 && n > j.context {
		j.is = tooLong
	}
	if j.is != fine {
		return nil
	}
	reply, err := s.reply(*j)
	if err != nil {
		j.trouble = trouble{badSchema, err}
		return nil
	}
	t := &take{job: *j, promptTokens: n, load: s.load(j.reader)}
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
	for i, tokens := range [][]string{thinking, answer} {
		for c := range slices.Chunk(tokens, together) {
			t.chunks = append(t.chunks, chunk{strings.Join(c, ""), i == 0, len(c)})
		}
	}
	t.tokens = len(thinking) + len(answer)
	t.reused = s.options.Caches.take(s.protocol.keeps, j.reader.Name, j.prompt, t.promptTokens)
	t.due = j.began.Add(t.load + t.jittered(j.reader.Prefill(t.promptTokens-t.reused.Tokens, j.pixels-t.reused.Pixels)))
	j.is = map[FaultKind]problem{FaultLoading: loading, FaultInternal: broken, FaultWrongType: webPage}[t.fault]
	return t
}

// reply asks whoever the job is for.
func (s *server) reply(j job) (Reply, error) {
	if by, ok := s.judges[j.reader.Name]; ok {
		text, ok := by.Reply(s.options.Seed, j.ask.Prompt, j.ask.Schema, s.options.Skill.Knows)
		return Reply{Answer: text, Truth: Truth{Understood: ok}}, nil
	}
	return s.options.Skill.Read(j.reader, s.options.Seed, j.ask)
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
	s.done.generated += t.tokens
	s.done.first += t.first.Sub(t.began)
	return nil
}

func (s *server) count(name string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
	s.used[name] = time.Now()
}

// finish is the reason why a reply ended.
func (t *take) finish() string {
	if t.cut {
		return "length"
	}
	return "stop"
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

// send answers with JSON.
func send(w http.ResponseWriter, status int, v any) {
	b := encode(v)
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	w.WriteHeader(status)
	w.Write(b) // a client that is gone needs no answer
}

// words are a protocol's for a trouble. In text, {model}, {why}, {tokens} and {context}
// stand for those of the request.
type words struct {
	status     int
	kind, text string
	field      string // of the request
}

// refuse answers with what is wrong.
func (s *server) refuse(w http.ResponseWriter, j job) {
	if j.is == webPage { // what a proxy in front of nothing says
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte("<!doctype html><title>Welcome</title><p>There is no model here.</p>"))
		return
	}
	say, why := s.protocol.words()[j.is], ""
	if j.cause != nil {
		why = j.cause.Error()
	}
	say.text = strings.NewReplacer("{model}", j.name, "{why}", why, "{tokens}", fmt.Sprint(j.promptTokens()), "{context}", fmt.Sprint(j.context)).Replace(say.text)
	if s.protocol.refuse != nil {
		s.protocol.refuse(w, j, say)
		return
	}
	send(w, say.status, s.protocol.problem(say, j))
}

// failed is what a stream ends with where the server fails.
func (s *server) failed(j job) []byte {
	return encode(s.protocol.problem(s.protocol.words()[broken], j))
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
