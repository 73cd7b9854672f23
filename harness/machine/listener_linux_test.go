package machine

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"assay/backends"
)

// TestListenerChild lets this test binary be a server: it says where it listens, and does so
// until its input ends.
func TestListenerChild(t *testing.T) {
	at := os.Getenv("ASSAY_TEST_LISTEN")
	if at == "" {
		return // only TestListenerIsTheProcess starts it
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listens at", l.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadString('x')
}

// Who listens stays the same while a process lives, and is another one when its
// successor has taken the port.
func TestListenerIsTheProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs Linux")
	}
	start := func(at string) (address string, stop func()) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestListenerChild$", "-test.v")
		cmd.Env = append(os.Environ(), "ASSAY_TEST_LISTEN="+at)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && address == "" {
			if _, at, ok := strings.Cut(lines.Text(), "listens at "); ok {
				address = at
				break
			}
		}
		return address, func() { in.Close(); cmd.Wait() }
	}
	at, stop := start("127.0.0.1:0")
	who, stopped := Listeners(Setup{
		Models:  []backends.Model{{Name: "m", Backend: "b"}, {Name: "far", Backend: "far"}, {Name: "made", Backend: "made"}},
		Servers: []backends.Server{{Name: "b", Kind: "ollama", URL: "http://" + at + "/"}, {Name: "far", Kind: "ollama", URL: "http://192.0.2.1:11434"}, {Name: "made", Kind: "phantom"}},
	})
	ask := func(model string) string {
		p, ok := who(context.Background(), model)
		if ok != (p != "") {
			t.Errorf("%q, %t", p, ok)
		}
		return p
	}
	first := ask("m")
	if first == "" || ask("m") != first {
		t.Errorf("the same process is %q, then %q", first, ask("m"))
	}
	if stopped("m") || stopped("far") || stopped("made") {
		t.Error("a server that works is stopped")
	}
	var pid int
	var status syscall.WaitStatus
	if _, err := fmt.Sscanf(first, "process %d,", &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatal(status, err)
	}
	if !stopped("m") {
		t.Error("a server that was stopped works")
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stop()
	if p := ask("m"); p != "" {
		t.Errorf("after its end %s listens", p)
	}
	again, stop := start(at)
	defer stop()
	if again != at {
		t.Skipf("the port was taken: %s", again)
	}
	if second := ask("m"); second == "" || second == first {
		t.Errorf("the second process is %q, the first was %q", second, first)
	}
	if ask("far") != "" || ask("made") != "" {
		t.Error("a server elsewhere, or a phantom, has a process here")
	}
}
