package run_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/memory"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// post is Peers that write down what they are given, batch by batch.
type post struct {
	mu      sync.Mutex
	batches [][]string
	box     *mailbox // if not nil, must not have the batch yet
	early   bool
}

func (p *post) Send(envelopes []protocol.Envelope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var batch []string
	for _, e := range envelopes {
		batch = append(batch, fmt.Sprintf("%d%s/%d %v", e.To, e.Address, e.Port, e.Message))
	}
	p.batches = append(p.batches, batch)
	if p.box != nil && len(p.box.take()) > 0 {
		p.early = true
	}
}

func (p *post) take() [][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	batches := p.batches
	p.batches = nil
	return batches
}

// TestSendsOncePerBatch: all that a batch sends leaves together, in order, before
// any sink hears of the batch. Writes and what is for no member do not go that way.
func TestSendsOncePerBatch(t *testing.T) {
	m := &scripted{wake: protocol.Never}
	box := &mailbox{}
	peers := &post{box: box}
	d := start(t, run.Config{Machine: m, Clock: clocktest.NewManual(), Peers: peers, Storage: keeping{}})
	sink := d.Attach(box)
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Receive && ev.From == protocol.Storage || ev.Fact == "nothing" {
			return
		}
		out.Send(7, plainText(fmt.Sprint(ev.Fact)))
		out.Send(protocol.Storage, storage.Save{ID: 1})
		out.Send(protocol.Storage, plainText("no write"))
		out.Send(protocol.Rumour, plainText("no listener"))
		out.Reply(protocol.CallID{Sink: sink}, "told")
		out.SendTo("b:4040", plainText("hello"))
	}
	d.Step(call(0, 0, "x"), call(0, 0, "y"))
	anyMember := fmt.Sprintf("%db:4040/0 hello", protocol.AnyMember)
	same(t, "sent", peers.take(), [][]string{{"7/0 x", anyMember, "7/0 y", anyMember}})
	same(t, "told", box.take(), [][]string{{"2/0 told", "2/0 told"}})
	if _, _, err := d.Call(call(sink, 5, "z")); err != nil {
		t.Fatal(err)
	}
	same(t, "sent by a call", peers.take(), [][]string{{"7/0 z", anyMember}})
	box.take()
	d.Detach(sink)
	if batches := peers.take(); len(batches) != 1 {
		t.Errorf("a detachment has sent %q", batches)
	}
	if peers.early {
		t.Error("a sink was called before the messages had left")
	}
	d.Step(call(0, 0, "nothing"))
	same(t, "sent by a step that sends nothing", peers.take(), [][]string(nil))
}

// keeping is a Storage that keeps everything.
type keeping struct{}

func (keeping) Save(s storage.Save) storage.Saved { return storage.Saved{ID: s.ID} }

// TestSendsWhenTimeHasCome: what a tick sends leaves as well.
func TestSendsWhenTimeHasCome(t *testing.T) {
	sent := make(chan []protocol.Envelope, 1)
	m := &scripted{wake: 1}
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Tick {
			m.wake = protocol.Never
			out.Send(7, plainText("poll"))
		}
	}
	c := clocktest.NewManual()
	start(t, run.Config{Machine: m, Clock: c, Peers: peersFunc(func(e []protocol.Envelope) { sent <- append([]protocol.Envelope(nil), e...) })})
	c.Advance(2)
	if got := <-sent; len(got) != 1 || got[0].Message != protocol.Message(plainText("poll")) {
		t.Errorf("%+v", got)
	}
}

type peersFunc func([]protocol.Envelope)

func (f peersFunc) Send(e []protocol.Envelope) { f(e) }

// TestDriversOverMemory: two drivers talk over the network of tests. A batch that
// arrives is stepped in one go, and its answers leave in one.
func TestDriversOverMemory(t *testing.T) {
	network := memory.New(nil)
	ends, machines, drivers := [2]*memory.Member{}, [2]*scripted{}, [2]*run.Driver{}
	for i := range ends {
		var err error
		if ends[i], err = network.Join(transport.Identity{ID: protocol.ID(i + 1), Address: fmt.Sprint("m", i+1)}); err != nil {
			t.Fatal(err)
		}
		machines[i] = &scripted{wake: protocol.Never}
		machines[i].do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
			if fact, ok := ev.Fact.(plainText); ok && ev.Kind == protocol.Receive && fact == "ping" {
				out.Send(ev.From, plainText("pong"))
			}
		}
		drivers[i] = start(t, run.Config{Machine: machines[i], Clock: clocktest.NewManual(), Peers: ends[i]})
		ends[i].Listen(func(events []protocol.Event) { drivers[i].Step(events...) })
	}
	machines[0].do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Call {
			out.SendTo("m2", plainText("ping"))
		}
	}
	drivers[0].Step(call(0, 0, nil))
	if n := network.Deliver(); n != 2 {
		t.Errorf("%d messages were delivered", n)
	}
	same(t, "steps", machines[0].steps[2:], []string{"receive port=0 from=2 call=0/0 run_test.plainText at 0s"})
}

// BenchmarkSend is what a message to another member adds to a step.
func BenchmarkSend(b *testing.B) {
	for _, sends := range []int{0, 1} {
		b.Run(fmt.Sprintf("sends=%d", sends), func(b *testing.B) {
			m := &silent{sends: sends}
			d, err := run.New(run.Config{Machine: m, Peers: peersFunc(func([]protocol.Envelope) {})})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				d.Step(protocol.Event{Kind: protocol.Receive})
			}
			if err := d.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// silent is a machine that does nothing but send.
type silent struct{ sends int }

func (*silent) Wake() protocol.Time { return protocol.Never }

func (m *silent) Step(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
	for range m.sends {
		out.Send(7, plainText("message"))
	}
}
