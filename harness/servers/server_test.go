//go:build unix

package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/ollama"
	"assay/backends/phantom"
	"assay/backends/wire"
	films "assay/harness/dataset/phantom"
	"assay/results"
	"assay/timing"
)

// TestMain is also the server that the tests manage: it serves a phantom at the
// address of its first argument, with a child of its own, until it is told to
// end. "die" as the second argument: it ends before it serves.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "serve" {
		os.Exit(m.Run())
	}
	fmt.Println("serving at", os.Args[2])
	if len(os.Args) > 3 && os.Args[3] == "die" {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
	}
	if len(os.Args) > 3 && os.Args[3] == "manage" { // an assay to be killed: its server has a child that left the session
		s := newServer(serverConfig{Name: "mine", URL: "http://" + os.Args[2], Command: []string{os.Args[0], "serve", os.Args[2], append(os.Args, "stray")[5]},
			Timeout: time.Minute, Log: os.Stdout, Record: os.Args[4], Store: strings.TrimSuffix(os.Args[4], "-mine.log.server") + ".sqlite"})
		b, err := ollama.New(wire.Config{URL: "http://" + os.Args[2]})
		if err != nil {
			panic(err)
		}
		if _, err := (&Backend{Backend: b, Server: s}).Identify(context.Background(), "honest"); err != nil {
			panic(err)
		}
		fmt.Println("up 0")
		select {}
	}
	if len(os.Args) > 3 && os.Args[3] == "stray" {
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "600")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println("child", child.Process.Pid)
		fmt.Println("server", os.Getpid())
	}
	if len(os.Args) > 3 && os.Args[3] == "brood" {
		sh := exec.Command("sh", "-c", brood)
		sh.Stdout, sh.Stderr = os.Stdout, os.Stderr // files: nobody waits for their end
		if err := sh.Run(); err != nil {
			panic(err)
		}
	}
	if len(os.Args) > 3 && os.Args[3] == "child" {
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println("child", child.Process.Pid)
	}
	if len(os.Args) > 3 && (os.Args[3] == "resets" || os.Args[3] == "hangs") { // a container's proxy before there is a server behind it
		l, err := net.Listen("tcp", os.Args[2])
		if err != nil {
			panic(err)
		}
		for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			if os.Args[3] == "hangs" {
				time.Sleep(time.Hour) // this is the server, not a test
			}
			c.Close()
		}
		l.Close()
	}
	if len(os.Args) > 3 && os.Args[3] == "once" { // what it needs is gone with its first life, as a GPU may be
		if _, err := os.Stat(os.Args[4]); err == nil {
			fmt.Fprintln(os.Stderr, "no GPU")
			os.Exit(7)
		}
		if err := os.WriteFile(os.Args[4], fmt.Appendf(nil, "%d", os.Getpid()), 0o600); err != nil {
			panic(err)
		}
	}
	if len(os.Args) > 3 && os.Args[3] == "mute" {
		time.Sleep(10 * time.Minute) // this is the server, not a test
	}
	p, err := phantom.Listen(os.Args[2], phantom.Options{Skill: new(films.Films), Protocol: "ollama"})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	time.Sleep(10 * time.Minute)
}

// brood is what the server of a killed assay starts: each line says what, and its number.
const brood = `trap '' TERM
sleep 600 & echo plain $!
setsid sleep 601 & echo setsid $!
(setsid sleep 602 >/dev/null 2>&1 & echo daemonised $!)
setsid env -i sleep 603 & echo bare $!
echo server $PPID
`

// guards are the processes that watch over the assay of a token.
func guards(token string) (out []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte("assay-guard\x00"+token)) {
			pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
			out = append(out, pid)
		}
	}
	return out
}

// written is a log that is read while it is written.
type written struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

func (w *written) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Reset()
}

type told struct {
	mu  sync.Mutex
	all []string
}

func (t *told) tell(k results.EventKind, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, string(k)+" "+text)
}

func (t *told) count(k results.EventKind) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, s := range t.all {
		if strings.HasPrefix(s, string(k)+" ") {
			n++
		}
	}
	return n
}

func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func serve(t *testing.T, restarts int, timeout time.Duration, how ...string) (*Backend, *told, *written) {
	t.Helper()
	addr := free(t)
	inner, err := ollama.New(wire.Config{URL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	events, log := &told{}, &written{}
	s := newServer(serverConfig{Name: "mine", URL: "http://" + addr, Command: append([]string{os.Args[0], "serve", addr}, how...),
		Timeout: timeout, Restarts: restarts, Tell: events.tell, Log: log})
	t.Cleanup(s.Down)
	return &Backend{Backend: inner, Server: s}, events, log
}

func request() *backends.Request {
	return &backends.Request{Model: "honest", Messages: []backends.Message{{Role: backends.User, Text: "Is the heart enlarged?"}}, Sampling: backends.Sampling{MaxTokens: 20}}
}

func ask(t *testing.T, b *Backend) error {
	_, err := b.Generate(t.Context(), request(), timing.NewRecorder(timing.NewClock()))
	return err
}

// running is the process that a line of the log names.
func running(t *testing.T, log *written, what string) int {
	t.Helper()
	for _, l := range strings.Split(log.String(), "\n") {
		if pid, ok := strings.CutPrefix(l, what+" "); ok {
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in %q", what, log.String())
	return 0
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	return !strings.Contains(string(b), ") Z ")
}

func TestAServerIsStartedAndStoppedWithItsChildren(t *testing.T) {
	b, events, log := serve(t, 3, time.Minute, "child")
	id, err := b.Identify(t.Context(), "honest")
	if err != nil || id.Server != "ollama" {
		t.Fatalf("%+v, %v", id, err)
	}
	if err := ask(t, b); err != nil {
		t.Fatal(err)
	}
	child := running(t, log, "child")
	if !alive(child) {
		t.Fatal("the child does not run")
	}
	b.Server.Down()
	for end := time.Now().Add(10 * time.Second); alive(child); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server's child still runs")
		}
	}
	if events.count(results.EventStarted) != 1 || events.count(results.EventStopped) != 1 || events.count(results.EventDied) != 0 {
		t.Errorf("told %q", events.all)
	}
	// It can be started again.
	if _, err := b.Identify(t.Context(), "honest"); err != nil {
		t.Error(err)
	}
}

// dying is a backend whose server is killed during requests.
type dying struct {
	backends.Backend
	kill  func()
	calls int
}

func (d *dying) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	if req.Sampling.MaxTokens <= 8 { // warm-up
		return d.Backend.Generate(ctx, req, rec)
	}
	d.calls++
	d.kill()
	return d.Backend.Generate(ctx, req, rec)
}

func TestADeadServerIsStartedAgainWithinTheLimit(t *testing.T) {
	b, events, log := serve(t, 2, time.Minute, "child")
	d := &dying{Backend: b.Backend}
	b.Backend = d
	group := func() int {
		pgid, err := syscall.Getpgid(running(t, log, "child"))
		if err != nil {
			t.Fatal(err)
		}
		return pgid
	}
	d.kill = func() {
		pgid := group()
		log.Reset()
		if err := syscall.Kill(-pgid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for alive(pgid) {
			<-time.After(5 * time.Millisecond)
		}
	}
	for i := range 3 {
		err := ask(t, b)
		var e *backends.Error
		if !errors.As(err, &e) || !e.Kind.CanHeal() || !strings.Contains(err.Error(), "the server died: signal: killed; the end of its log: serving at") {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	err := ask(t, b)
	if !errors.Is(err, backends.ErrUnreachable) || !strings.Contains(err.Error(), "it died 3 times and is not started again") || d.calls != 3 {
		t.Errorf("after the limit: %v (%d requests)", err, d.calls)
	}
	if events.count(results.EventStarted) != 3 || events.count(results.EventDied) != 3 {
		t.Errorf("told %q", events.all)
	}
	b.Server.Down() // a new block has new chances
	if _, err := b.Identify(t.Context(), "honest"); err != nil {
		t.Error(err)
	}
}

// A server that does not come back is away: trials that meet that are not the worse for it.
func TestAServerThatDoesNotComeBackIsAway(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	b, events, _ := serve(t, 2, time.Minute, "once", pid)
	if _, err := b.Identify(t.Context(), "honest"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for alive(n) {
		<-time.After(5 * time.Millisecond)
	}
	_, last := b.Identify(t.Context(), "honest")
	for end := time.Now().Add(10 * time.Second); strings.Contains(last.Error(), "GET ") && time.Now().Before(end); { // its end is not noticed yet
		_, last = b.Identify(t.Context(), "honest")
	}
	for i := range 5 {
		if i > 0 {
			_, last = b.Identify(t.Context(), "honest")
		}
		if !errors.Is(last, backends.ErrUnreachable) || !strings.Contains(last.Error(), "exit status 7; the end of its log: ") {
			t.Errorf("time %d: %v", i, last)
		}
	}
	if !strings.Contains(last.Error(), "it died 3 times and is not started again") || events.count(results.EventStarted) != 3 || events.count(results.EventDied) != 3 {
		t.Errorf("%v; told %q", last, events.all)
	}
}

func TestAServerThatCannotBeStartedSaysWhy(t *testing.T) {
	for _, c := range []struct {
		how  []string
		want string
	}{
		{[]string{"die"}, "it ended before it was healthy; exit status 7; the end of its log: "},
		{[]string{"mute"}, "it was not healthy after 500ms"},
	} {
		b, _, _ := serve(t, 2, 500*time.Millisecond, c.how...)
		_, err := b.Identify(t.Context(), "honest")
		if !errors.Is(err, backends.ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.how, err)
		}
	}
	b, events, _ := serve(t, 2, time.Minute, "mute")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := b.Identify(ctx, "honest"); !errors.Is(err, backends.ErrCancelled) {
		t.Errorf("interrupted: %v", err)
	}
	if events.count(results.EventStarted) != 1 {
		t.Errorf("told %q", events.all)
	}
	none := newServer(serverConfig{Name: "x", URL: "http://127.0.0.1:9", Command: []string{"/no/such/program"}, Timeout: time.Second})
	away := func(context.Context) error { return &backends.Error{Kind: backends.ErrUnreachable} }
	if _, err := none.Up(t.Context(), away); !errors.Is(err, backends.ErrRefused) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no program: %v", err)
	}
}

// Docker's proxy takes connections before the server behind it does, and hangs up on them.
func TestAProxyThatHangsUpIsNoServerYet(t *testing.T) {
	b, events, _ := serve(t, 0, time.Minute, "resets")
	if id, err := b.Identify(t.Context(), "honest"); err != nil || id.Server != "ollama" {
		t.Errorf("%+v, %v", id, err)
	}
	if events.count(results.EventStarted) != 1 {
		t.Errorf("told %q", events.all)
	}
}

// One that takes connections and says nothing is waited for no longer than start_timeout.
func TestAServerThatSaysNothingIsNotHealthy(t *testing.T) {
	b, _, _ := serve(t, 0, time.Second, "hangs")
	began := time.Now()
	_, err := b.Identify(t.Context(), "honest")
	if !errors.Is(err, backends.ErrRefused) || !strings.Contains(err.Error(), "it was not healthy after 1s") || time.Since(began) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// The nonce is the trial's alone: a server that names pictures by it would look at the
// warm-up's when the trial comes.
func TestAWarmUpHasNoNonceOfATrial(t *testing.T) {
	b, _, log := serve(t, 1, time.Minute, "child")
	seen := &nonces{Backend: b.Backend}
	b.Backend = seen
	if _, err := b.Identify(t.Context(), "honest"); err != nil {
		t.Fatal(err)
	}
	pgid, err := syscall.Getpgid(running(t, log, "child"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-pgid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for alive(pgid) {
		<-time.After(5 * time.Millisecond)
	}
	req := request()
	req.Cold = backends.NonceOf("trial")
	for end := time.Now().Add(10 * time.Second); ; { // until its end is noticed
		if _, err = b.Generate(t.Context(), req, timing.NewRecorder(timing.NewClock())); err == nil || time.Now().After(end) {
			break
		}
	}
	if n := len(seen.sent); err != nil || n < 2 || seen.sent[n-2] != "" || seen.sent[n-1] != req.Cold {
		t.Errorf("sent under %q: %v", seen.sent, err)
	}
}

// nonces is a backend that notes those of its requests.
type nonces struct {
	backends.Backend
	sent []backends.Nonce
}

func (n *nonces) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	n.sent = append(n.sent, req.Cold)
	return n.Backend.Generate(ctx, req, rec)
}

// Somebody else's server is neither used nor stopped.
func TestATakenAddressIsRefused(t *testing.T) {
	b, events, _ := serve(t, 2, time.Minute)
	addr := strings.TrimPrefix(urlOf(t, b), "http://")
	other, err := phantom.Listen(addr, phantom.Options{Skill: new(films.Films), Protocol: "ollama"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := b.Identify(t.Context(), "honest"); !errors.Is(err, backends.ErrRefused) || !strings.Contains(err.Error(), "something else answers") {
		t.Errorf("%v", err)
	}
	b.Server.Down()
	if _, err := b.Backend.Identify(t.Context(), "honest"); err != nil || len(events.all) != 0 {
		t.Errorf("the other server: %v; told %q", err, events.all)
	}
}

func urlOf(t *testing.T, b *Backend) string {
	_, err := b.Backend.Identify(t.Context(), "honest")
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("somebody serves there: %v", err)
	}
	at := strings.Index(e.Op, "http://")
	return strings.TrimSuffix(e.Op[at:], "/api/version")
}

// A server's CUDA_VISIBLE_DEVICES means the numbers that NVML has.
func TestAServerCountsGPUsAsTheDriverDoes(t *testing.T) {
	t.Setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
	s := newServer(serverConfig{Name: "x", URL: "http://127.0.0.1:9", Command: []string{"sh", "-c", "echo order=$CUDA_DEVICE_ORDER home=$HOME; exit 3"}, Timeout: time.Minute})
	t.Cleanup(s.Down)
	_, err := s.Up(t.Context(), func(context.Context) error { return &backends.Error{Kind: backends.ErrUnreachable} })
	if err == nil || !strings.Contains(err.Error(), "order=PCI_BUS_ID home="+os.Getenv("HOME")) {
		t.Errorf("%v", err)
	}
}

func gone(t *testing.T, what string, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); alive(pid); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s still runs", what)
		}
	}
}

// TestWhatAKilledAssayLeftIsEnded: after kill -9 a server that ignores its end, and a
// child of it in a session of its own, are ended by the next start, which then has the
// address for itself; a stranger that has a recorded number is left alone.
func TestWhatAKilledAssayLeftIsEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells whose a process is")
	}
	addr, record := free(t), filepath.Join(t.TempDir(), "server")
	log := &written{}
	assay := exec.Command(os.Args[0], "serve", addr, "manage", record)
	assay.Stdout, assay.Stderr = log, log
	if err := assay.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(log.String(), "up 0\n"); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come up: %s", log.String())
		}
	}
	server, child := running(t, log, "server"), running(t, log, "child")
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGKILL); _ = syscall.Kill(child, syscall.SIGKILL) })
	inner, err := ollama.New(wire.Config{URL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	events := &told{}
	conf := serverConfig{Name: "mine", URL: "http://" + addr, Command: []string{os.Args[0], "serve", addr}, Timeout: time.Minute, Tell: events.tell, Record: record}
	s := newServer(conf)
	t.Cleanup(s.Down)
	b := &Backend{Backend: inner, Server: s}

	// While its assay lives it is left alone.
	if _, err := b.Identify(t.Context(), "honest"); !errors.Is(err, backends.ErrRefused) || !alive(server) || !alive(child) {
		t.Fatalf("beside a live assay: %v", err)
	}
	var r struct{ Token string }
	if b, err := os.ReadFile(record); err != nil || json.Unmarshal(b, &r) != nil {
		t.Fatal(err)
	}
	for _, pid := range guards(r.Token) { // it would do this test's work
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := assay.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = assay.Wait()
	if !alive(child) {
		t.Fatal("the child has ended by itself: nothing is tested")
	}
	if _, err := b.Identify(t.Context(), "honest"); err != nil {
		t.Fatal(err)
	}
	gone(t, "the server", server)
	gone(t, "its child", child)
	if st, err := os.Stat(record); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the record of the new server: %v, %v", st, err)
	}
	s.Down()
	if _, err := os.Stat(record); err == nil {
		t.Error("the record outlives its server")
	}
	if events.count(results.EventStopped) != 2 {
		t.Errorf("told %q", events.all)
	}

	// A number that another process has now: its start is not the recorded one.
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"owner": map[string]any{"PID": 1 << 22, "Started": 1}, "token": "none", "boot": string(boot),
		"server": map[string]any{"PID": stranger.Process.Pid, "Started": 1, "Name": "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Identify(t.Context(), "honest"); err != nil {
		t.Fatal(err)
	}
	s.Down()
	if !alive(stranger.Process.Pid) {
		t.Error("a stranger with the recorded number was ended")
	}
}
