package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestEndedByAnother has another process with the credentials of a client's session release what that client holds, and end its
// session, in a cluster of each kind of protocol: the client has learned of it by the time the next one is granted the name.
func TestEndedByAnother(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, protocol := range []string{"central", "bakery", "permission", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			if protocol != "central" && protocol != "consensus" {
				skipShort(t)
			}
			t.Parallel()
			all := serveClusterOf(t, protocol, steady)
			through := all[1].address
			if protocol == "consensus" {
				through = all[2].address // any member knows its sessions
			}
			admin, err := client.DialAdmin(through)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := admin.Close(); err != nil {
					t.Error(err)
				}
			}()
			endedByAnother(t, all, func(ctx context.Context, session string, l *holdfast.Lock) error {
				return admin.Release(ctx, "", l.Name(), l.Token(), session)
			})
			endedByAnother(t, all, func(ctx context.Context, session string, _ *holdfast.Lock) error {
				_, err := admin.EndSession(ctx, session)
				return err
			})
		})
	}
}

// endedByAnother lets a client hold a name that another waits for, and end do that.
func endedByAnother(t *testing.T, all []*served, end func(context.Context, string, *holdfast.Lock) error) {
	t.Helper()
	holder, next := dial(t, all[1], client.TTL(time.Minute)), dial(t, all[0])
	l := lock(t, holder, "shared")
	waiting := waits(t, next, "shared")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // far less than the session lives by itself
	defer cancel()
	if err := end(ctx, sessionOf(holder), l); err != nil {
		t.Fatal(err)
	}
	granted := <-waiting
	if granted == nil || granted.Token() <= l.Token() {
		t.Fatalf("the next has %v, and the one before had token %v", granted, l.Token())
	}
	if err := l.Check(); holdfast.Why(err) != holdfast.EndedByAnother {
		t.Errorf("the next is granted the name, and the holder before got %v", err)
	}
	if err := l.Unlock(ctx); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("it is unlocked: %v", err)
	}
	if err := granted.Unlock(ctx); err != nil {
		t.Error(err)
	}
	again := lock(t, holder, "shared") // in another session, where this one was ended
	if err := again.Unlock(ctx); err != nil {
		t.Error(err)
	}
}
