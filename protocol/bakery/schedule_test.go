package bakery_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

// In a schedule, the clients of some members want one name repeatedly, and messages arrive in an order drawn from a
// seed. Each pair of members keeps the order of its messages, and no time passes, so nothing is repeated and the
// algorithm needs each message; or the network loses, duplicates and reorders them, and time passes. Each answer to a
// client is checked against the properties of the algorithm at once, and messages are counted.

const contested = "X"

// restless is the maximum number of turns of a run, which takes some thousands.
const restless = 200_000

// schedule is one run.
type schedule struct {
	t         testing.TB
	failed    bool
	rand      *rand.Rand
	now       protocol.Time
	holdTurns int  // holders release once in so many turns
	lossy     bool // the network does not keep messages in order
	inOrder   bool // it keeps the order of sending across all links
	members   []*peer
	transit   []flight
	requests  func(*schedule) lock.Request // draws the mode and units of the next request
	left      int                          // number of requests left

	inside  map[lock.SessionID]*lock.Decision
	keys    map[lock.SessionID]bakery.Key // of the newest ticket that was drawn for a client
	numbers map[bakery.Key]uint64         // of tickets that have one and have not ended
	ended   map[bakery.Key]bool
	sent    map[string]int   // envelopes, by type of body
	tokens  []holdfast.Token // of exclusive grants, in order
	most    int              // maximum number of holders at once
	waited  int              // requests that were answered Queued
	grants  int
}

// peer is one member and its clients, each of which wants or holds one lock at a time.
type peer struct {
	id      protocol.ID
	machine *bakery.Machine
	clients []*client
	out     protocol.Effects
}

type client struct {
	session lock.SessionID
	request uint64
	state   state
	placed  bool // it knows its place in the queue
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

// newSchedule makes the members of one view, of which up to three lead, and a number of clients at each.
func newSchedule(t testing.TB, seed uint64, members, clients int, config bakery.Config) *schedule {
	s := &schedule{
		t: t, rand: rand.New(rand.NewPCG(seed, 17)), inside: map[lock.SessionID]*lock.Decision{},
		keys: map[lock.SessionID]bakery.Key{}, numbers: map[bakery.Key]uint64{}, ended: map[bakery.Key]bool{},
		sent: map[string]int{},
	}
	for i := range members {
		config.Self, config.Founders = protocol.ID(i+1), members
		machine, err := bakery.New(config)
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
	s.drain()
	clear(s.sent)
	s.holdTurns = 1 + s.rand.IntN(8)
	return s
}

// viewOf is an open view of the members 1 to n, all of them founders, of which the first coordinates, and elects.
func viewOf(n int, number, epoch uint64) *protocol.View {
	view := &protocol.View{
		Number: number, Epoch: protocol.Epoch{Counter: epoch, Candidate: 1}, Coordinator: 1, Installed: true, Open: true,
		Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
	for i := range n {
		name := string(rune('a' + i))
		view.Members = append(view.Members, protocol.Member{ID: protocol.ID(i + 1), Name: name, Address: name, Founder: true, Since: 1})
	}
	return view
}

// errorf reports an error of a run, and ends it.
func (s *schedule) errorf(format string, args ...any) {
	s.t.Helper()
	s.failed = true
	s.t.Errorf(format, args...)
}

// drain delivers messages until none is in flight.
func (s *schedule) drain() {
	for len(s.transit) > 0 {
		s.deliver()
	}
}

// run draws events until all requests are granted and released.
func (s *schedule) run() {
	for turns := 0; !s.failed; turns++ {
		able := s.able()
		switch {
		case len(s.transit) == 0 && len(able) == 0 && (!s.lossy || s.resting()):
			s.rest()
			return
		case turns > restless:
			s.errorf("the members never rest")
		case s.lossy && (len(s.transit)+len(able) == 0 || s.rand.IntN(20) == 0):
			s.pass()
		case len(able) == 0, len(s.transit) > 0 && s.rand.IntN(3) > 0:
			s.deliver()
		default:
			s.act(able[s.rand.IntN(len(able))])
		}
	}
}

// able lists the clients that can act.
func (s *schedule) able() (able []*client) {
	for _, p := range s.members {
		for _, c := range p.clients {
			if c.state == holds || c.state == idle && s.left > 0 {
				able = append(able, c)
			}
		}
	}
	return able
}

// resting reports whether no member waits for any time.
func (s *schedule) resting() bool {
	return !slices.ContainsFunc(s.members, func(p *peer) bool { return p.machine.Wake() != protocol.Never })
}

// pass lets some time pass.
func (s *schedule) pass() {
	s.now += time.Duration(s.rand.Int64N(int64(100 * time.Millisecond)))
	for _, p := range s.members {
		if p.machine.Wake() <= s.now {
			s.step(p, protocol.Event{Kind: protocol.Tick})
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
	if len(s.numbers) != 0 {
		s.errorf("%d tickets are left", len(s.numbers))
	}
}

// act performs the next act of a client.
func (s *schedule) act(c *client) {
	if c.state == holds && len(s.transit) > 0 && s.rand.IntN(s.holdTurns) > 0 {
		s.deliver()
		return
	}
	p := s.members[c.session.Member-1]
	var fact any
	if c.state == holds {
		delete(s.inside, c.session)
		c.state = idle
		fact = &protocol.Release{Session: c.session, Name: contested, Request: c.request, Token: c.token}
	} else {
		s.left--
		c.request++
		request := s.requests(s)
		request.Session, request.ID, request.Name, request.Arrived, request.WaitEnd = c.session, c.request, contested, s.now, lock.Never
		c.state, c.placed = waits, false
		fact = &request
	}
	s.step(p, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: fact})
}

// deliver delivers one message: the first of a pair of members, or any.
func (s *schedule) deliver() {
	i := s.rand.IntN(len(s.transit))
	switch {
	case s.inOrder:
		i = 0
	case !s.lossy:
		drawn := s.transit[i]
		i = slices.IndexFunc(s.transit, func(f flight) bool { return f.from == drawn.from && f.to == drawn.to })
	}
	f := s.transit[i]
	s.transit = slices.Delete(s.transit, i, i+1)
	s.step(s.members[f.to-1], protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.message})
}

func (s *schedule) step(p *peer, ev protocol.Event) {
	p.machine.Step(s.now, ev, &p.out)
	out := p.out
	p.out = protocol.Effects{}
	for _, note := range out.Notes {
		s.note(p, note)
	}
	for _, send := range out.Sends {
		s.count(send.Message)
		copies := 1
		if s.lossy {
			copies = []int{0, 1, 1, 1, 1, 2}[s.rand.IntN(6)]
		}
		for range copies {
			s.transit = append(s.transit, flight{p.id, send.To, send.Message})
		}
	}
	for _, reply := range out.Replies {
		s.onDecision(p, &reply.Decision)
	}
}

// note checks a member's note: the first leaders, and no ignored message.
func (s *schedule) note(p *peer, note protocol.Note) {
	switch note.(type) {
	case bakery.Led, protocol.Serving:
	default:
		s.errorf("member %d: %v", p.id, note)
	}
}

// count counts an envelope's body, and records the numbers of tickets.
func (s *schedule) count(message protocol.Message) {
	envelope, is := message.(bakery.Envelope)
	if !is {
		return
	}
	s.sent[kindOf(envelope.Body)]++
	switch body := envelope.Body.(type) {
	case bakery.Entering:
		s.keys[body.Ticket.Session] = body.Ticket.Key
	case bakery.Add:
		if !s.ended[body.Key] {
			s.numbers[body.Key] = body.Number
		}
	case bakery.Drop:
		s.ended[body.Key] = true
		delete(s.numbers, body.Key)
	}
}

// onDecision checks a decision against the properties of the algorithm.
func (s *schedule) onDecision(p *peer, d *lock.Decision) {
	c := p.clients[d.Session.Number-1]
	switch d.Kind {
	case lock.Queued:
		s.waited++
		c.placed = c.placed || d.Position >= 0
	case lock.Released:
	case lock.Granted:
		c.state, c.token = holds, d.Token
		decision := *d
		s.inside[c.session] = &decision
		s.grants++
		s.most = max(s.most, len(s.inside))
		s.compatible()
		if d.Mode == holdfast.ModeExclusive {
			s.ordered(d)
		}
	default:
		s.errorf("client %v hears %v: %v", c.session, d.Kind, d.Err)
	}
}

// compatible checks that the holders are compatible: M1, for all modes.
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

// ordered checks an exclusive grant: its token exceeds all earlier ones, and no ticket with a number precedes its own:
// M6.
func (s *schedule) ordered(d *lock.Decision) {
	if n := len(s.tokens); n > 0 && slices.Max(s.tokens) >= d.Token {
		s.errorf("token %d is granted after %d", d.Token, slices.Max(s.tokens))
	}
	s.tokens = append(s.tokens, d.Token)
	key := s.keys[d.Session]
	//tidy:unordered each is checked
	for other, number := range s.numbers {
		if number < s.numbers[key] || number == s.numbers[key] && other.Compare(key) < 0 {
			s.errorf("%v with number %d is granted before %v with number %d", key, s.numbers[key], other, number)
		}
	}
}

// rounds is the number of seeds in a test: a tenth of them with -short.
func rounds(all uint64) uint64 {
	if testing.Short() {
		return all / 10
	}
	return all
}

// each plays a number of schedules, each as a subtest only if it fails.
func each(t *testing.T, seeds int, play func(t testing.TB, seed uint64)) {
	t.Helper()
	for seed := range uint64(seeds) {
		play(t, seed)
		if t.Failed() {
			t.Fatalf("in the schedule of seed %d", seed)
		}
	}
}
