package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestSuspendACluster: a space that was suspended through one member grants nothing through
// any, another may be suspended as well, and it is resumed through whichever member.
func TestSuspendACluster(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady, func(config *host.Config) { config.Spaces = []host.Space{{Name: "billing"}} })
	ctx := bounded(t)
	a, b, last := c.nodes[0], c.nodes[1], c.nodes[2]
	held, err := b.Space("billing").Lock(ctx, "orders/42")
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := a.Suspend(short, "billing", "restore"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while a lock is held: %v", err)
	}
	suspended := make(chan error)
	go func() { suspended <- a.Suspend(ctx, "billing", "restore") }()
	waitFor(t, last, 2, func(l *lock.Lock) bool { return len(l.Waiters) == 1 })
	if _, err := last.Space("billing").TryLock(ctx, "orders/43"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("a new lock while a suspension waits: %v", err)
	}
	if err := held.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-suspended; err != nil {
		t.Fatal(err)
	}
	if err := b.Suspend(ctx, "billing", "again"); err != nil {
		t.Errorf("the second suspension: %v", err)
	}
	for _, n := range c.nodes {
		if _, err := n.Space("billing").TryLock(ctx, "orders/42"); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("through %s: %v", n.Name(), err)
		}
		if err := n.WaitReady(ctx); err != nil {
			t.Errorf("%s is not ready: %v", n.Name(), err)
		}
	}
	other, err := last.Lock(ctx, "orders/42")
	if err != nil {
		t.Fatalf("in another space: %v", err)
	}
	if err := other.Unlock(ctx); err != nil {
		t.Error(err)
	}
	if err := last.Resume(ctx, "billing", "done"); err != nil {
		t.Fatal(err)
	}
	if err := last.Resume(ctx, "billing", "done"); err != nil {
		t.Errorf("resumed again: %v", err)
	}
	lockOnce(t, b.Space("billing"))
}

// TestSuspensionEndsWithItsMember: the member that was asked for it holds it, and no other.
func TestSuspensionEndsWithItsMember(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady)
	ctx := bounded(t)
	i := c.other(t, c.coordinator(t))
	if err := c.nodes[i].Suspend(ctx, "", "restore"); err != nil {
		t.Fatal(err)
	}
	c.stop(t, i)
	lockOnce(t, c.running()[0])
	last := c.coordinator(t)
	if err := c.nodes[last].Suspend(ctx, "", "restore"); err != nil {
		t.Fatal(err)
	}
	if err := c.nodes[last].Leave(ctx); err != nil {
		t.Fatal(err)
	}
	c.stop(t, last)
	lockOnce(t, c.running()[0])
}

// TestSuspensionSurvivesTheCoordinator as every lock does.
func TestSuspensionSurvivesTheCoordinator(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, calm)
	ctx := bounded(t)
	coordinator := c.coordinator(t)
	holder := c.other(t, coordinator)
	if err := c.nodes[holder].Suspend(ctx, "", "restore"); err != nil {
		t.Fatal(err)
	}
	c.crash(t, coordinator)
	third := c.other(t, holder, coordinator)
	waitFor(t, c.nodes[third], 1, func(l *lock.Lock) bool { return len(l.Holders) == 1 && l.Holders[0].Reason == "restore" })
	if _, err := c.nodes[third].TryLock(ctx, "x"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("after the coordinator: %v", err)
	}
	if err := c.nodes[third].Resume(ctx, "", ""); err != nil {
		t.Fatal(err)
	}
	lockOnce(t, c.nodes[holder])
}

// TestOperationsOfAMember: errors say what central does not offer, and what is not there.
func TestOperationsOfAMember(t *testing.T) {
	n := start(t, host.Config{Name: "a"})
	ctx := bounded(t)
	for what, c := range map[string]struct{ got, want error }{
		`transfer: protocol central does not offer transfer`:                                  {n.Transfer(ctx, "", "a"), holdfast.ErrUnsupported},
		`transfer in space "nowhere": unknown space "nowhere": this member serves default`:    {n.BecomeGrantor(ctx, "nowhere"), holdfast.ErrSpace},
		`suspend in space "nowhere": unknown space "nowhere": this member serves default`:     {n.Suspend(ctx, "nowhere", ""), holdfast.ErrSpace},
		`resume in space "nowhere": unknown space "nowhere": this member serves default`:      {n.Resume(ctx, "nowhere", ""), holdfast.ErrSpace},
		`open space in space "nowhere": unknown space "nowhere": this member serves default`:  {n.OpenSpace(ctx, "nowhere"), holdfast.ErrSpace},
		`close space in space "nowhere": unknown space "nowhere": this member serves default`: {n.CloseSpace(ctx, "nowhere"), holdfast.ErrSpace},
		`suspend: reason: bad name: control character U+0000 at byte 1`:                       {n.Suspend(ctx, "", "x\x00"), holdfast.ErrName},
	} {
		if !errors.Is(c.got, c.want) || c.got.Error() != what {
			t.Errorf("%v, want %s", c.got, what)
		}
	}
	if err := n.Suspend(ctx, "", ""); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := n.Suspend(ctx, "", ""); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// waitFor asks a member until the suspension at that port is so, because no event reports
// that.
func waitFor(t *testing.T, n *host.Member, port protocol.Port, so func(*lock.Lock) bool) {
	t.Helper()
	ctx := bounded(t)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		reply, err := n.Driver().Do(ctx, port, &protocol.Show{Name: lock.SpaceLock})
		if err != nil {
			t.Fatal(err)
		}
		if shown, is := reply.Result.(*lock.Lock); is && so(shown) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("the suspension is %+v", reply.Result)
		}
	}
}

// lockOnce locks and unlocks a name.
func lockOnce(t *testing.T, locks holdfast.Locker) {
	t.Helper()
	held, err := locks.Lock(bounded(t), "orders/42")
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
}
