package permission_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// In a schedule, the clients of some members want one name repeatedly, and messages arrive in an order drawn from a
// seed: links do not keep any order. No time passes, so nothing is repeated, and the algorithm needs each message.
// Answers and messages are checked against the properties of the algorithm at once, and counted.

const contested = "X"

// schedule is one run.
type schedule struct {
	t         testing.TB
	failed    bool
	rand      *rand.Rand
	holdTurns int // holders release once in so many turns
	config    permission.Config
	members   []*peer
	transit   []flight
	requests  func(*schedule) lock.Request // draws the mode and units of the next request
	left      int                          // number of requests left

	inside  map[lock.SessionID]*lock.Decision
	entries map[entry]*entered
	tokens  []holdfast.Token // of exclusive grants, in order
	stamps  []permission.Stamp
	settled int // number of requests settled by replies
	most    int // maximum number of holders at once
	waited  int // requests that were not granted at once
}

// peer is one member and its clients, each of which wants or holds one lock at a time.
type peer struct {
	id      protocol.ID
	machine *permission.Machine
	clients []*client
	request permission.Request // the newest that it has sent
	out     protocol.Effects
}

type client struct {
	session lock.SessionID
	request uint64
	wants   lock.Request
	state   state
	token   holdfast.Token
}

type state uint8

const (
	idle state = iota
	waits
	holds
)

type flight struct {
	from, to protocol.ID
	message  protocol.Message
}

// entry names a request of a member.
type entry struct {
	member protocol.ID
	number uint64
}

// entered counts the messages about a request.
type entered struct{ requests, replies, frees, defers int }

// newSchedule makes the members of one view, which know each other's clocks, and a number of clients at each.
func newSchedule(t testing.TB, seed uint64, members, clients int, config permission.Config) *schedule {
	s := &schedule{
		t: t, rand: rand.New(rand.NewPCG(seed, 11)), config: config,
		inside: map[lock.SessionID]*lock.Decision{}, entries: map[entry]*entered{},
	}
	for i := range members {
		config.Self = protocol.ID(i + 1)
		machine, err := permission.New(config)
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{id: config.Self, machine: machine}
		for j := range clients {
			p.clients = append(p.clients, &client{session: lock.SessionID{Member: uint64(p.id), Number: uint64(j + 1)}})
		}
		s.members = append(s.members, p)
	}
	for _, p := range s.members {
		s.step(p, protocol.Event{Kind: protocol.Raised, Fact: viewOf(members, 1, 4)})
	}
	for len(s.transit) > 0 {
		s.deliver()
	}
	clear(s.entries)
	s.settled = 0
	s.holdTurns = 1 + s.rand.IntN(8)
	return s
}

// errorf reports an error of a run, and ends it.
func (s *schedule) errorf(format string, args ...any) {
	s.t.Helper()
	s.failed = true
	s.t.Errorf(format, args...)
}

// viewOf is an open view of the members 1 to n, of which the first coordinates.
func viewOf(n int, number, epoch uint64) *protocol.View {
	view := &protocol.View{
		Number: number, Epoch: protocol.Epoch{Counter: epoch, Candidate: 1}, Coordinator: 1, Installed: true, Open: true,
		Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
	for i := range n {
		view.Members = append(view.Members, protocol.Member{ID: protocol.ID(i + 1), Name: string(rune('a' + i)), Since: 1})
	}
	return view
}

// run draws events until all requests are granted and released.
func (s *schedule) run() {
	for !s.failed {
		var able []*client
		for _, p := range s.members {
			for _, c := range p.clients {
				if c.state == holds || c.state == idle && s.left > 0 {
					able = append(able, c)
				}
			}
		}
		switch {
		case len(s.transit) == 0 && len(able) == 0:
			s.rest()
			return
		case len(able) == 0, len(s.transit) > 0 && s.rand.IntN(3) > 0:
			s.deliver()
		default:
			s.act(able[s.rand.IntN(len(able))])
		}
	}
}

// rest checks the state at the end of a run, when no client wants anything any more.
func (s *schedule) rest() {
	for _, p := range s.members {
		for _, c := range p.clients {
			if c.state != idle {
				s.errorf("client %v is left behind in state %d", c.session, c.state)
			}
		}
	}
	if len(s.inside) != 0 {
		s.errorf("%d are inside at the end", len(s.inside))
	}
}

// act performs the next act of a client.
func (s *schedule) act(c *client) {
	p := s.members[c.session.Member-1]
	if c.state == holds && len(s.transit) > 0 && s.rand.IntN(s.holdTurns) > 0 {
		s.deliver()
		return
	}
	var fact any
	if c.state == holds {
		delete(s.inside, c.session)
		c.state = idle
		fact = &protocol.Release{Session: c.session, Name: contested, Request: c.request, Token: c.token}
	} else {
		s.left--
		c.request++
		request := s.requests(s)
		request.Session, request.ID, request.Name, request.WaitEnd = c.session, c.request, contested, lock.Never
		c.state, c.wants = waits, request
		fact = &request
	}
	s.step(p, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: fact})
}

func (s *schedule) deliver() {
	i := s.rand.IntN(len(s.transit))
	f := s.transit[i]
	s.transit = slices.Delete(s.transit, i, i+1)
	s.step(s.members[f.to-1], protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.message})
}

func (s *schedule) step(p *peer, ev protocol.Event) {
	p.machine.Step(0, ev, &p.out)
	out := p.out
	p.out = protocol.Effects{}
	for _, note := range out.Notes {
		s.errorf("member %d: %v", p.id, note)
	}
	for _, send := range out.Sends {
		s.count(p, send)
		s.transit = append(s.transit, flight{p.id, send.To, send.Message})
	}
	for _, reply := range out.Replies {
		s.onDecision(p, &reply.Decision)
	}
}

// count counts a message for its request.
func (s *schedule) count(p *peer, send protocol.Envelope) {
	about := func(member protocol.ID, number uint64) *entered {
		e := entry{member, number}
		if s.entries[e] == nil {
			s.entries[e] = &entered{}
		}
		return s.entries[e]
	}
	switch msg := send.Message.(type) {
	case permission.Request:
		about(p.id, msg.Number).requests++
		p.request = msg
	case permission.Reply:
		about(send.To, msg.Number).replies++
		s.settled += max(msg.Count, 1)
	case permission.Free:
		about(send.To, msg.Number).frees++
	case permission.Defer:
		about(send.To, msg.Number).defers++
	}
}

// onDecision checks a decision against the properties of the algorithm.
func (s *schedule) onDecision(p *peer, d *lock.Decision) {
	c := p.clients[d.Session.Number-1]
	switch d.Kind {
	case lock.Queued:
		s.waited++
	case lock.Released:
	case lock.Granted:
		c.state, c.token = holds, d.Token
		decision := *d
		s.inside[c.session] = &decision
		s.most = max(s.most, len(s.inside))
		s.compatible()
		if d.Mode == holdfast.ModeExclusive {
			s.ordered(p, d)
		}
	default:
		s.errorf("client %v hears %v: %v", c.session, d.Kind, d.Err)
	}
}

// compatible checks that the holders are compatible: P1.
func (s *schedule) compatible() {
	units, shared, exclusive, capacity := 0, 0, 0, 0
	tokens := map[holdfast.Token]bool{}
	for _, d := range s.inside {
		tokens[d.Token] = true
		switch d.Mode {
		case holdfast.ModeShared:
			shared++
		case holdfast.ModeSlots:
			units, capacity = units+d.Units, d.Capacity
		default:
			exclusive++
		}
	}
	alone := exclusive == 1 && shared+units == 0
	if !alone && (exclusive > 0 || shared > 0 && units > 0 || units > capacity) {
		s.errorf("inside at once: %d exclusive, %d shared, %d units of %d", exclusive, shared, units, capacity)
	}
	if len(tokens) != len(s.inside) {
		s.errorf("%d are inside under %d tokens", len(s.inside), len(tokens))
	}
}

// ordered checks an exclusive grant: its token exceeds all earlier ones (P2), and its stamp is younger than theirs
// (P5).
func (s *schedule) ordered(p *peer, d *lock.Decision) {
	if n := len(s.tokens); n > 0 && s.tokens[n-1] >= d.Token {
		s.errorf("token %d is granted after %d", d.Token, s.tokens[n-1])
	}
	s.tokens = append(s.tokens, d.Token)
	if len(s.members) == 1 || s.config.Retain {
		return // no peer hears of a stamp
	}
	stamp := permission.Stamp{Clock: p.request.Clock, Member: p.id}
	if n := len(s.stamps); n > 0 && !s.stamps[n-1].Before(stamp) {
		s.errorf("stamp %v is granted after %v", stamp, s.stamps[n-1])
	}
	s.stamps = append(s.stamps, stamp)
}

// each plays a number of schedules, a quarter of them with -short, each as a subtest only if it fails.
func each(t *testing.T, seeds int, play func(t testing.TB, seed uint64)) {
	t.Helper()
	if testing.Short() {
		seeds /= 4
	}
	for seed := range uint64(seeds) {
		play(t, seed)
		if t.Failed() {
			t.Fatalf("in the schedule of seed %d", seed)
		}
	}
}

func (e entered) String() string {
	return fmt.Sprintf("%d requests, %d replies, %d frees, %d defers", e.requests, e.replies, e.frees, e.defers)
}
