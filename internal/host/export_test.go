package host

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Vanish ends the session of a Locker as if it had expired: its locks are lost.
func Vanish(locks holdfast.Locker) {
	l := locks.(own)
	for port := range l.node.config.Spaces {
		l.node.driver.Step(protocol.Event{
			Kind: protocol.Call, Port: protocol.Port(port + 1),
			Fact: &protocol.EndSession{Session: l.session.id, Why: holdfast.SessionExpired},
		})
	}
}

// ReleaseForeign asks the authority to release a lock in the name of locks' session.
func ReleaseForeign(locks holdfast.Locker, held *holdfast.Lock) error {
	l := locks.(own)
	release := &protocol.Release{Session: l.session.id, Name: held.Name(), Token: held.Token(), Request: held.Request()}
	line := make(chan lock.Decision, 1)
	if err := l.session.send(l.port, release, line); err != nil {
		return err
	}
	if d := l.session.hear(line); d.Kind == lock.Refused {
		return l.fail("unlock", held.Name(), d.Err)
	}
	return nil
}

// OnDisk has a member keep its logs on another file system.
func OnDisk(c Config, disk vfs.FS) Config {
	c.disk = disk
	return c
}

// Rumoured returns the addresses of the members that rumour takes to be there.
func Rumoured(n *Member) []string { return n.rumours.Members() }

// Crash ends a member as a kill does: no other member hears of it.
func Crash(n *Member) error {
	n.closing.Do(func() {
		n.closeSessions()
		n.closed = n.release()
	})
	return n.closed
}

// AwaitView waits until a member is in a view, whether its spaces can grant or not.
func AwaitView(ctx context.Context, n *Member) error { return n.awaitView(ctx) }

// TermsOf returns a Config as Start checks it, and what such a member says that all must agree on.
func TermsOf(t testing.TB, c Config) (Config, []string) {
	t.Helper()
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	return c, append([]string{"version 1", "lease " + c.Lease.String(), "drift " + fmt.Sprint(c.Drift)}, c.definitions()...)
}
