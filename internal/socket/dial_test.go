package socket_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/socket"
)

// TestDialerRemembers why there was no connection, until there is one.
func TestDialerRemembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var d socket.Dialer
	for _, tt := range []struct{ address, reason string }{
		{"unix://" + path, "no such file or directory"},
		{"nowhere.invalid:1", "the host is not known: "},
	} {
		if conn, err := d.Dial(t.Context(), tt.address); err == nil {
			t.Fatalf("%s is there: %v", tt.address, conn)
		}
		if reason := d.Reason(); reason == nil || !strings.HasPrefix(reason.Error(), tt.reason) {
			t.Errorf("%s: %v, want %s", tt.address, reason, tt.reason)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := d.Dial(t.Context(), "unix://"+path)
	if err != nil || d.Reason() != nil {
		t.Fatalf("%v; the reason is %v", err, d.Reason())
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := d.Dial(over, "127.0.0.1:1"); err == nil || d.Reason() != nil {
		t.Errorf("the time is over: %v, and the network has said %v", err, d.Reason())
	}
}
