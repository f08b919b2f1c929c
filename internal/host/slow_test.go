package host_test

import (
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/memory"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

// freezer is a clock that can be stopped: nothing is due then.
type freezer struct {
	clock.Clock
	at atomic.Int64 // where it stands; 0 while it runs
}

func (f *freezer) freeze() { f.at.Store(int64(f.Clock.Now())) }

// thaw lets it run, from a later time on. What was due meanwhile is noticed with the next step.
func (f *freezer) thaw() { f.at.Store(0) }

func (f *freezer) Now() time.Duration {
	if at := f.at.Load(); at != 0 {
		return time.Duration(at)
	}
	return f.Clock.Now()
}

func (f *freezer) NewTimer() clock.Timer { return &stopped{f.Clock.NewTimer(), f} }

// stopped is a timer of a clock that may stand still: then it is not armed any more.
type stopped struct {
	clock.Timer
	of *freezer
}

func (s *stopped) Reset(at time.Duration) {
	if s.of.at.Load() != 0 {
		at = clock.Never
	}
	s.Timer.Reset(at)
}

// slowNetwork carries messages between members of this process, counts the messages of their space, and
// holds back those of one link, from some time on, for ever.
type slowNetwork struct {
	*memory.Network
	sends chan struct{} // something was sent

	mu       sync.Mutex
	messages map[string]int // by their kinds
	slow     [2]protocol.ID // the sender and the receiver
	held     int
	changed  chan struct{} // closed and replaced when a message was counted
}

// forever is a delay that this network's time never gets to: it stands still.
const forever = time.Hour

func newSlowNetwork(t *testing.T) *slowNetwork {
	n := &slowNetwork{sends: make(chan struct{}, 1), messages: map[string]int{}, changed: make(chan struct{})}
	n.Network = memory.New(n.carry)
	var delivery sync.WaitGroup
	delivery.Go(func() {
		for range n.sends {
			n.Deliver()
		}
	})
	t.Cleanup(func() { // when the members are closed
		close(n.sends)
		delivery.Wait()
	})
	return n
}

// carry is the network's script.
func (n *slowNetwork) carry(p memory.Passage) []time.Duration {
	select {
	case n.sends <- struct{}{}:
	default:
	}
	envelope, is := p.Message.(bakery.Envelope)
	if !is {
		return memory.Faithful(p)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.messages[envelope.Kind()]++
	close(n.changed)
	n.changed = make(chan struct{})
	if n.slow == [2]protocol.ID{p.From, p.To} {
		n.held++
		return []time.Duration{forever}
	}
	return memory.Faithful(p)
}

// hold holds back what a member says to another one, from now on.
func (n *slowNetwork) hold(from, to *host.Member) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = [2]protocol.ID{from.Identity().ID, to.Identity().ID}
}

// await waits until exactly these messages were sent since it was asked last, and returns how many of them
// are held back.
func (n *slowNetwork) await(t *testing.T, want map[string]int) (held int) {
	t.Helper()
	ctx := bounded(t)
	for {
		n.mu.Lock()
		sent, changed, held := maps.Clone(n.messages), n.changed, n.held
		n.mu.Unlock()
		if maps.Equal(sent, want) {
			n.forget()
			return held
		}
		for kind, count := range sent {
			if count > want[kind] {
				t.Fatalf("%d letters %s were sent, want %d: %v", count, kind, want[kind], sent)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("sent %v, want %v", sent, want)
		}
	}
}

// forget begins to count anew.
func (n *slowNetwork) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.messages)
	n.held = 0
}

// startLeaders starts three founders on a network of tests. All of them lead; their clock stands still from
// then on.
func startLeaders(t *testing.T, n *slowNetwork, published bool) []*host.Member {
	t.Helper()
	c := &cluster{}
	standing := &freezer{Clock: clock.Real()}
	folder := t.TempDir()
	names := []string{"a", "b", "c"}
	options := map[string]string{"messages": "merged"}
	if published {
		options["messages"] = "published"
	}
	for i, name := range names {
		config := host.Config{
			Name: name, Address: name, Join: names, Expect: len(names), State: filepath.Join(folder, name), Clock: standing,
			Spaces: []host.Space{{Name: "default", Protocol: "bakery", Options: options}},
			Peers:  func(identity func() transport.Identity) (transport.Transport, error) { return n.Join(identity()) },
		}
		steady(&config)
		c.configs, c.nodes = append(c.configs, config), append(c.nodes, nil)
		c.start(t, i)
	}
	t.Cleanup(func() {
		standing.thaw() // leaving takes some
		for i := range c.nodes {
			c.stop(t, i)
		}
	})
	c.ready(t)
	standing.freeze()
	n.forget()
	return c.nodes
}

// lockAgain locks and unlocks a name again and again, and wants tokens to rise.
func lockAgain(t *testing.T, through *host.Member, name string, cycles int, last *holdfast.Token) {
	t.Helper()
	locks, err := through.Session(bounded(t))
	if err != nil {
		t.Error(err)
		return
	}
	for range cycles {
		lock, err := locks.Lock(bounded(t), name)
		if err != nil {
			t.Error(err)
			return
		}
		if lock.Token() <= *last { // it is the holder's
			t.Errorf("token %v follows %v", lock.Token(), *last)
		}
		*last = lock.Token()
		if err := lock.Unlock(bounded(t)); err != nil {
			t.Error(err)
		}
	}
	if err := locks.Close(); err != nil {
		t.Error(err)
	}
}

// TestSlowerReplyIsNeverWaitedFor: messages from one leader to another one never arrive, and each lock of that one
// takes the same messages as before, two round trips merged and four published, all with the third. Those two go
// on as well with a name that they contend for, and the first with another one. Time stands still meanwhile:
// nothing is sent again, nothing expires, and never is never.
func TestSlowerReplyIsNeverWaitedFor(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	const cycles = 100
	for name, of := range map[string]struct {
		published bool
		steps     []string
		answers   int
	}{
		"merged":    {false, []string{"Entering", "Entered", "Add", "Added", "Drop"}, 2},
		"published": {true, []string{"Entering", "Entered", "GetMax", "Max", "Add", "Added", "Exiting", "Ready", "Activate", "Activated", "Drop"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := newSlowNetwork(t)
			leaders := startLeaders(t, network, of.published)
			want, last := map[string]int{}, holdfast.Token(0)
			for _, step := range of.steps {
				want[step] = 2 * cycles // to two others, or from them
			}
			lockAgain(t, leaders[0], "X", cycles, &last)
			if held := network.await(t, want); held != 0 {
				t.Errorf("%d letters are held back, want none yet", held)
			}
			network.hold(leaders[2], leaders[0])
			lockAgain(t, leaders[0], "X", cycles, &last)
			if held := network.await(t, want); held != of.answers*cycles {
				t.Errorf("%d letters are held back, want the slower answer of each step, %d", held, of.answers*cycles)
			}
			var all sync.WaitGroup
			var other holdfast.Token
			for _, leader := range leaders[:2] {
				all.Go(func() { lockAgain(t, leader, "X", cycles, &last) })
			}
			all.Go(func() { lockAgain(t, leaders[2], "Y", cycles, &other) })
			all.Wait()
		})
	}
}
