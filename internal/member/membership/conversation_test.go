package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestConversations plays each testdata/*.txt: what happens to members a, b, c, … and
// what they say to one another. Every message takes 1 ms, every write 1 ms, and all
// clocks run alike. A round of polls that says nothing new is not shown.
//
//	members 3 [guests=1] [any] [preempt] [forgetful] [space=DEFINITION of the last]
//	start [a b…]   crash a…   lose a   pause a 3s   isolate a [b…]   heal
//	run 2s         show a     leave a [empty]        want a 8s [clients]
//	hint a b [alive]          lost KIND…             disk a fail|hang|ok
//	unheard a [b…]            what a space at a does not hear
//	close a 1   open a 1      a space's instance at a is closed, or opened again
func TestConversations(t *testing.T) {
	golden.Play(t, func(t *testing.T) func(*golden.Line) string {
		c := &conversation{t: t}
		return func(l *golden.Line) string {
			c.said.Reset()
			c.play(l)
			if c.found != "" {
				t.Fatal(c.found)
			}
			return c.said.String()
		}
	})
}

type conversation struct {
	*net
	t    *testing.T
	said strings.Builder
	lost []string
	full []string // names of members whose disk is full
	hung []string // names of members whose disk does not answer
	seen map[string]string
}

func (c *conversation) play(l *golden.Line) {
	l.Helper()
	switch l.Verb {
	case "members":
		c.make(l)
		return
	case "start":
		c.start(l.Words()...)
		return
	case "crash":
		for _, name := range l.Words() {
			c.site(name).crash()
		}
		return
	case "heal":
		c.heal()
		return
	case "run":
		c.run(l.Time())
		return
	case "lost":
		c.lost = l.Words()
		return
	}
	switch name := l.Next(); l.Verb {
	case "lose":
		c.site(name).lose()
	case "pause":
		c.site(name).pause(l.Time())
	case "isolate":
		c.isolate(name, time.Hour, l.Words()...)
	case "show":
		c.print(name)
	case "leave":
		c.site(name).live.call(&Leave{Empty: l.Flag("empty")})
	case "want":
		c.site(name).live.want(l.Time(), l.Flag("clients"))
	case "hint":
		c.site(name).hint(l.Next()+":1", l.Flag("alive"))
	case "unheard":
		c.unheard(name, l.Words())
	case "close", "open":
		c.site(name).live.step(protocol.Event{
			Kind: protocol.Raised, Port: protocol.Port(l.Count()), Fact: &protocol.SpaceState{Closed: l.Verb == "close"},
		})
	case "disk":
		named := func(other string) bool { return name == other }
		c.full, c.hung = slices.DeleteFunc(c.full, named), slices.DeleteFunc(c.hung, named)
		switch l.Next() {
		case "fail":
			c.full = append(c.full, name)
		case "hang":
			c.hung = append(c.hung, name)
		case "ok":
		default:
			l.Wrong("a disk is ok, or it fails or hangs")
		}
	default:
		l.Unknown()
	}
}

func (c *conversation) make(l *golden.Line) {
	l.Helper()
	founders, guests := int(l.Count()), int(l.Number("guests"))
	anyone, preempt, forgetful, space := l.Flag("any"), l.Flag("preempt"), l.Flag("forgetful"), l.Value("space")
	last := string(rune('a' + founders + guests - 1))
	tune := func(config *Config) {
		config.Available, config.Preempt = config.Available || anyone, config.Preempt || preempt
		config.Kept = config.Kept && !forgetful
		if space != "" {
			config.Definitions = []string{"default=central"}
			if config.Name == last {
				config.Definitions = []string{space}
			}
		}
	}
	c.net = newNet(c.t, 1, founders, guests, tune)
	c.delay = func() time.Duration { return time.Millisecond }
	c.lag = c.delay
	c.filter = c.hear
	c.faulty = func(s *site) bool { return slices.Contains(c.full, s.name) }
	c.hangs = func(s *site) bool { return slices.Contains(c.hung, s.name) }
	c.raised = c.raise
	c.noted = c.note
	c.seen, c.full, c.hung = map[string]string{}, nil, nil
	for _, s := range c.sites {
		s.rate = 1
	}
}

func (c *conversation) logf(format string, args ...any) {
	fmt.Fprintf(&c.said, "%8.3f %s\n", c.now.Seconds(), fmt.Sprintf(format, args...))
}

// hear writes down a message, its sender and its receiver, where it is news.
func (c *conversation) hear(from, to *site, msg any) bool {
	lost := slices.Contains(c.lost, strings.TrimPrefix(fmt.Sprintf("%T", msg), "membership."))
	switch m := msg.(type) {
	case report, known:
		return true
	case Poll:
		news := m
		news.Seq, news.Echo, news.Role = 0, 0, 0
		if c.stale(from, to, "poll", news) {
			return !lost
		}
	case PollAnswer:
		news := m
		news.Seq, news.At = 0, 0
		if c.stale(from, to, "answer", news) {
			return !lost
		}
	}
	arrow := "->"
	if lost {
		arrow = "-x"
	}
	c.logf("%s %s %s  %v", from.name, arrow, to.name, msg)
	return !lost
}

func (c *conversation) stale(from, to *site, kind string, news fmt.Stringer) bool {
	key := from.name + to.name + kind
	if c.seen[key] == news.String() {
		return true
	}
	c.seen[key] = news.String()
	return false
}

// raise writes down what a member tells the machines above.
func (c *conversation) raise(p *process, fact any) {
	switch fact := fact.(type) {
	case *protocol.View:
		source := p.cell.Accepted
		if p.reign != nil {
			source = p.reign.view
		}
		text := source.String()
		if p.reign != nil && fact.GrantFrom > p.local() {
			text += fmt.Sprintf(" grants from %v", fact.GrantFrom)
		}
		for _, d := range fact.Dropped {
			text += fmt.Sprintf(" dropped %d:%d free at %v", d.Tenure.Incarnation, d.Tenure.Lapses, d.Free)
		}
		if fact.Merged {
			text += " merged"
		}
		c.logf("%s        view %s", p.site.name, text)
	case *protocol.Lapsed:
		c.logf("%s        lapsed, next %d:%d", p.site.name, fact.Tenure.Incarnation, fact.Tenure.Lapses)
	case *protocol.Halted:
		c.logf("%s        halted @%d", p.site.name, fact.Promised)
	case *protocol.Horizon:
		c.logf("%s        horizon %v clients=%v", p.site.name, fact.Confirmed, fact.Clients)
	case *Unfit:
		c.logf("%s        unfit: %v", p.site.name, fact.Err)
	}
}

// note writes down what a member notes about its cell.
func (c *conversation) note(p *process, note protocol.Note) {
	switch note := note.(type) {
	case Unsaved:
		if note.First {
			c.logf("%s        notes: %v", p.site.name, note)
		}
	case Stale, Resaved, Abdicated:
		c.logf("%s        notes: %v", p.site.name, note)
	}
}

// unheard has a space at a member say which members it does not hear.
func (c *conversation) unheard(name string, others []string) {
	fact := &protocol.Unheard{}
	for _, other := range others {
		fact.IDs = append(fact.IDs, c.site(other).live.self)
	}
	c.site(name).live.step(protocol.Event{Kind: protocol.Raised, Port: 1, Fact: fact})
}

// print writes what a member tells people.
func (c *conversation) print(name string) {
	p := c.site(name).live
	if p == nil {
		c.logf("%s        is down", name)
		return
	}
	s := p.call(&Who{}).(*Self)
	text := fmt.Sprintf("%v %v", s.State, s.Election.Status)
	if s.Why != "" {
		text += ": " + s.Why
	}
	if s.Until != protocol.Never {
		text += fmt.Sprintf(" until %v", s.Until)
	}
	for _, member := range s.Members {
		text += fmt.Sprintf("; %s %v", member.Name, member.State)
		if member.ID == s.Election.Coordinator {
			text += " coordinates"
		}
		if len(member.Closed) > 0 {
			text += fmt.Sprintf(" closed %v", member.Closed)
		}
	}
	c.logf("%s        is %s", name, text)
}
