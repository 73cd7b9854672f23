// Package dryrun makes the exact requests of a trial without sending them.
package dryrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/openai"
	"assay/harness/bench"
	"assay/harness/config"
	"assay/harness/plan"
	"assay/harness/runner"
	"assay/results"
	"assay/timing"
)

// Of runs the trial against a backend that only listens, so that the requests are
// made by the code that a run uses: one for each turn, with the nonces of its first
// attempt. It returns the digest of the inputs besides.
func Of(ctx context.Context, b *bench.Bench, t plan.Trial) ([]*backends.Request, results.Digest, error) {
	var ear listener
	set := runner.Settings{InFlight: 1}
	for _, sc := range b.Config.Studies {
		if sc.Name == t.Key.Study {
			set = b.Settings(sc)
		}
	}
	// A run would warm the server up first; the nonces are added below.
	cold := set.Cold
	set.Timed, set.Cold, set.CoolDown, set.Retries = false, false, runner.CoolDown{}, 0
	end := runner.Endpoint{Backend: &ear}
	for _, m := range b.Config.Models {
		if m.Name == t.Key.Model {
			end.Model, end.Think = m.Model, m.Think
			for _, be := range b.Config.Backends {
				if be.Name == m.Backend {
					end.Options, end.ReadsWebP = be.Options, be.Kind == "vllm"
				}
			}
		}
	}
	one := &plan.Plan{Blocks: []plan.Block{{Model: t.Key.Model, Trials: []plan.Trial{t}}}}
	var keep memory
	_, err := runner.Run(ctx, runner.Job{Plan: one, Settings: map[string]runner.Settings{t.Key.Study: set},
		Endpoints: map[string]runner.Endpoint{t.Key.Model: end}, Store: &keep, Clock: timing.NewClock(), Seed: b.Config.Seed})
	if err != nil {
		return nil, "", err
	}
	if last, ok := keep.trial.Last(); ok && last.Failure != nil {
		return nil, "", errors.New(last.Failure.Message)
	}
	for i, req := range ear.heard {
		if cold {
			req.Cold = runner.NonceOf(b.Config.Seed, t.Key, 0, i)
		}
	}
	return ear.heard, keep.trial.Inputs, nil
}

// listener is a Backend that keeps requests and sends nothing.
type listener struct{ heard []*backends.Request }

func (l *listener) Identify(context.Context, string) (backends.Identity, error) {
	return backends.Identity{}, nil
}

func (l *listener) Generate(_ context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	l.heard = append(l.heard, req)
	return &backends.Response{Answer: fmt.Sprintf("(the model's answer to turn %d)", len(l.heard)), Finish: backends.FinishStop}, nil
}

// memory is a store for one trial that is not kept.
type memory struct{ trial results.Trial }

func (m *memory) Outcomes(context.Context) (map[results.Key]results.Outcome, error) {
	return nil, nil
}

func (m *memory) Trial(context.Context, results.Key) (results.Trial, bool, error) {
	return m.trial, len(m.trial.Attempts) > 0, nil
}

func (m *memory) PutServed(context.Context, backends.Identity) error { return nil }

func (m *memory) PutTrial(_ context.Context, t results.Trial) error { m.trial = t; return nil }

// Body is what an adapter would put on the wire for a request. The adapter must dial
// with HangUp.
func Body(ctx context.Context, be backends.Backend, r *backends.Request) ([]byte, error) {
	req := *r
	req.Timeouts = backends.Timeouts{Total: 2 * time.Second}
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

// Curl is the command that sends a body as a run does. It names where the key
// is, and never holds it.
func Curl(url, body string, be config.Backend) string {
	endpoint := strings.TrimSuffix(url, "/v1") + openai.ChatPath
	if be.Kind == "ollama" || be.Protocol == "ollama" {
		endpoint = url + "/api/chat"
	}
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
