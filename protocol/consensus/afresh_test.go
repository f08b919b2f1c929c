package consensus

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// cluster makes serving members, and the list of their replies.
func cluster(t *testing.T, count, shards int) (w *world, replies *[]protocol.Reply) {
	t.Helper()
	w = newWorld(t, count, shards)
	for _, m := range w.members {
		w.begin(m)
	}
	replies = &[]protocol.Reply{}
	w.onReply = func(_ *member, reply *protocol.Reply) { *replies = append(*replies, *reply) }
	w.show(1, w.members...)
	w.pass(3 * time.Second)
	return w, replies
}

// want asks for a name in a session that is enrolled for it.
func want(w *world, m *member, session, request uint64, name string, ttl time.Duration) {
	w.Helper()
	id := lock.SessionID{Member: 77, Number: session}
	w.call(m, 0, &protocol.Enroll{Session: id, TTL: ttl})
	w.call(m, 0, &lock.Request{Session: id, ID: request, Name: name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}, Arrived: w.now - m.start, WaitEnd: lock.Never})
}

// grantsOf returns the tokens with which a request was granted, and its refusals.
func grantsOf(replies *[]protocol.Reply, session, request uint64) (tokens []holdfast.Token, refused error) {
	for i := range *replies {
		d := &(*replies)[i].Decision
		if d.Session.Number != session || d.Request != request {
			continue
		}
		switch d.Kind {
		case lock.Granted:
			tokens = append(tokens, d.Token)
		case lock.Refused:
			refused = d.Err
		}
	}
	return tokens, refused
}

// copies asks a member for copies of all shards.
func copies(w *world, m *member, replies *[]protocol.Reply) (copied []*protocol.Copied) {
	w.Helper()
	for shard := range w.shards {
		from := len(*replies)
		w.call(m, 5, &protocol.Copy{Shard: shard})
		w.pass(time.Second)
		for _, reply := range (*replies)[from:] {
			if c, is := reply.Result.(*protocol.Copied); is {
				copied = append(copied, c)
			}
		}
	}
	return copied
}

// names has a name in each of two shards.
var names = [...]string{"a", "b", "c", "d", "e", "f"}

// TestAfresh checks a cluster that begins with copies of another one's shards, which has continued since: it gives
// higher tokens than the other ever gave; nothing is held, no session is alive or returns, and nothing is granted while
// any client can still believe in its hold.
func TestAfresh(t *testing.T) {
	for _, grace := range []time.Duration{0, 10 * time.Second} {
		w, replies := cluster(t, 3, 2)
		for i, name := range names {
			want(w, w.members[i%3], uint64(i+1), 1, name, time.Minute)  // holds
			want(w, w.members[i%3], uint64(i+11), 1, name, time.Minute) // waits
		}
		w.pass(time.Second)
		copied := copies(w, w.members[1], replies)
		if len(copied) != 2 || copied[0].Shards != 2 || copied[0].Holds+copied[1].Holds != len(names) || copied[0].Waiters+copied[1].Waiters != len(names) {
			t.Fatalf("the copies are %+v", copied)
		}
		want(w, w.members[2], 99, 1, "later", time.Minute)
		w.pass(time.Second)
		latest, _ := grantsOf(replies, 99, 1)
		if len(latest) != 1 {
			t.Fatalf("what is asked for behind the copies is granted %d times", len(latest))
		}

		restored, later := afresh(t, copied, &Afresh{Above: 1000, Grace: grace, Reason: "a fire"})
		a := restored.members[0]
		begun := restored.now
		if is := a.machine.condition(); (is.State == protocol.Suspended) != (grace > 0) || is.Locks > 1 || is.Waiters != 0 {
			t.Errorf("restored with a grace of %v it is %+v", grace, is)
		}
		for i, name := range names {
			want(restored, a, uint64(i+101), 1, name, time.Hour)
		}
		// A request of a former session, sent once more.
		want(restored, a, 1, 1, names[0], time.Hour)
		restored.pass(time.Minute - 3*time.Second) // the copy has sessions of a minute, which is then the grace
		if _, err := grantsOf(later, 1, 1); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("a request of a session of the copy is answered with %v", err)
		}
		if tokens, _ := grantsOf(later, 101, 1); len(tokens) > 0 && grace > 0 {
			t.Errorf("granted %v before the grace is over", restored.now-begun)
		}
		restored.pass(10 * time.Second)
		for i := range names {
			tokens, err := grantsOf(later, uint64(i+101), 1)
			if len(tokens) != 1 || tokens[0]>>32 <= 1000 || tokens[0] <= latest[0] {
				t.Errorf("%s is granted with %v, %v, behind a token %v of the cluster before", names[i], tokens, err, latest[0])
			}
		}
		if is := a.machine.condition(); is.State != protocol.Ready {
			t.Errorf("behind the grace it is %v: %s", is.State, is.Why)
		}
	}
}

// afresh is a cluster of one that begins with copies.
func afresh(t *testing.T, copied []*protocol.Copied, as *Afresh) (*world, *[]protocol.Reply) {
	t.Helper()
	w := newWorld(t, 1, len(copied))
	replies := &[]protocol.Reply{}
	w.onReply = func(_ *member, reply *protocol.Reply) { *replies = append(*replies, *reply) }
	a := w.members[0]
	a.id = 9 // the new member is none of the former ones
	for i, c := range copied {
		begin := *as
		begin.Self, begin.Log = a.id, firstLog+uint64(i)
		begun, err := begin.Begin(read(t, c))
		if err != nil {
			t.Fatal(err)
		}
		if begun.Reign <= as.Above {
			t.Errorf("it begins with reign %d, not above %d", begun.Reign, as.Above)
		}
		for _, request := range begun.Requests {
			a.disk.do(t, request)
		}
	}
	w.begin(a)
	w.show(1, a)
	w.pass(time.Second)
	return w, replies
}

// read reads a copy.
func read(t *testing.T, c *protocol.Copied) *replica.Replica {
	t.Helper()
	copier, err := Copier()
	for i := 0; err == nil && i < len(c.Parts); i++ {
		err = copier.Add(c.Parts[i])
	}
	if err != nil {
		t.Fatal(err)
	}
	copied, err := copier.Done()
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// TestGraceIsNotEnded checks that neither an operator, who does not know which clients believe, nor a restart, which
// begins it again, ends the grace. It ends by itself in each shard, and an operator's waiting suspension follows.
func TestGraceIsNotEnded(t *testing.T) {
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) { graceIsNotEnded(t, shards) })
	}
}

func graceIsNotEnded(t *testing.T, shards int) {
	w, replies := cluster(t, 1, shards)
	restored, later := afresh(t, copies(w, w.members[0], replies), &Afresh{Above: 5, Grace: time.Minute, Reason: "a fire"})
	a := restored.members[0]
	restored.call(a, 3, &protocol.Break{Name: lock.SpaceLock, Reason: "in a hurry"})
	restored.pass(0)
	last := (*later)[len(*later)-1]
	if broken, is := last.Result.(*protocol.Broken); !is || !errors.Is(broken.Err, holdfast.ErrConflict) {
		t.Errorf("to resume is answered with %v", last)
	}
	restored.pass(40 * time.Second)
	restored.crash(a, 0)
	restored.begin(a)
	restored.show(2, a)
	want(restored, a, 7, 1, "x", time.Hour)
	restored.pass(time.Second)
	want(restored, a, 8, 1, lock.SpaceLock, time.Hour)
	restored.pass(time.Minute - time.Second)
	for session := range uint64(2) {
		if tokens, _ := grantsOf(later, 7+session, 1); len(tokens) > 0 {
			t.Error("granted before a minute has passed since a restart")
		}
	}
	restored.pass(10 * time.Second)
	if tokens, err := grantsOf(later, 7, 1); len(tokens) != 1 {
		t.Errorf("behind the grace it is granted with %v, %v", tokens, err)
	}
	restored.call(a, 4, &protocol.Release{Session: lock.SessionID{Member: 77, Number: 7}, Request: 1, Name: "x"})
	restored.pass(time.Second)
	if tokens, err := grantsOf(later, 8, 1); len(tokens) != 1 || a.machine.condition().State != protocol.Suspended {
		t.Errorf("it is suspended with %v, %v", tokens, err)
	}
}

// TestCopyIsAsNewAsTheQuestion checks that a member that is cut off copies nothing, and neither does a member asked for
// a shard that does not exist.
func TestCopyIsAsNewAsTheQuestion(t *testing.T) {
	w, replies := cluster(t, 3, 1)
	alone := w.members[0]
	for _, m := range w.members[1:] {
		w.cut[[2]protocol.ID{alone.id, m.id}], w.cut[[2]protocol.ID{m.id, alone.id}] = true, true
	}
	from := len(*replies)
	w.call(alone, 5, &protocol.Copy{})
	w.pass(3 * time.Second)
	answered := false
	for _, reply := range (*replies)[from:] {
		switch r := reply.Result.(type) {
		case *protocol.Copied:
			t.Error("a member that is cut off has copied a shard")
		case *protocol.Unanswered:
			answered = errors.Is(r.Err, holdfast.ErrUnavailable)
		}
	}
	if !answered {
		t.Error("a member that is cut off has not said so")
	}
	refused := w.call(w.members[1], 6, &protocol.Copy{Shard: 1})
	if len(refused) != 1 || !strings.Contains(refused[0].Result.(*protocol.Unanswered).Err.Error(), "the space has shards 0 to 0") {
		t.Errorf("a shard that there is not is answered with %v", refused)
	}
}

// TestReignsEnd checks that a copy at the last possible reign cannot be continued.
func TestReignsEnd(t *testing.T) {
	w, replies := cluster(t, 1, 1)
	copied := copies(w, w.members[0], replies)[0]
	if _, err := (&Afresh{Self: 1, Log: firstLog, Above: lock.MaxReign - 1}).Begin(read(t, copied)); err == nil || !strings.Contains(err.Error(), "last but one") {
		t.Errorf("it begins with %v", err)
	}
}
