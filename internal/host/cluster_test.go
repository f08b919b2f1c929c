package host_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

// cluster is three members of one process that reach one another over sockets.
type cluster struct {
	configs []host.Config
	nodes   []*host.Member
}

// steady gives members a lease that a busy machine keeps, in a test that asserts that
// something is held throughout. Members that get no processor for three tenths of a lease
// may elect another coordinator, and for a whole one lose what is held through them. So do those that
// do not answer a candidate within its patience, which goes with the lease.
// Such tests are parallel, because most of their time is the wait for that lease at the
// beginning. The others have a short one.
func steady(c *host.Config) { c.Lease, c.Patience = 8*time.Second, 800*time.Millisecond }

// calm gives members a lease that they keep among the other parallel tests, in a test that has members die and waits for
// several leases.
func calm(c *host.Config) { c.Lease, c.Patience = 4*time.Second, 450*time.Millisecond }

// startCluster starts founders and waits until each can grant.
func startCluster(t testing.TB, size int, change ...func(*host.Config)) *cluster {
	t.Helper()
	c := &cluster{nodes: make([]*host.Member, size)}
	folder := t.TempDir()
	var join []string
	for i := range size {
		join = append(join, "unix://"+filepath.Join(folder, fmt.Sprintf("%c", 'a'+i)))
	}
	for i := range size {
		config := host.Config{
			Name: fmt.Sprintf("%c", 'a'+i), Listen: join[i], Join: join, Expect: size,
			State: filepath.Join(folder, fmt.Sprintf("state-%c", 'a'+i)), Lease: 2 * time.Second,
		}
		for _, f := range change {
			f(&config)
		}
		c.configs = append(c.configs, config)
		c.start(t, i)
	}
	t.Cleanup(func() { // side by side: a coordinator that leaves waits for the next one, who may leave as well
		var all sync.WaitGroup
		for i := range c.nodes {
			all.Go(func() { c.stop(t, i) })
		}
		all.Wait()
	})
	c.ready(t)
	return c
}

// start starts a member, for the first time or again.
func (c *cluster) start(t testing.TB, i int) {
	t.Helper()
	n, err := host.Start(context.Background(), c.configs[i])
	if err != nil {
		t.Fatal(err)
	}
	c.nodes[i] = n
}

// stop closes a member, if it runs.
func (c *cluster) stop(t testing.TB, i int) {
	t.Helper()
	if n := c.nodes[i]; n != nil {
		c.nodes[i] = nil
		if err := n.Close(); err != nil {
			t.Errorf("close %s: %v", n.Name(), err)
		}
	}
}

// ready waits until every running member says that it can grant.
func (c *cluster) ready(t testing.TB) {
	t.Helper()
	for _, n := range c.running() {
		if err := n.WaitReady(bounded(t)); err != nil {
			t.Fatalf("%s: %v", n.Name(), err)
		}
	}
}

func (c *cluster) running() (all []*host.Member) {
	for _, n := range c.nodes {
		if n != nil {
			all = append(all, n)
		}
	}
	return all
}

// coordinator returns who coordinates, as a running member knows.
func (c *cluster) coordinator(t testing.TB) int {
	t.Helper()
	view := c.running()[0].View()
	for i, n := range c.nodes {
		if n != nil && n.Identity().ID == view.Coordinator {
			return i
		}
	}
	t.Fatalf("no member here coordinates view %d", view.Number)
	return 0
}

// other returns a running member other than those given.
func (c *cluster) other(t testing.TB, not ...int) int {
	t.Helper()
	for i, n := range c.nodes {
		taken := n == nil
		for _, other := range not {
			taken = taken || i == other
		}
		if !taken {
			return i
		}
	}
	t.Fatal("no other member runs")
	return 0
}

// bounded is a context that ends before the test does.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestClusterLocks: a name is one name, whichever member it is asked through.
func TestClusterLocks(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	var last holdfast.Token
	for round := range 2 {
		for i, n := range c.nodes {
			l := take(t, n, "orders/42")
			if l.Token() <= last {
				t.Errorf("round %d: token %v follows %v", round, l.Token(), last)
			}
			last = l.Token()
			for j, other := range c.nodes {
				if _, err := other.TryLock(bounded(t), "orders/42"); !errors.Is(err, holdfast.ErrHeld) {
					t.Errorf("held through %s, tried through %s: %v", n.Name(), other.Name(), err)
				}
				if j != i && l.Until().IsZero() {
					t.Errorf("a lock through %s says that nothing ends it", n.Name())
				}
			}
			waiting := queue(t, bounded(t), c.nodes[(i+1)%3], "orders/42")
			give(t, l)
			next := granted(t, waiting)
			if next.Token() <= last {
				t.Errorf("token %v follows %v", next.Token(), last)
			}
			last = next.Token()
			give(t, next)
		}
	}
}

// TestClusterLosesItsCoordinator: holders keep their locks, waiters are granted theirs in the
// end, and what the coordinator's own process held is free.
func TestClusterLosesItsCoordinator(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	first := c.coordinator(t)
	b := c.other(t, first)
	d := c.other(t, first, b)
	kept := take(t, c.nodes[b], "kept")
	gone := take(t, c.nodes[first], "gone")
	waiting := queue(t, bounded(t), c.nodes[d], "gone")
	second := queue(t, bounded(t), c.nodes[d], "kept")
	c.stop(t, first)
	if err := gone.Check(); err == nil {
		t.Error("a closed member's lock is held")
	}
	l := granted(t, waiting)
	if l.Token() <= gone.Token() {
		t.Errorf("token %v follows %v", l.Token(), gone.Token())
	}
	if err := kept.Check(); err != nil {
		t.Errorf("a lock through another member: %v", err)
	}
	give(t, kept)
	give(t, granted(t, second))
	give(t, l)
}

// TestClusterMembersComeAndGo, one after the other: locks through the others stay, and
// the last view has all members.
func TestClusterMembersComeAndGo(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	for i := range c.nodes {
		holder := c.other(t, i)
		l := take(t, c.nodes[holder], "through")
		leaving := c.nodes[i]
		if err := leaving.Leave(bounded(t)); err != nil {
			t.Fatalf("%s leaves: %v", leaving.Name(), err)
		}
		if _, err := leaving.Lock(bounded(t), "late"); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("a lock through a member that has left: %v", err)
		}
		c.stop(t, i)
		give(t, take(t, c.nodes[holder], "meanwhile"))
		c.start(t, i)
		c.ready(t)
		if err := l.Check(); err != nil {
			t.Errorf("while %s was away: %v", leaving.Name(), err)
		}
		if _, err := c.nodes[i].TryLock(bounded(t), "through"); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("%s is back, and tries what is held: %v", leaving.Name(), err)
		}
		give(t, l)
	}
	if view := c.nodes[0].View(); len(view.Members) != 3 {
		t.Errorf("in the end the view is %+v", view)
	}
}

// TestLeaveStopsHolders: a member that leaves revokes what is held through it.
func TestLeaveStopsHolders(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	i := c.other(t, c.coordinator(t))
	l := take(t, c.nodes[i], "x")
	if err := c.nodes[i].Leave(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if why := holdfast.Why(l.Check()); why != holdfast.MemberLost {
		t.Errorf("lost because of %q", why)
	}
	give(t, take(t, c.nodes[c.other(t, i)], "x"))
}

// TestDrainWaitsForHolders: it takes nothing new, and leaves with the last hold.
func TestDrainWaitsForHolders(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	i := c.other(t, c.coordinator(t))
	n := c.nodes[i]
	l := take(t, n, "x")
	waiting := queue(t, bounded(t), c.nodes[c.other(t, i)], "x")
	drained := make(chan error, 1)
	go func() { drained <- n.Drain(bounded(t)) }()
	for { // until it has begun
		l, err := n.TryLock(bounded(t), "y")
		if errors.Is(err, holdfast.ErrUnavailable) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		give(t, l)
	}
	select {
	case err := <-drained:
		t.Fatalf("drained while a lock is held: %v", err)
	default:
	}
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	give(t, l)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	give(t, granted(t, waiting))
}

// TestGuestsHold, grant nothing, and need no member's permission to come and go.
func TestGuestsHold(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	guest, err := host.Start(context.Background(), host.Config{
		Name: "guest", Listen: "unix://" + filepath.Join(t.TempDir(), "g"), Join: c.configs[0].Join, Lease: c.configs[0].Lease,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if err := guest.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	l := take(t, guest, "x")
	for _, n := range c.nodes { // one of them coordinates, the others have heard of it
		_, err := n.TryLock(bounded(t), "x")
		var held *holdfast.HeldError
		if !errors.As(err, &held) || held.Member != "guest" || held.Since.IsZero() || time.Since(held.Since).Abs() > time.Hour {
			t.Errorf("through %s: %v, held by %+v; want the guest, and since when", n.Name(), err, held)
		}
	}
	if err := guest.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	give(t, take(t, c.nodes[0], "x"))
}

// TestDisagreementIsRefused with both values.
func TestDisagreementIsRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	stranger, err := host.Start(context.Background(), host.Config{
		Name: "stranger", Listen: "unix://" + filepath.Join(t.TempDir(), "s"), Join: c.configs[0].Join, Lease: c.configs[0].Lease,
		Spaces: []host.Space{{Name: "billing"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	says(t, stranger.WaitReady(bounded(t)), "space billing", "space default")
	says(t, stranger.Unfit(bounded(t)), "space billing", "space default")
	if err := stranger.Close(); err != nil {
		t.Error(err)
	}
	n := c.nodes[0]
	c.stop(t, 0)
	if err := n.Unfit(bounded(t)); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestClosedWhileAlone: a member that finds no other member ends all the same.
func TestClosedWhileAlone(t *testing.T) {
	folder := t.TempDir()
	self := "unix://" + filepath.Join(folder, "a")
	n, err := host.Start(context.Background(), host.Config{
		Listen: self, Join: []string{self, "unix://" + filepath.Join(folder, "absent")}, Expect: 2, Lease: 1500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan error, 1)
	go func() {
		_, err := n.Lock(ctx, "x")
		waiting <- err
	}()
	if c := condition(t, n); c.State != protocol.Unavailable || c.Why == "" {
		t.Errorf("without a view: %+v", c)
	}
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// TestMembersGossip: members find one another by gossip, over the connections that they
// have. Nothing tells when a rumour has spread, so it is asked for.
func TestMembersGossip(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3)
	ctx := bounded(t)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for _, n := range c.running() {
		for len(host.Rumoured(n)) < 3 {
			select {
			case <-again.C:
			case <-ctx.Done():
				t.Fatalf("%s has heard of %q alone", n.Name(), host.Rumoured(n))
			}
		}
	}
}
