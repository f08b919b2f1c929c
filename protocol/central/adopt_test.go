package central_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// answered is a coordinator of mode any, member 1, that has received the reports of members 2 and 3, and its later
// messages.
func answered(t *testing.T, reports ...[]lock.Entry) (*central.Machine, []string) {
	t.Helper()
	m, err := central.New(central.Config{Self: 1, Any: true})
	if err != nil {
		t.Fatal(err)
	}
	view := &protocol.View{
		Number: 1, Epoch: protocol.Epoch{Counter: 9, Candidate: 1}, Coordinator: 1, Installed: true,
		Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
	for id := range protocol.ID(3) {
		view.Members = append(view.Members, protocol.Member{ID: id + 1})
	}
	var out protocol.Effects
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: view}, &out)
	for i, entries := range reports {
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: protocol.ID(i + 2), Fact: authority.InfoAnswer{
			Stamp: authority.Stamp{Epoch: view.Epoch}, Last: true, Entries: entries,
		}}, &out)
	}
	return m, said(&out)
}

// said lists the decisions that were sent.
func said(out *protocol.Effects) (decisions []string) {
	for _, send := range out.Sends {
		if d, ok := send.Message.(authority.Decided); ok {
			decisions = append(decisions, fmt.Sprintf("%d: %v w%d %v", send.To, d.Kind, d.Seq, d.Loss))
		}
	}
	out.Reset()
	return decisions
}

func reported(member, request uint64, owner string, token uint64, revoked bool) lock.Entry {
	return lock.Entry{
		Name: "X", Session: lock.SessionID{Member: member, Number: 1}, Request: request, Attributes: holdfast.Attributes{Owner: owner}, Left: lock.Never,
		Token: lock.Token(token, 1), Revoked: revoked,
	}
}

// TestReportOfAGrantThatIsHalfRevoked checks a grant whose holder knows of the revocation of one of its holds only. The
// whole grant must end, whichever report comes first, and the holder hears only of the other hold.
func TestReportOfAGrantThatIsHalfRevoked(t *testing.T) {
	notified, unnotified := reported(2, 1, "o", 4, true), reported(2, 2, "o", 4, false)
	for _, entries := range [][]lock.Entry{{notified, unnotified}, {unnotified, notified}} {
		m, sent := answered(t, entries, nil)
		if want := []string{"2: revoked w2 lost: duplicate"}; !slices.Equal(sent, want) {
			t.Errorf("%v: sent %q, want %q", entries, sent, want)
		}
		if held := released(m, 2, 1, 2); held != "12" {
			t.Errorf("%v: taken until %q were released; want both", entries, held)
		}
	}
}

// released releases a member's requests one by one, and returns those before whose release a request of the
// coordinator's own client was not granted.
func released(m *central.Machine, member uint64, requests ...uint64) string {
	var out protocol.Effects
	granted := func() bool {
		return slices.ContainsFunc(out.Replies, func(r protocol.Reply) bool { return r.Decision.Kind == lock.Granted })
	}
	m.Step(0, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &lock.Request{
		Session: lock.SessionID{Member: 1, Number: 1}, ID: 1, Name: "X", WaitEnd: lock.Never,
	}}, &out)
	var held strings.Builder
	for _, request := range requests {
		if !granted() {
			fmt.Fprint(&held, request)
		}
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: protocol.ID(member), Fact: authority.Release{
			Stamp: authority.Stamp{Epoch: protocol.Epoch{Counter: 9, Candidate: 1}},
			Ended: authority.Ended{Session: lock.SessionID{Member: member, Number: 1}, Seq: request}, Name: "X",
		}}, &out)
	}
	if !granted() {
		held.WriteString(" and longer")
	}
	return held.String()
}

// TestReportThatCannotBe checks that one token of one session for two owners, which no authority gives, makes the
// second owner lose its hold, with a notice.
func TestReportThatCannotBe(t *testing.T) {
	m, sent := answered(t, []lock.Entry{reported(2, 1, "o", 4, false), reported(2, 2, "p", 4, false)}, nil)
	if want := []string{"2: lost w2 lost: duplicate"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if held := released(m, 2, 1); held != "1" {
		t.Errorf("taken until %q was released; want the first", held)
	}
}

// TestRevokedTwiceIsDecidedOnce checks that a holder that was revoked under an earlier authority gets no second notice,
// and does not block the holder that it had lost to.
func TestRevokedTwiceIsDecidedOnce(t *testing.T) {
	m, sent := answered(t, []lock.Entry{reported(2, 1, "", 4, true)}, []lock.Entry{reported(3, 1, "", 5, false)})
	if len(sent) != 0 {
		t.Errorf("sent %q, want nothing", sent)
	}
	if held := released(m, 3, 1); held != "1 and longer" {
		t.Errorf("taken until %q was released; want longer, for the other has not stopped", held)
	}
}
