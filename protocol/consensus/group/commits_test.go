package group

import (
	"fmt"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// trio is three members whose journals answer at once, and whose messages arrive when the test delivers them.
type trio struct {
	*testing.T
	now     Time
	groups  map[uint64]*Group
	applied map[uint64]uint64 // the latest entry
	way     []Message
	said    int // messages that have an answer, except beats
}

// newTrio returns a trio in which member 1 leads.
func newTrio(t *testing.T, c Config) *trio {
	w := &trio{T: t, groups: map[uint64]*Group{}, applied: map[uint64]uint64{}}
	for id := range uint64(3) {
		c.Self = id + 1
		g, err := New(c, &Kept{Snapshot: Founding([]uint64{1, 2, 3})}, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.groups[id+1] = g
	}
	for !w.groups[1].Leading() {
		w.now += time.Second
		w.do(1, func(g *Group, out *Output) { g.Tick(w.now, out) })
		w.arrive()
	}
	w.propose("first")
	w.arrive()
	w.settle()
	return w
}

// do performs a call, and the resulting requests to the journal.
func (w *trio) do(id uint64, what func(*Group, *Output)) {
	var out Output
	g := w.groups[id]
	for what(g, &out); out.Any(); {
		for _, e := range out.Entries {
			w.applied[id] = e.Index
		}
		w.way = append(w.way, out.Messages...)
		writes := out.Writes
		out = Output{}
		for i := range writes {
			g.Written(w.now, writes[i].ID, &out)
		}
	}
}

// arrive delivers all messages in flight, and those that follow.
func (w *trio) arrive() {
	w.Helper()
	for len(w.way) > 0 {
		m := w.way[0]
		w.way = w.way[1:]
		if raftpb.MessageType(m.Kind) == raftpb.MsgApp {
			w.said++
		}
		w.do(m.To, func(g *Group, out *Output) {
			if err := g.Hear(w.now, &m, out); err != nil {
				w.Fatal(err)
			}
		})
	}
}

func (w *trio) propose(text string) {
	w.Helper()
	w.do(1, func(g *Group, out *Output) {
		if err := g.Propose(w.now, []byte(text), out); err != nil {
			w.Fatal(err)
		}
	})
}

// settle makes the leader send what it has deferred.
func (w *trio) settle() {
	w.now = w.groups[1].flushDue
	w.do(1, func(g *Group, out *Output) { g.Tick(w.now, out) })
	w.arrive()
}

// TestWhatIsCommittedGoesWithTheNextEntries checks that a group that agrees on one entry after the other sends each
// member one message per entry, and reports the last commit when Linger is over.
func TestWhatIsCommittedGoesWithTheNextEntries(t *testing.T) {
	w := newTrio(t, Config{})
	const count = 10
	at := w.applied[1]
	w.said = 0
	for i := range count {
		w.now += 100 * time.Microsecond
		w.propose(fmt.Sprint(i))
		w.arrive()
	}
	if w.said != 2*count {
		t.Errorf("%d messages for %d entries; want one to each of two members for each", w.said, count)
	}
	if w.applied[1] != at+count || w.applied[2] != at+count-1 || w.applied[3] != at+count-1 {
		t.Errorf("applied are %v; want %d entries more than %d at the leader, and one less elsewhere", w.applied, count, at)
	}
	if due := w.groups[1].Wake(); due > w.now+w.groups[1].config.Linger {
		t.Errorf("it wakes at %v, and it is %v", due, w.now)
	}
	w.settle()
	if w.applied[2] != at+count || w.applied[3] != at+count || w.said != 2*count+2 {
		t.Errorf("applied are %v after %d messages", w.applied, w.said)
	}
	if w.settle(); w.said != 2*count+2 {
		t.Errorf("it is sent again")
	}
}

// TestFlushCommit checks that the commit goes to one member at once, and to no other.
func TestFlushCommit(t *testing.T) {
	w := newTrio(t, Config{})
	w.propose("hurry")
	w.arrive()
	at := w.applied[1]
	if w.applied[2] != at-1 || w.applied[3] != at-1 {
		t.Fatalf("applied are %v; want it to be put off", w.applied)
	}
	w.do(1, func(g *Group, out *Output) { g.FlushCommit(2, out) })
	w.arrive()
	if w.applied[2] != at || w.applied[3] != at-1 {
		t.Errorf("applied are %v; want member 2 to hear of it", w.applied)
	}
	w.do(1, func(g *Group, out *Output) { g.FlushCommit(2, out); g.FlushCommits(out) })
	w.arrive()
	if w.applied[3] != at || w.groups[1].flushDue != Never {
		t.Errorf("applied are %v; want all to hear of it, and nothing to be due: %v", w.applied, w.groups[1].flushDue)
	}
}

// TestFormerLeaderSendsNothing checks that a former leader drops its deferred messages: its term is over.
func TestFormerLeaderSendsNothing(t *testing.T) {
	w := newTrio(t, Config{})
	w.propose("late")
	w.arrive()
	later := Message{Kind: uint8(raftpb.MsgHeartbeat), From: 2, To: 1, Term: w.groups[1].Term() + 1}
	w.do(1, func(g *Group, out *Output) {
		if err := g.Hear(w.now, &later, out); err != nil || g.Leading() {
			t.Fatalf("it leads: %v, %v", g.Leading(), err)
		}
	})
	w.way = nil
	w.do(1, func(g *Group, out *Output) { g.FlushCommit(2, out); g.FlushCommits(out) })
	if len(w.way) > 0 {
		t.Errorf("it says %v", w.way)
	}
}
