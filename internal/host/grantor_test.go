package host_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

// newGrantors starts three members with a space of grantors, each of which is recorded, and
// with what else the changes say.
func newGrantors(t *testing.T, change ...func(*host.Config)) *cluster {
	t.Helper()
	traces := t.TempDir()
	usual := func(c *host.Config) {
		c.Spaces = []host.Space{{Name: "default", Protocol: "grantor"}}
		c.Trace = filepath.Join(traces, c.Name)
	}
	return startCluster(t, 3, append([]func(*host.Config){usual}, change...)...)
}

// call is an operator's call of the default space, through a member.
func call[R any](t *testing.T, n *host.Member, fact any) R {
	t.Helper()
	reply, err := n.Driver().Do(bounded(t), 1, fact)
	if err != nil {
		t.Fatalf("%T: %v", fact, err)
	}
	result, is := reply.Result.(R)
	if !is {
		t.Fatalf("%T is answered by %#v", fact, reply.Result)
	}
	return result
}

// endAndReplay ends all members; fresh machines do again what each has recorded.
func (c *cluster) endAndReplay(t *testing.T) {
	t.Helper()
	for i := range c.nodes {
		c.stop(t, i)
		if steps := replayed(t, c.configs[i].Trace).Steps(); steps < 20 {
			t.Errorf("%d steps of member %d show little", steps, i)
		}
	}
}

// TestGrantorshipMoves from member to member with all that is held and waited for; who
// holds and who waits notices nothing.
func TestGrantorshipMoves(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := newGrantors(t, steady)
	mine := take(t, c.nodes[0], "x")
	theirs := take(t, c.nodes[1], "y", holdfast.Shared())
	waits := queue(t, bounded(t), c.nodes[2], "x")
	for _, to := range []int{1, 2, 0, 2} {
		id := c.nodes[to].Identity().ID
		moved := call[*protocol.Transferred](t, c.nodes[1], &protocol.Transfer{To: id})
		if moved.Err != nil || len(moved.Authority) != 1 || moved.Authority[0] != id {
			t.Fatalf("to member %d: %+v", to, moved)
		}
		at := condition(t, c.nodes[to])
		if at.State != protocol.Ready || at.Locks != 2 || at.Waiters != 1 || len(at.Authority) != 1 || at.Authority[0] != id {
			t.Errorf("at member %d: %+v", to, at)
		}
	}
	if mine.Check() != nil || theirs.Check() != nil {
		t.Errorf("%v, %v", mine.Check(), theirs.Check())
	}
	give(t, mine)
	next := granted(t, waits)
	if next.Token() <= theirs.Token() {
		t.Errorf("the one that waited is granted %v, after %v", next.Token(), theirs.Token())
	}
	give(t, next)
	give(t, theirs)
	c.endAndReplay(t)
}

// TestGrantorLeavesInGoodOrder: it hands its table over first, whether it is the elder as
// well or not. So the others, who wait for what its clients hold, are granted under the same
// reign, by the count that goes on, and no member has to recover.
func TestGrantorLeavesInGoodOrder(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	ways := []struct {
		name string
		end  func(*host.Member, context.Context) error
	}{
		{"leave", (*host.Member).Leave},
		{"drain", (*host.Member).Drain},
		{"close", func(n *host.Member, _ context.Context) error { return n.Close() }},
	}
	for i, way := range ways {
		for role, elder := range map[string]bool{"the elder": true, "another": false} {
			t.Run(way.name+" of "+role, func(t *testing.T) {
				t.Parallel()
				c := newGrantors(t, steady)
				leaver := c.coordinator(t)
				if !elder {
					leaver = c.other(t, leaver)
				}
				c.grantorLeaves(t, leaver, i == 1, way.end)
			})
		}
	}
}

// awaitOther asks a member until another one than that grants, because no event reports
// that.
func awaitOther(t *testing.T, n *host.Member, than protocol.ID) {
	t.Helper()
	ctx := bounded(t)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for at := condition(t, n); len(at.Authority) == 0 || at.Authority[0] == than; at = condition(t, n) {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Errorf("%+v", at)
			return
		}
	}
}

// grantorLeaves ends a member that grants, while it and others hold and wait. Where it is
// drained it waits for its holders, elsewhere it revokes their locks.
func (c *cluster) grantorLeaves(t *testing.T, leaver int, drained bool, end func(*host.Member, context.Context) error) {
	t.Helper()
	ctx := bounded(t)
	second := c.other(t, leaver)
	third := c.other(t, leaver, second)
	if err := c.nodes[leaver].BecomeGrantor(ctx, ""); err != nil {
		t.Fatal(err)
	}
	held, kept := take(t, c.nodes[leaver], "x"), take(t, c.nodes[second], "y")
	first, next := queue(t, ctx, c.nodes[second], "x"), queue(t, ctx, c.nodes[third], "x")
	stopped := make(chan error, 1)
	go func() {
		if drained {
			awaitOther(t, c.nodes[second], c.nodes[leaver].Identity().ID)
		} else {
			<-held.Context().Done()
		}
		stopped <- held.Unlock(ctx)
	}()
	if err := end(c.nodes[leaver], ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil && !errors.Is(err, holdfast.ErrClosed) && !errors.Is(err, holdfast.ErrLost) {
		t.Error(err)
	}
	last := kept.Token()
	for _, waits := range []<-chan outcome{first, next} {
		l := granted(t, waits)
		if l.Token() != last+1 {
			t.Errorf("the next token is %v, after %v", l.Token(), last)
		}
		last = l.Token()
		give(t, l)
	}
	if err := kept.Check(); err != nil {
		t.Error(err)
	}
	give(t, kept)
	c.stop(t, leaver)
	c.endAndReplay(t)
}
