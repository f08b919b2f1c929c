package sim

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// leaderStandIn is a space whose state a test sets.
type leaderStandIn struct {
	protocol.Machine
	drawn  []probe.Drawn
	serves bool
	graces int
	behind int
	finds  probe.Finding
	placed probe.Placed
	waits  map[uint64]requestKey
}

// topicMessage is a message with a topic.
type topicMessage probe.Topic

func (topicMessage) String() string { return "word" }

// leadingStandIn reads the state of a leaderStandIn.
type leadingStandIn struct{}

func (leadingStandIn) Drawn(space protocol.Machine) []probe.Drawn {
	return space.(*leaderStandIn).drawn
}
func (leadingStandIn) Serves(space protocol.Machine) bool { return space.(*leaderStandIn).serves }
func (leadingStandIn) Graces(space protocol.Machine) int  { return space.(*leaderStandIn).graces }
func (leadingStandIn) Behind(space protocol.Machine) int  { return space.(*leaderStandIn).behind }
func (leadingStandIn) TopicOf(_ protocol.Machine, m any) probe.Topic {
	w, _ := m.(topicMessage)
	return probe.Topic(w)
}

func (leadingStandIn) Finds(space protocol.Machine, _ *protocol.View, _ protocol.ID, _ any) probe.Finding {
	return space.(*leaderStandIn).finds
}

func (leadingStandIn) Placed(space protocol.Machine, _ any) (probe.Placed, bool) {
	placed := space.(*leaderStandIn).placed
	return placed, placed.Name != ""
}

func (leadingStandIn) Request(space protocol.Machine, t probe.Placed) (lock.SessionID, uint64, bool) {
	key, waits := space.(*leaderStandIn).waits[t.Number]
	return key.session, key.id, waits
}

// leaderStandIns makes a world of three members with stand-ins as spaces, in one view.
func leaderStandIns() (*world, []*leaderStandIn) {
	c := config("bakery")
	c.Members, c.Protocol.LeaderProbe = 3, leadingStandIn{}
	return worldOf(&c, func() *leaderStandIn { return &leaderStandIn{waits: map[uint64]requestKey{}} })
}

// TestCrashesOfTicketsAreCounted checks that a crash counts once for each role of the member in a ticket, and each
// step.
func TestCrashesOfTicketsAreCounted(t *testing.T) {
	w, spaces := leaderStandIns()
	spaces[0].drawn = []probe.Drawn{{Step: probe.TicketReady, Owner: 3, First: 2}, {Step: probe.TicketReady, Owner: 3, First: 2}, {Step: probe.TicketLocked, Owner: 1, First: 3, Slow: []protocol.ID{2}}}
	spaces[1].drawn = []probe.Drawn{{Step: probe.TicketChoosing, Owner: 2, First: 0}}
	w.strikes(w.members[0])
	want := map[mark]int{
		ticketCrash(ticketMaster, probe.TicketReady): 1, ticketCrash(ticketMaster, probe.TicketLocked): 1, ticketCrash(ticketOwner, probe.TicketLocked): 1,
	}
	if got := w.count.of("ticket", "leaders"); !maps.Equal(got, want) {
		t.Errorf("counted: %v; want %v", got, want)
	}
	w.strikes(w.members[1])
	want[ticketCrash(ticketMaster, probe.TicketChoosing)]++
	want[ticketCrash(ticketOwner, probe.TicketChoosing)]++
	want[ticketCrash(ticketFirst, probe.TicketReady)]++
	want[leadSilent]++
	if got := w.count.of("ticket", "leaders"); !maps.Equal(got, want) {
		t.Errorf("counted: %v; want %v", got, want)
	}
}

// TestCrashesOfHandOversAreCounted checks that crashes of the sender and of the receiver of tickets in flight count.
func TestCrashesOfHandOversAreCounted(t *testing.T) {
	w, _ := leaderStandIns()
	w.at(w.now+time.Second, task{kind: taskMessage, port: uint16(userSpace), from: 1, to: 1, id: 2, fact: topicMessage(probe.TopicTickets)})
	w.at(w.now+time.Second, task{kind: taskMessage, port: uint16(userSpace), from: 3, to: 1, id: 2, fact: topicMessage(probe.TopicNone)})
	for _, at := range []struct{ crashes, sender, receiver int }{{0, 1, 0}, {1, 1, 1}, {2, 1, 1}} {
		w.strikes(w.members[at.crashes])
		if hits := w.count.hits; hits[leadSender] != at.sender || hits[leadReceiver] != at.receiver {
			t.Errorf("after member %d has crashed: %d of a sender, %d of a receiver", at.crashes, hits[leadSender], hits[leadReceiver])
		}
	}
}

// TestWhoComesBackEmptyIsCounted checks that the return of a member that had served counts if others have tickets.
func TestWhoComesBackEmptyIsCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		served bool
		others []probe.Drawn
		want   int
	}{
		"a leader":                     {true, []probe.Drawn{{}}, 1},
		"a leader, and no member asks": {true, nil, 0},
		"one that has not served yet":  {false, []probe.Drawn{{}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, spaces := leaderStandIns()
			spaces[0].serves, spaces[1].drawn = tt.served, tt.others
			w.strikes(w.members[0])
			view := *w.members[0].view
			view.Members = append([]protocol.Member{{ID: 1, Since: 2}}, view.Members[1:]...)
			w.viewed(w.members[0], &view)
			w.viewed(w.members[0], &view)
			if got := w.count.hits[leadEmpty]; got != tt.want {
				t.Errorf("counted: %d; want %d", got, tt.want)
			}
		})
	}
}

// TestWhatLeadersHearIsCounted checks the rows for received messages, for a leader that becomes known after a refusal
// or a loss, and for graces.
func TestWhatLeadersHearIsCounted(t *testing.T) {
	w, spaces := leaderStandIns()
	m := w.members[0]
	finds := func(what probe.Finding) {
		spaces[0].finds = what
		w.takes(m, 2, "a message")
	}
	for _, what := range []probe.Finding{probe.FindsNothing, probe.FindsEnded, probe.FindsOlder, probe.FindsHold, probe.FindsRequest, probe.FindsLeaders} {
		finds(what)
	}
	finds(probe.FindsRefused)
	w.misses(m, topicMessage(probe.TopicLeaders))
	finds(probe.FindsNewcomer)
	finds(probe.FindsRefused)
	w.misses(m, topicMessage(probe.TopicTickets))
	finds(probe.FindsLeaders)
	w.sendsAsLeader(w.members[1], m, topicMessage(probe.TopicTakenOver))
	for _, graces := range []int{1, 2, 0} {
		spaces[0].graces = graces
		w.moved(m)
	}
	for _, behind := range []int{1, 2, 2, 0} {
		spaces[0].behind = behind
		w.moved(m)
	}
	want := map[mark]int{
		leadEnded: 1, leadOlder: 1, leadHold: 1, leadRequest: 1, leadNewcomer: 1, leadAgain: 1, leadTakenOver: 1, leadGrace: 1,
		leadRefused: 2, leadBehind: 2, leadCaughtUp: 1,
	}
	if got := w.count.of("leaders"); !maps.Equal(got, want) {
		t.Errorf("counted: %v; want %v", got, want)
	}
}

// TestATicketStandsWhenItIsPlaced checks that a ticket has its place as long as its request waits.
func TestATicketStandsWhenItIsPlaced(t *testing.T) {
	for name, tt := range map[string]struct {
		waits uint64
		up    bool
		want  int
	}{
		"a request waits": {7, true, 1}, "it has ended": {6, true, 0}, "its member is down": {7, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, spaces := leaderStandIns()
			spaces[0].placed = probe.Placed{Name: "n", Owner: 3, Number: 7, Reign: protocol.Epoch{Counter: 4}}
			spaces[2].waits[tt.waits] = requestKey{lock.SessionID{Member: 3, Number: 1}, 9}
			w.members[2].up = tt.up
			w.takes(w.members[0], 2, "a message")()
			if queue := w.judge.record("n").queue; len(queue) != tt.want {
				t.Errorf("%d stand; want %d", len(queue), tt.want)
			}
		})
	}
}

// TestLeadersAreInTheProfile checks that a protocol whose leaders number tickets has the rows of leaders, and no other.
func TestLeadersAreInTheProfile(t *testing.T) {
	c := config("bakery")
	s := full(&c, profileSeeds)
	p, err := s.Profile(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []mark{
		leadTakenOver, leadEmpty, leadSender, leadReceiver, leadHold, leadRequest, leadAgain, leadOlder, leadNewcomer, leadGrace, leadEnded,
		leadSilent, leadRefused, leadStopped, leadBehind, leadCaughtUp,
	} {
		if !slices.Contains(p.Never, "leaders "+what.name) {
			t.Errorf("%q is missing in what was never hit: %q", what.name, p.Never)
		}
	}
	for _, name := range []string{"ticket crash of the master of a ticket that is choosing", "ticket crash of the owner of a ticket that is locked"} {
		if !slices.Contains(p.Never, name) {
			t.Errorf("%q is missing in what was never hit: %q", name, p.Never)
		}
	}
	sum := s.hitTwice(&c, "ticket", "leaders")
	for _, m := range c.Protocol.sent() {
		s.counts.messages[message{false, reflect.TypeOf(m)}] = 1
	}
	if p, err = s.Profile(c); err != nil || len(p.Never) > 0 || sum[leadEnded] != 2 || sum[ticketCrash(ticketOwner, probe.TicketLocked)] != 2 {
		t.Errorf("all was hit: %v %q %+v", err, p.Never, sum)
	}
}
