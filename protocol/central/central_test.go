package central_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// self is the member in every conversation; its clients are s1, s2, ….
const self protocol.ID = 1

// TestConversations plays each testdata/alone/*.txt: what is said to the machine, and
// what it says. A time is a duration since the member's start; "at 3s" moves it.
//
//	view epoch=4 [count=N] [from=3s]        the lower machine raises a view
//	lock s1 #1 NAME [shared] [slots=2/5] [owner=X] [try] [wait=3s] [hold=3s]
//	unlock s1 #1 NAME [token=N]   cancel s1 #1 NAME   extend s1 #1 NAME token=N hold=3s
//	end s1 [WHY]   break NAME [token=N]   at 3s   lease 3s
//	show NAME   inspect   message
func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata/alone", func(t *testing.T, path string) {
		c := newConversation(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var said strings.Builder
			for _, line := range protocoltest.Lines(d) {
				c.say(t, line, &said)
			}
			return said.String()
		})
	})
}

type conversation struct {
	machine *central.Machine
	now     protocol.Time
	lease   protocol.Lease
	views   uint64
	calls   uint64
	out     protocol.Effects
}

func newConversation(t *testing.T) *conversation {
	t.Helper()
	m, err := central.New(central.Config{Self: self})
	if err != nil {
		t.Fatal(err)
	}
	return &conversation{machine: m, lease: protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}}
}

// say feeds one line and writes what came of it.
func (c *conversation) say(t *testing.T, line string, said *strings.Builder) {
	t.Helper()
	fields := strings.Fields(line)
	args := fields[1:]
	switch fields[0] {
	case "at":
		c.advance(t, protocoltest.Duration(t, args[0]))
	case "lease":
		c.lease.Role = protocoltest.Duration(t, args[0])
	case "view":
		c.raise(t, args)
	case "message":
		c.step(protocol.Event{Kind: protocol.Receive, From: 2, Fact: authority.EndSession{Why: holdfast.MemberLost}})
	default:
		c.calls++
		c.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: c.calls}, Fact: protocoltest.CallOf(t, self, fields[0], args, c.now)})
	}
	c.write(said)
}

// advance moves the clock, stopping at each time at which the machine wants to be woken.
func (c *conversation) advance(t *testing.T, to protocol.Time) {
	t.Helper()
	for wake := c.machine.Wake(); wake <= to; wake = c.machine.Wake() {
		c.now = max(c.now, wake)
		c.step(protocol.Event{Kind: protocol.Tick})
		if c.machine.Wake() == wake {
			t.Fatalf("the machine still wants to be woken at %v, which it was", wake)
		}
	}
	c.now = to
}

func (c *conversation) raise(t *testing.T, args []string) {
	t.Helper()
	c.views++
	view := &protocol.View{Number: c.views, Coordinator: self, Lease: &c.lease, Installed: true, Members: []protocol.Member{{ID: self, Name: "a"}}}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "epoch":
			view.Epoch.Counter = protocoltest.Number(t, value)
		case "count":
			view.Count = uint32(protocoltest.Number(t, value))
		case "from":
			view.GrantFrom = protocoltest.Duration(t, value)
		default:
			t.Fatalf("view: unknown word %q", arg)
		}
	}
	c.step(protocol.Event{Kind: protocol.Raised, Fact: view})
}

func (c *conversation) step(ev protocol.Event) { c.machine.Step(c.now, ev, &c.out) }

// write renders the effects: "call" is the immediate answer, "s1" what is told to
// the session unasked.
func (c *conversation) write(said *strings.Builder) {
	for _, note := range c.out.Notes {
		fmt.Fprintf(said, "note %v\n", note)
	}
	for _, send := range c.out.Sends {
		fmt.Fprintf(said, "send %d %v\n", send.To, send.Message)
	}
	for _, fact := range c.out.Raises {
		if _, every := fact.(*protocol.Confirmed); !every {
			fmt.Fprintf(said, "raise %+v\n", fact)
		}
	}
	for _, reply := range c.out.Replies {
		if reply.Decision.Kind != 0 {
			fmt.Fprintf(said, "%s\n", protocoltest.Decision(reply))
			continue
		}
		fmt.Fprintf(said, "%s\n", protocoltest.Result(reply.Result))
	}
	c.out.Reset()
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
