package consensus

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// TestWhatIsRevokedIsHeld: a member takes a snapshot in which a request of its own process is granted, and hears that the hold is broken
// before it has asked what became of the request. The process releases it. When its session ends the request has had its end:
// without the rule it is asked for again, granted, and held by no user.
func TestWhatIsRevokedIsHeld(t *testing.T) {
	defer mutation.Switch("")
	for rule, again := range map[string]bool{"": false, "what is revoked is held": true} {
		mutation.Switch(rule)
		w := newWorld(t, 3, 1)
		w.every = 20
		for _, m := range w.members {
			w.begin(m)
		}
		w.show(1, w.members...)
		w.pass(2 * time.Second)
		leader := w.members[w.members[0].machine.parts[0].leader-1]
		away := w.members[int(leader.id)%3]
		shardOf := func(m *member) *shard.Shard { return m.machine.parts[0].shard }

		const name = "x"
		other, own := lock.SessionID{Member: 9, Number: 7}, lock.SessionID{Member: 9, Number: 8}
		w.call(leader, 1, &protocol.Enroll{Session: other, TTL: time.Hour})
		w.call(leader, 1, &lock.Request{Session: other, ID: 1, Name: name, WaitEnd: lock.Never})
		w.pass(time.Second)
		w.call(away, 2, &protocol.Enroll{Session: own, TTL: 10 * time.Second, Own: true})
		w.call(away, 2, &lock.Request{Session: own, ID: 1, Name: name, WaitEnd: lock.Never})
		w.pass(time.Second)

		deaf := true
		w.loses = func(f flight) bool {
			letter, is := f.fact.(Letter)
			_, agrees := letter.Body.(shard.Agree)
			return is && (deaf && f.to == away.id || f.from == away.id && (deaf || !agrees && !isParted(letter)))
		}
		w.call(leader, 3, &protocol.Release{Session: other, Request: 1, Name: name})
		for i := range uint64(300) {
			w.call(leader, 4, &lock.Request{Session: other, ID: 10 + i, Name: "y", WaitEnd: lock.Never})
			w.pass(5 * time.Millisecond)
			w.call(leader, 4, &protocol.Release{Session: other, Request: 10 + i, Name: "y"})
			w.pass(5 * time.Millisecond)
		}
		stands := func() lock.Kind {
			is, _ := shardOf(away).Replica().Standing(away.machine.owns[own].id, name, 1)
			return is.Kind
		}
		if stands() != lock.Queued {
			t.Fatalf("without %q: the member knows already that its request is %v", rule, stands())
		}
		deaf = false
		w.pass(500 * time.Millisecond)
		if stands() != lock.Granted || away.machine.owns[own].requests[1].state == granted {
			t.Fatalf("without %q: by its copy the request is %v", rule, stands())
		}
		var said []lock.Kind
		w.told = func(m *member, reply *protocol.Reply) {
			if m == away && reply.Decision.Session == own && reply.Decision.Request == 1 {
				said = append(said, reply.Decision.Kind)
			}
		}
		w.call(leader, 5, &protocol.Break{Name: name})
		w.pass(500 * time.Millisecond)
		if len(said) != 1 || said[0] != lock.Revoked {
			t.Fatalf("without %q: it says %v", rule, said)
		}
		w.call(away, 6, &protocol.Release{Session: own, Request: 1, Name: name})
		w.pass(15 * time.Second)
		w.loses = nil
		w.pass(10 * time.Second)
		granted := false
		for _, kind := range said {
			granted = granted || kind == lock.Granted
		}
		if granted != again {
			t.Errorf("without %q it says %v", rule, said)
		}
	}
}

func isParted(l Letter) bool {
	_, is := l.Body.(shard.Parted)
	return is
}
