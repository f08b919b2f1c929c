package central_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/authority"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
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
			for line := range strings.Lines(d.Cmd + " " + argsOf(d) + "\n" + d.Input) {
				if line = strings.TrimSpace(line); line != "" && line != "say" {
					c.say(t, line, &said)
				}
			}
			return said.String()
		})
	})
}

// argsOf rebuilds the words after the command as they were written.
func argsOf(d *datadriven.TestData) string {
	var words []string
	for _, arg := range d.CmdArgs {
		word := arg.Key
		if len(arg.Vals) > 0 {
			word += "=" + strings.Join(arg.Vals, ",")
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
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
	words := strings.Fields(line)
	args := words[1:]
	switch words[0] {
	case "at":
		c.advance(t, duration(t, args[0]))
	case "lease":
		c.lease.Role = duration(t, args[0])
	case "view":
		c.raise(t, args)
	case "message":
		c.step(protocol.Event{Kind: protocol.Receive, From: 2, Fact: authority.EndSession{Why: holdfast.MemberLost}})
	default:
		c.calls++
		c.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: c.calls}, Fact: callOf(t, words[0], args, c.now)})
	}
	c.write(said)
}

// advance moves the clock, stopping wherever the machine wants to be woken.
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
			view.Epoch.Counter = number(t, value)
		case "count":
			view.Count = uint32(number(t, value))
		case "from":
			view.GrantFrom = duration(t, value)
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
			fmt.Fprintf(said, "%s\n", decision(reply))
			continue
		}
		fmt.Fprintf(said, "%s\n", result(reply.Result))
	}
	c.out.Reset()
}

func decision(reply protocol.Reply) string {
	d := reply.Decision
	var b strings.Builder
	to := "call"
	if reply.To.Sink == 0 {
		to = "told"
	}
	fmt.Fprintf(&b, "%s s%d #%d %v %s", to, d.Session.Number, d.Request, d.Kind, d.Name)
	if d.Token != 0 {
		fmt.Fprintf(&b, " token=%d:%d", d.Token>>32, d.Token&(1<<32-1))
	}
	if d.Hold != 0 {
		fmt.Fprintf(&b, " hold=%v", d.Hold)
	}
	if d.Kind == lock.Queued {
		fmt.Fprintf(&b, " position=%d", d.Position)
	}
	if d.Loss != "" {
		fmt.Fprintf(&b, " why=%s", string(d.Loss))
	}
	if d.Err != nil {
		fmt.Fprintf(&b, " (%v)", d.Err)
	}
	return b.String()
}

func result(r any) string {
	switch r := r.(type) {
	case *protocol.Broken:
		return fmt.Sprintf("broken %d (%v)", len(r.Grants), r.Err)
	case *protocol.Requests:
		text := "has"
		for _, request := range r.List {
			text += fmt.Sprintf(" #%d %s", request.ID, request.Name)
		}
		return text
	case *protocol.Condition:
		return fmt.Sprintf("%v until=%v reign=%d locks=%d waiters=%d sessions=%d %s", r.State, r.Until, r.Reign, r.Locks, r.Waiters, r.Sessions, r.Why)
	case *lock.Lock:
		var b strings.Builder
		fmt.Fprintf(&b, "%s %v", r.Name, r.Mode)
		for _, h := range r.Holders {
			fmt.Fprintf(&b, " holder=s%d", h.Session.Number)
			if h.Revoked {
				b.WriteString("(revoked)")
			}
		}
		for _, w := range r.Waiters {
			fmt.Fprintf(&b, " waiter=s%d#%d", w.Session.Number, w.Request)
		}
		return b.String()
	}
	return fmt.Sprintf("%T", r)
}

// callOf reads a wish of a client or an operator.
func callOf(t *testing.T, word string, args []string, now protocol.Time) any {
	t.Helper()
	switch word {
	case "show":
		return &protocol.Show{Name: args[0]}
	case "inspect":
		return &protocol.Inspect{}
	case "break":
		b := &protocol.Break{Name: args[0], Reason: "test"}
		if len(args) > 1 {
			b.Token = token(t, args[1])
		}
		return b
	case "end":
		end := &protocol.EndSession{Session: sessionOf(t, args[0])}
		if len(args) > 1 {
			end.Why = holdfast.Loss(args[1])
		}
		return end
	}
	if word == "list" {
		return &protocol.ListRequests{Session: sessionOf(t, args[0])}
	}
	s, request, name := sessionOf(t, args[0]), number(t, strings.TrimPrefix(args[1], "#")), args[2]
	switch word {
	case "lock":
		return requestOf(t, &lock.Request{Session: s, ID: request, Name: name, Arrived: now, WaitEnd: lock.Never}, args[3:])
	case "cancel":
		return &protocol.Cancel{Session: s, Request: request, Name: name}
	case "unlock":
		r := &protocol.Release{Session: s, Request: request, Name: name}
		if len(args) > 3 {
			r.Token = token(t, args[3])
		}
		return r
	case "extend":
		_, hold, _ := strings.Cut(args[4], "=")
		return &protocol.Extend{Session: s, Request: request, Name: name, Token: token(t, args[3]), Hold: duration(t, hold)}
	}
	t.Fatalf("unknown word %q", word)
	return nil
}

func requestOf(t *testing.T, r *lock.Request, args []string) *lock.Request {
	t.Helper()
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "shared":
			r.Mode = holdfast.ModeShared
		case "slots":
			r.Mode = holdfast.ModeSlots
			if _, err := fmt.Sscanf(value, "%d/%d", &r.Units, &r.Capacity); err != nil {
				t.Fatalf("%s: %v", arg, err)
			}
		case "owner":
			r.Owner = value
		case "try":
			r.Try = true
			r.WaitEnd = r.Arrived
		case "wait":
			r.WaitEnd = r.Arrived + duration(t, value)
		case "hold":
			r.Hold = duration(t, value)
		default:
			t.Fatalf("lock: unknown word %q", arg)
		}
	}
	return r
}

func sessionOf(t *testing.T, word string) lock.SessionID {
	t.Helper()
	return lock.SessionID{Member: uint64(self), Number: number(t, strings.TrimPrefix(word, "s"))}
}

// token reads token=REIGN:COUNT.
func token(t *testing.T, word string) holdfast.Token {
	t.Helper()
	var reign uint64
	var count uint32
	if _, err := fmt.Sscanf(word, "token=%d:%d", &reign, &count); err != nil {
		t.Fatalf("%s: %v", word, err)
	}
	return lock.Token(reign, count)
}

func duration(t *testing.T, word string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(word)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, word string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNewNamesTheWrongField(t *testing.T) {
	if _, err := central.New(central.Config{}); err == nil || !strings.Contains(err.Error(), "Self") {
		t.Errorf("New without Self: %v", err)
	}
	if _, err := central.New(central.Config{Self: 1, Table: lock.Config{Drift: -1}}); err == nil || !strings.Contains(err.Error(), "Drift") {
		t.Errorf("New with a negative drift: %v", err)
	}
}
