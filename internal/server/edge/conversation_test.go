package edge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestConversations plays each testdata/*.txt against the two halves of a stream's edge, of a member with the spaces default, at
// port 1, and loose, at port 2, which offers the class available.
// A value has at most 20 bytes.
//
//	stream [as=NAME] [events=3] [bytes=900] [most=900 share=300]   a stream begins, of a caller with that name, with these bounds
//	greet s1                      it says hello, and is welcomed with a new session
//	at 3s                         time passes
//	say OPERATION / OPERATION …   a frame arrives. An operation is one of
//	  hello [id=1] [ttl=5s] [client=c] [number=7] [gen=1] [resume=s1] [secret=wrong] [open=1,2] [last=5]
//	  acquire #1 NAME [space=S] [try] [wait=1s] [hold=3s] [mode=9] [require=3]   extend #1 NAME [token=4:1] 5s
//	  amend #1 NAME [space=S] [token=4:1] revision=2 [value=v]
//	  release #1 NAME [space=S] [token=4:1] [lazy]   cancel #1 NAME   beat #1 [5s]   end [#1]   none
//	beats 5000                    a frame of so many heartbeats
//	allow 2 1                     the next frame may have 2 operations that ask for something, and 1 that keeps or gives back
//	overload                      the member refuses new work in the next frame
//	admitted [over]   checked [takes] [unknown|taken|foreign|away]   occupied [gone]
//	opened s1 ttl=9s [gen=1] [cut] [away]   resumed ttl=9s [gen=2] [lost=1,2] [cut] [unknown|taken|away]
//	granted #1 token=4:1 [hold=3s]   queued #1 0|unheard   refused #1 NAME [revision=2]   released #1   amended #1 revision=2   lost #1 WHY   revoked #1 WHY,
//	  each with [of=release|cancel|extend|amend|another]
//	beaten #1 9s [cut] [lost=1] [unknown|taken|away]   ended #1   expired [WHY]   dismissed   superseded   takenover
//	moved ADDRESS                 clients are to go there
//	stall   flow                  the client does not read; it reads again
//	closed   broken               the client has closed its direction; its connection is lost
func TestConversations(t *testing.T) {
	golden.Play(t, func(*testing.T) func(*golden.Line) string { return (&conversation{}).play })
}

type conversation struct {
	config    *edge.Config
	machine   edge.Machine
	box       edge.Outbox
	caller    edge.Caller
	now       protocol.Time
	out       edge.Effects
	allowance *edge.Allowance
	overload  error
	stalled   bool
	over      bool
	rest      []*schema.Operation // behind the hello
	text      strings.Builder
}

var (
	errTest = errors.New("refused by the test")
	wrongs  = map[string]error{"unknown": session.ErrUnknown, "taken": session.ErrTakenOver, "foreign": session.ErrForeign, "away": holdfast.ErrUnavailable}
)

func (c *conversation) tell(format string, args ...any) { fmt.Fprintf(&c.text, format+"\n", args...) }

func (c *conversation) play(l *golden.Line) string {
	l.Helper()
	c.text.Reset()
	switch l.Verb {
	case "stream":
		c.begin(l)
	case "greet":
		id := l.Next()
		for _, line := range []string{"say hello number=7", "admitted", "opened " + id + " ttl=9s gen=1", "occupied"} {
			c.text.Reset()
			c.event(golden.Read(l, line))
		}
	case "at":
		c.now = l.Time()
	case "allow":
		c.allowance = &edge.Allowance{Requests: int(l.Count()), Returns: int(l.Count()), Refusal: &holdfast.LimitError{Limit: "requests_per_second", Value: 10}}
	case "overload":
		c.overload = &holdfast.LimitError{Limit: "overload", Value: 1000}
	case "stall", "flow":
		c.stalled = l.Verb == "stall"
	default:
		c.event(l)
	}
	c.send()
	return c.text.String()
}

// begin begins a stream.
func (c *conversation) begin(l *golden.Line) {
	l.Helper()
	number := func(key string, without int) int {
		if n := int(l.Number(key)); n > 0 {
			return n
		}
		return without
	}
	spaces := []edge.Space{{Name: "default", Port: 1, Class: holdfast.Fenced, Grace: true}, {Name: "loose", Port: 2, Class: holdfast.Available}}
	c.config = &edge.Config{
		Space: func(name string) (*edge.Space, error) {
			for i := range spaces {
				if spaces[i].Name == name || name == "" {
					return &spaces[i], nil
				}
			}
			return nil, fmt.Errorf("%w %q", holdfast.ErrSpace, name)
		},
		SpaceAt: func(port protocol.Port) *edge.Space {
			if port == protocol.Below {
				return nil
			}
			return &spaces[port-1]
		},
		CheckName: holdfast.CheckName, CheckValue: checkValue,
		Identity: func() (member, cluster string) { return "a", "c" },
		Explain:  func(err error) error { return err },
		Durable:  []string{"default"},
		Events:   number("events", 1000), Bytes: number("bytes", 1<<20),
		All: &edge.Together{Most: int64(number("most", 1<<20)), Share: number("share", 1<<20)},
	}
	name := l.Value("as")
	*c = conversation{config: c.config, now: c.now, machine: edge.New(c.config), box: edge.NewOutbox(c.config), caller: edge.Caller{Name: name, Identity: name}}
}

// checkValue bounds values to 20 bytes, so that a script can have one that is too long.
func checkValue(value string) error {
	if len(value) > 20 {
		return &holdfast.LimitError{Limit: "value_bytes", Value: 20}
	}
	return nil
}

// event plays a line that is an input of one half.
func (c *conversation) event(l *golden.Line) {
	l.Helper()
	wrong := error(nil)
	for word, err := range wrongs {
		if l.Flag(word) {
			wrong = err
		}
	}
	ev := edge.Event{Overload: c.overload}
	switch l.Verb {
	case "say":
		c.frame(operations(l))
		return
	case "beats":
		all := make([]*schema.Operation, l.Count())
		for i := range all {
			all[i] = &schema.Operation{Id: uint64(i + 1), Kind: &schema.Operation_Beat{Beat: &schema.Beat{}}}
		}
		c.frame(all)
		return
	case "admitted":
		ev.Answer = &edge.Admission{Sink: 3, Roster: &edge.Roster{Authority: "a:1", Members: []string{"a:1", "b:1"}}}
		if l.Flag("over") {
			ev.Err = errTest
		}
	case "checked":
		ev.Answer = &session.Renewed{Takes: l.Flag("takes"), Err: wrong}
	case "occupied":
		if l.Flag("gone") {
			ev.Err = errTest
		}
	case "opened":
		ev.Answer = c.answer(&session.Opened{ID: sessionOf(l.Next()), Secret: session.Secret{1}, TTL: l.Duration("ttl"), Cut: cutOf(l), Generation: l.Number("gen"), Longer: l.Flag("longer"), Err: wrong})
	case "resumed":
		ev.Answer = c.answer(&session.Renewed{TTL: l.Duration("ttl"), Cut: cutOf(l), Generation: l.Number("gen"), Lost: lostOf(l), Err: wrong})
	default:
		c.outbound(l, wrong)
		return
	}
	c.step(&ev)
}

// answer lets the outbox hear the answer to the hello.
func (c *conversation) answer(result any) any {
	return c.box.Hear([]protocol.Reply{{To: protocol.CallID{Sink: 3, Op: edge.HelloCall}, Result: result}})
}

// frame takes a frame, step by step.
func (c *conversation) frame(operations []*schema.Operation) {
	ev := edge.Event{Operations: operations, Allowance: c.allowance, Overload: c.overload, Caller: c.caller}
	for len(ev.Operations) > 0 && !c.over {
		taken, over := c.step(&ev)
		ev.Operations, ev.Before = ev.Operations[taken:], ev.Before+taken
		if c.out.Do.Kind != edge.Nothing {
			c.rest = ev.Operations
			return
		}
		if len(ev.Operations) > 0 && !over {
			c.tell("then")
		}
		if over {
			return
		}
	}
	c.allowance, c.overload = nil, nil
}

// step takes an event of the inbound half, and tells what comes of it.
func (c *conversation) step(ev *edge.Event) (taken int, over bool) {
	c.out.Reset()
	c.machine.Step(c.now, ev, &c.out)
	c.box.Apply(&c.out)
	c.effect(&c.out.Do)
	if n := len(c.out.Calls); n > 8 {
		c.tell("call %d times", n)
	} else {
		for i := range c.out.Calls {
			c.call(&c.out.Calls[i])
		}
	}
	if c.out.Over {
		c.tell("takes no more")
	}
	if c.out.Do.Kind == edge.Welcome && len(c.rest) > 0 {
		c.frame(c.rest)
	}
	return c.out.Taken, c.out.Over
}
