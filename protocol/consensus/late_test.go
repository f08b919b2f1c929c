package consensus

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// TestLateForClientBefore: a member has forwarded what its client has asked for, and is lost. The client's session is taken over
// through another member before that arrives: the name is not granted, because no client would know of it. Without the rule it is.
func TestLateForClientBefore(t *testing.T) {
	defer mutation.Switch("")
	for rule, held := range map[string]int{"": 1, "a request says which client asks": 2} {
		mutation.Switch(rule)
		if holds := heldAfterTakeover(t); holds != held {
			t.Errorf("without %q the session holds %d names, want %d", rule, holds, held)
		}
	}
}

// ledWorld is three members of which one leads, and the two others.
func ledWorld(t *testing.T) (w *world, leader, one, other *member) {
	t.Helper()
	w = newWorld(t, 3, 1)
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(2 * time.Second)
	leader = w.members[w.members[0].machine.parts[0].leader-1]
	return w, leader, w.members[int(leader.id)%3], w.members[(int(leader.id)+1)%3]
}

// sessionOfClient has a member serve the session of a client, which holds a name.
func sessionOfClient(w *world, m *member) (id lock.SessionID, client lock.Attachments) {
	w.Helper()
	id = lock.SessionID{Member: 9, Number: 7}
	client = lock.Attachments{Attachment: lock.Attachment{Client: 70, Generation: 1}}
	w.call(m, 1, &protocol.Enroll{Session: id, TTL: time.Hour, Attached: client})
	w.call(m, 1, &lock.Request{Session: id, ID: 1, Name: "held", WaitEnd: lock.Never})
	w.pass(time.Second)
	return id, client
}

// heldAfterTakeover returns how many names a session holds of which one was granted before it was taken over, and one was asked for
// before and comes to the leader behind that.
func heldAfterTakeover(t *testing.T) int {
	t.Helper()
	w, leader, lost, other := ledWorld(t)
	id, _ := sessionOfClient(w, lost)

	var late []flight
	w.sent = func(f flight) {
		if letter, is := f.fact.(Letter); is && f.from == lost.id {
			if _, forward := letter.Body.(shard.Forward); forward {
				late = append(late, f)
			}
		}
	}
	w.cut[[2]protocol.ID{lost.id, leader.id}] = true
	w.call(lost, 2, &lock.Request{Session: id, ID: 2, Name: "late", WaitEnd: lock.Never})
	w.pass(5 * time.Millisecond)
	w.crash(lost, 0)
	if len(late) == 0 {
		t.Fatal("the request is not forwarded")
	}
	var adopted *protocol.Adopted
	var beaten *protocol.Beaten
	w.told = func(_ *member, reply *protocol.Reply) {
		switch result := reply.Result.(type) {
		case *protocol.Adopted:
			adopted = result
		case *protocol.Beaten:
			beaten = result
		}
	}
	w.call(other, 3, &protocol.Adopt{Session: id})
	w.pass(time.Second)
	w.call(other, 4, &protocol.Beat{Session: id, Attached: lock.Attachments{Attachment: lock.Attachment{Client: 71, Generation: 2}}})
	w.pass(time.Second)
	if adopted == nil || adopted.Err != nil || beaten == nil || beaten.Err != nil {
		t.Fatalf("the session is not taken over: %+v, %+v", adopted, beaten)
	}
	for _, f := range late {
		f.due = w.now + delay
		w.transit = append(w.transit, f)
	}
	w.pass(time.Second)
	table := leader.machine.parts[0].shard.Replica().Table()
	holds, _ := table.Session(id)
	return holds
}

// TestAWishWaitsForItsSession: a client has asked for a name through one member, goes to another one, and cancels or releases it there,
// where the shard's session is not known yet. What the first member has asked for is not granted later, and what it was granted is given
// up. Without the rule the name is taken until the session ends.
func TestAWishWaitsForItsSession(t *testing.T) {
	defer mutation.Switch("")
	for rule, taken := range map[string]bool{"": false, "a wish waits for its session": true} {
		mutation.Switch(rule)
		for name, wish := range map[string]func(*movedClient){
			"it asks again and cancels": func(c *movedClient) { c.cancels(true) },
			"it cancels":                func(c *movedClient) { c.cancels(false) },
			"it releases":               (*movedClient).releases,
		} {
			c := movesClient(t)
			wish(c)
			c.world.loses = nil
			c.world.pass(5 * time.Second)
			if holds, _ := c.shardOf(c.leader).Replica().Table().Session(c.id); (holds > 0) != taken || c.answers != 1 {
				t.Errorf("without %q, %s: the name is taken: %v, and it has %d answers", rule, name, holds > 0, c.answers)
			}
		}
	}
}

// movedClient is a client that one member serves and that another one has adopted, before the shard of the name "late" knew it.
type movedClient struct {
	world                *world
	leader, first, moved *member
	id                   lock.SessionID
	at                   int // the shard
	answers              int // to its wish
}

func movesClient(t *testing.T) *movedClient {
	t.Helper()
	w := newWorld(t, 3, 2)
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(2 * time.Second)
	c := &movedClient{world: w, at: w.members[0].machine.partOf("late").index, id: lock.SessionID{Member: 9, Number: 7}}
	other := "held"
	for w.members[0].machine.partOf(other).index == c.at { // it is to be in the other shard
		other += "."
	}
	c.leader = w.members[w.members[0].machine.parts[c.at].leader-1]
	c.first, c.moved = w.members[int(c.leader.id)%3], w.members[(int(c.leader.id)+1)%3]
	w.call(c.first, 1, &protocol.Enroll{Session: c.id, TTL: time.Hour})
	w.call(c.first, 1, &lock.Request{Session: c.id, ID: 1, Name: other, WaitEnd: lock.Never})
	w.pass(time.Second)
	w.call(c.moved, 2, &protocol.Adopt{Session: c.id, Requests: []uint64{1}, Last: 1})
	w.pass(time.Second)
	return c
}

func (c *movedClient) shardOf(m *member) *shard.Shard { return m.machine.parts[c.at].shard }

func (c *movedClient) asks(m *member) {
	c.world.call(m, 3, &lock.Request{Session: c.id, ID: 2, Name: "late", WaitEnd: lock.Never})
}

// cancels cancels a request at the second member that the first one cannot send to the leader.
func (c *movedClient) cancels(again bool) {
	w, lost := c.world, 0
	w.loses = func(f flight) bool {
		letter, is := f.fact.(Letter)
		_, forward := letter.Body.(shard.Forward)
		if is && forward && f.from == c.first.id {
			lost++
			return true
		}
		return false
	}
	c.asks(c.first)
	if again {
		c.asks(c.moved)
	}
	c.wishes(&protocol.Cancel{Session: c.id, Request: 2, Name: "late"})
	if holds, _ := c.shardOf(c.leader).Replica().Table().Session(c.id); lost == 0 || holds > 0 {
		w.Fatalf("%d messages were lost, and the name was granted before: %v", lost, holds > 0)
	}
}

// releases releases a name at the second member that the first one was granted, before the second one has heard of the session.
func (c *movedClient) releases() {
	w, lost := c.world, 0
	w.loses = func(f flight) bool {
		letter, is := f.fact.(Letter)
		_, agrees := letter.Body.(shard.Agree)
		if is && agrees && f.to == c.moved.id && int(letter.Shard) == c.at && !letter.Routine() {
			lost++
			return true
		}
		return false
	}
	c.asks(c.first)
	w.pass(100 * time.Millisecond)
	_, knows := c.shardOf(c.moved).Replica().Session(c.id)
	if holds, _ := c.shardOf(c.leader).Replica().Table().Session(c.id); lost == 0 || holds != 1 || knows {
		w.Fatalf("%d messages were lost, the session holds %d names, and the second member knows it: %v", lost, holds, knows)
	}
	c.wishes(&protocol.Release{Session: c.id, Request: 2, Name: "late"})
}

// wishes asks the second member, and counts its answers.
func (c *movedClient) wishes(fact any) {
	c.world.told = func(m *member, reply *protocol.Reply) {
		if m == c.moved && reply.To.Op == 5 {
			c.answers++
		}
	}
	c.world.call(c.moved, 5, fact)
	c.world.pass(time.Second)
}

// TestLaggingMemberHearsOfTakeover: a member hears its leader and has not got the entry by which a session is taken over. The leader
// says with its answer to a beat which client has the session, and the client before is not renewed. Without the rule it is.
func TestLaggingMemberHearsOfTakeover(t *testing.T) {
	defer mutation.Switch("")
	for rule, want := range map[string]error{"": holdfast.EndedByAnother, "a leader says which client has a session": nil} {
		mutation.Switch(rule)
		if beaten := beatenBehind(t); beaten == nil || beaten.Err != want || want != nil && beaten.Attached.Client != 71 {
			t.Errorf("without %q the beat of the client before is answered by %+v", rule, beaten)
		}
	}
}

// beatenBehind returns the answer to the beat of a session's first client, at a member that lacks the entry by which another one has
// taken that over.
func beatenBehind(t *testing.T) (beaten *protocol.Beaten) {
	t.Helper()
	w, _, lags, other := ledWorld(t)
	id, first := sessionOfClient(w, lags)
	w.loses = func(f flight) bool {
		letter, is := f.fact.(Letter)
		_, agrees := letter.Body.(shard.Agree)
		return is && agrees && f.to == lags.id && !letter.Routine()
	}
	w.call(other, 2, &protocol.Adopt{Session: id})
	w.pass(time.Second)
	w.call(other, 3, &protocol.Beat{Session: id, Attached: lock.Attachments{Attachment: lock.Attachment{Client: 71, Generation: 2}}})
	w.pass(time.Second)
	if s, _ := lags.machine.parts[0].shard.Replica().Session(id); s.Attached.Client != 70 {
		t.Fatalf("the member that lags has the entry: %+v", s.Attached)
	}
	w.told = func(_ *member, reply *protocol.Reply) {
		if result, is := reply.Result.(*protocol.Beaten); is {
			beaten = result
		}
	}
	w.call(lags, 4, &protocol.Beat{Session: id, Attached: first})
	w.pass(time.Second)
	return beaten
}
