package run

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Config configures a Driver.
type Config struct {
	// Machine is the machine to drive. Required.
	Machine protocol.Machine
	// Clock measures the machine's time. Nil means clock.Real().
	Clock clock.Clock
	// Storage performs the machine's messages to protocol.Storage. If nil, every write is refused, as by a full disk.
	Storage Storage
	// Stores are the key-column-value stores of the machines at these ports. A machine without one gets no answer. They
	// stay open when the driver is closed.
	Stores map[protocol.Port]storage.Store
	// Journal stores the machines' logs. If nil, each request gets an error. It stays open when the driver is closed;
	// later answers are dropped.
	Journal Journal
	// Peers sends the machine's messages to other members. If nil, all are lost, as with a network that is down.
	Peers Peers
	// Observe, if not nil, sees the effects of every step before they are drained,
	// for metrics, traces and feeds of events. It is called with the driver's mutex
	// held: it must not block, call back, or keep the effects.
	Observe func(now protocol.Time, effects *protocol.Effects)
	// Heed, if not nil, is Observe for steps that raise or note something, which is rare. It gets only those effects.
	Heed func(now protocol.Time, effects *protocol.Effects)
	// LagLimit is how long input may wait for its step before the member counts as overloaded. Zero means 1 s. See
	// Driver.Lag.
	LagLimit time.Duration
	// Logger logs the machine's notes, at level debug, and overload of the member. Nil discards.
	Logger *slog.Logger
}

// Storage performs one write at a time. See package storage.
type Storage interface {
	Save(storage.Save) storage.Saved
}

// Peers carries messages to other members. Messages from them are stepped with Driver.Step, a whole batch at once.
type Peers interface {
	// Send sends messages, in order: once a batch, with the driver's mutex held, before any sink gets a reply. The
	// driver reuses the slice after Send returns. Send must not block and must not call the driver. It drops what it
	// cannot carry: delivery is not guaranteed.
	Send(envelopes []protocol.Envelope)
}

// Sink receives answers to calls, and unsolicited replies.
type Sink interface {
	// Deliver is called once a batch, with the driver's mutex held, in the order of the decisions. The driver reuses
	// the slice after Deliver returns. Deliver must not block and must not call the driver.
	Deliver(replies []protocol.Reply)
}

// How much memory is kept between batches.
const (
	keptReplies   = 1024
	keptEnvelopes = 1024
)

// ErrClosed is returned by calls on a closed driver.
var ErrClosed = errors.New("driver closed")

// Driver steps one machine in real time. It is safe for concurrent use.
type Driver struct {
	machine protocol.Machine
	clock   clock.Clock
	start   time.Duration
	peers   Peers
	observe func(protocol.Time, *protocol.Effects)
	heed    func(protocol.Time, *protocol.Effects)
	logger  *slog.Logger

	mu          sync.Mutex
	closed      bool
	stepping    bool             // the machine is being stepped
	effects     protocol.Effects // drained after every step, except the replies: they wait for the end of the batch
	seen        protocol.Effects // the part of them for the observer
	sinks       map[uint64]Sink
	lastSink    uint64
	questions   questions
	outgoing    []protocol.Envelope // messages of this batch to other members
	one         []protocol.Reply    // scratch: replies of one sink
	lastRequest uint64              // the last id given by Acquire
	request     lock.Request        // scratch: of Acquire
	release     protocol.Release    // scratch: of Release
	wake        protocol.Time       // what the timer is set to
	due         time.Time           // when it fires, if the clock runs as the process's time does
	timer       clock.Timer

	lag     lag
	steps   int           // since the last measurement of the lag
	rests   bool          // no measurement is running
	stirred chan struct{} // requests a new measurement

	stores    map[protocol.Port]*storeWorker
	immediate []protocol.Event // answers that need no other process, to be stepped in the same batch

	writer  *writer
	journal *journalWorker // of the journal
	done    chan struct{}  // closed by Close
	ended   sync.WaitGroup
}

// New starts a driver: the machine is stepped with Start before New returns.
func New(c Config) (*Driver, error) {
	if c.Machine == nil {
		return nil, fmt.Errorf("run: Machine is nil; give the machine to drive")
	}
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	if c.LagLimit == 0 {
		c.LagLimit = time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Driver{
		machine: c.Machine,
		clock:   c.Clock,
		start:   c.Clock.Now(),
		peers:   c.Peers,
		observe: c.Observe,
		heed:    c.Heed,
		logger:  c.Logger,
		sinks:   map[uint64]Sink{},
		wake:    protocol.Never,
		timer:   c.Clock.NewTimer(),
		done:    make(chan struct{}),
		lag:     lag{limit: c.LagLimit},
		stirred: make(chan struct{}, 1),
	}
	d.stores = map[protocol.Port]*storeWorker{}
	for port, store := range c.Stores {
		d.stores[port] = newStoreWorker(store, port, func(ev protocol.Event) { d.Step(ev) }, c.Logger)
	}
	d.questions.lines = map[uint64]chan protocol.Reply{}
	d.questions.sink = d.Attach(&d.questions)
	d.writer = newWriter(c.Storage, d.receive)
	d.journal = newJournalWorker(c.Journal, d.Step)
	d.ended.Go(d.keepTime)
	d.ended.Go(d.lookForLag)
	d.ended.Go(d.writer.run)
	d.ended.Go(d.journal.run)
	d.Step(protocol.Event{Kind: protocol.Start})
	return d, nil
}

// Now returns the machine's time.
func (d *Driver) Now() protocol.Time { return d.clock.Now() - d.start }

// Clock returns the driver's clock, and its reading at the machine's time zero.
func (d *Driver) Clock() (c clock.Clock, start time.Duration) { return d.clock, d.start }

// Wall converts a time of the machine to wall time, for people: it counts from now, by the wall clock as it is set now.
func (d *Driver) Wall(t protocol.Time) time.Time {
	return time.Now().Add(t - d.Now()).UTC()
}

// Explain turns an error into a message for people: about a held name, at which member and since when. Name returns the
// name of a member.
func (d *Driver) Explain(err error, name func(protocol.ID) string) error {
	var held *lock.HeldBy
	if !errors.As(err, &held) {
		return err
	}
	return held.ErrorFor(name(protocol.ID(held.Holder.Member)), time.Now())
}

// Attach registers a sink and returns its number, for CallID.Sink.
func (d *Driver) Attach(s Sink) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lastSink++
	d.sinks[d.lastSink] = s
	return d.lastSink
}

// Detach removes a sink, after informing the machine: sessions attached to it live until their TTL is over. Nothing is
// delivered to it afterwards.
func (d *Driver) Detach(sink uint64) {
	d.mu.Lock()
	defer d.leave()
	if d.sinks[sink] == nil {
		return
	}
	delete(d.sinks, sink)
	if d.closed {
		return
	}
	d.step(&protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: sink}, Fact: &session.Detach{}})
	d.deliver()
}

// Step steps events in one go, then delivers to each sink once. After Close it has no effect.
func (d *Driver) Step(events ...protocol.Event) {
	d.mu.Lock()
	defer d.leave()
	if d.closed {
		return
	}
	for i := range events {
		d.step(&events[i])
	}
	d.deliver()
}

// Close stops the driver. Machines are not informed: a member's duties to others must be done before. Nothing is
// delivered after any call of Close has returned, and writes under way have ended.
func (d *Driver) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		d.ended.Wait()
		return nil
	}
	d.closed = true
	close(d.done)
	d.mu.Unlock()
	d.writer.close()
	d.journal.close()
	for _, store := range d.stores {
		store.close()
	}
	d.ended.Wait()
	d.timer.Stop()
	return nil
}

// step feeds one event, and immediate answers to its effects. It is called with the mutex held.
func (d *Driver) step(ev *protocol.Event) {
	d.stepOne(ev)
	for len(d.immediate) > 0 {
		next := d.immediate[0]
		d.immediate = d.immediate[1:]
		d.stepOne(&next)
	}
}

// stepOne feeds one event and drains its effects except the replies, which wait for the end of the batch.
func (d *Driver) stepOne(ev *protocol.Event) {
	now := d.Now()
	d.counted()
	before := len(d.effects.Replies)
	d.stepping = true
	d.machine.Step(now, *ev, &d.effects)
	d.stepping = false
	if d.observe != nil {
		d.seen = d.effects
		d.seen.Replies = d.seen.Replies[before:]
		d.observe(now, &d.seen)
	}
	if d.heed != nil && len(d.effects.Raises)+len(d.effects.Notes) > 0 {
		d.seen = protocol.Effects{Raises: d.effects.Raises, Notes: d.effects.Notes}
		d.heed(now, &d.seen)
	}
	for i := range d.effects.Notes {
		d.logger.Debug("note", "note", d.effects.Notes[i])
	}
	for i := range d.effects.Sends {
		d.send(&d.effects.Sends[i])
	}
	d.effects.Drain()
	d.arm(now)
}

// leave releases the mutex: the goroutine that has it defers this. If a machine has panicked it ends the process
// instead: an invariant is broken, and a member may die but not lie. The caller, especially a server's handler, must
// not recover and continue; so the panic moves to a goroutine without a recover, and the mutex stays locked.
func (d *Driver) leave() {
	if d.stepping {
		broken, stack := recover(), debug.Stack()
		go panic(fmt.Sprintf("a machine has broken an invariant: %v\n\n%s", broken, stack))
		select {}
	}
	d.mu.Unlock()
}

// arm sets the timer to the machine's Wake, relative to the time of its last step.
func (d *Driver) arm(from protocol.Time) {
	if at := d.machine.Wake(); at != d.wake {
		d.wake = at
		d.due = time.Now().Add(from - d.Now() + max(0, at-from))
		// A time beyond the clock's range never comes, like Never.
		d.timer.Reset(min(at, protocol.Never-d.start) + d.start)
	}
}

// send passes a write on at once, because a sync takes long, and keeps a message to another member until the batch is
// done.
func (d *Driver) send(envelope *protocol.Envelope) {
	save, isSave := envelope.Message.(storage.Save)
	switch {
	case isSave && envelope.To == protocol.Storage:
		d.writer.save(save)
	case envelope.To == protocol.Storage && storage.IsOfLog(envelope.Message):
		d.journal.submit(envelope.Port, envelope.Message)
	case envelope.To == protocol.Storage && d.stores[envelope.Port] != nil:
		if c, isClock := envelope.Message.(storage.Clock); isClock && c.Own {
			d.immediate = append(d.immediate, ownClock(envelope.Port, c))
			return
		}
		d.stores[envelope.Port].submit(envelope.Message)
	case d.peers == nil || envelope.To == protocol.Storage || envelope.To == protocol.Rumour:
		d.logger.Debug("dropped a message without a receiver", "to", envelope.To, "message", envelope.Message)
	default:
		d.outgoing = append(d.outgoing, *envelope)
	}
}

// dispatch sends the batch's messages.
func (d *Driver) dispatch() {
	d.peers.Send(d.outgoing)
	clear(d.outgoing) // messages are large, and may wait long for the next batch
	d.outgoing = d.outgoing[:0]
	if cap(d.outgoing) > keptEnvelopes {
		d.outgoing = nil
	}
}

func (d *Driver) receive(saved storage.Saved) {
	d.Step(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: protocol.Below, Fact: saved})
}

// deliver sends the batch to the other members and to its sinks, each once, and clears it. It is called with the mutex
// held.
func (d *Driver) deliver() {
	if len(d.outgoing) > 0 {
		d.dispatch()
	}
	batch := d.effects.Replies
	for len(batch) > 0 {
		sink := batch[0].To.Sink
		rest := batch[:0]
		d.one = d.one[:0]
		for _, reply := range batch {
			if reply.To.Sink == sink {
				d.one = append(d.one, reply)
			} else {
				rest = append(rest, reply)
			}
		}
		batch = rest
		if s := d.sinks[sink]; s != nil {
			s.Deliver(d.one)
		}
	}
	// The memory is reused as it is, unless it is large: the next batch overwrites it.
	if cap(d.effects.Replies) > keptReplies {
		d.effects.Replies, d.one = nil, nil
	}
	d.effects.Replies = d.effects.Replies[:0]
}
