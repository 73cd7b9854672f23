// Package servers starts a model server when it is needed and stops it when its
// block is over, so that one experiment can run several servers on one GPU.
//
//  1. Up starts the command in a session of its own and waits until the
//     server is healthy.
//  2. Backend puts a server's life around its adapter: a server that died is
//     started again before the next request, within a limit, and warmed up.
//  3. Down stops the server with all that it started, and nothing else.
//  4. Should assay be killed, a guard ends them: what carries the server's token in its
//     environment, and what is in its control group, where one can be made. What is left
//     all the same, the next Up or Reap ends: that, and a process that was recorded by
//     number, start and command.
//
// Whatever the server writes is kept: its end is part of every error. Servers are all
// backends of a bench.yaml: these, phantoms, and those that run by themselves.
package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/backends"
	"assay/harness/machine"
	"assay/results"
)

const (
	healthEvery = 250 * time.Millisecond
	// stopAfter is how long a server has to end by itself when it is told to.
	stopAfter = 15 * time.Second
	// reapAfter is the same for one that a killed assay left.
	reapAfter = 5 * time.Second
	reapEvery = 50 * time.Millisecond
	// noticeAfter is how long after a failed request the death of its server may
	// take to show.
	noticeAfter = 300 * time.Millisecond
	logEnd      = 20      // lines
	logKept     = 1 << 16 // bytes
)

// serverConfig is a server to manage.
type serverConfig struct {
	Name     string // of its backend in bench.yaml
	URL      string // for messages
	Command  []string
	Dir      string        // working folder; "": ours
	Timeout  time.Duration // from start to health
	Restarts int           // after a death, until Down
	Log      io.Writer     // gets all that the server writes; nil: nobody does
	// Record is a file that says what runs, for as long as it does: should assay be
	// killed, the next start ends what is left. "": there is none.
	Record string
	Store  string // whose lock we have; "": none
	// Tell is told what happens; nil: nobody is.
	Tell func(kind results.EventKind, text string)
}

// server is a managed server. It is safe for concurrent use.
type server struct {
	c serverConfig

	mu       sync.Mutex // held while starting and stopping
	run      *life
	restarts int
	gone     error // why it is not started again
}

// life is one life of a server.
type life struct {
	rec   record
	guard *guard // ends the server should we be killed; nil: nobody does
	cmd   *exec.Cmd
	log   *tail
	done  chan struct{} // closed when it has ended
	err   error         // how, once done is closed
	told  bool          // its end was, or need not be
}

// newServer makes a server without starting it.
func newServer(c serverConfig) *server {
	if c.Tell == nil {
		c.Tell = func(results.EventKind, string) {}
	}
	return &server{c: c}
}

// Up makes sure that the server runs and is healthy. health asks it, and its error may
// mean not yet. restarted says that it had
// died and runs again. The error is a *backends.Error.
func (s *server) Up(ctx context.Context, health func(context.Context) error) (restarted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && !s.run.ended() {
		return false, nil
	}
	if s.gone != nil {
		return false, s.gone
	}
	if s.run != nil {
		s.died()
		if s.restarts >= s.c.Restarts {
			s.gone = s.fail(backends.ErrUnreachable, fmt.Sprintf("it died %d times and is not started again; %s", s.restarts+1, s.run.how()), "look at its log; the limit is restarts: in bench.yaml")
			return false, s.gone
		}
		s.restarts++
		restarted = true
	} else {
		s.reap()
		if err := health(ctx); !errors.Is(err, backends.ErrUnreachable) {
			if ctx.Err() != nil {
				return false, s.fail(backends.ErrCancelled, "interrupted", "")
			}
			return false, s.fail(backends.ErrRefused, "something else answers at "+s.c.URL+" already", "stop it, choose another port, or remove command: from bench.yaml")
		}
	}
	kind := backends.ErrRefused
	if restarted {
		kind = backends.ErrUnreachable // it was there: what it is to answer stays to be done
	}
	if err := s.start(); err != nil {
		if !restarted {
			s.run = nil
		}
		return restarted, s.fail(kind, err.Error(), "check command: in bench.yaml")
	}
	s.c.Tell(results.EventStarted, strings.Join(s.c.Command, " "))
	if err := s.await(ctx, kind, health); err != nil {
		if !s.run.ended() {
			s.run.stop()
			s.run.told = true // by the error
		}
		s.died()
		s.forget()
		if !restarted || ctx.Err() != nil {
			s.run = nil
		}
		return restarted, err
	}
	return restarted, nil
}

func (s *server) fail(kind backends.Kind, what, hint string) error {
	return &backends.Error{Kind: kind, Op: "start the server of backend " + s.c.Name + " (" + s.c.Command[0] + ")", Message: what, Hint: hint}
}

func (s *server) start() error {
	p := &life{rec: newRecord(), log: &tail{also: s.c.Log}, done: make(chan struct{})}
	p.rec.Backend, p.rec.Store, p.rec.Cgroup = s.c.Name, absolute(s.c.Store), newCgroup(p.rec.Token)
	path := s.c.Record
	if _, _, taken := left(path); taken {
		path = "" // of another assay that runs, which will find its address taken or takes ours
	}
	p.rec.keep(path) // before there is a process: it may be the last thing we do
	p.guard = newGuard(p.rec)
	started := make(chan error)
	go func() {
		// The kernel ends the server with the thread that started it.
		runtime.LockOSThread()
		cmd, err := p.rec.startIn(func() *exec.Cmd {
			c := exec.Command(s.c.Command[0], s.c.Command[1:]...)
			// So that a server's CUDA_VISIBLE_DEVICES counts GPUs as NVML and nvidia-smi do.
			c.Env = append(os.Environ(), "CUDA_DEVICE_ORDER=PCI_BUS_ID", tokenName+"="+p.rec.Token)
			c.Dir, c.Stdout, c.Stderr, c.WaitDelay = s.c.Dir, p.log, p.log, 2*time.Second
			group(c)
			return c
		})
		p.cmd = cmd
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		p.over()
		s.forget()
		return err
	}
	if server, err := machine.Processes().Process(p.cmd.Process.Pid); err == nil {
		p.rec.Server, p.rec.Command = server, commandOf(server.PID)
		p.rec.keep(path)
	}
	s.run = p
	return nil
}

// forget removes the record of a server that has ended, unless it is another's.
func (s *server) forget() {
	if _, _, taken := left(s.c.Record); s.c.Record != "" && !taken {
		_ = os.Remove(s.c.Record)
	}
}

// reap ends what a killed assay left of this server.
func (s *server) reap() {
	r, found, _ := left(s.c.Record)
	if !found {
		return
	}
	if n := r.reap(); n > 0 {
		s.c.Tell(results.EventStopped, fmt.Sprintf("left by a run that was killed: %d processes", n))
	}
	s.forget()
}

// await returns when the server is healthy; kind is that of its error where it does not get so.
func (s *server) await(ctx context.Context, kind backends.Kind, health func(context.Context) error) error {
	within, end := context.WithTimeout(ctx, s.c.Timeout)
	defer end()
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		err := health(within)
		switch {
		case ctx.Err() != nil:
			return s.fail(backends.ErrCancelled, "interrupted while it was starting", "")
		case s.run.ended():
			return s.fail(kind, "it ended before it was healthy; "+s.run.how(), "run the command by hand")
		case within.Err() != nil:
			return s.fail(kind, fmt.Sprintf("it was not healthy after %v (%v); the end of its log:\n%s", s.c.Timeout, err, s.run.log.end()), "look at its log, or raise start_timeout: in bench.yaml")
		case !notYet(err):
			return nil // it serves; what is wrong with a model is told by whoever asks for it
		}
		select {
		case <-within.Done():
		case <-s.run.done:
		case <-tick.C:
		}
	}
}

// notYet says whether an error is one of a server that still starts. A container's proxy
// takes connections for it before, and hangs up on them or lets them wait.
func notYet(err error) bool {
	var e *backends.Error
	return errors.As(err, &e) && slices.Contains([]backends.Kind{backends.ErrUnreachable, backends.ErrLoading, backends.ErrTruncated, backends.ErrStalled}, e.Kind)
}

// died tells that the server has ended, once, and ends what it left behind.
func (s *server) died() {
	if !s.run.told {
		s.c.Tell(results.EventDied, s.run.how())
	}
	s.run.told = true
	s.run.over()
}

// Down stops the server and waits for its end. Up may start it again.
func (s *server) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.run == nil:
	case s.run.ended():
		s.died()
	default:
		s.run.stop()
		s.c.Tell(results.EventStopped, "")
	}
	if s.run != nil {
		s.forget()
	}
	s.run, s.restarts, s.gone = nil, 0, nil
}

// death says how the server ended, where it did; it waits a moment for that.
func (s *server) death() (string, bool) {
	s.mu.Lock()
	p := s.run
	s.mu.Unlock()
	if p == nil {
		return "", false
	}
	t := time.NewTimer(noticeAfter)
	defer t.Stop()
	select {
	case <-p.done:
		return p.how(), true
	case <-t.C:
		return "", false
	}
}

func (p *life) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// how says in words how an ended process ended.
func (p *life) how() string {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	if end := p.log.end(); end != "" {
		return how + "; the end of its log:\n" + end
	}
	return how + "; it wrote nothing"
}

// stop tells the group to end, and ends it if it does not.
func (p *life) stop() {
	terminate(p.cmd, p.rec)
	t := time.NewTimer(stopAfter)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
	}
	kill(p.cmd, p.rec) // what the server left behind in its group, too
	<-p.done
	p.over()
}

// over ends what the server left behind, and lets its guard go.
func (p *life) over() {
	p.rec.sweep()
	p.guard.end()
	p.guard = nil
}

// tail keeps the end of what is written.
type tail struct {
	also io.Writer

	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.also != nil {
		// A full disk must not stop the server.
		_, _ = t.also.Write(b)
	}
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - logKept; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

// end is the last lines.
func (t *tail) end() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.ToValidUTF8(strings.TrimSpace(string(t.buf)), "?"), "\n")
	return strings.Join(lines[max(0, len(lines)-logEnd):], "\n")
}
