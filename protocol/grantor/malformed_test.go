package grantor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/authority"
	"github.com/holdfast-locks/holdfast/authority/stage"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
)

// TestAnswersOfNoElderAreIgnored: a reign that cannot be begins nowhere, and ends nothing.
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
			m, out := asking(t)
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

// TestNewNamesTheWrongField: in the words of whoever has given it.
func TestNewNamesTheWrongField(t *testing.T) {
	for _, test := range []struct {
		config grantor.Config
		says   string
	}{
		{grantor.Config{}, "grantor: Self is 0; "},
		{grantor.Config{Config: authority.Config{Self: 1, Chunk: -1}}, "grantor: Chunk is -1; "},
		{grantor.Config{Config: authority.Config{Self: 1}, Parked: -1}, "grantor: Parked is -1; "},
		{grantor.Config{Config: authority.Config{Self: 1}, Placement: time.Second - 1}, "grantor: Placement is 999.999999ms; 1s to 1h0m0s is allowed"},
		{grantor.Config{Config: authority.Config{Self: 1}, Placement: -time.Second}, "grantor: Placement is -1s; "},
		{grantor.Config{Config: authority.Config{Self: 1}, HoldOn: time.Hour + 1}, "grantor: HoldOn is 1h0m0.000000001s; 1s to 1h0m0s is allowed"},
	} {
		if _, err := grantor.New(test.config); err == nil || !strings.HasPrefix(err.Error(), test.says) {
			t.Errorf("New(%+v) = %v, want %q", test.config, err, test.says)
		}
	}
}

// asking returns member 2 of two, which has asked the elder for a grantor.
func asking(t *testing.T) (protocol.Machine, *protocol.Effects) {
	t.Helper()
	m, err := newMember(stage.Options{Self: 2})
	if err != nil {
		t.Fatal(err)
	}
	view := &protocol.View{
		Number: 1, Epoch: protocol.Epoch{Counter: 4, Candidate: 1}, Coordinator: 1, Installed: true, Open: true,
		Members: []protocol.Member{{ID: 1, Name: "a", Since: 1}, {ID: 2, Name: "b", Since: 1}},
		Lease:   &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
	out := &protocol.Effects{}
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: view}, out)
	request := &lock.Request{Session: lock.SessionID{Member: 2, Number: 1}, ID: 1, Name: "X", WaitEnd: lock.Never}
	m.Step(0, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: request}, out)
	out.Reset()
	return m, out
}
