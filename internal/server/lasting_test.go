package server_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lock/replica"
)

// TestLeavingEndsNothingThatLasts: where locks outlast their member, the stream of a session ends as unavailable, which says
// that another member may serve, and not as one whose session has ended. A client that waits by a single call gets the
// same error. A session that has nothing there ends, as ever.
func TestLeavingEndsNothingThatLasts(t *testing.T) {
	m := serveAs(t, host.Config{Data: t.TempDir(), Spaces: []host.Space{{Name: "default", Protocol: "consensus"}}}, server.Limits{})
	conn, admin := m.dial(), m.admin()
	idle, holds := m.open(conn), m.open(conn)
	holds.say(lockOf(1, "x"))
	for holds.hear().GetGranted() == nil { // queued comes before
	}
	waits := make(chan error, 1)
	go func() {
		_, err := admin.Acquire(m.patience, "", client.Acquisition{Names: []string{"x"}, Options: []holdfast.Option{holdfast.Wait(time.Minute)}})
		waits <- err
	}()
	m.until("a client waits", func() bool {
		shown, err := admin.Show(m.patience, "", "x")
		return err == nil && len(shown.Waiters) == 1
	})
	noError(t, m.node.Leave(m.patience))
	if err := api.FromStatus("open", holds.end()); api.Code(err) != api.CodeUnavailable || !strings.Contains(err.Error(), "another may serve") {
		t.Errorf("the stream of a holder ends with %v", err)
	}
	if err := api.FromStatus("open", idle.end()); api.Code(err) != api.CodeUnknownSession {
		t.Errorf("the stream of a session without locks ends with %v", err)
	}
	if err := <-waits; !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("the waiting client got %v", err)
	}
}

// TestManyLocksOfOneSession: however many a session has had, one after the other, it is granted the next. What has become of
// them is remembered for as long as the session lives, as few ranges of their numbers.
func TestManyLocksOfOneSession(t *testing.T) {
	parallel.SkipBrief(t)
	m := serveAs(t, host.Config{Data: t.TempDir(), Spaces: []host.Space{{Name: "default", Protocol: "consensus"}}}, server.Limits{})
	admin := m.admin()
	keeps, err := admin.Acquire(m.patience, "", client.Acquisition{Names: []string{"keeps"}})
	noError(t, err)
	locks := 3 * replica.MaxRanges
	if testing.Short() {
		locks = replica.MaxRanges + 1
	}
	for i := range locks {
		had, err := admin.Acquire(m.patience, "", client.Acquisition{Names: []string{"x", "y"}, Session: keeps.Session})
		if err != nil {
			t.Fatalf("lock %d: %v", i, err)
		}
		for _, one := range had.Locks {
			noError(t, admin.Release(m.patience, "", one.Name, holdfast.Token(one.Token), keeps.Session))
		}
	}
}
