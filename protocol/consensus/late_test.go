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

// TestLateForClientBefore checks that a request that a lost member has forwarded, and that arrives after the client's
// session was taken over through another member, is not granted, because no client would know of it. Without the rule
// it is.
func TestLateForClientBefore(t *testing.T) {
	bites(t, "a request says which client asks", heldAfterTakeover, 1, 2)
}

// bites checks that a scene has the count with when all rules are in place, and without when one is disabled.
func bites(t *testing.T, rule string, scene func(*testing.T) int, with, without int) {
	t.Helper()
	defer mutation.Switch("")
	for off, want := range map[string]int{"": with, rule: without} {
		mutation.Switch(off)
		if got := scene(t); got != want {
			t.Errorf("without %q: %d, want %d", off, got, want)
		}
	}
}

// ledWorld is three members: the leader, and the two others.
func ledWorld(t *testing.T) (w *world, leader, one, other *member) {
	t.Helper()
	w = newWorld(t, 3, 1)
	w.form()
	leader = w.members[w.members[0].machine.parts[0].leader-1]
	return w, leader, w.members[int(leader.id)%3], w.members[(int(leader.id)+1)%3]
}

// sessionOfClient makes a member serve the session of a client, which holds a name.
func sessionOfClient(w *world, m *member) (id lock.SessionID, client lock.Attachments) {
	w.Helper()
	id = lock.SessionID{Member: 9, Number: 7}
	client = lock.Attachments{Attachment: lock.Attachment{Client: 70, Generation: 1}}
	w.call(m, 1, &protocol.Enroll{Session: id, TTL: time.Hour, Attached: client})
	w.call(m, 1, &lock.Request{Session: id, ID: 1, Name: "held", WaitEnd: lock.Never})
	w.pass(time.Second)
	return id, client
}

// heldAfterTakeover returns how many names a session holds, of which one was granted before its takeover, and one was
// requested before and reaches the leader after it.
func heldAfterTakeover(t *testing.T) int {
	t.Helper()
	w, leader, lost, other := ledWorld(t)
	id, _ := sessionOfClient(w, lost)

	var late []flight
	w.sent = func(f flight) {
		if envelope, is := f.fact.(Envelope); is && f.from == lost.id {
			if _, forward := envelope.Body.(shard.Forward); forward {
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
	w.onReply = func(_ *member, reply *protocol.Reply) {
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

// TestLaggingMemberHearsOfTakeover checks a member that hears its leader, but lacks the entry of a session's takeover.
// The leader's answer to a beat names the session's client, and the previous client is not renewed. Without the rule it
// is.
func TestLaggingMemberHearsOfTakeover(t *testing.T) {
	defer mutation.Switch("")
	for rule, want := range map[string]error{"": holdfast.EndedByAnother, "a leader says which client has a session": nil} {
		mutation.Switch(rule)
		if beaten := beatenBehind(t); beaten == nil || beaten.Err != want || want != nil && beaten.Attached.Client != 71 {
			t.Errorf("without %q the beat of the client before is answered by %+v", rule, beaten)
		}
	}
}

// beatenBehind returns the answer to the beat of a session's first client, at a member that lacks the entry of its
// takeover.
func beatenBehind(t *testing.T) (beaten *protocol.Beaten) {
	t.Helper()
	w, _, lags, other := ledWorld(t)
	id, first := sessionOfClient(w, lags)
	w.loses = func(f flight) bool {
		envelope, is := f.fact.(Envelope)
		_, isRaft := envelope.Body.(shard.RaftMessage)
		return is && isRaft && f.to == lags.id && !envelope.Routine()
	}
	w.call(other, 2, &protocol.Adopt{Session: id})
	w.pass(time.Second)
	w.call(other, 3, &protocol.Beat{Session: id, Attached: lock.Attachments{Attachment: lock.Attachment{Client: 71, Generation: 2}}})
	w.pass(time.Second)
	if s, _ := lags.machine.parts[0].shard.Replica().Session(id); s.Attached.Client != 70 {
		t.Fatalf("the member that lags has the entry: %+v", s.Attached)
	}
	w.onReply = func(_ *member, reply *protocol.Reply) {
		if result, is := reply.Result.(*protocol.Beaten); is {
			beaten = result
		}
	}
	w.call(lags, 4, &protocol.Beat{Session: id, Attached: first})
	w.pass(time.Second)
	return beaten
}

// TestAGrantThatWasAskedForElsewhereIsConfirmed checks a session that comes to a lagging member, with a request with a
// hold limit made through another one. The member hears of the grant when that is over and another client has the name.
// It does not know when the client's limit began, so it confirms that its copy is up to date. Without the rule it
// reports the grant. Seed 527834757 had that.
func TestAGrantThatWasAskedForElsewhereIsConfirmed(t *testing.T) {
	bites(t, "a grant that was asked for elsewhere is confirmed", grantsReportedBehind, 0, 1)
}

// grantsReportedBehind returns how often a lagging member reports a grant for a request that has come to it from
// another one and whose hold limit is over.
func grantsReportedBehind(t *testing.T) (reported int) {
	t.Helper()
	w, leader, lags, other := ledWorld(t)
	id, client := sessionOfClient(w, other)
	first, next := lock.SessionID{Member: 9, Number: 8}, lock.SessionID{Member: 9, Number: 9}
	acquire := func(m *member, op uint64, q lock.Request) {
		q.ID, q.Name, q.WaitEnd, q.Arrived = op, "x", lock.Never, w.now-m.start
		w.call(m, op, &q)
	}
	for _, s := range []lock.SessionID{first, next} {
		w.call(leader, 1, &protocol.Enroll{Session: s, TTL: time.Hour})
	}
	acquire(leader, 1, lock.Request{Session: first})
	w.pass(time.Second)
	w.call(lags, 1, &protocol.Adopt{Session: id})
	w.pass(time.Second)
	var late []flight
	w.loses = func(f flight) bool {
		envelope, is := f.fact.(Envelope)
		_, isRaft := envelope.Body.(shard.RaftMessage)
		loses := is && isRaft && f.to == lags.id && !envelope.Routine()
		if loses {
			late = append(late, f)
		}
		return loses
	}
	acquire(other, 2, lock.Request{Session: id, Attributes: holdfast.Attributes{Hold: time.Second}})
	w.pass(5 * time.Second)
	acquire(leader, 3, lock.Request{Session: next})
	acquire(lags, 2, lock.Request{Session: id, Attributes: holdfast.Attributes{Hold: time.Second}})
	w.call(lags, 3, &protocol.Beat{Session: id, Attached: client})
	w.pass(time.Second)
	w.onReply = func(m *member, reply *protocol.Reply) {
		if d := reply.Decision; m == lags && d.Session == id && d.Kind == lock.Granted {
			reported++
		}
	}
	w.call(leader, 4, &protocol.Release{Session: first, Name: "x", Request: 1})
	w.pass(3 * time.Second)
	holds := func(m *member, s lock.SessionID) bool {
		holders := m.machine.parts[0].shard.Replica().Table().Show("x").Holders
		return len(holders) == 1 && holders[0].Session == s
	}
	if !holds(leader, next) {
		t.Fatal("the next request is not granted when the limit of the one before is over")
	}
	for len(late) > 0 && !holds(lags, id) {
		f := late[0]
		f.due, late = w.now+delay, late[1:]
		w.transit = append(w.transit, f)
		w.pass(2 * delay)
	}
	if !holds(lags, id) {
		t.Fatal("the member that is behind does not hear of the grant")
	}
	w.loses = nil
	w.pass(2 * time.Second)
	return reported
}

// TestATakeoverEndsNoGrantOfAnotherMember checks a client that asks through a member that is cut off, and again through
// another one, which grants the request. When the first member learns of that, the session has been taken over: no call
// waits for the request there, and the previous client believes in it. Without the rule that member ends it. Seed
// 717790283 had that.
func TestATakeoverEndsNoGrantOfAnotherMember(t *testing.T) {
	bites(t, "a takeover ends no grant of another member", heldBeyondTakeover, 2, 1)
}

// heldBeyondTakeover returns how many names a session holds after its takeover, of which one was requested through two
// members.
func heldBeyondTakeover(t *testing.T) int {
	t.Helper()
	w, leader, lags, other := ledWorld(t)
	id, client := sessionOfClient(w, lags)
	for _, m := range w.members {
		w.cut[[2]protocol.ID{lags.id, m.id}], w.cut[[2]protocol.ID{m.id, lags.id}] = true, true
	}
	acquire := func(m *member) {
		w.call(m, 2, &lock.Request{Session: id, ID: 2, Name: "x", Attributes: holdfast.Attributes{Hold: time.Hour}, WaitEnd: lock.Never, Arrived: w.now - m.start})
		w.pass(time.Second)
	}
	acquire(lags)
	w.call(other, 1, &protocol.Adopt{Session: id, Requests: []uint64{2}})
	w.pass(time.Second)
	w.call(other, 2, &protocol.Beat{Session: id, Attached: client})
	acquire(other)
	w.call(other, 3, &protocol.Beat{Session: id, Attached: lock.Attachments{Attachment: lock.Attachment{Client: 71, Generation: 2}}})
	w.pass(time.Second)
	table := leader.machine.parts[0].shard.Replica().Table()
	if holds, _ := table.Session(id); holds != 2 {
		t.Fatalf("the session that is taken over holds %d names, want 2", holds)
	}
	learns := false
	w.onReply = func(m *member, reply *protocol.Reply) {
		_, is := reply.Result.(*protocol.Attached)
		learns = learns || m == lags && is
	}
	clear(w.cut)
	w.pass(3 * time.Second)
	if !learns {
		t.Fatal("the member that was cut off does not learn of the later client")
	}
	holds, _ := table.Session(id)
	return holds
}
