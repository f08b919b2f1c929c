package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/grpc"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/protocol"
)

// served is a member that serves clients and other members at one address.
type served struct {
	address string
	tls     *tls.Config // nil in plain text
	config  host.Config
	node    *host.Member
	server  *server.Server
	members *grpc.Transport
	done    chan error
}

// steady is the lease of members through which something is held throughout a test: busy
// machines keep it. Those that it is short for lose what is held on purpose.
const steady = 8 * time.Second

// serveCluster serves three members, and waits until each can grant.
func serveCluster(t *testing.T, lease time.Duration) []*served {
	t.Helper()
	return serveClusterOf(t, "central", lease)
}

// serveClusterOf is serveCluster with spaces of a protocol. The patience goes with the
// lease: for how long a busy machine may keep the authority from answering.
func serveClusterOf(t *testing.T, protocol string, lease time.Duration) []*served {
	t.Helper()
	return serveClusterWith(t, spacesOf(protocol), lease)
}

// serveClusterWith is serveClusterOf with any spaces.
func serveClusterWith(t *testing.T, spaces []host.Space, lease time.Duration) []*served {
	t.Helper()
	folder := t.TempDir()
	var join []string
	for i := range 3 {
		join = append(join, fmt.Sprintf("unix://%s/%c", folder, 'a'+i))
	}
	var all []*served
	for i := range join {
		m := &served{address: join[i]}
		m.config = host.Config{
			Name: fmt.Sprintf("%c", 'a'+i), Address: join[i], Join: join, Expect: 3, Serves: true, Lease: lease, Patience: lease / 10,
			State:  filepath.Join(folder, fmt.Sprintf("state-%c", 'a'+i)),
			Spaces: spaces, Limits: host.Limits{WaitersPerName: 300, LocksPerSession: 250},
		}
		if slices.ContainsFunc(spaces, func(s host.Space) bool { return s.Protocol == "consensus" }) {
			m.config.State, m.config.Data = "", filepath.Join(folder, fmt.Sprintf("data-%c", 'a'+i))
		}
		m.start(t, m.config)
		t.Cleanup(func() { m.stop(t) })
		all = append(all, m)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, m := range all {
		if err := m.node.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (m *served) start(t *testing.T, config host.Config) {
	t.Helper()
	network, place := "tcp", m.address
	if path, unix := strings.CutPrefix(m.address, "unix://"); unix {
		network, place = "unix", path
	}
	l, err := net.Listen(network, place)
	if err != nil {
		t.Fatal(err)
	}
	observer := server.NewObserver([]string{"default", "billing"})
	config.Observe, config.Events = observer.Observe, observer.Source()
	config.Peers = func(introduce func() transport.Identity) (transport.Transport, error) {
		var err error
		m.members, err = host.NewTransport(introduce, host.Link{TLS: m.tls})
		return m.members, err
	}
	if m.node, err = host.Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	var spaces []server.Space
	for i, space := range m.node.Spaces() {
		spaces = append(spaces, server.Space{
			Name: space.Name, Port: protocol.Port(i + 1), Protocol: space.Protocol, Class: holdfast.Fenced, Options: space.Given(),
		})
	}
	m.server, err = server.New(server.Config{
		Driver: m.node.Driver(), Spaces: spaces, View: m.node.View, Who: m.node.Who, Observer: observer,
		Members: m.members, Others: m.members, TLS: m.tls, Insiders: m.node.Insiders, Leave: m.node.Leave, Drain: m.node.Drain,
		Identity: func() server.Identity {
			self := m.node.Identity()
			return server.Identity{Cluster: fmt.Sprint(self.Cluster), Member: &schema.Member{Name: config.Name, Id: uint64(self.ID), Address: m.address}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.done = make(chan error, 1)
	go func() { m.done <- m.server.AcceptGRPC(l) }()
}

// stop ends a member without a farewell that takes long.
func (m *served) stop(t *testing.T) {
	t.Helper()
	if m.node == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-m.done; err != nil {
		t.Error(err)
	}
	if err := m.node.Close(); err != nil {
		t.Error(err)
	}
	m.node = nil
}

// elsewhere returns a member that does not coordinate.
func elsewhere(all []*served) *served {
	i := slices.IndexFunc(all, func(m *served) bool { return m.node.View().Coordinator != m.node.Identity().ID })
	return all[i]
}

func dial(t *testing.T, m *served, o ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), m.address, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func lock(t *testing.T, locks holdfast.Locker, name string) *holdfast.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := locks.Lock(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// waits asks for a name, and returns when the request is in the queue.
func waits(t *testing.T, locks holdfast.Locker, name string) <-chan *holdfast.Lock {
	t.Helper()
	queued, got, failed := make(chan struct{}, 1), make(chan *holdfast.Lock, 1), make(chan error, 1)
	go func() {
		l, err := locks.Lock(t.Context(), name, holdfast.OnQueued(func(int) { queued <- struct{}{} }))
		if err != nil {
			t.Error(err)
			failed <- err
		}
		got <- l
	}()
	select {
	case <-queued:
	case err := <-failed:
		t.Fatalf("a request for %q does not come into the queue: %v", name, err)
	case l := <-got:
		switch {
		case l == nil:
			t.Fatalf("a request for %q does not come into the queue: %v", name, <-failed)
		case len(queued) == 0:
			t.Fatalf("a request for %q is granted without a place in the queue, under token %v: its holder has lost it", name, l.Token())
		}
		got <- l
	case <-time.After(time.Minute):
		t.Fatalf("a request for %q is neither queued nor granted", name)
	}
	return got
}

// lostBecause waits for the end of a lock and wants it to have a reason.
func lostBecause(t *testing.T, l *holdfast.Lock, want holdfast.Loss) {
	t.Helper()
	<-l.Context().Done()
	if why := holdfast.Why(context.Cause(l.Context())); why != want {
		t.Errorf("%s is lost because of %q, want %q", l.Name(), why, want)
	}
}

// TestClientsOutliveTheirMember: one address is enough to begin with. When its member
// leaves, locks held through it are lost, and a request that waits goes on at another.
func TestClientsOutliveTheirMember(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	all := serveCluster(t, steady)
	first := elsewhere(all)
	c, other := dial(t, first), dial(t, all[slices.IndexFunc(all, func(m *served) bool { return m != first })])
	mine, theirs := lock(t, c, "mine"), lock(t, other, "theirs")
	waiting := waits(t, c, "theirs")
	queued := waits(t, other, "mine")

	admin, err := client.DialAdmin(first.address)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.Leave(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	lostBecause(t, mine, holdfast.MemberLost)
	if l := <-queued; l.Token() <= mine.Token() {
		t.Errorf("token %v follows %v", l.Token(), mine.Token())
	}
	first.stop(t)
	if err := theirs.Check(); err != nil {
		t.Errorf("a lock through another member: %v", err)
	}
	if err := theirs.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := <-waiting; l.Check() != nil || c.Member() == "" || c.Member() == first.name() {
		t.Errorf("granted %v at %q", l.Check(), c.Member())
	}
	lock(t, c, "more")
}

// name is the member's name, whether it runs or not.
func (m *served) name() string { return filepath.Base(m.address) }

// TestClientsOfALapsedMember: it is cut off, so its tenure ends. Its clients hear what
// they have lost, by its word or by their own clocks, and go on elsewhere.
func TestClientsOfALapsedMember(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	all := serveCluster(t, 4*time.Second)
	first := elsewhere(all)
	c := dial(t, first)
	mine := lock(t, c, "mine")
	if err := first.members.Close(); err != nil {
		t.Fatal(err)
	}
	<-mine.Context().Done()
	if err := mine.Check(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("its member is cut off: %v", err)
	}
	again := lock(t, c, "mine")
	if again.Token() <= mine.Token() || c.Member() == first.name() {
		t.Errorf("token %v follows %v, through %s", again.Token(), mine.Token(), c.Member())
	}
}

// TestConformanceInACluster: the suite of every Locker, through a member that another
// one decides for.
func TestConformanceInACluster(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, protocol := range []string{"central", "grantor", "permission", "bakery", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			if protocol != "central" && protocol != "consensus" {
				skipShort(t)
			}
			t.Parallel()
			conformsInACluster(t, protocol)
		})
	}
}

// others are members, at which Lockers are opened in turn.
type others struct {
	members []*served
	opened  int
}

func (o *others) open(tb testing.TB) holdfast.Locker {
	m := o.members[o.opened%len(o.members)]
	o.opened++
	locks, err := client.Dial(context.Background(), m.address, client.TTL(suiteTTL()), client.WithPatientClose(suiteTTL()))
	if err != nil {
		tb.Fatal(err)
	}
	return locks
}

func conformsInACluster(t *testing.T, protocol string) {
	all := serveClusterOf(t, protocol, steady)
	m := elsewhere(all)
	decider := all[slices.IndexFunc(all, func(o *served) bool { return o.node.View().Coordinator == o.node.Identity().ID })]
	for _, space := range spacesOf(protocol) { // where there are grantors, it is one from now on
		if err := lock(t, dial(t, decider).Space(space.Name), "first").Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// A member promises a client more than its lease when the coordinator has agreed, which
	// each poll asks for again; and forgets it with the last client. One stays, so that each
	// check need not wait for a poll.
	dial(t, m, client.TTL(suiteTTL()))
	away := &others{members: slices.DeleteFunc(slices.Clone(all), func(o *served) bool { return o == m })}
	conformsWith(t, protocol, m, away, (&others{members: []*served{m}}).open)
}

// conformsWith runs the suite with the Lockers that open opens, in a cluster with m and others.
func conformsWith(t *testing.T, protocol string, m *served, others *others, open func(testing.TB) holdfast.Locker) {
	lockertest.Run(t, open, lockertest.Caps{
		Rounds:            fewer(),
		Class:             holdfast.Fenced,
		LooseTokens:       loose(protocol),
		NoDeadlock:        loose(protocol),
		Spaces:            []string{"billing"},
		MaxWaitersPerName: 300,
		LocksPerSession:   250,
		Elsewhere:         others.open,
		Values:            func(tb testing.TB, space, name string) []string { return valuesAt(tb, m.address, space, name) },
		Break: func(tb testing.TB, space, name string) {
			if err := m.node.Break(context.Background(), space, name, "conformance"); err != nil {
				tb.Error(err)
			}
		},
	})
}
