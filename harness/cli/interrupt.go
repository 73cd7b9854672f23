package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
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
