package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/config"
)

// TestEarlyHangup checks that a HUP that arrives before the member heeds it, as one sent right after READY=1 may, has
// the policy read all the same.
func TestEarlyHangup(t *testing.T) {
	t.Parallel()
	lines, log := io.Pipe()
	m := &member{settings: &config.Config{}, log: slog.New(slog.NewTextHandler(log, nil))}
	if err := m.openGuard("a", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	hangups := make(chan os.Signal, 1)
	hangups <- unix.SIGHUP
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.followGuard(ctx, hangups)
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	found := false
	for said := bufio.NewScanner(lines); said.Scan(); {
		if strings.Contains(said.Text(), "the policy is read again") {
			found = true
			cancel()
		}
	}
	<-ended
	cancel()
	if !found {
		t.Error("the policy was not read again")
	}
	if err := m.audit.Close(); err != nil {
		t.Error(err)
	}
}
