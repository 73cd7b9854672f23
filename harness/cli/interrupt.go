package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"assay/results"
	"assay/results/file"
)

// Interruptible ends a context at Ctrl-C, SIGTERM, and where the terminal goes away,
// SIGHUP: unless that is ignored, as nohup has it.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, signals...)
}

// lookEvery is how often a run that waits for another looks whether that has ended.
const lookEvery = 200 * time.Millisecond

// whenFree opens a store for writing. While another assay that has it is stopping, it
// waits, and says so.
func whenFree[T any](ctx context.Context, s streams, path string, open func() (T, error)) (T, error) {
	said := false
	for {
		st, err := open()
		if !errors.Is(err, results.FaultInUse) {
			return st, err
		}
		pid, stopping := file.Stopping(path)
		if !stopping {
			return st, err
		}
		if !said {
			fmt.Fprintf(s.err, "another assay (process %d) has %s and is stopping; waiting for it\n", pid, path)
			said = true
		}
		t := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return st, &coded{exitInterrupted, fmt.Errorf("interrupted: %s is still in use, and nothing was begun", path)}
		case <-t.C:
		}
	}
}
