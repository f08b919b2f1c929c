package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// life starts a member that the test ends itself.
func life(t *testing.T, c host.Config) *host.Member {
	t.Helper()
	n, err := host.Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func closeMember(t *testing.T, n *host.Member) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// openClient opens a session of a client outside the process.
func openClient(t *testing.T, n *host.Member, ttl time.Duration) *session.Opened {
	t.Helper()
	reply, err := n.Driver().Do(context.Background(), protocol.Below, &session.Open{Kind: session.Stream, TTL: ttl, Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Result.(*session.Opened)
}

func endClient(t *testing.T, n *host.Member, opened *session.Opened) {
	t.Helper()
	reply, err := n.Driver().Do(context.Background(), protocol.Below, &session.End{ID: opened.ID, Secret: opened.Secret})
	if err != nil || reply.Result.(*session.Ended).Err != nil {
		t.Fatal(err, reply.Result)
	}
}

// leaveHolding lets a client take a lock and go.
func leaveHolding(t *testing.T, n *host.Member, opened *session.Opened) {
	t.Helper()
	wanted := &lock.Request{Session: opened.ID, ID: 1, Name: "held by a client", WaitEnd: lock.Never}
	reply, err := n.Driver().Do(context.Background(), 1, wanted)
	if err != nil || reply.Decision.Kind != lock.Granted {
		t.Fatalf("%v %+v", err, reply)
	}
}

// crash returns a folder as a crash now would leave it.
func crash(t *testing.T, c host.Config) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.State, "cell"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "cell"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestRestart: whichever way a life ends, tokens go on rising, the ids stay, and the
// incarnation counts the lives (P2).
func TestRestart(t *testing.T) {
	c := host.Config{State: filepath.Join(t.TempDir(), "state")}
	var token holdfast.Token
	var before session.Opened
	manual := clocktest.NewManual()
	c.Clock = manual
	n := life(t, c)
	first := n.Identity()
	if first.ID == 0 || first.Cluster == 0 || first.Incarnation != 1 {
		t.Errorf("the first life is %+v", first)
	}
	for i := range uint64(6) {
		if i > 0 {
			manual = clocktest.NewManual()
			c.Clock = manual
			n = life(t, c)
			manual.Advance(n.View().GrantFrom) // what a crashed life has promised
		}
		self := n.Identity()
		if self.ID != first.ID || self.Cluster != first.Cluster || self.Incarnation != i+1 {
			t.Errorf("life %d is member %d of cluster %d, incarnation %d", i+1, self.ID, self.Cluster, self.Incarnation)
		}
		if view := n.View(); view.Members[0].Tenure.Incarnation != i+1 {
			t.Errorf("life %d has tenure %+v", i+1, view.Members[0].Tenure)
		}
		for range 3 {
			l := take(t, n, "x")
			if l.Token() <= token {
				t.Errorf("life %d: token %v after %v", i+1, l.Token(), token)
			}
			token = l.Token()
			give(t, l)
		}
		opened := openClient(t, n, time.Second)
		if opened.ID.Member != uint64(self.ID) || opened.ID == before.ID || opened.Secret == before.Secret {
			t.Errorf("life %d opened session %v, the life before %v; equal secrets: %v", i+1, opened.ID, before.ID, opened.Secret == before.Secret)
		}
		before = *opened
		held := take(t, n, "held at the end")
		if i%2 == 0 {
			endClient(t, n, opened)
		} else {
			c.State = crash(t, c)
		}
		closeMember(t, n)
		lostBecause(t, held, holdfast.ErrClosed)
	}
}

// TestForgetful: a member that keeps nothing is another one each time, and its tokens
// rest on the wall clock.
func TestForgetful(t *testing.T) {
	n := life(t, host.Config{})
	one, token := n.Identity(), take(t, n, "x").Token()
	closeMember(t, n)
	n = start(t, host.Config{})
	if two := n.Identity(); two.ID == one.ID || two.Cluster == one.Cluster || two.Incarnation != 1 {
		t.Errorf("%+v after %+v", two, one)
	}
	if next := take(t, n, "x").Token(); next <= token {
		t.Errorf("token %v after %v", next, token)
	}
}

// stops checks that the member grants nothing before wait has passed, and grants then.
func stops(t *testing.T, n *host.Member, c *clocktest.Manual, wait time.Duration) {
	t.Helper()
	began := c.Now()
	first := queue(t, context.Background(), n, "first")
	second := queueBy(t, func(options ...holdfast.Option) (*holdfast.Lock, error) {
		return n.TryLock(context.Background(), "second", options...)
	})
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	err := n.WaitReady(gone)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("not waiting for a recovering member: %v", err)
	}
	for c.Now() < began+wait-time.Millisecond {
		c.Advance(min(time.Second, began+wait-time.Millisecond-c.Now()))
		if s := condition(t, n); s.State != protocol.Recovering || s.Locks == 0 || s.Until < wait-time.Millisecond {
			t.Fatalf("%v after the start: %+v", c.Now()-began, s)
		}
	}
	if wait > 5*time.Second { // TryLock waits no longer for an authority
		if got := <-second; !errors.Is(got.err, holdfast.ErrUnavailable) {
			t.Errorf("TryLock of a recovering member: %+v", got)
		}
	}
	ready := make(chan error)
	go func() { ready <- n.WaitReady(context.Background()) }()
	if c := condition(t, n); c.State != protocol.Recovering {
		t.Errorf("%v before it may, it is %v", time.Millisecond, c.State)
	}
	c.Advance(2 * time.Millisecond)
	give(t, granted(t, first))
	if wait <= 5*time.Second {
		give(t, granted(t, second))
	}
	if err := <-ready; err != nil {
		t.Error(err)
	}
	free(t, n)
}

// serves checks that the member grants at once.
func serves(t *testing.T, n *host.Member) {
	t.Helper()
	if err := n.WaitReady(context.Background()); err != nil {
		t.Fatal(err)
	}
	give(t, take(t, n, "x"))
}

// TestUncleanRestartWaits: what clients of an earlier life may believe runs out before
// the first grant: a restart proves nothing about them (docs/design/membership.md §9, V7 and V15).
func TestUncleanRestartWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		ttl  time.Duration // of the client that is left behind
		wait time.Duration // of the next life
	}{
		// A ttl within the lease needs no horizon; one beyond it is rounded up by an eighth at most.
		{"within the lease", time.Second, stretch(3 * time.Second)},
		{"beyond the lease", 10 * time.Second, stretch(3*time.Second) + protocol.ReachOf(stretch(10*time.Second)-2*time.Second).Span()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := host.Config{State: t.TempDir(), Serves: true, Clock: clocktest.NewManual()}
			n := life(t, c)
			serves(t, n) // no client was ever promised anything
			leaveHolding(t, n, openClient(t, n, tt.ttl))
			crashed := crash(t, c)
			closeMember(t, n) // in good order, but the client still believes

			for _, state := range []string{c.State, crashed} {
				manual := clocktest.NewManual()
				c.State, c.Clock = state, manual
				n = life(t, c)
				again := crash(t, c)
				stops(t, n, manual, tt.wait)
				closeMember(t, n)
				// A member that crashes while it waits has to wait once more.
				manual = clocktest.NewManual()
				second := host.Config{State: again, Serves: true, Clock: manual}
				n = life(t, second)
				stops(t, n, manual, tt.wait)
				closeMember(t, n)
				// Waited for and forgotten: the next life serves at once.
				second.Clock = clocktest.NewManual()
				n = life(t, second)
				serves(t, n)
				closeMember(t, n)
			}
		})
	}
}

// TestLeaseAndDriftOfTheWait: D and δ are the configured ones.
func TestLeaseAndDriftOfTheWait(t *testing.T) {
	c := host.Config{State: t.TempDir(), Serves: true, Clock: clocktest.NewManual(), Lease: 2 * time.Second, Drift: 0.25}
	n := life(t, c)
	leaveHolding(t, n, openClient(t, n, time.Second))
	closeMember(t, n)
	manual := clocktest.NewManual()
	c.Clock = manual
	n = life(t, c)
	defer closeMember(t, n)
	stops(t, n, manual, 2500*time.Millisecond)
}

// TestWithoutACellServesLate: a member that remembers nothing may have promised anything, so
// its first grant waits for a lease (docs/design/membership.md §9, V16).
func TestWithoutACellServesLate(t *testing.T) {
	for range 2 {
		manual := clocktest.NewManual()
		n := life(t, host.Config{Serves: true, Clock: manual})
		stops(t, n, manual, stretch(3*time.Second))
		closeMember(t, n)
	}
}

// TestCleanRestartIsReady: with nothing promised to any client there is nothing to wait
// for, whether no client ever came or all have gone.
func TestCleanRestartIsReady(t *testing.T) {
	c := host.Config{State: t.TempDir(), Serves: true, Clock: clocktest.NewManual()}
	for i := range 4 {
		n := life(t, c)
		serves(t, n)
		if i%2 == 1 {
			clients := []*session.Opened{openClient(t, n, time.Second), openClient(t, n, time.Minute)}
			for _, opened := range clients {
				if opened.Err != nil || opened.TTL <= 0 {
					t.Fatalf("%+v", opened)
				}
				endClient(t, n, opened)
			}
		}
		closeMember(t, n)
	}
}

// TestQuietClientIsNotWaitedFor: a client that is connected and holds nothing keeps
// the next start waiting after a crash, which cannot know, and not after a good end.
func TestQuietClientIsNotWaitedFor(t *testing.T) {
	c := host.Config{State: t.TempDir(), Serves: true}
	n := life(t, c)
	openClient(t, n, time.Minute)
	crashed := c
	crashed.State = crash(t, c)
	closeMember(t, n)

	n = life(t, c)
	if from := n.View().GrantFrom; from != 0 {
		t.Errorf("after a good end the next start waits %v", from)
	}
	closeMember(t, n)
	n = life(t, crashed)
	if from := n.View().GrantFrom; from < time.Minute {
		t.Errorf("after a crash the next start waits %v, and its client believes for a minute", from)
	}
	closeMember(t, n)
}

// TestOwnLocksAreNotWaitedFor: they end with the process.
func TestOwnLocksAreNotWaitedFor(t *testing.T) {
	c := host.Config{State: t.TempDir(), Serves: true, Clock: clocktest.NewManual()}
	n := life(t, c)
	take(t, n, "x")
	c.State = crash(t, c)
	closeMember(t, n)
	n = life(t, c)
	defer closeMember(t, n)
	serves(t, n)
}

// TestDamagedCellIsRefused, left as it was, and not the end of the matter.
func TestDamagedCellIsRefused(t *testing.T) {
	c := host.Config{Name: "a", State: t.TempDir()}
	n := life(t, c)
	self := n.Identity()
	closeMember(t, n)
	path := filepath.Join(c.State, "cell")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(good)/2] ^= 1
	for name, tt := range map[string]struct {
		data []byte
		says string
	}{
		"a flipped bit": {flipped, "checksum"},
		"cut off":       {good[:len(good)-3], "bytes"},
		"emptied":       {[]byte{}, "not a stable cell"},
		"another file":  {[]byte("name: a\n"), "not a stable cell"},
		"later version": {[]byte("holdfast cell 9\nxyz"), "holdfast cell 9"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // refused each time, never taken for a member that is new
				n, err := host.Start(context.Background(), c)
				if err == nil {
					n.Close()
				}
				says(t, err, `start member "a": read stable cell in `+c.State, tt.says, "damaged memory", "restore the file")
				if !errors.As(err, new(*host.StartError)) {
					t.Errorf("%v\nwant a StartError", err)
				}
			}
			if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, tt.data) {
				t.Errorf("the damaged cell was changed: %v", err)
			}
		})
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	n = start(t, c)
	if again := n.Identity(); again.ID != self.ID || again.Incarnation != self.Incarnation+1 {
		t.Errorf("restored, the member is %+v after %+v", again, self)
	}
}

// TestTwoNodesOnOneFolder: the second is refused, the first goes on.
func TestTwoNodesOnOneFolder(t *testing.T) {
	c := host.Config{State: t.TempDir()}
	n := life(t, c)
	for range 2 {
		other, err := host.Start(context.Background(), c)
		if err == nil {
			other.Close()
		}
		if !errors.Is(err, cell.ErrInUse) {
			t.Errorf("two members in one folder: %v", err)
		}
		says(t, err, `start member "embedded": lock state folder `+c.State, "another process is this member")
	}
	serves(t, n)
	closeMember(t, n)
	serves(t, start(t, c))
}

// TestStartMeetsDeadContext: a start that is given up leaves nothing behind.
func TestStartMeetsDeadContext(t *testing.T) {
	c := host.Config{State: t.TempDir()}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 20 {
		n, err := host.Start(gone, c) // it may have its view before it looks
		if err == nil {
			closeMember(t, n)
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	serves(t, start(t, c))
}

// TestDiskFails: what cannot be remembered is not promised, the log says so, not at every attempt, and the
// member's own locks go on. When the disk is well again so are the promises.
func TestDiskFails(t *testing.T) {
	var log bytes.Buffer // written under the driver's mutex, read after Close
	c := host.Config{State: t.TempDir(), Serves: true, Clock: clocktest.NewManual(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	n := life(t, c)
	obstacle := filepath.Join(c.State, "cell.new", "content")
	if err := os.MkdirAll(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each is an attempt
		if opened := openClient(t, n, time.Second); !errors.Is(opened.Err, holdfast.ErrUnavailable) {
			t.Errorf("a session that cannot be remembered: %+v", opened)
		}
	}
	serves(t, n)
	if err := os.RemoveAll(filepath.Dir(obstacle)); err != nil {
		t.Fatal(err)
	}
	if opened := openClient(t, n, time.Second); opened.Err != nil {
		t.Errorf("the disk is well again: %v", opened.Err)
	}
	closeMember(t, n)
	if lines := bytes.Count(log.Bytes(), []byte("cannot write the stable cell")); lines != 1 {
		t.Errorf("%d lines, want one: the log says %q", lines, log.String())
	}
}
