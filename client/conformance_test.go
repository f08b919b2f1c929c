package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/protocol"
)

// loose reports whether tokens of shared and slots grants do not order: grants that are held
// at the same time are given at the same time.
func loose(protocol string) bool { return protocol == "permission" || protocol == "bakery" }

// serveMember serves a member on a listener until the test ends.
func serveMember(t testing.TB, l net.Listener, change func(*server.Config)) *host.Member {
	t.Helper()
	return serveMemberOf(t, "central", l, change)
}

// spacesOf are those that the suite locks in, of one protocol.
func spacesOf(protocol string) []host.Space {
	return []host.Space{{Name: "default", Protocol: protocol}, {Name: "billing", Protocol: protocol}}
}

// serveMemberOf is serveMember with spaces of a protocol.
func serveMemberOf(t testing.TB, of string, l net.Listener, change func(*server.Config)) *host.Member {
	t.Helper()
	return serveSpaces(t, spacesOf(of), l, change)
}

// serveSpaces is serveMember with spaces of the caller's.
func serveSpaces(t testing.TB, served []host.Space, l net.Listener, change func(*server.Config)) *host.Member {
	t.Helper()
	member := host.Config{State: t.TempDir(), Serves: true, Spaces: served, Limits: host.Limits{WaitersPerName: 300, LocksPerSession: 250}}
	if served[0].Protocol == "consensus" {
		member.State, member.Data = "", t.TempDir()
	}
	n, stop, err := startServed(t.Context(), member, l, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// startServed starts a member, and a server of it on a listener, until stop is called.
func startServed(ctx context.Context, member host.Config, l net.Listener, change func(*server.Config)) (n *host.Member, stop func() error, err error) {
	observer := server.NewObserver([]string{"default", "billing"})
	member.Observe = observer.Observe
	if n, err = host.Start(ctx, member); err != nil {
		return nil, nil, err
	}
	var spaces []server.Space
	for i, space := range n.Spaces() {
		spaces = append(spaces, server.Space{
			Name: space.Name, Port: protocol.Port(i + 1), Protocol: space.Protocol, Class: holdfast.Fenced, Options: space.Given(), HasGrace: space.HasGrace(),
		})
	}
	config := server.Config{
		Driver: n.Driver(), Spaces: spaces, View: n.View, Observer: observer,
		Identity: func() server.Identity { return server.Identity{} },
	}
	if change != nil {
		change(&config)
	}
	s, err := server.New(config)
	if err != nil {
		return nil, nil, errors.Join(err, n.Close())
	}
	accepted := make(chan error, 1)
	go func() { accepted <- s.AcceptGRPC(l) }()
	return n, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return errors.Join(s.Shutdown(ctx), <-accepted, n.Close())
	}, nil
}

// loopback listens on a port of this machine.
func loopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestConformance runs the suite of every Locker over a real connection to a real
// member.
func TestConformance(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	l := loopback(t)
	conforms(t, 0, serveMember(t, l, nil), l.Addr().String())
}

// TestConformanceOfGrantors: the same where the member is its own grantor.
func TestConformanceOfGrantors(t *testing.T) {
	skipShort(t)
	t.Parallel()
	l := loopback(t)
	conforms(t, fewer(), serveMemberOf(t, "grantor", l, nil), l.Addr().String())
}

// TestConformanceOfPeers: the same where members ask one another for permission.
func TestConformanceOfPeers(t *testing.T) {
	skipShort(t)
	t.Parallel()
	l := loopback(t)
	conforms(t, fewer(), serveMemberOf(t, "permission", l, nil), l.Addr().String())
}

// TestConformanceOfLeaders: the same where leaders number tickets.
func TestConformanceOfLeaders(t *testing.T) {
	skipShort(t)
	t.Parallel()
	l := loopback(t)
	conforms(t, fewer(), serveMemberOf(t, "bakery", l, nil), l.Addr().String())
}

// TestConformanceOfCopies: the same where locks and sessions are copied to members' disks.
func TestConformanceOfCopies(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	l := loopback(t)
	conforms(t, fewer(), serveMemberOf(t, "consensus", l, nil), l.Addr().String())
}

// fewer is how often the suite's races run (lockertest.Caps.Rounds) where clients are those of TestConformance, and the
// member's rules or the bytes between them are others.
func fewer() int {
	if testing.Short() {
		return 0
	}
	return 400
}

// skipShort leaves out what differs in the member's rules or in what bytes go through alone, and in nothing that a
// client does.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("clients of every protocol and over every connection are alike; run without -short")
	}
}

// TestConformanceOverTLS: the same with certificates on both sides.
func TestConformanceOverTLS(t *testing.T) {
	skipShort(t)
	t.Parallel()
	b := newTestPKI(t)
	l := loopback(t)
	n := serveMember(t, l, func(c *server.Config) { c.TLS = b.server("m1") })
	conforms(t, fewer(), n, l.Addr().String(), client.TLSFiles(b.client("job-7")))
}

// TestConformanceOverSocket: the same over a socket of this machine.
func TestConformanceOverSocket(t *testing.T) {
	skipShort(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := socket.Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, fewer(), serveMember(t, l, nil), "unix://"+path)
}

// suiteTTL is long enough for a busy machine to send its beats in time, and no longer: the
// suite waits for it whenever it lets a session vanish. The races of a short run keep the machine less busy.
func suiteTTL() time.Duration {
	if testing.Short() {
		return 6 * time.Second
	}
	return 12 * time.Second
}

// conforms runs the suite with clients of a member.
func conforms(t *testing.T, rounds int, n *host.Member, address string, options ...client.Option) {
	t.Helper()
	lockertest.Run(t, func(tb testing.TB) holdfast.Locker {
		way := newCable(tb, address)
		locks, err := client.Dial(context.Background(), way.address(), append(options, client.TTL(suiteTTL()), client.WithPatientClose(suiteTTL()))...)
		if err != nil {
			tb.Fatal(err)
		}
		return &wired{locks, way}
	}, lockertest.Caps{
		Rounds:            rounds,
		Class:             holdfast.Fenced,
		LooseTokens:       loose(n.Spaces()[0].Protocol),
		NoDeadlock:        loose(n.Spaces()[0].Protocol),
		Spaces:            []string{"billing"},
		MaxWaitersPerName: 300,
		LocksPerSession:   250,
		Kill:              func(tb testing.TB, locks holdfast.Locker) { locks.(*wired).way.cut() },
		Break: func(tb testing.TB, space, name string) {
			if err := n.Break(context.Background(), space, name, "conformance"); err != nil {
				tb.Error(err)
			}
		},
		Values: func(tb testing.TB, space, name string) []string {
			return valuesAt(tb, address, space, name, options...)
		},
		Release: func(tb testing.TB, locks holdfast.Locker, lock *holdfast.Lock) error {
			admin, err := client.DialAdmin(address, options...)
			if err != nil {
				tb.Fatal(err)
			}
			defer admin.Close()
			c := locks.(*wired)
			return admin.Release(context.Background(), lock.Space(), lock.Name(), lock.Token(), c.Session()+"."+c.Secret())
		},
	})
}

// valuesAt returns the values of a name's holders as a member shows them.
func valuesAt(tb testing.TB, address, space, name string, options ...client.Option) (values []string) {
	tb.Helper()
	admin, err := client.DialAdmin(address, options...)
	if err != nil {
		tb.Error(err)
		return nil
	}
	defer admin.Close()
	shown, err := admin.Show(context.Background(), space, name)
	if err != nil {
		tb.Error(err)
	}
	for _, holder := range shown.GetHolders() {
		values = append(values, holder.GetValue())
	}
	return values
}

// wired is a Client and the way to its member.
type wired struct {
	*client.Client
	way *cable
}

// Close ends both.
func (w *wired) Close() error {
	err := w.Client.Close()
	w.way.cut()
	w.way.work.Wait()
	return err
}

// cable is the way of one client to its member, which can be cut for good: then the client keeps its locks until their
// deadline by its own clock, and reaches no member any more.
type cable struct {
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	over  bool
}

func newCable(tb testing.TB, target string) *cable {
	tb.Helper()
	way := &cable{target: target}
	var err error
	if strings.HasPrefix(target, "unix://") {
		way.listener, err = net.Listen("unix", filepath.Join(tb.TempDir(), "s"))
	} else {
		way.listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		tb.Fatal(err)
	}
	way.work.Go(way.serve)
	tb.Cleanup(func() { way.cut(); way.work.Wait() })
	return way
}

func (w *cable) address() string {
	if at := w.listener.Addr(); at.Network() == "unix" {
		return "unix://" + at.String()
	}
	return w.listener.Addr().String()
}

func (w *cable) serve() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return // it is cut
		}
		network, place := "tcp", w.target
		if path, local := strings.CutPrefix(place, "unix://"); local {
			network, place = "unix", path
		}
		far, err := net.Dial(network, place)
		if err != nil || !w.keep(near, far) {
			near.Close() // as where nothing listens
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			w.work.Go(func() {
				_, _ = io.Copy(way[0], way[1]) // it ends with either end
				near.Close()
				far.Close()
			})
		}
	}
}

// keep notes a connection, unless the cable is cut.
func (w *cable) keep(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, ends...)
	if w.over {
		w.closeAll()
	}
	return !w.over
}

func (w *cable) closeAll() {
	for _, end := range w.conns {
		end.Close()
	}
}

// cut ends all connections, and takes no further one.
func (w *cable) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.listener.Close()
	w.closeAll()
}
