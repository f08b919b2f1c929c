package consensus

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// once is three members of which b leads, a client's acts through a, and a's messages to b about them.
type once struct {
	*world
	a, b, c *member
	replies *[]protocol.Reply
	late    []flight // from a: the operations
	kinds   map[replica.Kind]int
}

var client7, client8 = lock.SessionID{Member: 77, Number: 7}, lock.SessionID{Member: 77, Number: 8}

func layOnce(t *testing.T) *once {
	t.Helper()
	o := &once{world: newWorld(t, 3, 1), replies: &[]protocol.Reply{}, kinds: map[replica.Kind]int{}}
	o.every = 500
	o.a, o.b, o.c = o.members[0], o.members[1], o.members[2]
	for _, m := range o.members {
		o.begin(m)
	}
	o.world.onReply = func(_ *member, reply *protocol.Reply) { *o.replies = append(*o.replies, *reply) }
	o.show(1, o.members...)
	o.pass(3 * time.Second)
	o.lead(o.b)
	return o
}

// lead makes a member the leader.
func (o *once) lead(m *member) {
	o.Helper()
	o.call(m, 9, &protocol.Transfer{To: m.id})
	o.pass(time.Second)
	if !m.machine.parts[0].shard.Leads() {
		o.Fatalf("%s does not lead", m.name())
	}
}

// decisionsOn makes a call to a member, and returns the decisions meanwhile.
func (o *once) decisionsOn(m *member, fact any) (decided []lock.Decision) {
	o.Helper()
	from := len(*o.replies)
	o.call(m, 1, fact)
	o.pass(200 * time.Millisecond)
	for _, reply := range (*o.replies)[from:] {
		if reply.Result == nil && reply.Decision.Kind != lock.Queued {
			decided = append(decided, reply.Decision)
		}
	}
	return decided
}

// only makes a call with one decision, of that kind.
func (o *once) only(m *member, fact any, kind lock.Kind) lock.Decision {
	o.Helper()
	decided := o.decisionsOn(m, fact)
	if len(decided) != 1 || decided[0].Kind != kind {
		o.Fatalf("%T %+v is answered with %+v; want it to be %v, once", fact, fact, decided, kind)
	}
	return decided[0]
}

func (o *once) lock(m *member, id lock.SessionID, number uint64, name string) *lock.Request {
	return &lock.Request{Session: id, ID: number, Name: name, WaitEnd: lock.Never, Arrived: o.now - m.start}
}

// take makes a client acquire a name.
func (o *once) take(m *member, id lock.SessionID, number uint64, name string) holdfast.Token {
	o.Helper()
	return o.only(m, o.lock(m, id, number, name), lock.Granted).Token
}

// holders lists the tokens of names in a member's copy.
func (o *once) holders(m *member) (all []holdfast.Token) {
	o.Helper()
	for _, name := range []string{"held", "released", "cancelled", "broken"} {
		l := m.machine.parts[0].shard.Replica().Table().Show(name)
		if len(l.Holders) != 1 || len(l.Waiters) != 0 || l.Holders[0].Revoked {
			o.Fatalf("%q has holders %+v and waiters %+v at %s; want one holder alone", name, l.Holders, l.Waiters, m.name())
		}
		all = append(all, l.Holders[0].Token)
	}
	return all
}

// act makes client 7 lock, release and cancel through a, and an operator break, and keeps a's messages to b. Then
// client 8 has what was released, cancelled and broken. It returns the tokens of client 7 for each name.
func (o *once) act() (tokens []holdfast.Token) {
	o.Helper()
	o.sent = func(f flight) {
		envelope, is := f.fact.(Envelope)
		if forward, ops := envelope.Body.(shard.Forward); is && ops && f.from == o.a.id {
			for _, op := range forward.Ops {
				o.kinds[op.Kind]++
			}
			envelope.Body = shard.Forward{Ops: slices.Clone(forward.Ops)}
			f.fact = envelope
			o.late = append(o.late, f)
		}
	}
	o.call(o.a, 1, &protocol.Enroll{Session: client7, TTL: time.Hour})
	for i, name := range []string{"held", "released", "cancelled", "broken"} {
		tokens = append(tokens, o.take(o.a, client7, uint64(i+1), name))
	}
	o.only(o.a, &protocol.Release{Session: client7, Request: 2, Name: "released"}, lock.Released)
	o.only(o.a, &protocol.Cancel{Session: client7, Request: 3, Name: "cancelled"}, lock.Released)
	o.only(o.a, &protocol.Break{Name: "broken", Reason: "a test"}, lock.Revoked)
	o.only(o.a, &protocol.Release{Session: client7, Request: 4, Name: "broken"}, lock.Released)
	o.sent = func(flight) {}
	for _, kind := range []replica.Kind{replica.Open, replica.Acquire, replica.Release, replica.Cancel, replica.Break} {
		if o.kinds[kind] == 0 {
			o.Fatalf("a has sent %v; want an operation %v among them, which can come once more", o.kinds, kind)
		}
	}
	o.call(o.b, 1, &protocol.Enroll{Session: client8, TTL: time.Hour})
	for i, name := range []string{"released", "cancelled", "broken"} {
		o.take(o.b, client8, uint64(i+1), name)
	}
	return tokens
}

// others makes client 8 lock and unlock a number of times, with separate requests.
func (o *once) others(times int) {
	o.Helper()
	for i := range uint64(times) {
		from := len(*o.replies)
		o.call(o.b, 1, o.lock(o.b, client8, 100+i, "others"))
		o.pass(10 * time.Millisecond)
		o.call(o.b, 1, &protocol.Release{Session: client8, Request: 100 + i, Name: "others"})
		o.pass(10 * time.Millisecond)
		if replies := (*o.replies)[from:]; replies[len(replies)-1].Decision.Kind != lock.Released {
			o.Fatalf("request %d: %+v", 100+i, replies)
		}
		*o.replies = (*o.replies)[:from]
	}
}

// TestIDsAreRetried checks that requests repeated after 10,000 others act once, at a member that has received
// everything before by a snapshot, has restarted with it, and leads now. So do earlier copies that the network had
// kept.
func TestIDsAreRetried(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes ten thousand requests; run without -short")
	}
	o := layOnce(t)
	tokens := o.act()
	for _, m := range o.members[:2] {
		o.cut[[2]protocol.ID{m.id, o.c.id}], o.cut[[2]protocol.ID{o.c.id, m.id}] = true, true
	}
	before := o.c.disk.of(firstLog).Snapshot
	o.others(10_000)
	clear(o.cut)
	o.pass(3 * time.Second)
	if has := o.c.disk.of(firstLog); has.Snapshot <= before || len(has.Chunks) == 0 || len(has.Records) > 1000 {
		t.Fatalf("c has snapshot %d of %d chunks, and %d records; want one that it has got since snapshot %d", has.Snapshot, len(has.Chunks), len(has.Records), before)
	}
	o.crash(o.c, 0)
	o.begin(o.c)
	o.show(2, o.members...)
	o.pass(3 * time.Second)
	o.lead(o.c)
	held := o.holders(o.c)

	at := o.c.machine.parts[0].shard.Replica().Now()
	for _, f := range o.late {
		o.step(o.c, protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.fact})
		o.pass(100 * time.Millisecond)
	}
	if now := o.c.machine.parts[0].shard.Replica().Now(); now <= at {
		t.Fatalf("nothing came into the log behind %v, so nothing came late", at)
	}
	if is := o.holders(o.c); !slices.Equal(is, held) {
		t.Errorf("what came late has changed who holds: tokens %v, and before %v", is, held)
	}
	o.retries(tokens)
	if is := o.holders(o.c); !slices.Equal(is, held) {
		t.Errorf("what was asked again has changed who holds: tokens %v, and before %v", is, held)
	}
}

// retries makes client 7 go to c, and repeat all its requests made through a.
func (o *once) retries(tokens []holdfast.Token) {
	o.Helper()
	o.call(o.c, 1, &protocol.Adopt{Session: client7, Requests: []uint64{1, 2, 3, 4}, Last: 4})
	o.call(o.c, 1, &protocol.Beat{Session: client7})
	o.pass(time.Second)
	checkToken := func(d lock.Decision, token holdfast.Token) {
		o.Helper()
		if d.Token != token {
			o.Errorf("request %d of %q is granted token %v; want %v, as at first", d.Request, d.Name, d.Token, token)
		}
	}
	checkToken(o.only(o.c, o.lock(o.c, client7, 1, "held"), lock.Granted), tokens[0])
	checkToken(o.only(o.c, &protocol.Release{Session: client7, Request: 2, Name: "released"}, lock.Released), tokens[1])
	checkToken(o.only(o.c, o.lock(o.c, client7, 2, "released"), lock.Released), tokens[1])
	o.only(o.c, &protocol.Cancel{Session: client7, Request: 3, Name: "cancelled"}, lock.Released)
	checkToken(o.only(o.c, o.lock(o.c, client7, 3, "cancelled"), lock.Released), tokens[2])
	checkToken(o.only(o.c, &protocol.Release{Session: client7, Request: 4, Name: "broken"}, lock.Released), tokens[3])
}

// TestIDsOfTheClusterBefore checks that in a cluster that begins with a copy, repeated requests of clients of the
// former one are refused as their sessions have ended, and messages of its members are ignored.
func TestIDsOfTheClusterBefore(t *testing.T) {
	o := layOnce(t)
	o.act()
	copied := copies(o.world, o.b, o.replies)
	if len(copied) != 1 || copied[0].Holds != 4 {
		t.Fatalf("the copy is %+v; want one with 4 holds", copied)
	}
	w, replies := afresh(t, copied, &Afresh{Above: 1000, Reason: "a fire"})
	n := &once{world: w, replies: replies}
	a := w.members[0]
	for _, f := range o.late {
		n.step(a, protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.fact})
	}
	n.call(a, 1, &protocol.Adopt{Session: client7, Requests: []uint64{1, 2, 3, 4}, Last: 4})
	n.pass(time.Second)
	if reply := (*replies)[len(*replies)-1].Result; !isEnded(reply) {
		t.Errorf("the session of the cluster before is answered with %+v", reply)
	}
	n.call(a, 1, &protocol.Enroll{Session: client7, TTL: time.Hour})
	for number, name := range []string{"held", "released", "cancelled", "broken"} {
		if d := n.only(a, n.lock(a, client7, uint64(number+1), name), lock.Refused); !errors.Is(d.Err, holdfast.ErrLost) {
			t.Errorf("request %d of the cluster before is refused with %v; want that its session has ended", number+1, d.Err)
		}
		if d := n.only(a, &protocol.Release{Session: client7, Request: uint64(number + 1), Name: name}, lock.Refused); !errors.Is(d.Err, holdfast.ErrNotHeld) {
			t.Errorf("a release of request %d of the cluster before is refused with %v", number+1, d.Err)
		}
	}
	if is := a.machine.condition(); is.Locks != 0 || is.Waiters != 0 || is.Sessions != 0 || is.State != protocol.Ready {
		t.Errorf("the cluster that begins with the copy has %+v; want nothing in it", is)
	}
}

func isEnded(reply any) bool {
	adopted, is := reply.(*protocol.Adopted)
	return is && errors.Is(adopted.Err, holdfast.ErrLost)
}
