package admin_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const me protocol.ID = 7

// view is that of a member with two others.
func view() protocol.View {
	return protocol.View{
		Number: 4, Epoch: protocol.Epoch{Counter: 3, Candidate: me}, Coordinator: me, Installed: true, Open: true,
		Members: []protocol.Member{
			{ID: me, Name: "a", Address: "a.example:4040"}, {ID: 8, Name: "b", Address: "b.example:4040"}, {ID: 9, Name: "c"},
		},
		Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
}

// below is a membership that has this member alone, though view has others: the member that decides is
// here, and waits for no other.
type below struct{}

func (below) Wake() protocol.Time { return protocol.Never }

func (below) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind == protocol.Start {
		alone := view()
		alone.Members = alone.Members[:1]
		out.Raise(&alone)
	}
}

// space is a coordinator's machine that answers what a coordinator does not: it hands its
// authority over, opens and closes as its fields direct. What is nil goes to the coordinator.
type space struct {
	protocol.Machine

	mu      sync.Mutex
	answer  func(fact any) any // nil: no answer
	queries []any              // what it was asked of that
}

func (s *space) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev.Fact.(type) {
	case *protocol.Transfer, *protocol.OpenSpace, *protocol.CloseSpace, *protocol.Reform, *protocol.ListShards:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queries = append(s.queries, ev.Fact)
		if answer := s.answer(ev.Fact); answer != nil {
			out.Reply(ev.Call, answer)
		}
		return
	}
	s.Machine.Step(now, ev, out)
}

// harness is a member with the spaces default and billing.
type harness struct {
	t      *testing.T
	clock  *clocktest.Manual
	driver *run.Driver
	space  *space // billing
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	b := &harness{t: t, clock: clocktest.NewManual()}
	b.clock.Advance(time.Hour)
	first, err := central.New(central.Config{Self: me})
	must(t, err)
	second, err := central.New(central.Config{Self: me})
	must(t, err)
	b.drive(session.Config{}, first, second, nil)
	return b
}

// drive has a member with these machines, and with a journal if they keep something.
func (b *harness) drive(c session.Config, first, second protocol.Machine, journal run.Journal) {
	b.t.Helper()
	b.space = &space{Machine: second, answer: func(any) any { return nil }}
	c.Member, c.Incarnation, c.Rand, c.Spaces = me, 1, rand.New(rand.NewPCG(1, 2)), 2
	sessions, err := session.New(c, protocol.Stack(below{}, first, b.space))
	must(b.t, err)
	b.driver, err = run.New(run.Config{Machine: sessions, Clock: b.clock, Journal: journal})
	must(b.t, err)
	b.t.Cleanup(func() { must(b.t, b.driver.Close()) })
	b.clock.Advance(time.Minute)
}

// newHarnessOfShards is a member whose space billing has three shards.
func newHarnessOfShards(t *testing.T) *harness {
	t.Helper()
	b := &harness{t: t, clock: clocktest.NewManual()}
	b.clock.Advance(time.Hour)
	first, err := central.New(central.Config{Self: me})
	must(t, err)
	second, err := consensus.New(consensus.Config{Self: me, Life: 1, Log: 1, Options: consensus.Options{Shards: 3}})
	must(t, err)
	paper := make(paper, 1000)
	written := make(chan struct{})
	go paper.write(written)
	b.drive(session.Config{TTL: 24 * time.Hour, MaxTTL: 24 * time.Hour, Lasting: []protocol.Port{2}}, first, second, paper)
	t.Cleanup(func() {
		must(t, b.driver.Close())
		close(paper)
		<-written
	})
	for { // its logs are to begin, and to be led
		reply, err := b.driver.Do(t.Context(), 2, &protocol.Inspect{})
		must(t, err)
		if reply.Result.(*protocol.Condition).State == protocol.Ready {
			return b
		}
		b.clock.Advance(100 * time.Millisecond)
	}
}

// paper is a journal that does what it is asked, and that no reader reads.
type paper chan func()

func (p paper) Submit(request any, answer func(any)) error {
	select {
	case p <- func() { answer(storage.AnswerTo(request, nil)) }:
		return nil
	default:
		return storage.ErrRefused
	}
}

func (p paper) write(done chan<- struct{}) {
	for answer := range p {
		answer()
	}
	close(done)
}

// onEach runs a test of suspensions with a space of each kind.
func onEach(t *testing.T, test func(*testing.T, *harness)) {
	t.Run("central", func(t *testing.T) { test(t, newHarness(t)) })
	t.Run("consensus in shards", func(t *testing.T) { test(t, newHarnessOfShards(t)) })
}

// service is a new one, as each member has.
func (b *harness) service() *admin.Service {
	b.t.Helper()
	o, err := admin.New(admin.Config{
		Driver: b.driver, View: view,
		Spaces: []admin.Space{{Name: "default", Protocol: "central"}, {Name: "billing", Protocol: "grantor"}},
	})
	must(b.t, err)
	b.t.Cleanup(o.Close)
	return o
}

// suspension returns who has suspended billing, and how many wait to do that.
func (b *harness) suspension() (holders []lock.Grant, waiters int) {
	b.t.Helper()
	reply, err := b.driver.Do(b.t.Context(), 2, &protocol.Show{Name: lock.SpaceLock})
	must(b.t, err)
	shown := reply.Result.(*lock.Lock)
	return shown.Holders, len(shown.Waiters)
}

// program is a session of its own, which takes what it wants.
type program struct {
	*harness
	sink    uint64
	session lock.SessionID
	last    uint64
	decided chan lock.Decision
}

func (b *harness) program() *program {
	b.t.Helper()
	p := &program{harness: b, decided: make(chan lock.Decision, 100)}
	p.sink = b.driver.Attach(p)
	reply, answered, err := b.driver.Call(protocol.Event{
		Kind: protocol.Call, Call: protocol.CallID{Sink: p.sink, Op: 1 << 50}, Fact: &session.Open{Kind: session.Local, Client: "program"},
	})
	must(b.t, err)
	if !answered {
		b.t.Fatal("a session was not opened at once")
	}
	p.session = reply.Result.(*session.Opened).ID
	b.t.Cleanup(func() { b.driver.Detach(p.sink) })
	return p
}

// Deliver keeps what ends something.
func (p *program) Deliver(replies []protocol.Reply) {
	for _, reply := range replies {
		if reply.Decision.Kind != 0 && reply.Decision.Kind != lock.Queued {
			p.decided <- reply.Decision
		}
	}
}

// acquire asks for a name of billing, and waits for what is decided.
func (p *program) acquire(name string, try bool) lock.Decision {
	p.t.Helper()
	p.last++
	p.driver.Step(protocol.Event{
		Kind: protocol.Call, Port: 2, Call: protocol.CallID{Sink: p.sink, Op: p.last},
		Fact: &lock.Request{Session: p.session, ID: p.last, Name: name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}, Owner: "job-7"}, Try: try, WaitEnd: protocol.Never},
	})
	return p.hear()
}

func (p *program) hear() lock.Decision {
	p.t.Helper()
	select {
	case d := <-p.decided:
		return d
	case <-time.After(time.Minute):
		p.t.Fatal("nothing is decided")
		return lock.Decision{}
	}
}

// release gives up a grant of billing.
func (p *program) release(d lock.Decision) {
	p.t.Helper()
	p.driver.Step(protocol.Event{
		Kind: protocol.Call, Port: 2, Call: protocol.CallID{Sink: p.sink, Op: 1<<50 + 1},
		Fact: &protocol.Release{Session: p.session, Name: d.Name, Token: d.Token},
	})
	if released := p.hear(); released.Kind != lock.Released {
		p.t.Fatalf("the release is answered with %+v", released)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
