package client_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/node"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/server"
)

// serveMember serves a member on loopback until the test ends, and returns it and
// its address.
func serveMember(t *testing.T) (*node.Node, string) {
	t.Helper()
	limits := node.Limits{WaitersPerName: 300, LocksPerSession: 250}
	observer := server.NewObserver([]string{"default", "billing"})
	n, err := node.Start(t.Context(), node.Config{
		State: t.TempDir(), Serves: true, Spaces: []node.Space{{Name: "billing"}}, Limits: limits, Observe: observer.Observe,
	})
	if err != nil {
		t.Fatal(err)
	}
	var spaces []server.Space
	for i, space := range n.Spaces() {
		spaces = append(spaces, server.Space{
			Name: space.Name, Port: protocol.Port(i + 1), Protocol: space.Protocol, Class: holdfast.Fenced, Partition: "primary",
		})
	}
	s, err := server.New(server.Config{
		Driver: n.Driver(), Spaces: spaces, View: n.View, Observer: observer,
		Identity: func() server.Identity { return server.Identity{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.AcceptGRPC(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n, l.Addr().String()
}

// TestConformance runs the suite of every Locker over a real connection to a real
// member. The ttl is long enough for a busy machine to send its beats in time, and no
// longer: the suite waits for it whenever it lets a session vanish.
func TestConformance(t *testing.T) {
	n, address := serveMember(t)
	lockertest.Run(t, func(tb testing.TB) holdfast.Locker {
		locks, err := client.Dial(context.Background(), address, client.TTL(15*time.Second))
		if err != nil {
			tb.Fatal(err)
		}
		return locks
	}, lockertest.Caps{
		Class:             holdfast.Fenced,
		Spaces:            []string{"billing"},
		MaxWaitersPerName: 300,
		LocksPerSession:   250,
		Kill:              func(tb testing.TB, locks holdfast.Locker) { client.Vanish(locks.(*client.Client)) },
		Break: func(tb testing.TB, space, name string) {
			if err := n.Break(context.Background(), space, name, "conformance"); err != nil {
				tb.Error(err)
			}
		},
		Release: func(tb testing.TB, locks holdfast.Locker, lock *holdfast.Lock) error {
			admin, err := client.DialAdmin(address)
			if err != nil {
				tb.Fatal(err)
			}
			defer admin.Close()
			c := locks.(*client.Client)
			return admin.Release(context.Background(), lock.Space(), lock.Name(), lock.Token(), c.Session()+"."+c.Secret())
		},
	})
}
