package consensus

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// TestARequestWaitsForItsSession checks a client that has asked for a name through one member, goes to another one, and
// cancels or releases it there, before the shard's session is known. The first member's request is not granted later,
// and its grant is given up. Without the rule the name is taken until the session ends.
func TestARequestWaitsForItsSession(t *testing.T) {
	defer mutation.Switch("")
	for rule, taken := range map[string]bool{"": false, "a wish waits for its session": true} {
		mutation.Switch(rule)
		for name, request := range map[string]func(*movedClient){
			"it asks again and cancels": func(c *movedClient) { c.cancels(true) },
			"it cancels":                func(c *movedClient) { c.cancels(false) },
			"it releases":               (*movedClient).releases,
		} {
			c := movesClient(t, 0)
			request(c)
			c.world.loses = nil
			c.world.pass(5 * time.Second)
			if holds := c.holds(); (holds > 0) != taken || len(c.answers) != 1 {
				t.Errorf("without %q, %s: the name is taken: %v, and it has %d answers", rule, name, holds > 0, len(c.answers))
			}
		}
	}
}

// movedClient is a client that one member serves and another one has adopted, before the shard of the name "late" knew
// it.
type movedClient struct {
	world                *world
	leader, first, moved *member
	id                   lock.SessionID
	at                   int             // the shard
	answers              []lock.Decision // to its requests at the second member
}

// movesClient makes one. Limit is the shard's maximum of sessions; 0 means its default.
func movesClient(t *testing.T, limit int) *movedClient {
	t.Helper()
	w := newWorld(t, 3, 2)
	w.limit = limit
	w.form()
	c := &movedClient{world: w, at: w.members[0].machine.partOf("late").index, id: lock.SessionID{Member: 9, Number: 7}}
	other := "held"
	for w.members[0].machine.partOf(other).index == c.at { // it must be in the other shard
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

// neighbour is another name in the shard of a name.
func (c *movedClient) neighbour(name string) string {
	other := name + "."
	for c.first.machine.partOf(other).index != c.first.machine.partOf(name).index {
		other += "."
	}
	return other
}

func (c *movedClient) shardOf(m *member) *shard.Shard { return m.machine.parts[c.at].shard }

// holds is the number of names in the shard that its session holds, by the leader's table.
func (c *movedClient) holds() int {
	holds, _ := c.shardOf(c.leader).Replica().Table().Session(c.id)
	return holds
}

func (c *movedClient) request(m *member) {
	c.world.call(m, 3, &lock.Request{Session: c.id, ID: 2, Name: "late", WaitEnd: lock.Never})
}

// cancels cancels, at the second member, a request that the first one cannot send to the leader.
func (c *movedClient) cancels(again bool) {
	w, lost := c.world, 0
	w.loses = func(f flight) bool {
		envelope, is := f.fact.(Envelope)
		_, forward := envelope.Body.(shard.Forward)
		if is && forward && f.from == c.first.id {
			lost++
			return true
		}
		return false
	}
	c.request(c.first)
	if again {
		c.request(c.moved)
	}
	c.requests(&protocol.Cancel{Session: c.id, Request: 2, Name: "late"})
	if lost == 0 || c.holds() > 0 {
		w.Fatalf("%d messages were lost, and the name was granted before: %v", lost, c.holds() > 0)
	}
}

// releases releases, at the second member, a name that the first one was granted, before the second one has heard of
// the session.
func (c *movedClient) releases() {
	c.holdsUnseen()
	c.requests(&protocol.Release{Session: c.id, Request: 2, Name: "late"})
}

// holdsUnseen makes the first member acquire the name without the second one's knowledge.
func (c *movedClient) holdsUnseen() {
	w, lost := c.world, 0
	w.loses = func(f flight) bool {
		envelope, is := f.fact.(Envelope)
		_, isRaft := envelope.Body.(shard.RaftMessage)
		if is && isRaft && f.to == c.moved.id && int(envelope.Shard) == c.at && !envelope.Routine() {
			lost++
			return true
		}
		return false
	}
	c.request(c.first)
	w.pass(100 * time.Millisecond)
	_, knows := c.shardOf(c.moved).Replica().Session(c.id)
	if lost == 0 || c.holds() != 1 || knows {
		w.Fatalf("%d messages were lost, the session holds %d names, and the second member knows it: %v", lost, c.holds(), knows)
	}
}

// requests calls the second member, and counts its answers.
func (c *movedClient) requests(fact any) {
	c.world.onReply = func(m *member, reply *protocol.Reply) {
		if m == c.moved && reply.To.Op == 5 {
			c.answers = append(c.answers, reply.Decision)
		}
	}
	c.world.call(c.moved, 5, fact)
	c.world.pass(time.Second)
}

// TestAnExtensionWaitsForItsSession checks that a client that was granted a name through one member can extend its hold
// at another one, which has not heard of the session.
func TestAnExtensionWaitsForItsSession(t *testing.T) {
	c := movesClient(t, 0)
	c.holdsUnseen()
	is, _ := c.shardOf(c.leader).Replica().Standing(c.id, "late", 2)
	c.requests(&protocol.Extend{Session: c.id, Request: 2, Name: "late", Token: is.Token, Hold: time.Minute})
	if len(c.answers) > 0 {
		t.Fatalf("it is answered before the session is known: %+v", c.answers)
	}
	c.world.loses = nil
	c.world.pass(5 * time.Second)
	if len(c.answers) != 1 || c.answers[0].Kind != lock.Granted || c.answers[0].Hold != time.Minute {
		t.Errorf("it is answered %+v", c.answers)
	}
}

// TestARequestWhoseSessionIsRefused checks a session that a full shard refuses. It holds nothing there, so a cancel is
// answered, and a release is refused with the reason.
func TestARequestWhoseSessionIsRefused(t *testing.T) {
	c := movesClient(t, 1)
	other := lock.SessionID{Member: 9, Number: 8}
	c.world.call(c.first, 1, &protocol.Enroll{Session: other, TTL: time.Hour})
	c.world.call(c.first, 1, &lock.Request{Session: other, ID: 1, Name: "late", WaitEnd: lock.Never})
	c.world.pass(time.Second)
	c.requests(&protocol.Cancel{Session: c.id, Request: 2, Name: "late"})
	c.requests(&protocol.Release{Session: c.id, Request: 3, Name: "late"})
	if len(c.answers) != 2 || c.answers[0].Kind != lock.Released || c.answers[1].Kind != lock.Refused || !errors.Is(c.answers[1].Err, holdfast.ErrLimit) {
		t.Errorf("they are answered %+v", c.answers)
	}
}

// TestWhatIsRefusedIsGivenBack checks a client that has asked for a name through one member, goes to another one, and
// is refused it there. The first member's message is late, and is granted: the second member releases it, because its
// client does not know of it.
func TestWhatIsRefusedIsGivenBack(t *testing.T) {
	c := movesClient(t, 0)
	w := c.world
	w.call(c.first, 3, &lock.Request{Session: c.id, ID: 3, Name: c.neighbour("late"), WaitEnd: lock.Never})
	w.pass(time.Second) // the shard knows the session
	var late []flight
	w.loses = func(f flight) bool {
		envelope, is := f.fact.(Envelope)
		_, forward := envelope.Body.(shard.Forward)
		if is && forward && f.from == c.first.id {
			late = append(late, f)
			return true
		}
		return false
	}
	c.request(c.first)
	w.pass(5 * time.Millisecond)
	w.crash(c.first, 0)
	w.call(c.moved, 4, &protocol.Adopt{Session: c.id, Requests: []uint64{1, 2, 3}, Last: 3})
	w.pass(time.Second)
	c.moved.machine.config.Table.LocksPerSession = 1
	c.requests(&lock.Request{Session: c.id, ID: 2, Name: "late", WaitEnd: lock.Never})
	if len(late) == 0 || len(c.answers) != 1 || !errors.Is(c.answers[0].Err, holdfast.ErrLimit) {
		t.Fatalf("%d messages are late, and the request is answered %+v", len(late), c.answers)
	}
	granted := 0
	w.onReply = func(m *member, reply *protocol.Reply) {
		if m == c.moved && reply.Decision.Kind == lock.Granted {
			granted++
		}
	}
	for _, f := range late {
		f.due = w.now + delay
		w.transit = append(w.transit, f)
	}
	w.pass(20 * time.Millisecond)
	_, ended := c.shardOf(c.leader).Replica().Ended(c.id, 2)
	if c.holds() != 1 || !ended || granted > 0 {
		t.Errorf("the session holds %d names of the shard and not 1, the request has ended: %v, and its client got %d grants", c.holds(), ended, granted)
	}
}

// TestRequestsThatWaitAreBounded checks that the bound on a session's holds also limits its waiting requests.
func TestRequestsThatWaitAreBounded(t *testing.T) {
	c := movesClient(t, 0)
	c.moved.machine.config.Table.LocksPerSession = 1
	c.world.loses = func(f flight) bool {
		envelope, is := f.fact.(Envelope)
		_, forward := envelope.Body.(shard.Forward)
		return is && forward && f.from == c.moved.id
	}
	for request := range uint64(2) {
		c.requests(&protocol.Release{Session: c.id, Request: 2 + request, Name: "late"})
	}
	var limit *holdfast.LimitError
	if len(c.answers) != 1 || c.answers[0].Request != 3 || !errors.As(c.answers[0].Err, &limit) || limit.Limit != "locks_per_session" {
		t.Errorf("they are answered %+v", c.answers)
	}
}
