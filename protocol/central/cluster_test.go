package central_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// TestClusters plays each testdata/*.txt: several members, named a, b, c, …, a
// network that is scripted, and views and leases that are written by hand. Session a1
// is the first of member a's clients. Every message is printed when it is sent, every
// answer when it is given.
//
//	members [chunk=N] [operators=N] [any] a b c    a new cluster, in which nobody has a view
//	view epoch=4 [of=a,b,c] [to=a,b] [from=3s] [proposed] [dropped=c@5s] [merged]   raised at those in to=
//	halt b 5       b has promised epoch 5            lapse c      c's lease has ended
//	carried c 3s   until when c carries unconfirmed holds
//	crash a        a takes and sends nothing any more
//	lock a1 #1 X [try] [wait=1s] [hold=1s] [shared] [owner=o]   unlock a1 #1 X   cancel a1 #1 X   extend a1 #1 X 5s
//	end a1 [why]   list a1   break b X   show b X   scan b   inspect b     (b: the member that is asked)
//	cut a>b        messages are lost        twice a>b    each arrives twice
//	slow a>b       messages stay on their way          flow a>b [last]   and arrive now, the last one first
//	heal           all links are good again
//	at 3s          time passes
//	count          how many messages of which kind there were since the last count
func TestClusters(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := &cluster{links: map[string]string{}, sent: map[string]int{}}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				c.t, c.said = t, &strings.Builder{}
				for line := range strings.Lines(d.Cmd + " " + argsOf(d) + "\n" + d.Input) {
					if line = strings.TrimSpace(line); line != "" && line != "say" {
						c.say(line)
					}
				}
				return c.said.String()
			})
		})
	}
}

type cluster struct {
	t       *testing.T
	said    *strings.Builder
	now     protocol.Time
	members []*clusterMember
	views   uint64
	calls   uint64
	links   map[string]string // what is wrong with a link
	transit []flight
	slow    []flight
	sent    map[string]int
}

type clusterMember struct {
	name    string
	id      protocol.ID
	machine *central.Machine
	lease   protocol.Lease
	crashed bool
	out     protocol.Effects
}

type flight struct {
	from, to protocol.ID
	message  protocol.Message
}

func (c *cluster) member(name string) *clusterMember {
	for _, m := range c.members {
		if m.name == name {
			return m
		}
	}
	c.t.Fatalf("no member %q", name)
	return nil
}

func (c *cluster) byID(id protocol.ID) *clusterMember { return c.members[id-1] }

func (c *cluster) say(line string) {
	c.t.Helper()
	words := strings.Fields(line)
	args := words[1:]
	switch words[0] {
	case "members":
		c.start(args)
	case "view":
		c.raise(args)
	case "at":
		c.advance(duration(c.t, args[0]))
	case "count":
		c.count()
	case "heal":
		clear(c.links)
	case "cut", "slow", "twice":
		for _, link := range args {
			c.links[link] = words[0]
		}
	case "flow":
		c.flow(args)
	case "halt", "lapse", "carried", "crash":
		c.standing(c.member(args[0]), words[0], args[1:])
	default:
		c.ask(words[0], args)
	}
	c.settle()
}

func (c *cluster) start(args []string) {
	config := central.Config{}
	c.members, c.transit, c.slow, c.now, c.views = nil, nil, nil, 0, 0
	clear(c.links)
	clear(c.sent)
	for _, arg := range args {
		key, value, set := strings.Cut(arg, "=")
		switch {
		case key == "chunk" && set:
			config.Chunk = int(number(c.t, value))
		case key == "operators" && set:
			config.Operators = int(number(c.t, value))
		case key == "any":
			config.Any = true
		default:
			config.Self = protocol.ID(len(c.members) + 1)
			m, err := central.New(config)
			if err != nil {
				c.t.Fatal(err)
			}
			c.members = append(c.members, &clusterMember{
				name: arg, id: config.Self, machine: m,
				lease: protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
			})
		}
	}
}

func (c *cluster) raise(args []string) {
	c.views++
	view := protocol.View{Number: c.views, Installed: true}
	var of, to []string
	for _, m := range c.members {
		if !m.crashed {
			of = append(of, m.name)
		}
	}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "epoch":
			view.Epoch.Counter = number(c.t, value)
		case "of":
			of = strings.Split(value, ",")
		case "to":
			to = strings.Split(value, ",")
		case "from":
			view.GrantFrom = duration(c.t, value)
		case "proposed":
			view.Installed = false
		case "merged":
			view.Merged = true
		case "dropped":
			name, free, _ := strings.Cut(value, "@")
			m := c.member(name)
			dropped := protocol.Dropped{ID: m.id, Tenure: m.lease.Tenure, Free: protocol.Never}
			if old, lapsed := strings.CutSuffix(free, "-old"); lapsed {
				free = old
				dropped.Tenure.Lapses--
			}
			if free != "never" {
				dropped.Free = duration(c.t, free)
			}
			view.Dropped = append(view.Dropped, dropped)
		default:
			c.t.Fatalf("view: unknown word %q", arg)
		}
	}
	for _, name := range of {
		m := c.member(name)
		view.Members = append(view.Members, protocol.Member{ID: m.id, Name: name, Tenure: m.lease.Tenure})
	}
	view.Coordinator = view.Members[0].ID
	view.Epoch.Candidate = view.Coordinator
	if to == nil {
		to = of
	}
	for _, name := range to {
		m, own := c.member(name), view
		own.Lease = &m.lease
		m.lease.Promised = max(m.lease.Promised, view.Epoch.Counter)
		c.step(m, protocol.Event{Kind: protocol.Raised, Fact: &own})
	}
}

func (c *cluster) standing(m *clusterMember, word string, args []string) {
	switch word {
	case "crash":
		m.crashed = true
	case "carried":
		m.lease.Carried = duration(c.t, args[0])
	case "halt":
		m.lease.Promised = number(c.t, args[0])
		c.step(m, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Halted{Promised: m.lease.Promised}})
	case "lapse":
		m.lease.Tenure.Lapses++
		c.step(m, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Lapsed{Tenure: m.lease.Tenure}})
	}
}

// ask lets a member's client, or an operator there, ask for something.
func (c *cluster) ask(word string, args []string) {
	c.t.Helper()
	m := c.member(args[0][:1])
	var fact any
	switch word {
	case "show", "break", "inspect", "scan":
		if word == "scan" {
			fact = &protocol.Scan{Limit: 10}
		} else {
			fact = callOf(c.t, word, args[1:], c.now)
		}
	case "extend":
		fact = &protocol.Extend{Session: sessionAt(c.t, args[0]), Request: number(c.t, args[1][1:]), Name: args[2], Hold: duration(c.t, args[3])}
	default:
		fact = callOf(c.t, word, append([]string{"s" + args[0][1:]}, args[1:]...), c.now)
		setSession(fact, sessionAt(c.t, args[0]))
	}
	c.calls++
	c.step(m, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: c.calls}, Fact: fact})
}

func sessionAt(t *testing.T, word string) lock.SessionID {
	t.Helper()
	return lock.SessionID{Member: uint64(word[0]-'a') + 1, Number: number(t, word[1:])}
}

func setSession(fact any, s lock.SessionID) {
	switch fact := fact.(type) {
	case *lock.Request:
		fact.Session = s
	case *protocol.Release:
		fact.Session = s
	case *protocol.Cancel:
		fact.Session = s
	case *protocol.EndSession:
		fact.Session = s
	case *protocol.ListRequests:
		fact.Session = s
	}
}

// step steps one member, and prints and sends what comes of it.
func (c *cluster) step(m *clusterMember, ev protocol.Event) {
	if m.crashed {
		return
	}
	m.machine.Step(c.now, ev, &m.out)
	for _, note := range m.out.Notes {
		fmt.Fprintf(c.said, "%s: %v\n", m.name, note)
	}
	for _, send := range m.out.Sends {
		c.send(m, send)
	}
	for _, fact := range m.out.Raises {
		switch fact := fact.(type) {
		case *protocol.Confirmed:
			fmt.Fprintf(c.said, "%s: confirmed epoch %d\n", m.name, fact.Epoch)
		default:
			fmt.Fprintf(c.said, "%s: raise %+v\n", m.name, fact)
		}
	}
	for _, reply := range m.out.Replies {
		if reply.Decision.Kind != 0 {
			text := strings.Replace(decision(reply), " s", " "+m.name, 1)
			fmt.Fprintf(c.said, "%s\n", text)
			continue
		}
		fmt.Fprintf(c.said, "%s: %s\n", m.name, result(reply.Result))
	}
	m.out.Reset()
}

func (c *cluster) send(m *clusterMember, send protocol.Envelope) {
	to := c.byID(send.To)
	link := m.name + ">" + to.name
	f := flight{m.id, to.id, send.Message}
	mark := ""
	switch c.links[link] {
	case "cut":
		mark = " ✗"
	case "slow":
		c.slow = append(c.slow, f)
		mark = " …"
	case "twice":
		c.transit = append(c.transit, f, f)
		mark = " ×2"
	default:
		c.transit = append(c.transit, f)
	}
	fmt.Fprintf(c.said, "  %s→%s %v%s\n", m.name, to.name, send.Message, mark)
	c.sent[strings.TrimPrefix(fmt.Sprintf("%T", send.Message), "authority.")]++
}

// settle delivers what is on its way until nothing is.
func (c *cluster) settle() {
	for len(c.transit) > 0 {
		f := c.transit[0]
		c.transit = c.transit[1:]
		c.step(c.byID(f.to), protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.message})
	}
}

func (c *cluster) flow(args []string) {
	link := args[0]
	delete(c.links, link)
	var stay, going []flight
	for _, f := range c.slow {
		if c.byID(f.from).name+">"+c.byID(f.to).name == link {
			going = append(going, f)
		} else {
			stay = append(stay, f)
		}
	}
	if len(args) > 1 {
		slices.Reverse(going)
	}
	c.slow, c.transit = stay, append(c.transit, going...)
}

// advance moves the clock, stopping wherever a machine wants to be woken.
func (c *cluster) advance(to protocol.Time) {
	for turns := 0; ; turns++ {
		if turns > 10_000 {
			c.t.Fatalf("the machines never rest before %v", to)
		}
		at, who := protocol.Never, (*clusterMember)(nil)
		for _, m := range c.members {
			if wake := m.machine.Wake(); !m.crashed && wake < at {
				at, who = wake, m
			}
		}
		if at > to {
			break
		}
		c.now = max(c.now, at)
		c.step(who, protocol.Event{Kind: protocol.Tick})
		if who.machine.Wake() == at && at < c.now {
			c.t.Fatalf("%s still wants to be woken at %v, which it was", who.name, at)
		}
		c.settle()
	}
	c.now = to
}

func (c *cluster) count() {
	var kinds []string
	for kind, n := range c.sent {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	if len(kinds) == 0 {
		kinds = []string{"none"}
	}
	fmt.Fprintf(c.said, "messages: %s\n", strings.Join(kinds, ", "))
	clear(c.sent)
}
