package host_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// inShards are three members that keep space jobs in three shards.
func inShards(t *testing.T) *cluster {
	folder := t.TempDir()
	return startCluster(t, 3, steady, func(c *host.Config) {
		c.State, c.Data = "", filepath.Join(folder, c.Name)
		c.Spaces = []host.Space{{Name: "jobs", Protocol: "consensus", Options: map[string]string{"shards": "3"}}, {Name: "default", Protocol: "consensus"}}
	})
}

// TestSuspendASpaceOfShards: what is held in each shard is waited for, nothing new is granted in any meanwhile, nothing is
// granted at all behind it, and all who have waited are served when it is resumed through another member.
func TestSuspendASpaceOfShards(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := inShards(t)
	ctx := bounded(t)
	a, b, last := c.nodes[0], c.nodes[1], c.nodes[2]
	const names = 12 // with some in each shard
	var held []*holdfast.Lock
	for i := range names {
		held = append(held, take(t, c.nodes[i%3].Space("jobs"), fmt.Sprintf("held/%d", i)))
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := a.Suspend(short, "jobs", "restore"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while locks are held: %v", err)
	}
	give(t, take(t, b.Space("jobs"), "new/0")) // the suspension that was given up keeps no client off
	suspended := make(chan error)
	go func() { suspended <- a.Suspend(ctx, "jobs", "restore") }()
	port := portOf(t, last, "jobs")
	waitFor(t, last, port, func(l *lock.Lock) bool { return len(l.Waiters) == 1 })
	awaitClosed(t, last.Space("jobs"), names)
	for i, l := range held {
		if i == names-1 {
			waitFor(t, b, port, func(l *lock.Lock) bool { return len(l.Waiters) == 1 && len(l.Holders) == 0 })
		}
		give(t, l)
	}
	if err := <-suspended; err != nil {
		t.Fatal(err)
	}
	granted := make(chan error)
	for i := range names {
		go func() {
			l, err := c.nodes[i%3].Space("jobs").Lock(ctx, fmt.Sprintf("held/%d", i))
			if err == nil {
				err = l.Unlock(ctx)
			}
			granted <- err
		}()
	}
	for _, n := range c.nodes {
		if _, err := n.Space("jobs").TryLock(ctx, "new/1"); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("through %s: %v", n.Name(), err)
		}
	}
	if err := b.Suspend(ctx, "jobs", "again"); err != nil {
		t.Errorf("the second suspension: %v", err)
	}
	give(t, take(t, b, "in another space"))
	if err := last.Resume(ctx, "jobs", "done"); err != nil {
		t.Fatal(err)
	}
	for range names {
		if err := <-granted; err != nil {
			t.Errorf("a waiting client: %v", err)
		}
	}
	if err := last.Resume(ctx, "jobs", "done"); err != nil {
		t.Errorf("resumed again: %v", err)
	}
}

// awaitClosed waits until no shard grants anything new, because no event reports when a suspension has
// come to each.
func awaitClosed(t *testing.T, locks holdfast.Locker, names int) {
	t.Helper()
	ctx := bounded(t)
	for closed := 0; closed < names; {
		closed = 0
		for i := range names {
			l, err := locks.TryLock(ctx, fmt.Sprintf("new/%d", i))
			switch {
			case err == nil:
				give(t, l)
			case errors.Is(err, holdfast.ErrHeld):
				closed++
			default:
				t.Fatal(err)
			}
		}
	}
}

// portOf is where a member has a space.
func portOf(t *testing.T, n *host.Member, space string) protocol.Port {
	t.Helper()
	for i, s := range n.Spaces() {
		if s.Name == space {
			return protocol.Port(i + 1)
		}
	}
	t.Fatalf("no space %q", space)
	return 0
}

// TestSuspensionOfShardsEndsWithItsMember: the member that was asked for it holds it, in all
// shards.
func TestSuspensionOfShardsEndsWithItsMember(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := inShards(t)
	ctx := bounded(t)
	if err := c.nodes[0].Suspend(ctx, "jobs", "restore"); err != nil {
		t.Fatal(err)
	}
	if err := host.Crash(c.nodes[0]); err != nil {
		t.Fatal(err)
	}
	c.nodes[0] = nil
	b := c.nodes[1]
	// It is there until the session of the member that is lost has ended; then the space is suspended through another one,
	// which leaves in good order.
	for i := range 12 {
		give(t, take(t, b.Space("jobs"), fmt.Sprintf("held/%d", i)))
	}
	if err := b.Suspend(ctx, "jobs", "restore"); err != nil {
		t.Fatal(err)
	}
	if err := b.Resume(ctx, "jobs", "done"); err != nil {
		t.Fatal(err)
	}
	give(t, take(t, b.Space("jobs"), "held/1"))
}
