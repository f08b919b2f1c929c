package node_test

import (
	"path/filepath"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/node"
	"github.com/holdfast-locks/holdfast/protocol"
)

// newGrantors starts three members with a space of grantors, each of which is recorded.
func newGrantors(t *testing.T) *cluster {
	t.Helper()
	traces := t.TempDir()
	return startCluster(t, 3, func(c *node.Config) {
		c.Spaces = []node.Space{{Name: "default", Protocol: "grantor"}}
		c.Trace = filepath.Join(traces, c.Name)
	})
}

// ask is an operator's call of the default space, through a member.
func ask[R any](t *testing.T, n *node.Node, fact any) R {
	t.Helper()
	reply, err := n.Driver().Ask(bounded(t), 1, fact)
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
	c := newGrantors(t)
	mine := take(t, c.nodes[0], "x")
	theirs := take(t, c.nodes[1], "y", holdfast.Shared())
	waits := queue(t, bounded(t), c.nodes[2], "x")
	for _, to := range []int{1, 2, 0, 2} {
		id := c.nodes[to].Identity().ID
		moved := ask[*protocol.Transferred](t, c.nodes[1], &protocol.Transfer{To: id})
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
