package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

// A name that begins with @ is a socket without a file.
func TestNotifyAbstractSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("abstract sockets are Linux's")
	}
	address := &net.UnixAddr{Name: fmt.Sprintf("@holdfast-notify-%d", os.Getpid()), Net: "unixgram"}
	manager, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", address.Name)
	if logged := notified(t); logged != "" {
		t.Fatal(logged)
	}
	got := make([]byte, 100)
	n, err := manager.Read(got)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(got[:n]); got != "READY=1" {
		t.Errorf("got %q", got)
	}
}

func TestNotifyWithoutManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if logged := notified(t); logged != "" {
		t.Errorf("without a service manager: %s", logged)
	}
	t.Setenv("NOTIFY_SOCKET", t.TempDir()+"/missing")
	if logged := notified(t); !strings.Contains(logged, "level=WARN") || !strings.Contains(logged, "READY=1") {
		t.Errorf("a socket that is not there is logged as %q", logged)
	}
}

// notified tells the service manager of this process's environment READY=1, and returns
// what is logged.
func notified(t *testing.T) string {
	t.Helper()
	var log bytes.Buffer
	notify("READY=1", slog.New(slog.NewTextHandler(&log, nil)))
	return log.String()
}
