package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/plan"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
	"assay/timing"
)

// Shown is a trial as it is sent and as it is stored.
type Shown struct {
	Key      results.Key        `json:"key"`
	Server   string             `json:"server"`
	Made     []string           `json:"made,omitempty"` // how pictures of the item were made of DICOM files
	Turns    []shownTurn        `json:"turns"`
	Stored   *results.Trial     `json:"stored,omitempty"`
	Verdicts []results.Judgment `json:"judgments,omitempty"`
	Former   []results.Judgment `json:"former_judgments,omitempty"` // of judges as they were before, or judged again
}

// shownTurn is one of its turns.
type shownTurn struct {
	Prompt string   `json:"prompt"`
	Images []string `json:"images,omitempty"` // type and size, or the file written
	// Nonce of the first attempt: the request holds it, the prompt and the images
	// shown here do not.
	Nonce   backends.Nonce `json:"nonce,omitempty"`
	Body    string         `json:"body,omitempty"` // file of the request body
	Curl    string         `json:"curl"`
	request *backends.Request
	bytes   []byte
	Written bool `json:"-"` // Body is a file
}

// Show makes the requests of a trial, and reads what is stored of it. adapter dials
// with HangUp: nothing is sent. Bodies and pictures are written into the folder dir;
// "": they are not.
func (b *Bench) Show(ctx context.Context, t plan.Trial, adapter backends.Backend, dir string) (*Shown, error) {
	reqs, _, err := b.Requests(ctx, t)
	if err != nil {
		return nil, err
	}
	be := b.server(t.Key.Model)
	out := &Shown{Key: t.Key, Server: be.URL, Made: t.Item.Made()}
	if out.Turns, err = turnsOf(ctx, adapter, reqs); err != nil {
		return nil, err
	}
	for i := range out.Turns {
		if err := out.Turns[i].write(dir, i, out.Server, be); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(b.Config.Store); err != nil {
		return out, nil
	}
	return out, out.readStore(ctx, b.Config.Store)
}

// Turns are the requests of a stored trial as they were sent, but for nonces, and the
// digest of its inputs; said gives the stored answers that entered its prompts. adapter
// dials with HangUp.
func (b *Bench) Turns(ctx context.Context, t plan.Trial, adapter backends.Backend, said func(results.Key) (string, error)) ([]shownTurn, results.Digest, error) {
	reqs, inputs, err := b.RequestsAfter(ctx, t, said)
	if err != nil {
		return nil, "", err
	}
	turns, err := turnsOf(ctx, adapter, reqs)
	be := b.server(t.Key.Model)
	for i := range turns {
		err = errors.Join(err, turns[i].write("", i, be.URL, be))
	}
	return turns, inputs, err
}

// Request is what a turn sends, and its body as it goes over the wire.
func (t *shownTurn) Request() (*backends.Request, []byte) { return t.request, t.bytes }

// server is that of a model; a phantom's is where somebody would start it.
func (b *Bench) server(model string) backends.Server {
	_, be := endpoint(b.Config, model)
	be.URL = strings.TrimRight(be.URL, "/")
	if be.Phantom() {
		be.URL = "http://127.0.0.1:PORT" // of assay phantom serve
	}
	return be
}

// turnsOf are the turns of a trial as they are shown, with their bodies.
func turnsOf(ctx context.Context, adapter backends.Backend, reqs []*backends.Request) ([]shownTurn, error) {
	var turns []shownTurn
	for _, req := range reqs {
		turn := shownTurn{request: req, Nonce: req.Cold, Prompt: said(req, len(turns))}
		for _, m := range req.Messages {
			for _, img := range m.Images {
				turn.Images = append(turn.Images, fmt.Sprintf("%s, %d bytes", img.MIME, len(img.Bytes)))
			}
		}
		var err error
		if turn.bytes, err = bodyOf(ctx, adapter, req); err != nil {
			return nil, fmt.Errorf("the request body of turn %d could not be made: %w", len(turns)+1, err)
		}
		turns = append(turns, turn)
	}
	return turns, nil
}

// said is what a turn says, from 0: the first one's examples before its question.
func said(req *backends.Request, turn int) string {
	last := len(req.Messages) - 1
	if turn > 0 || last == 0 {
		return req.Messages[last].Text
	}
	var b strings.Builder
	for i := 0; i < last; i += 2 {
		fmt.Fprintf(&b, "[example %d]\n%s\n[its answer]\n%s\n\n", i/2+1, req.Messages[i].Text, req.Messages[i+1].Text)
	}
	return b.String() + "[the question]\n" + req.Messages[last].Text
}

// write puts pictures and body into dir, or describes them when dir is empty.
func (t *shownTurn) write(dir string, turn int, url string, be backends.Server) error {
	t.Body = fmt.Sprintf("request-%d.json", turn+1)
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		t.Body, t.Written = filepath.Join(dir, t.Body), true
		if err := os.WriteFile(t.Body, t.bytes, 0o600); err != nil {
			return err
		}
		n := 0
		for _, m := range t.request.Messages {
			for _, img := range m.Images {
				ext := strings.TrimPrefix(img.MIME, "image/")
				name := filepath.Join(dir, fmt.Sprintf("turn-%d-image-%d.%s", turn+1, n+1, ext))
				if err := os.WriteFile(name, img.Bytes, 0o600); err != nil {
					return err
				}
				t.Images[n] = name
				n++
			}
		}
	}
	t.Curl = curl(url, t.Body, be)
	return nil
}

func (o *Shown) readStore(ctx context.Context, path string) error {
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return err
	}
	defer st.Close()
	t, ok, err := st.Trial(ctx, o.Key)
	if err != nil || !ok {
		return err
	}
	return o.fill(ctx, st, t)
}

// ShowStored is what a store has of a trial. Where its study, model or arm is not given, it is
// the store's first study and model, and the last arm that the item was asked in.
func ShowStored(ctx context.Context, st *store.Store, want results.Key) (*Shown, error) {
	studies, err := Asked(ctx, st)
	if err != nil {
		return nil, err
	}
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	models := slices.Sorted(maps.Keys(man.Models))
	if len(studies) == 0 || len(models) == 0 {
		return nil, errors.New("the store has no trials")
	}
	want.Study = cmp.Or(want.Study, studies[0].Rules.Study)
	if want.Model != "" {
		models = []string{want.Model}
	}
	var found *results.Trial
	var have []string
	for _, model := range models {
		for t, err := range st.TrialsOf(ctx, want.Study, model, want.Item) {
			if err != nil {
				return nil, err
			}
			k := t.Key
			have = append(have, fmt.Sprintf("model %s, arm %s, condition %s, repeat %d", k.Model, k.Arm, k.Condition, k.Repeat))
			if (want.Arm == "" || k.Arm == want.Arm) && k.Condition == want.Condition && k.Repeat == want.Repeat {
				found = &t
			}
		}
		if found != nil {
			break
		}
	}
	if found == nil {
		if have == nil {
			return nil, fmt.Errorf("the store has no item %s of study %s, or no model %s; without --item the items are listed", want.Item, want.Study, cmp.Or(want.Model, "at all"))
		}
		const most = 12
		more := ""
		if n := len(have) - most; n > 0 {
			have, more = have[:most], fmt.Sprintf("; and %d more", n)
		}
		return nil, fmt.Errorf("the store has no such trial of item %s in study %s; it has %s%s", want.Item, want.Study, strings.Join(have, "; "), more)
	}
	out := &Shown{Key: found.Key}
	return out, out.fill(ctx, st, *found)
}

func (o *Shown) fill(ctx context.Context, st *store.Store, t results.Trial) error {
	o.Stored = &t
	now, err := st.JudgmentsOf(ctx, o.Key)
	if err != nil {
		return err
	}
	for _, j := range now {
		o.Verdicts = append(o.Verdicts, j.Judgment)
	}
	past, err := st.PastJudgmentsOf(ctx, o.Key)
	for _, j := range past {
		o.Former = append(o.Former, j.Judgment)
	}
	return err
}

// bodyOf is what an adapter would put on the wire for a request. The adapter must dial
// with HangUp.
func bodyOf(ctx context.Context, be backends.Backend, r *backends.Request) ([]byte, error) {
	req := *r
	req.Timeouts, req.Prove = backends.Timeouts{Total: 2 * time.Second}, false
	_, err := be.Generate(ctx, &req, timing.NewRecorder(timing.NewClock()))
	var e *backends.Error
	if !errors.As(err, &e) || e.Sent == nil {
		return nil, cmp.Or(err, errors.New("the adapter got an answer from nobody"))
	}
	return e.Sent, nil
}

// HangUp connects to somebody who reads a whole request and hangs up.
func HangUp(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		swallow(far)
	}()
	return near, nil
}

// swallow reads until the request is whole, as its Content-Length says.
func swallow(c net.Conn) {
	var head []byte
	buf := make([]byte, 64<<10)
	rest := -1
	for rest != 0 {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if rest > 0 {
			rest = max(0, rest-n)
			continue
		}
		head = append(head, buf[:n]...)
		before, after, ok := strings.Cut(string(head), "\r\n\r\n")
		if !ok {
			continue
		}
		length := 0
		for line := range strings.Lines(before) {
			name, value, _ := strings.Cut(line, ":")
			if strings.EqualFold(name, "Content-Length") {
				fmt.Sscan(value, &length)
			}
		}
		rest = max(0, length-len(after))
	}
}

// curl is the command that sends a body as a run does. It names where the key
// is, and never holds it.
func curl(url, body string, be backends.Server) string {
	endpoint := kinds.Server(be.Kind, be.Protocol).ChatURL(url)
	key := ""
	switch {
	case be.KeyEnv != "":
		key = fmt.Sprintf(` -H "Authorization: Bearer $%s"`, be.KeyEnv)
	case be.KeyFile != "":
		key = fmt.Sprintf(` -H "Authorization: Bearer $(cat %s)"`, shellWord(be.KeyFile))
	}
	if socket, ok := strings.CutPrefix(url, "unix://"); ok {
		key += " --unix-socket " + shellWord(socket)
		endpoint = "http://localhost" + strings.TrimPrefix(endpoint, url)
	}
	if be.CAFile != "" {
		key += " --cacert " + shellWord(be.CAFile)
	}
	return fmt.Sprintf("curl -N -H 'Content-Type: application/json'%s --data-binary @%s %s", key, shellWord(body), shellWord(endpoint))
}

// shellWord is s as one word of a shell's command line.
func shellWord(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// PickTrial finds a planned trial. Where its study, model or arm is not given, it is the
// plan's first study and model, and the study's last arm.
func PickTrial(p *plan.Plan, want results.Key) (plan.Trial, error) {
	if len(p.Studies) == 0 || len(p.Blocks) == 0 {
		return plan.Trial{}, errors.New("the plan has no trials")
	}
	if want.Study == "" {
		want.Study = p.Studies[0].Study
	}
	if want.Model == "" {
		want.Model = p.Blocks[0].Model
	}
	for _, sel := range p.Studies {
		if sel.Study == want.Study && want.Arm == "" && len(sel.Arms) > 0 {
			want.Arm = sel.Arms[len(sel.Arms)-1]
		}
	}
	values := map[string]map[string]bool{"study": {}, "model": {}, "item": {}, "arm": {}, "condition": {}}
	for _, block := range p.Blocks {
		for _, t := range block.Trials {
			if t.Key == want {
				return t, nil
			}
			k := t.Key
			for field, v := range map[string]string{"study": k.Study, "model": k.Model, "item": k.Item, "arm": k.Arm, "condition": k.Condition} {
				values[field][v] = true
			}
		}
	}
	for _, f := range []struct{ field, got string }{{"study", want.Study}, {"model", want.Model}, {"item", want.Item}, {"arm", want.Arm}, {"condition", want.Condition}} {
		if !values[f.field][f.got] {
			var names []string
			for v := range values[f.field] {
				names = append(names, v)
			}
			return plan.Trial{}, fmt.Errorf("no %s %q in the plan%s", f.field, f.got, text.DidYouMean(f.got, names))
		}
	}
	return plan.Trial{}, fmt.Errorf("the plan has no trial of study %s, model %s, item %s, arm %s, condition %s, repeat %d; assay plan lists what there is",
		want.Study, want.Model, want.Item, want.Arm, want.Condition, want.Repeat)
}
