package run

import (
	"errors"
	"sync"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Journal keeps the logs of all machines of a member. See package storage: its requests are
// Append, Chunk, Install and Fetch.
type Journal interface {
	// Submit takes a request, and has answer called once with what becomes of it, later and on another
	// goroutine; the requests of each log are done in their order. It must not block. An error
	// says that nothing was asked: it wraps storage.ErrRefused where there is no room now.
	Submit(request any, answer func(any)) error
}

// errNoJournal is the answer to a machine whose member has no journal.
var errNoJournal = errors.New("this member keeps no logs: it has no folder for data")

// journalWorker passes requests on to a journal, and its answers back. A journal answers all that one sync
// was for one after the other; while a batch is stepped the answers that come gather, and all are
// stepped in the next. So a sync costs a batch or two, however many logs it was for, and neither
// the journal nor a machine waits for the other.
//
// It keeps what the journal has no room for, and asks again when an answer has come, so nothing
// overtakes what was asked before. How much that can be the machines bound, by what they have
// under way.
type journalWorker struct {
	journal Journal
	step    func(...protocol.Event)

	mu      sync.Mutex
	queue   []journalRequest // that there was no room for
	waits   int              // requests that the journal has not answered
	arrived []protocol.Event
	closed  bool
	more    chan struct{} // signals that something has arrived, buffered
}

// journalRequest is a request, and the port of the machine that has asked.
type journalRequest struct {
	port    protocol.Port
	request protocol.Message
}

func newJournalWorker(journal Journal, step func(...protocol.Event)) *journalWorker {
	return &journalWorker{journal: journal, step: step, more: make(chan struct{}, 1)}
}

// submit takes a request. It does not block: it is called with the driver's mutex held.
func (c *journalWorker) submit(port protocol.Port, request protocol.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.queue = append(c.queue, journalRequest{port, request})
	c.pass()
}

// pass asks the journal for what waits, as long as it has room. It is called with the mutex held.
func (c *journalWorker) pass() {
	for len(c.queue) > 0 {
		e := c.queue[0]
		err := errNoJournal
		if c.journal != nil {
			err = c.journal.Submit(e.request, func(answer any) { c.answered(e.port, answer) })
		}
		if err != nil && c.waits > 0 && errors.Is(err, storage.ErrRefused) {
			return // until there is an answer
		}
		c.queue = c.queue[1:]
		if err == nil {
			c.waits++
		} else {
			c.deliver(e.port, storage.AnswerTo(e.request, err))
		}
	}
	c.queue = nil
}

// answered takes what the journal says, on a goroutine of its own that must not wait.
func (c *journalWorker) answered(port protocol.Port, answer any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits--
	c.deliver(port, answer)
	if !c.closed {
		c.pass()
	}
}

// deliver steps the machine with an answer. It is called with the mutex held.
func (c *journalWorker) deliver(port protocol.Port, answer any) {
	if c.closed {
		return
	}
	c.arrived = append(c.arrived, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Port: port, Fact: answer})
	c.signal()
}

func (c *journalWorker) signal() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// run steps what arrives until the journal worker is closed.
func (c *journalWorker) run() {
	for range c.more {
		c.mu.Lock()
		arrived, closed := c.arrived, c.closed
		c.arrived = nil
		c.mu.Unlock()
		if closed {
			return
		}
		c.step(arrived...)
	}
}

// close lets run end. Later answers of the journal are dropped.
func (c *journalWorker) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.signal()
}
