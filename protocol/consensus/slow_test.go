package consensus

import (
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// TestSlowLinks checks that with the default election timeout of a second, and links that become slower and slower, one
// leader is elected and stays, beats are acknowledged, and locks are granted one after the other at a rate that only
// round trips limit. With a round trip of about the timeout, and without measuring it, beats were sent again before
// their answers could come, and leaders stepped down before they could be followed.
func TestSlowLinks(t *testing.T) {
	for _, one := range []time.Duration{time.Millisecond, 80 * time.Millisecond, 140 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond} {
		w := newWorld(t, 3, 1)
		w.delay, w.election = one, time.Second
		elections, slow := 0, 0
		w.noted = func(m *member, note protocol.Note) {
			if led, is := note.(Led); is && led.By == m.id {
				elections++
			}
			if _, is := note.(Slow); is {
				slow++
			}
		}
		granted, beaten := 0, 0
		session := func(m *member) lock.SessionID { return lock.SessionID{Member: 9, Number: uint64(m.id)} }
		w.onReply = func(m *member, reply *protocol.Reply) {
			if _, is := reply.Result.(*protocol.Beaten); is {
				beaten++
			}
			if d := &reply.Decision; reply.Result == nil && d.Session == session(m) {
				if d.Kind == lock.Granted {
					granted++
					w.call(m, 2, &protocol.Release{Session: d.Session, Name: d.Name, Request: d.Request, Token: d.Token})
				} else if d.Kind == lock.Released && d.Request < 1000 {
					w.call(m, 1, &lock.Request{Session: d.Session, ID: d.Request + 1, Name: m.name(), WaitEnd: lock.Never, Arrived: w.now - m.start})
				}
			}
		}
		for _, m := range w.members {
			w.begin(m)
		}
		w.show(1, w.members...)
		w.pass(time.Minute)
		before := elections
		for _, m := range w.members {
			w.call(m, 1, &protocol.Enroll{Session: session(m), TTL: time.Minute})
			w.call(m, 1, &lock.Request{Session: session(m), ID: 1, Name: m.name(), WaitEnd: lock.Never, Arrived: w.now - m.start})
		}
		for range 40 {
			w.pass(500 * time.Millisecond)
			for _, m := range w.members {
				w.call(m, 3, &protocol.Beat{Session: session(m)})
			}
		}
		// A member that does not lead sends each lock and unlock to the leader, which has it confirmed and replies:
		// four one-way trips each, and one more for a session.
		least := int(3 * 20 * time.Second / (12 * one))
		if one > time.Millisecond && (granted < least || beaten < 80 || before != 1 || elections != before) {
			t.Errorf("one way takes %v: %d grants, of which %d are the least, %d beats of 120, %d elections and then %d", one, granted, least, beaten, before, elections-before)
		}
		if is := slow > 0; is != (one > 125*time.Millisecond) {
			t.Errorf("one way takes %v: %d notes say that links are slow", one, slow)
		}
	}
}

// TestEveryBeatIsConfirmed checks that a leader confirms each round of reads, regardless of its number in the library.
// Times that go with beats differ from those numbers: a leader once took the number 128 for a time, and confirmed
// nothing any more.
func TestEveryBeatIsConfirmed(t *testing.T) {
	const rounds = 300
	w := newWorld(t, 3, 1)
	w.delay, w.election = time.Millisecond, time.Second
	beaten := 0
	w.onReply = func(_ *member, reply *protocol.Reply) {
		if _, is := reply.Result.(*protocol.Beaten); is {
			beaten++
		}
	}
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(time.Minute)
	for _, m := range w.members {
		session := lock.SessionID{Member: 9, Number: uint64(m.id)}
		w.call(m, 1, &protocol.Enroll{Session: session, TTL: time.Minute})
		w.call(m, 1, &lock.Request{Session: session, ID: 1, Name: m.name(), WaitEnd: lock.Never, Arrived: w.now - m.start})
	}
	w.pass(time.Second)
	for range rounds {
		for _, m := range w.members {
			w.call(m, 2, &protocol.Beat{Session: lock.SessionID{Member: 9, Number: uint64(m.id)}})
		}
		w.pass(100 * time.Millisecond)
	}
	if beaten != rounds*len(w.members) {
		t.Errorf("%d of %d beats are acknowledged", beaten, rounds*len(w.members))
	}
}

// TestBeatsOverlap checks that a beat is confirmed after two round trips, though others and rounds of the leader are in
// flight. Each of two members beats four times while the first of those beats is unanswered.
func TestBeatsOverlap(t *testing.T) {
	const one, beats = 100 * time.Millisecond, 24
	w, followers := led(t, 3, one)
	sentAt, confirmed := map[uint64]time.Duration{}, 0
	w.onReply = func(_ *member, reply *protocol.Reply) {
		if _, is := reply.Result.(*protocol.Beaten); !is {
			return
		}
		confirmed++
		if took := w.now - sentAt[reply.To.Op]; took > 4*one {
			t.Errorf("beat %d is confirmed after %v, want %v", reply.To.Op, took, 4*one)
		}
	}
	for number := range uint64(beats) {
		m := followers[number%2]
		sentAt[100+number] = w.now
		w.call(m, 100+number, &protocol.Beat{Session: sessionOf(m)})
		w.pass(one / 2)
	}
	w.pass(5 * time.Second)
	if confirmed != beats {
		t.Errorf("%d of %d beats are confirmed", confirmed, beats)
	}
}

// TestLateAnswersToBeatsCount checks that the late answer to a first beat counts, though the beat was sent again
// because links have just become slow.
func TestLateAnswersToBeatsCount(t *testing.T) {
	const one = 300 * time.Millisecond
	w, followers := led(t, 3, time.Millisecond)
	sentAt, confirmed, said := time.Duration(0), time.Duration(0), 0
	w.onReply = func(_ *member, reply *protocol.Reply) {
		if _, is := reply.Result.(*protocol.Beaten); is && confirmed == 0 {
			confirmed = w.now - sentAt
		}
	}
	w.sent = func(f flight) {
		if envelope, is := f.fact.(Envelope); is {
			if _, is := envelope.Body.(shard.Beat); is && f.from == followers[0].id {
				said++
			}
		}
	}
	w.delay, sentAt = one, w.now
	w.call(followers[0], 100, &protocol.Beat{Session: sessionOf(followers[0])})
	w.pass(10 * time.Second)
	if said != 2 {
		t.Errorf("the beat is sent %d times, want 2", said)
	}
	if confirmed < 4*one || confirmed > 4*one+10*time.Millisecond {
		t.Errorf("the beat is confirmed after %v, want %v", confirmed, 4*one)
	}
}

// TestSlowLinksUnderReads checks that members learn that links are slow though every beat of their leader has the
// number of a read: that of one of the sessions' beats, some of which are always in flight.
func TestSlowLinksUnderReads(t *testing.T) {
	w, followers := led(t, 4, time.Millisecond)
	plain := 0
	w.sent = func(f flight) {
		if envelope, is := f.fact.(Envelope); is {
			if raft, is := envelope.Body.(shard.RaftMessage); is && raft.Message.Kind == uint8(raftpb.MsgHeartbeat) && len(raft.Message.Context) < 16 {
				plain++
			}
		}
	}
	w.delay = 267 * time.Millisecond
	for i := range 100 {
		m := followers[i%len(followers)]
		w.call(m, uint64(100+i), &protocol.Beat{Session: sessionOf(m)})
		w.pass(50 * time.Millisecond)
	}
	if plain > 30 {
		t.Errorf("%d beats of the leader have no read's number; that is too many to say anything", plain)
	}
	for _, m := range w.members {
		if got, want := m.machine.election(), 4*2*w.delay; got < want || got > want+100*time.Millisecond {
			t.Errorf("%s gives a leader %v, want %v", m.name(), got, want)
		}
	}
}

// led makes members with a leader, and a session at each of the others, the followers.
func led(t *testing.T, members int, delay time.Duration) (w *world, followers []*member) {
	w = newWorld(t, members, 1)
	w.delay, w.election = delay, time.Second
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(time.Minute)
	leader := w.members[0].machine.parts[0].leader
	followers = slices.DeleteFunc(slices.Clone(w.members), func(m *member) bool { return uint64(m.id) == leader })
	for _, m := range followers {
		w.call(m, 1, &protocol.Enroll{Session: sessionOf(m), TTL: time.Minute})
		w.call(m, 1, &lock.Request{Session: sessionOf(m), ID: 1, Name: m.name(), WaitEnd: lock.Never, Arrived: w.now - m.start})
	}
	w.pass(5 * time.Second)
	return w, followers
}

func sessionOf(m *member) lock.SessionID { return lock.SessionID{Member: 9, Number: uint64(m.id)} }
