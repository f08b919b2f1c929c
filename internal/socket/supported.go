//go:build linux || darwin || freebsd

package socket

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// supported: the system identifies peers.
const supported = true

// acquire locks a file for as long as this process has it open.
func acquire(path string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
