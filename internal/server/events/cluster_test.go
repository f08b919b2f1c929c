package events_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	protocols "github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/grpc"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// member is a member that runs in this process, and reaches others over sockets.
type member struct {
	config  host.Config
	node    *host.Member
	members *grpc.Transport
	source  *events.Source
	served  chan error
}

// startCluster starts three founders with these spaces, and waits until each can grant.
func startCluster(t *testing.T, spaces ...host.Space) []*member {
	t.Helper()
	folder := t.TempDir()
	var join []string
	for i := range 3 {
		join = append(join, "unix://"+filepath.Join(folder, string(rune('a'+i))))
	}
	var all []*member
	for i := range join {
		m := &member{config: host.Config{
			Name: string(rune('a' + i)), Address: join[i], Join: join, Expect: 3, Lease: 1500 * time.Millisecond, Spaces: spaces,
			State: filepath.Join(folder, fmt.Sprintf("state-%c", 'a'+i)),
		}}
		if len(spaces) > 0 { // some may keep locks on the disk
			m.config.State, m.config.Data = "", filepath.Join(folder, fmt.Sprintf("data-%c", 'a'+i))
		}
		m.start(t)
		t.Cleanup(func() { m.stop(t) })
		all = append(all, m)
	}
	for _, m := range all {
		if err := m.node.WaitReady(bounded(t)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// start begins a life of the member.
func (m *member) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", m.config.Address[len("unix://"):])
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"default"} // it comes first
	for _, space := range m.config.Spaces {
		names = append(names, space.Name)
	}
	m.source = events.NewSource(names)
	m.config.Events = m.source
	m.config.Observe = func(_ protocol.Time, effects *protocol.Effects) { m.source.Observe(effects) }
	m.config.Peers = func(introduce func() transport.Identity) (transport.Transport, error) {
		var err error
		// A busy machine must not look like one that is cut off.
		m.members, err = grpc.New(grpc.Config{Identity: introduce, Deadline: 400 * time.Millisecond})
		return m.members, err
	}
	if m.node, err = host.Start(context.Background(), m.config); err != nil {
		t.Fatal(err)
	}
	m.served = make(chan error, 1)
	go func() { m.served <- m.members.Serve(l) }()
}

// isolate ends all that the member hears and says, as a crash does.
func (m *member) isolate(t *testing.T) {
	t.Helper()
	if err := m.members.Close(); err != nil {
		t.Error(err)
	}
}

// stop closes the member, if it runs.
func (m *member) stop(t *testing.T) {
	t.Helper()
	if m.node == nil {
		return
	}
	if err := m.node.Close(); err != nil {
		t.Error(err)
	}
	if err := <-m.served; err != nil {
		t.Error(err)
	}
	m.node = nil
}

// use takes and gives back a name through the member.
func (m *member) use(t *testing.T, name string) holdfast.Token {
	t.Helper()
	l, err := m.node.Lock(bounded(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(bounded(t)); err != nil {
		t.Fatal(err)
	}
	return l.Token()
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// watcher watches at a member.
type watcher struct {
	t      *testing.T
	feed   *events.Feed
	unread []*schema.WatchEvent
}

func watchAt(t *testing.T, m *member) (*watcher, *events.Gatherer) {
	t.Helper()
	g, err := events.NewGatherer(events.Config{Source: m.source, Self: m.node.Identity().ID, Peers: m.members, Keep: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	feed, err := g.Watch(bounded(t), events.Filter{}, "", m.config.Name, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feed.Close)
	return &watcher{t: t, feed: feed}, g
}

// until returns the first event that is as wanted, and what came before it.
func (w *watcher) until(what string, is func(*schema.WatchEvent) bool) (found *schema.WatchEvent, before []*schema.WatchEvent) {
	w.t.Helper()
	for {
		if i := slices.IndexFunc(w.unread, is); i >= 0 {
			found, before = w.unread[i], w.unread[:i]
			w.unread = w.unread[i+1:]
			return found, before
		}
		more, err := w.feed.Next(bounded(w.t))
		if err != nil {
			w.t.Fatalf("wait for %s: %v; got %+v", what, err, w.unread)
		}
		for _, batch := range more {
			for _, item := range batch.Items {
				w.unread = append(w.unread, item.WatchEvent)
			}
		}
	}
}

func about(member, event, name string, token holdfast.Token) func(*schema.WatchEvent) bool {
	return func(e *schema.WatchEvent) bool {
		return e.Member == member && e.Event == event && e.Name == name && e.Token == uint64(token)
	}
}

// sees takes and gives back a name through a member, and wants both events in order.
// Where events of the member are reported missing, as they may be at any time, it
// tries again.
func (w *watcher) sees(m *member, name string) holdfast.Token {
	w.t.Helper()
	for {
		token := m.use(w.t, name)
		released := about(m.config.Name, events.Released, name, token)
		e, before := w.until("a release", func(e *schema.WatchEvent) bool { return released(e) || ended(e, m) })
		if !released(e) {
			continue
		}
		if !slices.ContainsFunc(before, about(m.config.Name, events.Granted, name, token)) {
			w.t.Errorf("%s gave back %s under %v, and had seen before: %+v", m.config.Name, name, token, before)
		}
		return token
	}
}

// ended reports whether a gap of a member's events is over.
func ended(e *schema.WatchEvent, m *member) bool { return e.Member == m.config.Name && e.Until != nil }

// TestWatchAnyMember: watchers at any member see what happens through any other, with its name,
// each member's in its order.
func TestWatchAnyMember(t *testing.T) {
	all := startCluster(t)
	for _, at := range all {
		w, _ := watchAt(t, at)
		last := holdfast.Token(0)
		for range 3 {
			for _, m := range all {
				token := w.sees(m, "orders/42")
				if token <= last {
					t.Errorf("token %v follows %v", token, last)
				}
				last = token
			}
		}
	}
}

// TestGuestsPublish: so does a member that serves only its own process.
func TestGuestsPublish(t *testing.T) {
	parallel.SkipBrief(t)
	all := startCluster(t)
	w, _ := watchAt(t, all[0])
	guest, err := host.Start(bounded(t), host.Config{
		Name: "guest", Listen: "unix://" + filepath.Join(t.TempDir(), "g"), Join: all[0].config.Join, Lease: all[0].config.Lease,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	l, err := guest.Lock(bounded(t), "x")
	if err != nil {
		t.Fatal(err)
	}
	// What it did before it was asked is reported missing; all else comes.
	w.until("a grant, or that it is missing", func(e *schema.WatchEvent) bool {
		return e.Member == "guest" && (e.Event == events.Granted || e.Until != nil)
	})
	if err := l.Unlock(bounded(t)); err != nil {
		t.Fatal(err)
	}
	w.until("a release", about("guest", events.Released, "x", l.Token()))
	if err := guest.Close(); err != nil {
		t.Error(err)
	}
}

// TestCrashWhileWatched: events that a crashed member cannot send are reported missing, and
// when it is back its events come.
func TestCrashWhileWatched(t *testing.T) {
	parallel.SkipBrief(t)
	all := startCluster(t)
	a, b, c := all[0], all[1], all[2]
	w, _ := watchAt(t, a)
	w.sees(b, "x")
	held, err := b.node.Lock(bounded(t), "x")
	if err != nil {
		t.Fatal(err)
	}
	b.isolate(t)
	gap, _ := w.until("a gap", func(e *schema.WatchEvent) bool { return e.Since != nil && (e.Until == nil) && e.Member == "b" })
	if gap.Event != events.Space || gap.Why == "" {
		t.Errorf("got %+v", gap)
	}
	if next := w.sees(c, "x"); next <= held.Token() { // when the lease of b has run out
		t.Errorf("token %v follows %v", next, held.Token())
	}
	b.stop(t)
	b.start(t)
	if err := b.node.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	w.until("the end of the gap", func(e *schema.WatchEvent) bool { return ended(e, b) })
	w.sees(b, "y")
}

// TestEventsNameOwnerReasonAndHolder: in every protocol, of what happens through another member.
func TestEventsNameOwnerReasonAndHolder(t *testing.T) {
	parallel.SkipBrief(t)
	var spaces []host.Space
	for _, of := range protocols.Protocols() {
		space := host.Space{Name: of.Name, Protocol: of.Name}
		if of.Stores {
			space.Store = memory.New(memory.Config{})
		}
		spaces = append(spaces, space)
	}
	slices.SortFunc(spaces, func(a, b host.Space) int { return strings.Compare(a.Name, b.Name) }) // so do members
	all := startCluster(t, spaces...)
	w, _ := watchAt(t, all[0])
	for i, space := range spaces {
		through := all[1+i%2]
		locks := through.node.Space(space.Name)
		held, err := locks.Lock(bounded(t), "x", holdfast.Owner("job-7"), holdfast.Reason("nightly"))
		if err != nil {
			t.Fatal(space.Name, err)
		}
		_, err = locks.Lock(bounded(t), "x", holdfast.Owner("job-8"), holdfast.Reason("again"), holdfast.Wait(50*time.Millisecond))
		if !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("%s: %v, want held", space.Name, err)
		}
		if err := held.Unlock(bounded(t)); err != nil {
			t.Fatal(space.Name, err)
		}
		for _, want := range []string{"granted job-7 nightly by job-7", "waiting job-8 again by ", "cancelled job-8 again by job-7", "released job-7 nightly by job-7"} {
			kind, _, _ := strings.Cut(want, " ")
			e, _ := w.until(want, func(e *schema.WatchEvent) bool { return e.Space == space.Name && e.Event == kind })
			if got := fmt.Sprintf("%s %s %s by %s", e.Event, e.Owner, e.GetReason(), e.GetHolder()); got != want || e.Member != through.config.Name {
				t.Errorf("%s: %s through %s, want %s through %s", space.Name, got, e.Member, want, through.config.Name)
			}
		}
	}
}

// TestSubscriptionsEndWithTheLastWatcher, at all members.
func TestSubscriptionsEndWithTheLastWatcher(t *testing.T) {
	parallel.SkipBrief(t)
	all := startCluster(t)
	first, g := watchAt(t, all[0])
	second, err := g.Watch(bounded(t), events.Filter{Prefix: "x"}, "", "a", 10)
	if err != nil {
		t.Fatal(err)
	}
	first.feed.Close()
	(&watcher{t: t, feed: second}).sees(all[1], "x")
	if events.Others(all[1].source) != 1 || events.Others(all[2].source) != 1 {
		t.Error("two watchers at one member have not one stream from each other")
	}
	second.Close()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for ctx := bounded(t); events.Others(all[1].source)+events.Others(all[2].source) > 0; {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal("members still get events, and no watcher is left")
		}
	}
}
