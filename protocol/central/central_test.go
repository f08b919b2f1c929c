package central_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestConversations plays each conversation in testdata. Package protocoltest lists the commands.
func TestConversations(t *testing.T) { protocoltest.Play(t, central.Descriptor()) }

// TestStrangersAreIgnored checks that a message of a member outside every view is noted, and ignored.
func TestStrangersAreIgnored(t *testing.T) {
	m := protocoltest.NewMachine(t, central.Descriptor(), nil, protocol.Setup{Self: 1})
	var out protocol.Effects
	lease := protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: &protocol.View{
		Number: 1, Coordinator: 1, Epoch: protocol.Epoch{Counter: 4}, Lease: &lease, Installed: true, Members: []protocol.Member{{ID: 1, Name: "a"}},
	}}, &out)
	out.Reset()
	m.Step(0, protocol.Event{Kind: protocol.Receive, From: 2, Fact: authority.EndSession{Why: holdfast.MemberLost}}, &out)
	const want = "ignored void end session 0-0 w0 · e0 t0.0 from member 2"
	if len(out.Notes) != 1 || fmt.Sprint(out.Notes[0]) != want || len(out.Sends)+len(out.Raises)+len(out.Replies) > 0 {
		t.Errorf("%v, want the note %q alone", out, want)
	}
}

func TestNewNamesTheWrongField(t *testing.T) {
	for _, test := range []struct {
		config central.Config
		says   string
	}{
		{central.Config{}, "central: Self is 0; "},
		{central.Config{Self: 1, Table: lock.Config{Drift: -1}}, "central: lock table: Drift "},
		{central.Config{Self: 1, Patience: -1}, "central: Patience is -1ns; "},
		{central.Config{Self: 1, Tuning: authority.Tuning{Chunk: 1025}}, "central: Chunk is 1025; 1 to 1024 is allowed"},
		{central.Config{Self: 1, Operators: -1}, "central: Operators is -1; "},
	} {
		if _, err := central.New(test.config); err == nil || !strings.HasPrefix(err.Error(), test.says) {
			t.Errorf("New(%+v) = %v, want %q", test.config, err, test.says)
		}
	}
}
