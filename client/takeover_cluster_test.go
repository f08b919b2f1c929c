package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// counter passes connections on to a member, and counts them: a client makes one for each hello.
type counter struct {
	target string
	made   atomic.Int32

	mu   sync.Mutex
	cut  bool
	open map[net.Conn]struct{}
}

// counted serves a counter in front of a member.
func counted(t *testing.T, m *served) *counter {
	t.Helper()
	c := &counter{open: map[net.Conn]struct{}{}}
	path := filepath.Join(t.TempDir(), "counted")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.target = "unix://" + path
	var work sync.WaitGroup
	place, err := api.ParseTarget(m.address)
	if err != nil {
		t.Fatal(err)
	}
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.made.Add(1)
			work.Go(func() { c.pass(conn, place[0]) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.sever(true)
		work.Wait()
	})
	return c
}

// pass copies the bytes between the two ends of a connection, until one of them hangs up.
func (c *counter) pass(conn net.Conn, place api.Address) {
	defer conn.Close()
	member, err := net.Dial(place.Network, place.Place)
	if err != nil {
		return
	}
	defer member.Close()
	c.mu.Lock()
	if c.cut {
		c.mu.Unlock()
		return
	}
	c.open[conn], c.open[member] = struct{}{}, struct{}{}
	c.mu.Unlock()
	go func() {
		defer member.Close()
		io.Copy(member, conn)
	}()
	io.Copy(conn, member)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
	delete(c.open, member)
}

// sever ends all connections, and lets none through while it is so.
func (c *counter) sever(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; !cut {
		return
	}
	for conn := range c.open {
		conn.Close()
	}
}

// resumer is a client that is renewed often, and counts how often.
func resumer(t *testing.T, target string, o ...client.Option) (*client.Client, <-chan struct{}) {
	t.Helper()
	renewed := make(chan struct{}, 1000)
	c, err := client.Dial(t.Context(), target, append(o, client.OnRenewed(func() { renewed <- struct{}{} }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, renewed
}

// TestResumeEndsTheOlderClient has one client after the other resume a session, in a cluster of each kind of protocol: at the
// member that has it and, where sessions outlast their members, at another one each time. What is held goes on, each client
// before learns of it at once and does not come back, and the last one has the session alone.
func TestResumeEndsTheOlderClient(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, protocol := range []string{"central", "bakery", "permission", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			if protocol != "central" && protocol != "consensus" {
				skipShort(t)
			}
			t.Parallel()
			all := serveClusterOf(t, protocol, steady)
			at := func(i int) *served {
				if protocol == "consensus" {
					return all[i]
				}
				return all[1]
			}
			doors := []*counter{counted(t, at(1)), counted(t, at(0)), counted(t, at(2))}
			first, _ := resumer(t, doors[0].target, client.TTL(6*time.Second))
			l := lock(t, first, "kept")
			next := waits(t, dial(t, all[0]), "kept")
			given := make(chan error, 1)
			queued := make(chan struct{}, 1)
			blocked := lock(t, dial(t, all[2]), "blocked")
			go func() {
				_, err := first.Lock(t.Context(), "blocked", holdfast.OnQueued(func(int) { queued <- struct{}{} }))
				given <- err
			}()
			<-queued

			second, _ := resumer(t, doors[1].target, client.Resume(first.Session(), first.Secret()))
			<-l.Context().Done()
			if err := l.Check(); holdfast.Why(err) != holdfast.EndedByAnother || !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("the first client got %v", err)
			}
			if err := <-given; holdfast.Why(err) != holdfast.EndedByAnother {
				t.Errorf("what it waits for ends because of %v", err)
			}
			mine := lock(t, second, "mine")
			session, secret := second.Session(), second.Secret()
			if err := first.Close(); err != nil {
				t.Errorf("the first client is closed: %v", err)
			}
			third, renewed := resumer(t, doors[2].target, client.Resume(session, secret), client.TTL(6*time.Second))
			lostBecause(t, mine, holdfast.EndedByAnother)
			if err := blocked.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			lock(t, dial(t, all[2]), "blocked") // the first client's wait does not get it
			for range 3 {
				<-renewed
			}
			for i, door := range doors {
				if n := door.made.Load(); n != 1 {
					t.Errorf("client %d of 3 has connected %d times", i+1, n)
				}
			}
			select {
			case next := <-next:
				t.Fatalf("%v is granted while the session lives", next)
			default:
			}
			if err := third.Close(); err != nil {
				t.Fatal(err) // the names are free later: as far as its member knows the client before may believe still
			}
			if granted := <-next; granted == nil || granted.Token() <= l.Token() {
				t.Errorf("behind token %d is granted %v", l.Token(), granted)
			}
		})
	}
}

// TestCutOffClientIsRefused takes a session over while its client cannot be reached. When that comes back, it is refused, at its own
// member as at others, and the later client keeps the session.
func TestCutOffClientIsRefused(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, protocol := range []string{"central", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			if protocol != "central" && protocol != "consensus" {
				skipShort(t)
			}
			t.Parallel()
			all := serveClusterOf(t, protocol, steady)
			other := all[0]
			if protocol == "consensus" {
				other = all[1]
			}
			door := counted(t, all[0])
			first, _ := resumer(t, door.target, client.TTL(time.Minute))
			l := lock(t, first, "kept")
			door.sever(true)
			second, renewed := resumer(t, other.address, client.Resume(first.Session(), first.Secret()), client.TTL(4*time.Second))
			if err := l.Check(); err != nil {
				t.Errorf("it is cut off, and its deadline has not passed: %v", err)
			}
			door.sever(false)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // far less than its deadline
			defer cancel()
			select {
			case <-l.Context().Done():
			case <-ctx.Done():
				t.Fatal("it gets no answer when it comes back")
			}
			if err := l.Check(); holdfast.Why(err) != holdfast.EndedByAnother {
				t.Errorf("it got %v", err)
			}
			if _, err := first.Lock(ctx, "another"); holdfast.Why(err) != holdfast.EndedByAnother {
				t.Errorf("it asks for another lock: %v", err)
			}
			made := door.made.Load()
			for range 3 {
				<-renewed
			}
			if again := door.made.Load(); again != made {
				t.Errorf("it has connected %d times since it was refused", again-made)
			}
			if second.Session() == "" {
				t.Error("the later client has no session any more")
			}
		})
	}
}
