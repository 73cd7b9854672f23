package machine_test

import (
	"os/exec"
	"syscall"
	"testing"

	"assay/harness/machine"
)

// The kernel's own word: a process that SIGSTOP stopped.
func TestAChildThatIsStopped(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	tab, pid := machine.Processes(), cmd.Process.Pid
	if tab.Stopped(pid) {
		t.Fatal("it is stopped already")
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() { // the kernel says when
		t.Fatal(status, err)
	}
	if !tab.Stopped(pid) {
		t.Error("a stopped process is not seen")
	}
}
