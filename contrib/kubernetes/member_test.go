package kubernetes_test

import (
	"context"
	"net"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	holdfastkube "github.com/holdfast-locks/holdfast/contrib/kubernetes"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/protocol"
)

// serveMember starts a member in this process, as `holdfast serve --memory` would be one, and returns its address.
func serveMember(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	observer := server.NewObserver([]string{holdfast.DefaultSpace})
	member, err := host.Start(t.Context(), host.Config{State: t.TempDir(), Serves: true, Observe: observer.Observe})
	if err != nil {
		t.Fatal(err)
	}
	var spaces []server.Space
	for i, space := range member.Spaces() {
		spaces = append(spaces, server.Space{
			Name: space.Name, Port: protocol.Port(i + 1), Protocol: space.Protocol, Class: holdfast.Fenced, Options: space.Given(),
		})
	}
	s, err := server.New(server.Config{
		Driver: member.Driver(), Spaces: spaces, View: member.View, Observer: observer,
		Identity: func() server.Identity { return server.Identity{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() { accepted <- s.AcceptGRPC(listener) }()
	t.Cleanup(func() {
		for _, err := range []error{s.Shutdown(context.Background()), <-accepted, member.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return listener.Addr().String()
}

// TestMember runs two LeaderElectors over clients of a member: the second one sees the record of the first one, and
// leads after it, with a larger token.
func TestMember(t *testing.T) {
	address := serveMember(t)
	led := make(chan holdfast.Token)
	seen := make(chan string, 8)
	run := func(identity string) (end func()) {
		t.Helper()
		locks, err := client.Dial(t.Context(), address, client.Name(identity))
		if err != nil {
			t.Fatal(err)
		}
		lock, err := holdfastkube.New(holdfastkube.Config{Locks: locks, Name: "scheduler", Identity: identity})
		if err != nil {
			t.Fatal(err)
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: time.Minute, RenewDeadline: 30 * time.Second, RetryPeriod: 20 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { led <- lock.Granted().Token() },
				OnStoppedLeading: func() {},
				OnNewLeader:      func(leader string) { seen <- identity + " sees " + leader },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			elector.Run(ctx)
		}()
		return func() {
			cancel()
			<-done
			if err := locks.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	endFirst := run("a")
	first := <-led
	if sees := <-seen; sees != "a sees a" {
		t.Error(sees)
	}
	endSecond := run("b")
	if sees := <-seen; sees != "b sees a" {
		t.Error(sees)
	}
	endFirst()
	if second := <-led; second <= first {
		t.Errorf("token %v follows %v", second, first)
	}
	endSecond()
}
