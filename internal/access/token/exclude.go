package token

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// How long a writer waits for the others, and how often it tries.
const (
	excludeLimit = 10 * time.Second
	excludePause = 5 * time.Millisecond
)

// exclude locks a file until it is closed, or the process ends. It waits for another holder, for a limited time, by
// trying again and again. A call of flock that waits cannot be given up: neither the end of a context nor the closing
// of the file wakes it, so the goroutine that makes it, with its thread, would stay until the other holder ends. A
// holder keeps the lock for the milliseconds that it takes to write a file and sync it, so few are tried in vain.
func exclude(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, newMode)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(excludeLimit); ; time.Sleep(excludePause) {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return lock, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %q: %w", path, err), lock.Close())
		case time.Now().After(deadline):
			err = fmt.Errorf("another process has been writing for %v, with a lock on %q; end that process, and try again", excludeLimit, path)
			return nil, errors.Join(err, lock.Close())
		}
	}
}
