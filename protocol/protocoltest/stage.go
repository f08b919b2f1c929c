package protocoltest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Stage is where one conversation is played. What goes wrong with the conversation itself
// ends the test.
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

// New makes an empty stage.
func New(t testing.TB, d protocol.Descriptor) *Stage {
	return &Stage{t: t, protocol: d, known: d.Options().List(), links: map[string]string{}, sent: map[string]int{}}
}

// NewStored makes an empty stage whose members share a store. What stands there a reader tells.
func NewStored(t testing.TB, d protocol.Descriptor, reader Reader) *Stage {
	s := New(t, d)
	s.reader = reader
	return s
}

// Play plays each file that fits a pattern; that none does fails the test.
func Play(t *testing.T, pattern string, d protocol.Descriptor) {
	t.Helper()
	play(t, pattern, d, nil)
}

// PlayStored plays conversations whose members share a store. What stands there a reader tells.
func PlayStored(t *testing.T, pattern string, d protocol.Descriptor, reader Reader) {
	t.Helper()
	play(t, pattern, d, reader)
}

func play(t *testing.T, pattern string, d protocol.Descriptor, reader Reader) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := NewStored(t, d, reader)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				s.t = t
				s.said.Reset()
				for _, line := range Lines(d) {
					s.Say(line)
				}
				return s.Said()
			})
		})
	}
}

// Lines returns the commands of one part of a conversation. Its first line is one of them,
// unless it is just "say".
func Lines(d *datadriven.TestData) (lines []string) {
	for line := range strings.Lines(d.Cmd + " " + argsOf(d) + "\n" + d.Input) {
		if line = strings.TrimSpace(line); line != "" && line != "say" {
			lines = append(lines, line)
		}
	}
	return lines
}

// argsOf rebuilds the words after the command as they were written.
func argsOf(d *datadriven.TestData) string {
	var fields []string
	for _, arg := range d.CmdArgs {
		field := arg.Key
		if len(arg.Vals) > 0 {
			field += "=" + strings.Join(arg.Vals, ",")
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, " ")
}

// Said returns what was said since it was asked last.
func (s *Stage) Said() string {
	said := s.said.String()
	s.said.Reset()
	return said
}

// Say lets one line happen, and all that follows from it by itself.
func (s *Stage) Say(line string) {
	s.t.Helper()
	fields := strings.Fields(line)
	args := fields[1:]
	switch fields[0] {
	case "members":
		s.start(args)
	case "view":
		s.raise(args)
	case "at":
		s.advance(Duration(s.t, args[0]))
	case "count":
		s.count()
	case "heal":
		clear(s.links)
		if s.store != nil {
			clear(s.store.wrong)
		}
	case "cut", "slow", "twice", "late", "refuse", "deny":
		s.disturb(fields[0], args)
	case "flow":
		s.flow(args)
	case "pass":
		s.release(args[0])
	case "foreign", "erase":
		s.foreign(args, fields[0] == "erase")
	case "settings":
		s.settings(strings.Join(args, " "))
	case "rows":
		s.printRows()
	case "wall":
		s.store.ahead[args[0]] = Duration(s.t, args[1])
	case "use":
		s.use(args)
	case "crowd":
		s.crowd(args)
	case "quietly":
		s.quietly(args)
	case "halt", "lapse", "carried", "lease", "crash", "start":
		s.standing(s.member(args[0]), fields[0], args[1:])
	default:
		s.call(fields[0], args)
	}
	s.settle()
}

// disturb says what is wrong with links: of several, the same; of one to the store, for so many
// requests.
func (s *Stage) disturb(kind string, args []string) {
	s.t.Helper()
	if s.store != nil && strings.Contains(args[0], theStore) {
		s.store.trouble(kind, args, func(n string) uint64 { return Number(s.t, n) })
		return
	}
	for _, link := range args {
		s.links[link] = kind
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

// start makes a cluster.
func (s *Stage) start(args []string) {
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
	var names []string
	for _, arg := range args {
		if !s.option(arg) {
			names = append(names, arg)
		}
	}
	if s.setup.Founders == 0 {
		s.setup.Founders = len(names)
	}
	for _, name := range names {
		m := &member{name: name, id: protocol.ID(len(s.members) + 1)}
		s.members = append(s.members, m)
		s.revive(m)
	}
}

// revive gives a member a machine that knows nothing.
func (s *Stage) revive(m *member) {
	s.t.Helper()
	m.machine, m.crashed, m.placed = s.create(m), false, place{}
	m.lease.Member, m.lease.Role, m.lease.Carried = protocol.Never, protocol.Never, protocol.Never
	if s.store != nil {
		s.step(m, protocol.Event{Kind: protocol.Start})
		s.settle()
	}
}

// standing changes how a member stands.
func (s *Stage) standing(m *member, verb string, args []string) {
	switch verb {
	case "crash":
		m.crashed = true
	case "start":
		m.lease.Tenure = protocol.Tenure{Incarnation: m.lease.Tenure.Incarnation + 1}
		s.revive(m)
	case "carried":
		m.lease.Carried = Duration(s.t, args[0])
	case "lease":
		m.lease.Member = Duration(s.t, args[0])
	case "halt":
		m.lease.Promised = Number(s.t, args[0])
		s.step(m, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Halted{Promised: m.lease.Promised}})
	case "lapse":
		m.lease.Tenure.Lapses++
		s.step(m, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Lapsed{Tenure: m.lease.Tenure}})
	}
}

// call lets a member's client, or an operator there, ask for something.
func (s *Stage) call(verb string, args []string) {
	s.t.Helper()
	m := s.member(args[0][:1])
	var fact any
	switch verb {
	case "transfer":
		fact = &protocol.Transfer{To: s.member(args[1]).id}
	case "open":
		fact = &protocol.OpenSpace{}
	case "close":
		fact = &protocol.CloseSpace{}
	case "leave":
		fact = &protocol.StepDown{}
	case "scan":
		fact = scanOf(s.t, args[1:])
	case "show", "break", "inspect":
		fact = CallOf(s.t, m.id, verb, args[1:], s.now)
	default:
		// A session's number begins with the incarnation in which it was opened.
		session := m.lease.Tenure.Incarnation<<32 + Number(s.t, args[0][1:])
		fact = CallOf(s.t, m.id, verb, append([]string{fmt.Sprintf("s%d", session)}, args[1:]...), s.now)
	}
	s.calls++
	s.step(m, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: s.calls}, Fact: fact})
}
