package membership

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

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
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return // cells, and inputs that the fuzz targets have found
		}
		c := &conversation{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c.said.Reset()
			for line := range strings.Lines(d.Input) {
				if fields := strings.Fields(line); len(fields) > 0 {
					c.say(fields)
				}
			}
			return c.said.String()
		})
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

func (c *conversation) say(fields []string) {
	c.t.Helper()
	switch args := fields[1:]; fields[0] {
	case "members":
		c.make(args)
	case "start":
		c.start(args...)
	case "crash":
		for _, name := range args {
			c.site(name).crash()
		}
	case "lose":
		c.site(args[0]).lose()
	case "pause":
		c.site(args[0]).pause(c.duration(args[1]))
	case "isolate":
		c.isolate(args[0], time.Hour, args[1:]...)
	case "heal":
		c.heal()
	case "run":
		c.run(c.duration(args[0]))
	case "show":
		c.print(args[0])
	case "leave":
		c.site(args[0]).live.call(&Leave{Empty: slices.Contains(args, "empty")})
	case "want":
		c.site(args[0]).live.want(c.duration(args[1]), len(args) > 2)
	case "hint":
		c.site(args[0]).hint(args[1]+":1", len(args) > 2)
	case "unheard":
		c.unheard(args[0], args[1:])
	case "close", "open":
		c.site(args[0]).live.step(protocol.Event{
			Kind: protocol.Raised, Port: protocol.Port(c.number(args[1])), Fact: &protocol.SpaceState{Closed: fields[0] == "close"},
		})
	case "lost":
		c.lost = args
	case "disk":
		named := func(name string) bool { return name == args[0] }
		c.full, c.hung = slices.DeleteFunc(c.full, named), slices.DeleteFunc(c.hung, named)
		switch args[1] {
		case "fail":
			c.full = append(c.full, args[0])
		case "hang":
			c.hung = append(c.hung, args[0])
		}
	default:
		c.t.Fatalf("unknown word %q", fields[0])
	}
	if c.found != "" {
		c.t.Fatal(c.found)
	}
}

func (c *conversation) make(args []string) {
	founders, guests := 0, 0
	tune := func(*Config) {}
	also := func(change func(*Config)) {
		before := tune
		tune = func(config *Config) { before(config); change(config) }
	}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "guests":
			guests = c.number(value)
		case "any":
			also(func(config *Config) { config.Available = true })
		case "preempt":
			also(func(config *Config) { config.Preempt = true })
		case "forgetful":
			also(func(config *Config) { config.Kept = false })
		case "space":
			last := string(rune('a' + founders + guests - 1))
			also(func(config *Config) {
				config.Definitions = []string{"default=central"}
				if config.Name == last {
					config.Definitions = []string{value}
				}
			})
		default:
			founders = c.number(arg)
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

func (c *conversation) duration(token string) time.Duration {
	c.t.Helper()
	d, err := time.ParseDuration(token)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

func (c *conversation) number(token string) int {
	c.t.Helper()
	n, err := strconv.Atoi(token)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}
