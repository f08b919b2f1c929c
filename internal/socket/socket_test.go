//go:build linux || darwin || freebsd

package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func listens(t *testing.T, path string, mode fs.FileMode) net.Listener {
	t.Helper()
	l, err := Listen(path, mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestPeer: the system tells apart the processes that connect, through every wrapper of
// the connection.
func TestPeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listens(t, path, 0o600)
	dialled, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	who, is, err := Of(wrapped{wrapped{accepted}})
	if err != nil || !is || who.UID != uint32(os.Getuid()) || who.PID != 0 && who.PID != os.Getpid() {
		t.Errorf("%+v, %v, %v", who, is, err)
	}
	if who.Subject() != fmt.Sprintf("uid:%d", os.Getuid()) {
		t.Errorf("%q is %q", who, who.Subject())
	}
	if _, is, err := Of(&net.TCPConn{}); is || err != nil {
		t.Errorf("a connection of the network is one of a socket: %v", err)
	}
	if got := (Peer{UID: 4294967294, PID: 12}).String(); got != "uid 4294967294 pid 12" {
		t.Errorf("a user without a name is %q", got)
	}
}

type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

// TestMode: the file has its mode, regardless of the process's mask, and is gone at the
// end.
func TestMode(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o660, 0o777} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := Listen(path, mode)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode || l.Addr().String() != path {
			t.Errorf("%v, %v at %v; want %v", info.Mode(), err, l.Addr(), mode)
		}
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	}
}

// TestStale: a socket that a process has left is replaced; a listener is left alone, with
// the file or without.
func TestStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, 0o600); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("a socket that another process listens on: %v", err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	l := listens(t, path, 0o600)
	if _, err := Listen(path, 0o600); !errors.Is(err, ErrInUse) {
		t.Errorf("a socket that is listened on: %v", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the one that listens was disturbed: %v", err)
	}
	conn.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, 0o600); !errors.Is(err, ErrInUse) {
		t.Errorf("a socket whose file was removed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	listens(t, path, 0o600)
}

// TestCloseLeavesOthersAlone: what has taken the file's place is not removed with it.
func TestCloseLeavesOthersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listens(t, path, 0o600)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestRefused: the error names what cannot be listened on.
func TestRefused(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                             "is there and is no socket",
		"relative":                       "not the whole path",
		"/a/../b":                        "not the whole path",
		"/":                              "not the whole path",
		"/a\x00b":                        "zero byte",
		"/" + strings.Repeat("s", 99):    "has 100 bytes; a socket's path has at most 99",
		filepath.Join(folder, "no", "s"): "no such file or directory",
	} {
		if _, err := Listen(path, 0o600); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Errorf("a file that is no socket was touched: %q, %v", data, err)
	}
}
