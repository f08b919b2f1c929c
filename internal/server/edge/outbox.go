package edge

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
)

// State says whether a stream goes on.
type State uint8

// The states of a stream, in their order.
const (
	Open      State = iota
	Finishing       // it ends when what is in the outbox has been sent
	Over            // nothing is sent any more
)

// Outbox is the outbound half of a stream's edge: it gathers events for the client until the sender takes them, all at
// once. Its bound counts what is just being sent, too.
type Outbox struct {
	config *Config

	queue         []Outgoing
	events, bytes int
	wanted        time.Duration // the ttl that the client has asked for last
	greeted       bool          // or refused
	session       lock.SessionID
	state         State
	result        error // how the stream ends
	closed        bool  // everything was let go of
}

// Together bounds what all outboxes of a server keep together. Where that is more than
// Most bytes, each may keep no more than its Share: so many streams that are not read
// cannot take together what each of them may take alone.
type Together struct {
	Most  int64
	Share int
	bytes atomic.Int64
}

// NewOutbox makes the outbound half of a stream's edge.
func NewOutbox(config *Config) Outbox { return Outbox{config: config} }

// State says whether the stream goes on, and what it ends with: nil where the client has ended it or was refused in a frame.
func (o *Outbox) State() (State, error) { return o.state, o.result }

// Waiting returns how many events were not taken yet.
func (o *Outbox) Waiting() int { return len(o.queue) }

// Finish ends the stream when what is in the outbox has been sent. The first Finish counts.
func (o *Outbox) Finish(result error) {
	if o.state == Open {
		o.state, o.result, o.greeted = Finishing, result, true
	}
}

// End ends the stream now. What the outbox still has is not sent. The first End counts.
func (o *Outbox) End(result error) {
	if o.state != Over {
		o.state, o.result, o.queue = Over, result, nil
	}
}

// Close lets go of everything.
func (o *Outbox) Close() {
	o.config.All.bytes.Add(-int64(o.bytes))
	o.queue, o.events, o.bytes, o.state, o.closed = nil, 0, 0, Over, true
}

// Apply takes what the inbound half has for the outbox.
func (o *Outbox) Apply(e *Effects) {
	if e.wanted > 0 {
		o.wanted = e.wanted
	}
	for i := range e.Says {
		o.put(e.Says[i])
	}
	if w := e.welcome; w != nil && o.state != Over {
		w.wanted, o.greeted, o.session = o.wanted, true, w.welcomed.session
		o.queue = append([]Outgoing{*w}, o.queue...)
		o.grow(w)
	}
}

// Refuse refuses the hello, and finishes the stream.
func (o *Outbox) Refuse(err error) {
	o.put(Outgoing{saying: sayRefused, call: CallHello, err: err})
	o.Finish(nil)
}

// Move tells where clients can go.
func (o *Outbox) Move(r *Roster) { o.put(Outgoing{saying: sayMoved, roster: r}) }

// put adds t, or ends the stream where it is too much.
func (o *Outbox) put(t Outgoing) {
	if o.state == Over {
		return
	}
	c, together := o.config, o.grow(&t)
	if o.events > c.Events || o.bytes > c.Bytes || together > c.All.Most && o.bytes > c.All.Share {
		o.End(c.errSlow())
		return
	}
	o.queue = append(o.queue, t)
}

// grow counts t, and returns how many bytes all streams keep.
func (o *Outbox) grow(t *Outgoing) (together int64) {
	size := t.size()
	o.events++
	o.bytes += size
	return o.config.All.bytes.Add(int64(size))
}

// keepBatch is how many events of memory an idle stream may keep.
const keepBatch = 64

// Take returns all that has gathered, and keeps the memory of the batch before. A stream that finishes is over when it has nothing left.
func (o *Outbox) Take(before []Outgoing) []Outgoing {
	clear(before)
	if cap(before) > keepBatch {
		before = nil
	}
	if !o.greeted {
		return before[:0]
	}
	batch := o.queue
	o.queue = before[:0]
	if len(batch) == 0 && o.state == Finishing {
		o.End(o.result)
	}
	return batch
}

// Sent says that a batch is on its way and keeps no memory here any more.
func (o *Outbox) Sent(batch []Outgoing) {
	bytes := 0
	for i := range batch {
		bytes += batch[i].size()
	}
	if o.closed {
		return // everything was let go of
	}
	o.events -= len(batch)
	o.bytes -= bytes
	o.config.All.bytes.Add(-int64(bytes))
}
