package codec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/storage"
)

// stepHarness is three founders in one process, on one clock that stands still until it is
// advanced: the victim, whose every step is checked, and two others that are honest by
// themselves. Everything in it follows from the bytes that drive it.
type stepHarness struct {
	t      testing.TB
	mode   stepMode
	now    protocol.Time
	places [3]*place
	victim *place
	wire   []parcel
	heard  []parcel // what honest members have sent to the victim, the latest
	quiet  bool     // nothing honest reaches the victim
	listed int      // names that the victim has listed
}

// place is one member. Its id is its number, counted from 1.
type place struct {
	id       protocol.ID
	machine  *session.Machine
	out      protocol.Effects
	sessions []lock.SessionID
	op       uint64
	scanned  []lock.Lock
	next     string // where the scan goes on
	journal  journal
}

// parcel is a message under way.
type parcel struct {
	from, to protocol.ID
	bytes    []byte
}

const mostHeard = 256

func addressOf(id protocol.ID) string { return fmt.Sprintf("10.0.0.%d:4040", id) }

// stepMode is what a harness is like, as the first byte of a script says.
type stepMode struct {
	victim    int    // the first of the members coordinates
	available bool   // partition mode any
	protocol  string // of the spaces
	retain    bool   // protocol permission: options retain and defer
	capacity  int    // protocol permission: its option
	published bool   // protocol bakery: its option
	pair      bool   // protocol bakery: only the first and the last member lead
	sharded   bool   // protocol consensus: three shards
	short     bool   // protocol consensus: logs are
}

// stepModes lists the bytes that say which modes there are.
func stepModes() (all []byte) {
	for b := range byte(16) {
		all = append(all, b)
	}
	for b := range byte(6) {
		all = append(all, bakeryMode|b)
	}
	for b := range byte(8) {
		all = append(all, consensusMode|b)
	}
	return all
}

// bakeryMode is the bit of protocol bakery.
const bakeryMode = 64

func modeOf(b byte) stepMode {
	mode := stepMode{victim: int(b & 1), protocol: "central"}
	switch {
	case b&consensusMode != 0:
		mode.protocol, mode.sharded, mode.short = "consensus", b&2 != 0, b&4 != 0
	case b&bakeryMode != 0:
		mode.protocol, mode.published, mode.pair = "bakery", b&2 != 0, b&4 != 0
	case b&8 != 0:
		mode.protocol, mode.retain, mode.capacity = "permission", b&2 != 0, int(b&4)/2
	case b&4 != 0:
		mode.protocol, mode.available = "grantor", b&2 != 0
	default:
		mode.available = b&2 != 0
	}
	return mode
}

// newStepHarness forms the cluster and gives its clients a few locks.
func newStepHarness(t testing.TB, mode stepMode) *stepHarness {
	t.Helper()
	b := &stepHarness{t: t, mode: mode, now: time.Hour}
	for i := range b.places {
		b.places[i] = b.found(protocol.ID(i+1), mode)
	}
	b.victim = b.places[mode.victim]
	for _, p := range b.places {
		b.step(p, protocol.Event{Kind: protocol.Start})
	}
	b.pass(15 * time.Second)
	for _, p := range b.places {
		for range 2 {
			p.op++
			b.call(p, protocol.Below, &session.Open{Kind: session.Stream, TTL: time.Minute, Client: "client"})
		}
	}
	b.pass(time.Second)
	if mode.protocol == "consensus" {
		b.enroll()
	}
	for i := range 8 {
		b.request(byte(i))
	}
	b.pass(time.Second)
	return b
}

func (b *stepHarness) found(id protocol.ID, mode stepMode) *place {
	b.t.Helper()
	random := rand.New(rand.NewPCG(uint64(id), 1))
	below, err := membership.New(membership.Config{
		Name: string('a' + rune(id) - 1), Address: addressOf(id), Founder: true, Founders: []string{addressOf(1), addressOf(2), addressOf(3)},
		Priority: int(id), Available: mode.available, Kept: true, Serves: true, Spaces: 2,
		Cell: membership.Cell{Cluster: 9, ID: id, Incarnation: 1, Clean: true},
		// Epochs count from the wall clock; these are small, as varints are that a fuzzer changes.
		Wall: (membership.Origin + 20) * time.Second, Rand: random,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var spaces []protocol.Machine
	for number := range uint64(2) {
		space, err := newSpace(id, (1+number)<<16, mode)
		if err != nil {
			b.t.Fatal(err)
		}
		spaces = append(spaces, space)
	}
	machine, err := session.New(session.Config{
		Member: id, Incarnation: below.Cell().Incarnation, Rand: random, Spaces: len(spaces), Sessions: 8,
	}, protocol.Stack(below, spaces...))
	if err != nil {
		b.t.Fatal(err)
	}
	return &place{id: id, machine: machine, journal: journal{t: b.t, logs: map[uint64]*keptLog{}}}
}

func newSpace(id protocol.ID, log uint64, mode stepMode) (protocol.Machine, error) {
	table := lock.Config{WaitersPerName: 8, LocksPerSession: 8}
	switch mode.protocol {
	case "grantor":
		return grantor.New(grantor.Config{Config: authority.Config{Self: id, Tuning: authority.Tuning{Chunk: 2}, Table: table, Any: mode.available}})
	case "permission":
		return permission.New(permission.Config{Self: id, Table: table, Options: permission.Options{Capacity: mode.capacity, Defer: mode.retain, Retain: mode.retain}})
	case "bakery":
		// The most eligible ones are those who draw the smallest number.
		c := bakery.Config{Self: id, Founders: 3, Random: uint32(id+1) % 2, Table: table, Options: bakery.Options{Published: mode.published}}
		if mode.pair {
			c.Founders = 2 // of so few all lead
		}
		return bakery.New(c)
	case "consensus":
		return newConsensus(id, log, mode, consensus.Config{Table: table})
	}
	return central.New(central.Config{Self: id, Tuning: authority.Tuning{Chunk: 2}, Table: table, Any: mode.available})
}

// mostSends bounds what one step may say: reports, notices and answers for what the few
// clients here have, to the two others.
const mostSends = 512

// step is one step of a member, and hands on what it wants done.
func (b *stepHarness) step(p *place, ev protocol.Event) {
	p.machine.Step(b.now, ev, &p.out)
	out := p.out
	p.out = protocol.Effects{}
	if p == b.victim && len(out.Sends) > mostSends {
		b.t.Fatalf("%v makes it send %d messages", ev.Fact, len(out.Sends))
	}
	for _, note := range out.Notes {
		if note.String() == "" {
			b.t.Fatalf("a note of %T that says nothing", note)
		}
	}
	for i := range out.Replies {
		switch result := out.Replies[i].Result.(type) {
		case *session.Opened:
			if result.Err == nil {
				p.sessions = append(p.sessions, result.ID)
			}
		case *protocol.Scanned:
			p.scanned, p.next = append(p.scanned, result.Locks...), result.Next
		}
	}
	var saved []uint64
	for _, sent := range out.Sends {
		if save, ok := sent.Message.(storage.Save); ok {
			if _, err := membership.DecodeCell(save.Data); err != nil {
				b.t.Fatalf("its next life could not read its cell: %v", err)
			}
			saved = append(saved, save.ID)
			continue
		}
		if answer := p.journal.do(sent.Message); answer != nil {
			p.journal.answers = append(p.journal.answers, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: sent.Port, Fact: answer})
			continue
		}
		b.post(p, sent)
	}
	for _, id := range saved {
		b.step(p, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: protocol.Below, Fact: storage.Saved{ID: id}})
	}
	b.answer(p)
}

// post puts a message on the wire. One that cannot be encoded would be lost each time.
func (b *stepHarness) post(p *place, sent protocol.Envelope) {
	bytes, err := Append(nil, sent.Port, sent.Message)
	if err != nil {
		b.t.Fatalf("%v cannot be sent: %v", sent.Message, err)
	}
	if sent.To != protocol.AnyMember {
		b.wire = append(b.wire, parcel{p.id, sent.To, bytes})
		return
	}
	for _, other := range b.places {
		if addressOf(other.id) == sent.Address {
			b.wire = append(b.wire, parcel{p.id, other.id, bytes})
		}
	}
}

// mostDelivered bounds the messages between honest members at one instant.
const mostDelivered = 4096

// deliver brings all that is under way to the members it is for.
func (b *stepHarness) deliver() {
	for n := 0; len(b.wire) > 0; n++ {
		next := b.wire[0]
		b.wire = b.wire[1:]
		if n > mostDelivered {
			b.wire = nil // a lossy network: no protocol needs all of it
			return
		}
		if next.to < 1 || next.to > 3 || b.quiet && (next.from == b.victim.id) != (next.to == b.victim.id) {
			continue
		}
		if b.places[next.to-1] == b.victim && next.from != next.to {
			b.heard = append(b.heard, next)
			b.heard = slices.Delete(b.heard, 0, max(0, len(b.heard)-mostHeard))
		}
		b.receive(next)
	}
}

// receive lets a member receive what decodes.
func (b *stepHarness) receive(p parcel) {
	port, message, _, err := Decode(p.bytes)
	if err != nil {
		b.t.Fatalf("%x was encoded by a member: %v", p.bytes, err)
	}
	b.step(b.places[p.to-1], protocol.Event{Kind: protocol.Receive, From: p.from, Port: port, Fact: message})
}

// pass lets time pass, and wakes the members that want it.
func (b *stepHarness) pass(d time.Duration) {
	b.deliver()
	end := b.now + d
	for still := 0; ; still++ {
		next := slices.MinFunc(b.places[:], func(p, q *place) int { return int(min(max(p.machine.Wake()-q.machine.Wake(), -1), 1)) })
		at := next.machine.Wake()
		if at > end {
			b.now = end
			return
		}
		if at > b.now {
			b.now, still = at, 0
		}
		if still > 64 {
			b.t.Fatalf("member %d wants to be woken at %v for ever, now is %v", next.id, at, b.now)
		}
		b.step(next, protocol.Event{Kind: protocol.Tick})
		b.deliver()
	}
}

func (b *stepHarness) call(p *place, port protocol.Port, fact any) {
	p.op++
	b.step(p, protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: uint64(p.id), Op: p.op}, Fact: fact})
}

// request lets a client of some member want something, as the byte says.
func (b *stepHarness) request(which byte) {
	p := b.places[which%3]
	if len(p.sessions) == 0 {
		return
	}
	s := p.sessions[int(which>>2)%len(p.sessions)]
	port := protocol.Port(1 + which>>7)
	name := [...]string{"x", "y", "z"}[int(which>>3)%3]
	mode := [...]holdfast.Mode{holdfast.ModeExclusive, holdfast.ModeShared, holdfast.ModeSlots}[int(which>>5)%3]
	if b.mode.capacity != 0 {
		mode = holdfast.ModeSlots
	}
	if b.mode.protocol != "central" && b.decree(p, port, which) {
		b.deliver()
		return
	}
	switch which >> 4 & 7 {
	case 1:
		b.call(p, port, &protocol.Release{Session: s, Name: name, Request: p.op})
	case 2:
		b.call(p, port, &protocol.Cancel{Session: s, Name: name, Request: p.op})
	case 3:
		b.call(p, port, &protocol.Break{Name: name, Reason: "r"})
	case 4:
		b.call(p, port, &protocol.Extend{Session: s, Name: name, Request: p.op, Hold: time.Minute})
	case 5:
		b.call(p, port, &protocol.Show{Name: name})
	default:
		request := &lock.Request{
			Session: s, ID: p.op + 1, Name: name, Client: "client", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: mode}, Owner: [...]string{"", "o"}[which%2]},
			Arrived: b.now, WaitEnd: b.now + time.Minute, Try: which&4 != 0,
		}
		if mode == holdfast.ModeSlots {
			request.Units, request.Capacity = 1, 2
		}
		b.call(p, port, request)
	}
	b.deliver()
}

// decree lets an operator want something of a whole space, where the byte says so.
func (b *stepHarness) decree(p *place, port protocol.Port, which byte) bool {
	switch which >> 4 & 15 {
	case 6, 14:
		b.call(p, port, &protocol.Transfer{To: protocol.ID(1 + which&3)})
	case 7:
		b.call(p, port, &protocol.CloseSpace{})
	case 15:
		b.call(p, port, &protocol.OpenSpace{})
	default:
		return false
	}
	return true
}

// TestStepHarness: left alone, the members grant, report and list.
func TestStepHarness(t *testing.T) {
	for _, which := range stepModes() {
		mode := modeOf(which)
		b := newStepHarness(t, mode)
		b.inspect()
		if b.listed == 0 || len(b.heard) == 0 {
			t.Errorf("%+v: nothing is locked, or nothing was sent", mode)
		}
		kinds := map[string]bool{}
		for _, p := range b.heard {
			_, m, _, err := Decode(p.bytes)
			if err != nil {
				t.Fatal(err)
			}
			kinds[nameOf(m)] = true
		}
		t.Logf("%+v: it has heard %v", mode, kinds)
	}
}
