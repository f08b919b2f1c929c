package protocoltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Stage is the environment of one conversation. An error in the conversation itself ends the test.
type Stage struct {
	t        testing.TB
	protocol protocol.Descriptor
	options  option.Values     // given for all members
	known    option.List       // its options
	setup    protocol.Setup    // of every member
	own      map[string]string // options of one member: its name and the option's
	named    bool              // answers say whose a session is
	said     strings.Builder
	now      protocol.Time
	members  []*member
	views    uint64
	calls    uint64
	links    map[string]string // what is wrong with a link
	transit  []flight
	slow     []flight
	sent     map[string]int
	used     uint64 // requests of use
	reader   Reader // of what stands in the store; nil where there is none
	store    *store
}

// member is one of the cluster.
type member struct {
	name    string
	id      protocol.ID
	machine protocol.Machine
	lease   protocol.Lease
	placed  place
	crashed bool
	out     protocol.Effects
}

// place is since when all views have had a member.
type place struct {
	tenure      protocol.Tenure
	since, last uint64 // the first and the newest of those views
}

// New returns an empty stage.
func New(t testing.TB, d protocol.Descriptor) *Stage {
	return &Stage{t: t, protocol: d, known: d.Options().List(), links: map[string]string{}, sent: map[string]int{}}
}

// NewStored returns an empty stage whose members share a store. A reader describes the store's contents.
func NewStored(t testing.TB, d protocol.Descriptor, reader Reader) *Stage {
	s := New(t, d)
	s.reader = reader
	return s
}

// Play plays each conversation in testdata.
func Play(t *testing.T, d protocol.Descriptor) { PlayStored(t, d, nil) }

// PlayStored plays conversations whose members share a store. A reader describes the store's contents.
func PlayStored(t *testing.T, d protocol.Descriptor, reader Reader) {
	t.Helper()
	golden.Play(t, func(t *testing.T) func(*golden.Line) string { return NewStored(t, d, reader).Play })
}

// Say executes one line, and returns the members' actions.
func (s *Stage) Say(text string) string {
	s.t.Helper()
	l := golden.Read(s.t, text)
	defer l.Done()
	return s.Play(l)
}

// Play executes one line, and everything that follows from it automatically. It returns the members' actions.
func (s *Stage) Play(l *golden.Line) string {
	l.Helper()
	s.said.Reset()
	switch l.Verb {
	case "quietly":
		s.Play(l.Inner())
		s.said.Reset()
	case "members":
		s.start(l)
	case "view":
		s.raise(l)
	case "at":
		s.advance(l.Time())
	case "count":
		s.count()
	case "heal":
		clear(s.links)
		if s.store != nil {
			clear(s.store.wrong)
		}
	case "cut", "slow", "twice", "late", "refuse", "deny":
		s.disturb(l)
	case "flow":
		s.flow(l.Next(), l.Flag("last"))
	case "pass":
		s.release(l.Next())
	case "foreign", "erase":
		s.foreign(l)
	case "settings":
		s.settings(strings.Join(l.Rest(), " "))
	case "rows":
		s.printRows()
	case "wall":
		s.store.ahead[l.Next()] = l.Time()
	case "use", "crowd":
		s.often(l)
	case "halt", "lapse", "carried", "lease", "role", "crash", "start":
		s.standing(l, s.member(l.Next()))
	default:
		s.call(l)
	}
	s.settle()
	return s.said.String()
}

// disturb sets the trouble of links: the same for several; on a link to the store, for a number of requests.
func (s *Stage) disturb(l *golden.Line) {
	l.Helper()
	links := l.Words()
	if s.store != nil && strings.Contains(links[0], theStore) {
		t := trouble{l.Verb, 1 << 30}
		if len(links) > 1 {
			t.left = int(l.ToNumber(links[1]))
		}
		s.store.wrong[links[0]] = t
		return
	}
	for _, link := range links {
		s.links[link] = l.Verb
	}
}

func (s *Stage) member(name string) *member {
	s.t.Helper()
	for _, m := range s.members {
		if m.name == name {
			return m
		}
	}
	s.t.Fatalf("no member %q", name)
	return nil
}

func (s *Stage) byID(id protocol.ID) *member { return s.members[id-1] }

// start creates a cluster.
func (s *Stage) start(l *golden.Line) {
	l.Helper()
	s.setup = protocol.Setup{
		Space: "locks",
		Store: storage.Features{Name: "staged", Consistent: true, Swap: true, Durable: true, Clock: true},
	}
	s.options, s.named, s.own = option.Values{}, false, map[string]string{}
	s.members, s.transit, s.slow, s.now, s.views, s.used = nil, nil, nil, 0, 0, 0
	clear(s.links)
	clear(s.sent)
	if s.reader != nil {
		s.store = newStore(s.reader)
	}
	s.configure(l)
	names := l.Words()
	if s.setup.Founders == 0 {
		s.setup.Founders = len(names)
	}
	for _, name := range names {
		m := &member{name: name, id: protocol.ID(len(s.members) + 1)}
		s.members = append(s.members, m)
		s.revive(m)
	}
}

// revive gives a member a new machine without any state.
func (s *Stage) revive(m *member) {
	s.t.Helper()
	m.machine, m.crashed, m.placed = s.create(m), false, place{}
	m.lease.Member, m.lease.Role, m.lease.Carried = protocol.Never, protocol.Never, protocol.Never
	if s.store != nil {
		s.step(m, protocol.Event{Kind: protocol.Start})
		s.settle()
	}
}

// standing changes a member's lease or role.
func (s *Stage) standing(l *golden.Line, m *member) {
	l.Helper()
	switch l.Verb {
	case "crash":
		m.crashed = true
		if s.store != nil {
			s.notifyEnded(m)
		}
	case "start":
		m.lease.Tenure = protocol.Tenure{Incarnation: m.lease.Tenure.Incarnation + 1}
		s.revive(m)
	case "carried":
		m.lease.Carried = l.Time()
	case "lease":
		m.lease.Member = l.Time()
	case "role":
		m.lease.Role = l.Time()
	case "halt":
		m.lease.Promised = l.Count()
		s.step(m, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Halted{Promised: m.lease.Promised}})
	case "lapse":
		m.lease.Tenure.Lapses++
		s.step(m, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Lapsed{Tenure: m.lease.Tenure}})
	}
}

// call makes a request of a member's client, or of an operator there.
func (s *Stage) call(l *golden.Line) {
	l.Helper()
	name, client := l.Asked()
	m := s.member(name)
	// A session's number begins with the incarnation in which it was opened.
	fact := l.Call(lock.SessionID{Member: uint64(m.id), Number: m.lease.Tenure.Incarnation<<32 + client}, s.now)
	if l.Verb == "transfer" {
		fact = &protocol.Transfer{To: s.member(l.Next()).id}
	}
	if r, is := fact.(*lock.Request); is && r.Try {
		r.WaitEnd = r.Arrived // as doors ask
	}
	if fact == nil {
		l.Unknown()
	}
	s.calls++
	s.step(m, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: s.calls}, Fact: fact})
}

// often makes a session lock and unlock a name that many times, or request it that many times, or that many names with
// a common prefix. Only the number of grants is shown.
func (s *Stage) often(l *golden.Line) {
	l.Helper()
	client, times, name := l.Next(), l.Count(), l.Next()
	said := ""
	for i := range times {
		s.used++
		is := name
		if stem, many := strings.CutSuffix(name, "*"); many {
			is = fmt.Sprintf("%s%d", stem, i+1)
		}
		said += s.Say(fmt.Sprintf("lock %s #%d %s", client, 1000+s.used, is))
		if l.Verb == "use" {
			said += s.Say(fmt.Sprintf("unlock %s #%d %s", client, 1000+s.used, is))
		}
	}
	s.said.Reset()
	if l.Verb == "use" {
		fmt.Fprintf(&s.said, "%s was granted %s %d of %d times\n", client, name, strings.Count(said, " granted "+name+" token="), times)
		return
	}
	fmt.Fprintf(&s.said, "%s was granted %d of %d\n", client, strings.Count(said, " granted "), times)
}

// client names a session by its member.
func (s *Stage) client(session lock.SessionID) string {
	return fmt.Sprintf("%s%d", s.byID(protocol.ID(session.Member)).name, uint32(session.Number))
}

// names are the names of members, and of sessions if requested.
func (s *Stage) names() golden.Names {
	n := golden.Names{Client: golden.Session, Member: func(id protocol.ID) string {
		if id == 0 || int(id) > len(s.members) {
			return ""
		}
		return s.byID(id).name
	}}
	if s.named {
		n.Client = s.client
	}
	return n
}
