package grantor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestAnswersOfNoElderAreIgnored checks that an impossible reign begins nowhere, and ends nothing.
func TestAnswersOfNoElderAreIgnored(t *testing.T) {
	good := grantor.Info{Number: 1, Grantor: grantor.Place{ID: 2, Since: 1}, Beginning: grantor.Settled, Reign: 4}
	good.Version.Epoch, good.Version.Number = 4, 1
	for _, test := range []struct {
		name  string
		wrong func(*grantor.Info)
	}{
		{"no reign", func(i *grantor.Info) { i.Reign = 0 }},
		{"too high a reign", func(i *grantor.Info) { i.Reign = lock.MaxReign + 1 }},
		{"too high a count", func(i *grantor.Info) { i.Count = lock.MaxCount + 1 }},
		{"an unknown beginning", func(i *grantor.Info) { i.Beginning = grantor.Inheriting + 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			wrong := good
			test.wrong(&wrong)
			m, out := seeking(t)
			m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: wrong}, out)
			if len(out.Notes) != 1 || !strings.Contains(out.Notes[0].String(), "ignored") || len(out.Replies) != 0 {
				t.Errorf("%v: notes %v, replies %v", wrong, out.Notes, out.Replies)
			}
			out.Reset()
			m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: good}, out)
			if len(out.Replies) != 1 || out.Replies[0].Decision.Kind != lock.Granted {
				t.Errorf("after it %v: replies %v", good, out.Replies)
			}
		})
	}
}

// TestNewNamesTheWrongField checks that the error uses the names of the caller's fields.
func TestNewNamesTheWrongField(t *testing.T) {
	for _, test := range []struct {
		config grantor.Config
		says   string
	}{
		{grantor.Config{}, "grantor: Self is 0; "},
		{grantor.Config{Config: authority.Config{Self: 1, Tuning: authority.Tuning{Chunk: -1}}}, "grantor: Chunk is -1; "},
		{grantor.Config{Config: authority.Config{Self: 1}, Options: grantor.Options{Parked: -1}}, "grantor: Parked is -1; "},
	} {
		if _, err := grantor.New(test.config); err == nil || !strings.HasPrefix(err.Error(), test.says) {
			t.Errorf("New(%+v) = %v, want %q", test.config, err, test.says)
		}
	}
}

// bogus is a version that no elder has given: of an epoch that no member has heard of.
var bogus = authority.Version{Epoch: 1 << 40, Number: 1}

// TestVersionsOfNoElderAreNotFollowed checks that regardless of which message names such a reign, the member takes the
// next real one, and asks that one for its lock.
func TestVersionsOfNoElderAreNotFollowed(t *testing.T) {
	elder := grantor.Place{ID: 1, Since: 1}
	stamp := authority.Stamp{Epoch: protocol.Epoch{Counter: 4, Candidate: 1}, Version: bogus, Known: true}
	for _, wrong := range []protocol.Message{
		authority.Acks{Stamp: stamp},
		authority.Decided{Stamp: stamp, Kind: lock.Granted, Name: "X", Token: 1 << 50},
		authority.InfoRequest{Stamp: stamp},
		authority.Answer{Stamp: stamp},
		grantor.Depose{Grantor: elder, Version: bogus},
		grantor.Info{Number: 1, Grantor: elder, Version: bogus},
	} {
		t.Run(fmt.Sprintf("%T", wrong), func(t *testing.T) {
			m, out := seeking(t)
			m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: wrong}, out)
			if len(out.Sends) != 0 || len(out.Replies) != 0 {
				t.Errorf("answered %v, %v", out.Sends, out.Replies)
			}
			out.Reset()
			named := grantor.Info{Number: 1, Grantor: elder, Version: authority.Version{Epoch: 4, Number: 1}}
			m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: named}, out)
			follows(t, out, named.Version)
		})
	}
}

// TestVersionsOfTheNextEpoch checks that a version that is only ahead is followed when its epoch has come.
func TestVersionsOfTheNextEpoch(t *testing.T) {
	next := authority.Version{Epoch: 5, Number: 1}
	for _, early := range []protocol.Message{
		authority.Acks{Stamp: authority.Stamp{Epoch: protocol.Epoch{Counter: 5, Candidate: 1}, Version: next}},
		grantor.Depose{Grantor: grantor.Place{ID: 1, Since: 1}, Version: next},
		grantor.Info{Number: 1, Grantor: grantor.Place{ID: 1, Since: 1}, Version: next},
	} {
		m, out := seeking(t)
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: early}, out)
		m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: view(2, 5)}, out)
		follows(t, out, next)
	}
}

// TestAGrantorOfAnEpochBeforeIsNotFollowed checks a grantor that an elder has named under a view that was never
// installed, in a message that comes under the next epoch. The elder of that epoch does not know the version, so the
// member follows the grantor that this elder names. Without the rule it follows none any more.
func TestAGrantorOfAnEpochBeforeIsNotFollowed(t *testing.T) {
	defer mutation.Switch("")
	for rule, want := range map[string]bool{"": true, "a grantor of an epoch before is not followed": false} {
		mutation.Switch(rule)
		m, out := seeking(t)
		m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: view(2, 5)}, out)
		late := authority.Stamp{Epoch: protocol.Epoch{Counter: 4, Candidate: 1}, Version: authority.Version{Epoch: 4, Number: 9}}
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: authority.InfoRequest{Stamp: late}}, out)
		out.Reset()
		m.Step(0, protocol.Event{Kind: protocol.Tick}, out)
		named := authority.Stamp{Epoch: protocol.Epoch{Counter: 5, Candidate: 1}, Version: authority.Version{Epoch: 4, Number: 3}, Known: true}
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: authority.Acks{Stamp: named}}, out)
		sent := slices.ContainsFunc(out.Sends, func(e protocol.Envelope) bool {
			acquire, is := e.Message.(authority.Acquire)
			return is && acquire.Version == named.Version
		})
		if sent != want {
			t.Errorf("without %q the member sends %v", rule, out.Sends)
		}
	}
}

// TestEarlyMessagesAreBounded checks that messages beyond the bound are dropped with a note, and that the kept ones are
// taken when their epoch has come.
func TestEarlyMessagesAreBounded(t *testing.T) {
	m, out := seeking(t)
	next := authority.Version{Epoch: 5, Number: 1}
	early := grantor.Info{Number: 1, Grantor: grantor.Place{ID: 1, Since: 1}, Version: next}
	for range 1024 {
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: early}, out)
	}
	if len(out.Notes) != 0 {
		t.Fatalf("at the bound: notes %v", out.Notes)
	}
	m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: early}, out)
	if len(out.Notes) != 1 || !strings.HasPrefix(out.Notes[0].String(), "ignored info") {
		t.Errorf("one past the bound: notes %v", out.Notes)
	}
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: view(2, 5)}, out)
	follows(t, out, next)
}

// TestRefusalNamesNoElder checks that a member that is refused by one that names such a reign asks the elder.
func TestRefusalNamesNoElder(t *testing.T) {
	m, out := seeking(t)
	elder, version := grantor.Place{ID: 1, Since: 1}, authority.Version{Epoch: 4, Number: 1}
	m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: grantor.Info{Number: 1, Grantor: elder, Version: version}}, out)
	follows(t, out, version)
	out.Reset()
	m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: grantor.NotGrantor{Version: version, Grantor: elder, Known: bogus}}, out)
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0].String(), "no such epoch is known here") {
		t.Errorf("notes %v", out.Notes)
	}
	out.Reset()
	m.Step(m.Wake(), protocol.Event{Kind: protocol.Tick}, out)
	question, is := grantor.Question{}, false
	for _, sent := range out.Sends {
		question, is = sent.Message.(grantor.Question)
	}
	if !is {
		t.Fatalf("sent %v, and no question", out.Sends)
	}
	out.Reset()
	version.Number = 2
	m.Step(time.Second, protocol.Event{Kind: protocol.Receive, From: 1, Fact: grantor.Info{Number: question.Number, Grantor: elder, Version: version}}, out)
	follows(t, out, version)
}

// TestInquiryAnswerOfNoReign checks that an elder that hears of such a reign recovers, and grants itself.
func TestInquiryAnswerOfNoReign(t *testing.T) {
	for _, test := range []struct {
		name  string
		wrong grantor.InquiryAnswer
	}{
		{"grants", grantor.InquiryAnswer{Grants: true, Version: bogus, Reign: 4}},
		{"has heard", grantor.InquiryAnswer{Version: bogus}},
		{"has counted", grantor.InquiryAnswer{Grants: true, Version: authority.Version{Epoch: 3, Number: 1}, Reign: 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, out := member(t, 1, 2)
			want(m, 1, out)
			out.Reset()
			test.wrong.Since, test.wrong.Epoch = 1, protocol.Epoch{Counter: 4, Candidate: 1}
			m.Step(0, protocol.Event{Kind: protocol.Receive, From: 2, Fact: test.wrong}, out)
			if len(out.Sends) != 1 {
				t.Fatalf("sent %v, want a request for a report", out.Sends)
			}
			request, is := out.Sends[0].Message.(authority.InfoRequest)
			if !is || request.Version != (authority.Version{Epoch: 4, Number: 1}) {
				t.Errorf("sent %v, want a request for a report under 4.1", out.Sends)
			}
		})
	}
}

// TestClearOfNoReign checks that impossible tokens are not continued.
func TestClearOfNoReign(t *testing.T) {
	for _, wrong := range []grantor.Question{{Reign: 5}, {Reign: 4, Count: lock.MaxCount + 1}} {
		m, out := member(t, 1, 1)
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 2, Fact: grantor.Question{Number: 1, Kind: grantor.Get}}, out)
		wrong.Number, wrong.Kind, wrong.Version = 2, grantor.Clear, authority.Version{Epoch: 4, Number: 1}
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 2, Fact: wrong}, out)
		out.Reset()
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 2, Fact: grantor.Question{Number: 3, Kind: grantor.Get}}, out)
		if len(out.Raises) != 1 || len(out.Sends) != 0 {
			t.Errorf("after %v: raised %v, sent %v, want another epoch to count in", wrong, out.Raises, out.Sends)
		}
	}
}

// follows checks that the waiting request has been sent to member 1, under that version.
func follows(t *testing.T, out *protocol.Effects, version authority.Version) {
	t.Helper()
	for _, sent := range out.Sends {
		if acquire, is := sent.Message.(authority.Acquire); is && sent.To == 1 && acquire.Version == version && acquire.Entry.Name == "X" {
			return
		}
	}
	t.Errorf("sent %v, want the request under %v", out.Sends, version)
}

// seeking returns member 2 of two, which has asked the elder for a grantor.
func seeking(t *testing.T) (protocol.Machine, *protocol.Effects) {
	t.Helper()
	m, out := member(t, 2, 1)
	want(m, 2, out)
	out.Reset()
	return m, out
}

// want asks a member for a lock.
func want(m protocol.Machine, self uint64, out *protocol.Effects) {
	request := &lock.Request{Session: lock.SessionID{Member: self, Number: 1}, ID: 1, Name: "X", WaitEnd: lock.Never}
	m.Step(0, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: request}, out)
}

// member returns one of two members in a view with that number, in which member 1 is the elder.
func member(t *testing.T, self protocol.ID, number uint64) (protocol.Machine, *protocol.Effects) {
	t.Helper()
	m := protocoltest.NewMachine(t, grantor.Descriptor(), nil, protocol.Setup{Self: self})
	out := &protocol.Effects{}
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: view(number, 4)}, out)
	out.Reset()
	return m, out
}

// view is a view of two members, of which the first coordinates.
func view(number, epoch uint64) *protocol.View {
	return &protocol.View{
		Number: number, Epoch: protocol.Epoch{Counter: epoch, Candidate: 1}, Coordinator: 1, Installed: true, Open: true,
		Members: []protocol.Member{{ID: 1, Name: "a", Since: 1}, {ID: 2, Name: "b", Since: 1}},
		Lease:   &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
}
