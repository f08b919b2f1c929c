package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Scheme is the prefix of a socket's address, before its absolute path.
const Scheme = "unix://"

// Path returns the path of a socket's address, and whether it is one.
func Path(address string) (string, bool) { return strings.CutPrefix(address, Scheme) }

// mostPath bounds a path: the smallest system limit is 104 bytes, including the terminator.
const mostPath = 103

// ErrInUse reports that another process already listens on a socket.
var ErrInUse = errors.New("another process listens there already")

// Check returns what is wrong with a socket's path, without checking whether it exists.
func Check(path string) error {
	switch {
	case !supported:
		return errors.New("this system cannot identify the clients of a socket; listen on HOST:PORT")
	case !filepath.IsAbs(path) || path != filepath.Clean(path) || strings.HasSuffix(path, "/"):
		return errors.New("it is not the whole path of a file; write it as in unix:///run/holdfast.sock")
	case strings.ContainsRune(path, 0):
		return errors.New("it has a zero byte")
	case len(path)+len(nextSuffix) > mostPath:
		return fmt.Errorf("it has %d bytes; a socket's path has at most %d", len(path), mostPath-len(nextSuffix))
	}
	return nil
}

// The files next to a socket.
const (
	lockSuffix = ".lock"
	nextSuffix = ".new"
)

// Listen listens on the socket at a path. Only processes that may write a file of this mode may connect to it. The
// listener's Close removes it. The error is an ErrInUse if another process already listens there.
func Listen(path string, mode fs.FileMode) (net.Listener, error) {
	if err := Check(path); err != nil {
		return nil, fmt.Errorf("listen on %s%s: %w", Scheme, path, err)
	}
	lock, err := acquire(path + lockSuffix)
	if err != nil {
		return nil, fmt.Errorf("listen on %s%s: %w", Scheme, path, err)
	}
	l, err := replace(path, mode)
	if err != nil {
		return nil, fmt.Errorf("listen on %s%s: %w", Scheme, path, errors.Join(err, lock.Close()))
	}
	l.lock = lock
	return l, nil
}

// replace replaces a socket without a listener by a new one. It is called with the lock held.
func replace(path string, mode fs.FileMode) (*listener, error) {
	if err := checkFree(path); err != nil {
		return nil, err
	}
	next := path + nextSuffix
	if err := checkFree(next); err != nil {
		return nil, err
	}
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: next, Net: "unix"})
	if err != nil {
		return nil, plain(err)
	}
	l.SetUnlinkOnClose(false) // the file is about to be renamed
	err = os.Chmod(next, mode)
	if err == nil {
		err = os.Rename(next, path)
	}
	made := &listener{UnixListener: l, path: path}
	if err == nil {
		made.info, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(next))
	}
	return made, nil
}

// checkFree returns why no socket can be put at a path.
func checkFree(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket; remove it, or choose another path", path)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	switch {
	case err == nil:
		return errors.Join(ErrInUse, conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fmt.Errorf("find out whether another process listens there: %w", plain(err)) // it may be full, or belong to another user
}

// plain unwraps a system error from Go's wrappers.
func plain(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

// listener is a listening socket.
type listener struct {
	*net.UnixListener
	path string
	info fs.FileInfo // of the created file
	lock *os.File
	once sync.Once
	err  error
}

// Close stops listening, and removes the file if it is still the created one.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.err = l.UnixListener.Close()
		if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.info) {
			l.err = errors.Join(l.err, os.Remove(l.path))
		}
		l.err = errors.Join(l.err, l.lock.Close())
	})
	return l.err
}

// Addr returns the socket's address.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }
