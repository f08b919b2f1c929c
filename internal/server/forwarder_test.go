package server

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestSilenceAtAGuest: a stream that says nothing is not passed on, and not waited for longer than at other members.
func TestSilenceAtAGuest(t *testing.T) {
	b := newHarness(t, func(c *Config) {
		c.Insiders = func() []string { return []string{"127.0.0.1:1"} }
		c.Limits.Header = 300 * time.Millisecond
	}, nil)
	silent, err := schema.NewSessionsClient(b.conn).Open(t.Context())
	must(t, err)
	if _, err := silent.Recv(); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "no hello within 300ms") {
		t.Errorf("silence is answered with %v", err)
	}
	ended, err := schema.NewSessionsClient(b.conn).Open(t.Context())
	must(t, err)
	must(t, ended.CloseSend())
	if _, err := ended.Recv(); !strings.Contains(err.Error(), "the first operation of a stream must be hello") {
		t.Errorf("a stream without a frame is answered with %v", err)
	}
	if _, is := b.service.forwarder.ways["127.0.0.1:1"]; is {
		t.Error("a member was dialled for it")
	}
}
