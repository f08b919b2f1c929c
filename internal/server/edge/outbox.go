package edge

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
)

// State is the state of a stream.
type State uint8

// The states of a stream, in order.
const (
	Open      State = iota
	Finishing       // it ends when the outbox has been sent
	Over            // nothing more is sent
)

// Outbox is the outbound half of a stream's edge: it collects events for the client until the sender takes all of them.
// Its bound includes events being sent.
type Outbox struct {
	config *Config
	permit Permit // of the caller; nil permits everything

	queue         []Outgoing
	events, bytes int
	wanted        time.Duration // the last ttl that the client requested
	greeted       bool          // or refused
	session       lock.SessionID
	state         State
	result        error // final status of the stream
	closed        bool  // all memory is released
}

// Together bounds the memory of all outboxes of a server. Beyond Most bytes in total, each is limited to its Share: so
// many unread streams together cannot use the maximum of each.
type Together struct {
	Most  int64
	Share int
	bytes atomic.Int64
}

// NewOutbox returns the outbound half of a stream's edge.
func NewOutbox(config *Config) Outbox { return Outbox{config: config} }

// For sets what the client may learn, before the first event.
func (o *Outbox) For(permit Permit) { o.permit = permit }

// State returns the stream's state and its final error: nil if the client has ended it or was refused in a frame.
func (o *Outbox) State() (State, error) { return o.state, o.result }

// Waiting returns the number of events not yet taken.
func (o *Outbox) Waiting() int { return len(o.queue) }

// Finish ends the stream when the outbox has been sent. The first Finish counts.
func (o *Outbox) Finish(result error) {
	if o.state == Open {
		o.state, o.result, o.greeted = Finishing, result, true
	}
}

// End ends the stream now. The rest of the outbox is not sent. The first End counts.
func (o *Outbox) End(result error) {
	if o.state != Over {
		o.state, o.result, o.queue = Over, result, nil
	}
}

// Close releases all memory.
func (o *Outbox) Close() {
	o.config.All.bytes.Add(-int64(o.bytes))
	o.queue, o.events, o.bytes, o.state, o.closed = nil, 0, 0, Over, true
}

// Apply takes the inbound half's effects for the outbox.
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

// Move reports the addresses for clients.
func (o *Outbox) Move(r *Roster) { o.put(Outgoing{saying: sayMoved, roster: r}) }

// put adds t, or ends the stream at a bound.
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

// grow counts t, and returns the bytes of all streams together.
func (o *Outbox) grow(t *Outgoing) (together int64) {
	size := t.size()
	o.events++
	o.bytes += size
	return o.config.All.bytes.Add(int64(size))
}

// keepBatch is the maximum number of events whose memory an idle stream keeps.
const keepBatch = 64

// Take returns all collected events, and reuses the memory of the batch before. A finishing stream is over when nothing
// is left.
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

// Sent reports that a batch is sent and no longer uses memory here.
func (o *Outbox) Sent(batch []Outgoing) {
	bytes := 0
	for i := range batch {
		bytes += batch[i].size()
	}
	if o.closed {
		return // all memory is released
	}
	o.events -= len(batch)
	o.bytes -= bytes
	o.config.All.bytes.Add(-int64(bytes))
}
