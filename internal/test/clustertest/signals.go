package clustertest

import (
	"os"
	"os/signal"
	"syscall"
)

// DefaultSignals makes this process start others with the default dispositions of HUP and INT. A test program under
// nohup, or in the background of a script, ignores them, and its children inherit that: a shell can no longer trap such
// a signal, and waiting for a child that rightly still ignores it never ends. The process itself still ignores them: it
// catches them, and reads none. A TestMain calls it once, before the tests run.
func DefaultSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}
