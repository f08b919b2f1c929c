package consensus

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestALateFounderGetsEverything checks that a founder that was down when the logs began, and until others had got
// votes, still gets its part.
func TestALateFounderGetsEverything(t *testing.T) {
	w := newWorld(t, 3, 2)
	var answers []error
	w.onReply = func(_ *member, reply *protocol.Reply) {
		if r, is := reply.Result.(*protocol.Reformed); is {
			answers = append(answers, r.Err)
		}
	}
	a, b, late := w.members[0], w.members[1], w.members[2]
	w.begin(a)
	w.begin(b)
	w.show(1, a, b, late)
	w.pass(time.Second)
	guest := &member{id: 4, disk: disk{logs: map[uint64]*log{}}, guest: true}
	w.members = append(w.members, guest)
	w.begin(guest)
	w.show(2, a, b, guest)
	for _, role := range []protocol.Role{protocol.Learner, protocol.Voter} {
		w.call(a, 1, &protocol.Reform{Member: guest.id, As: role})
		w.pass(time.Second)
	}
	if len(answers) != 2 || answers[0] != nil || answers[1] != nil {
		t.Fatalf("a guest that is added and promoted: %v", answers)
	}
	w.begin(late)
	w.show(3, a, b, guest, late)
	w.pass(2 * time.Second)
	if c := late.machine.condition(); c.State != protocol.Ready {
		t.Errorf("the founder that comes late is %v: %s", c.State, c.Why)
	}
	if all := late.machine.shards(); len(all.List) != 2 || len(all.List[0].Voters) != 4 || len(all.List[1].Voters) != 4 || len(all.Known) != 4 {
		t.Errorf("the founder that comes late knows %+v", all)
	}
}

// TestReformsThatAreRefusedAtOnce checks that the member itself refuses impossible calls.
func TestReformsThatAreRefusedAtOnce(t *testing.T) {
	w := newWorld(t, 1, 1)
	refused := func(what string, f protocol.Reform) {
		t.Helper()
		for _, reply := range w.call(w.members[0], 1, &f) {
			if r, is := reply.Result.(*protocol.Reformed); is && r.Err != nil {
				return
			}
		}
		t.Errorf("%s is not refused", what)
	}
	w.begin(w.members[0])
	refused("a change before the log has begun", protocol.Reform{Member: 1, As: protocol.Nonmember})
	w.show(1, w.members...)
	w.pass(time.Second)
	refused("an unknown role", protocol.Reform{Member: 1, As: protocol.Voter + 1})
	refused("a member that is not in the view", protocol.Reform{Member: 7, As: protocol.Learner})
}

// TestAReformHasAnEnd checks that a reform that no leader performs in time is answered, and forgotten.
func TestAReformHasAnEnd(t *testing.T) {
	w := newWorld(t, 3, 1)
	var answer error
	w.onReply = func(_ *member, reply *protocol.Reply) {
		if r, is := reply.Result.(*protocol.Reformed); is {
			answer = r.Err
		}
	}
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(time.Second)
	a := w.members[0]
	w.crash(w.members[1], 0)
	w.crash(w.members[2], 0)
	w.pass(time.Second)
	w.call(a, 1, &protocol.Reform{Member: 3, As: protocol.Nonmember})
	w.pass(2 * time.Second)
	if answer == nil || len(a.machine.reforms) != 0 || a.machine.calls.Others != 0 {
		t.Errorf("without a quorum: %v, %d wait, %d of operators", answer, len(a.machine.reforms), a.machine.calls.Others)
	}
}

// TestAJournalThatFailsEndsWhatOperatorsWaitFor checks that waiting operators get the journal's error: nothing after it
// could end the wait.
func TestAJournalThatFailsEndsWhatOperatorsWaitFor(t *testing.T) {
	w := newWorld(t, 3, 1)
	var transferred, reformed error
	w.onReply = func(_ *member, reply *protocol.Reply) {
		switch r := reply.Result.(type) {
		case *protocol.Transferred:
			transferred = r.Err
		case *protocol.Reformed:
			reformed = r.Err
		}
	}
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(time.Second)
	a := w.members[0]
	w.crash(w.members[1], 0)
	w.crash(w.members[2], 0)
	w.call(a, 1, &protocol.Reform{Member: 3, As: protocol.Nonmember})
	w.call(a, 2, &protocol.Transfer{To: 2})
	if transferred != nil || reformed != nil {
		t.Fatalf("both wait, and were answered %v and %v", transferred, reformed)
	}
	var out protocol.Effects
	a.machine.fail(errors.New("no space left on device"), &out)
	for i := range out.Replies {
		w.onReply(a, &out.Replies[i])
	}
	if transferred == nil || reformed == nil || a.machine.calls.Others != 0 {
		t.Errorf("a transfer: %v, a reform: %v, %d wait", transferred, reformed, a.machine.calls.Others)
	}
}
