package realstore

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCassandra checks that the server of a URL answers, and that no two tests share a keyspace.
func TestCassandra(t *testing.T) {
	one, other := Cassandra(t), Cassandra(t)
	u, err := url.Parse(one)
	if err != nil {
		t.Fatal(err)
	}
	if one == other || !strings.HasPrefix(other, "cassandra://"+u.Host+"/test_") {
		t.Errorf("%s and %s; want two keyspaces of one server", one, other)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	// OPTIONS of version 4 of the protocol, which is answered by SUPPORTED.
	if _, err := conn.Write([]byte{4, 0, 0, 0, 5, 0, 0, 0, 0}); err != nil {
		t.Error(err)
	}
	answer := make([]byte, 9)
	if _, err := conn.Read(answer); err != nil || answer[4] != 6 {
		t.Errorf("% x, %v; want a frame SUPPORTED", answer, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// ownerVariable makes the test program start a server and end abruptly: when the server answers or, with the word
// early, while it starts.
const ownerVariable = "HOLDFAST_TEST_CASSANDRA_OWNER"

// own starts a server and ends by a signal that cannot be caught.
func own(t *testing.T, early bool) {
	if early {
		go func() { _, _ = sharedCassandra() }() // its outcome is not waited for
		for found := []string(nil); len(found) == 0; {
			var err error
			if found, err = filepath.Glob(filepath.Join(os.TempDir(), "holdfast-cassandra-*", "pid")); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		node, err := sharedCassandra()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("process " + node.Address + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {}
}

// TestCassandraEndsWithTheProgram checks that the server ends with the program that has started it, and that its folder
// is removed.
func TestCassandraEndsWithTheProgram(t *testing.T) {
	requireCassandra(t)
	if manner := os.Getenv(ownerVariable); manner != "" {
		own(t, manner == "early")
	}
	for _, manner := range []string{"early", "late"} {
		t.Run(manner, func(t *testing.T) { endsWithOwner(t, manner) })
	}
}

func endsWithOwner(t *testing.T, manner string) {
	scratch := t.TempDir()
	owner := exec.Command(os.Args[0], "-test.run=^TestCassandraEndsWithTheProgram$")
	owner.Env = append(os.Environ(), ownerVariable+"="+manner, "TMPDIR="+scratch)
	// Every descendant of the owner has the other end of this, so it closes when the last of them has ended.
	last, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	owner.ExtraFiles = []*os.File{held}
	said, err := owner.Output()
	if closed := held.Close(); closed != nil {
		t.Fatal(closed)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the owner has ended with %v, not by its signal: %s", err, said)
	}
	_, address, found := strings.Cut(string(said), "process ")
	if found != (manner == "late") {
		t.Fatalf("the owner says %q", said)
	}
	if _, err := io.ReadAll(last); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if !found {
		return
	}
	if conn, err := net.Dial("tcp", strings.TrimSpace(address)); err == nil {
		t.Errorf("a server still answers on %s, after the end of the process that had started it", conn.RemoteAddr())
		_ = conn.Close()
	}
}
