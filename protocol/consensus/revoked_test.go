package consensus

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// TestWhatIsRevokedIsHeld checks a member that takes a snapshot with a grant of its own process, and hears of the break
// of that hold before it has asked for the request's outcome. The process releases it. When its session ends the
// request has had its end: without the rule it is sent again, granted, and held by no user.
func TestWhatIsRevokedIsHeld(t *testing.T) {
	defer mutation.Switch("")
	for rule, again := range map[string]bool{"": false, "what is revoked is held": true} {
		mutation.Switch(rule)
		r := revokes(t)
		r.call(r.away, 6, &protocol.Release{Session: r.own, Request: 1, Name: "x"})
		r.pass(15 * time.Second)
		r.loses = nil
		r.pass(10 * time.Second)
		if slices.Contains(*r.said, lock.Granted) != again {
			t.Errorf("without %q it says %v", rule, *r.said)
		}
	}
}

// revoked is a world of three members, one of which has reported to its own process that the hold of its first request
// is revoked, and nothing of that request before.
type revoked struct {
	*world
	away *member
	own  lock.SessionID
	said *[]lock.Kind // decisions of that member about the request
}

func revokes(t *testing.T) revoked {
	t.Helper()
	w := newWorld(t, 3, 1)
	w.every = 20
	w.form()
	leader := w.members[w.members[0].machine.parts[0].leader-1]
	away := w.members[int(leader.id)%3]
	other, own := lock.SessionID{Member: 9, Number: 7}, lock.SessionID{Member: 9, Number: 8}
	w.call(leader, 1, &protocol.Enroll{Session: other, TTL: time.Hour})
	w.call(leader, 1, &lock.Request{Session: other, ID: 1, Name: "x", WaitEnd: lock.Never})
	w.pass(time.Second)
	w.call(away, 2, &protocol.Enroll{Session: own, TTL: 10 * time.Second, Own: true})
	w.call(away, 2, &lock.Request{Session: own, ID: 1, Name: "x", WaitEnd: lock.Never})
	w.pass(time.Second)

	// It hears nothing while the log grows, and then it takes the snapshot and can ask nothing.
	deaf := true
	w.loses = func(f flight) bool {
		envelope, is := f.fact.(Envelope)
		_, isRaft := envelope.Body.(shard.RaftMessage)
		_, isAck := envelope.Body.(shard.SnapshotAck)
		return is && (deaf && f.to == away.id || f.from == away.id && (deaf || !isRaft && !isAck))
	}
	w.call(leader, 3, &protocol.Release{Session: other, Request: 1, Name: "x"})
	for i := range uint64(300) {
		w.call(leader, 4, &lock.Request{Session: other, ID: 10 + i, Name: "y", WaitEnd: lock.Never})
		w.pass(5 * time.Millisecond)
		w.call(leader, 4, &protocol.Release{Session: other, Request: 10 + i, Name: "y"})
		w.pass(5 * time.Millisecond)
	}
	stands := func() lock.Kind {
		is, _ := away.machine.parts[0].shard.Replica().Standing(away.machine.owns[own].id, "x", 1)
		return is.Kind
	}
	before := stands()
	deaf = false
	w.pass(500 * time.Millisecond)
	if before != lock.Queued || stands() != lock.Granted || away.machine.owns[own].requests[1].state == granted {
		t.Fatalf("by its copy the request is %v, and %v before", stands(), before)
	}
	r := revoked{w, away, own, &[]lock.Kind{}}
	w.onReply = func(m *member, reply *protocol.Reply) {
		if m == away && reply.Decision.Session == own && reply.Decision.Request == 1 {
			*r.said = append(*r.said, reply.Decision.Kind)
		}
	}
	w.call(leader, 5, &protocol.Break{Name: "x"})
	w.pass(500 * time.Millisecond)
	if !slices.Equal(*r.said, []lock.Kind{lock.Revoked}) {
		t.Fatalf("it says %v", *r.said)
	}
	return r
}
