package clustertest

import (
	"os"
	"os/signal"
	"syscall"
)

// DefaultSignals makes this process start others with the default dispositions of HUP and
// INT. A test program that runs under nohup, or in the background of a script, ignores them,
// and would hand that down to all that it starts: a shell cannot trap such a signal any more,
// and a child that rightly goes on ignoring it is waited for in vain. The process itself still
// ignores them: it catches them, and reads none. A TestMain calls it once, before the tests run.
func DefaultSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}
