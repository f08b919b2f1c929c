package run

import (
	"errors"
	"sync"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Journal stores the logs of all machines of a member. See package storage: its requests are Append, Chunk, Install and
// Fetch.
type Journal interface {
	// Submit accepts a request, and calls answer once with its result, later and on another goroutine; requests of each
	// log are executed in order. It must not block. An error means that the request was not accepted: it wraps
	// storage.ErrRefused if there is no room now.
	Submit(request any, answer func(any)) error
}

// errNoJournal is the answer to a machine whose member has no journal.
var errNoJournal = errors.New("this member keeps no logs: it has no folder for data")

// journalWorker passes requests to a journal, and its answers back. A journal gives all answers of one sync one after
// the other; answers that arrive while a batch is stepped are collected, and stepped in the next. So a sync costs a
// batch or two, regardless of the number of logs, and neither the journal nor a machine waits for the other.
//
// It keeps requests for which the journal has no room, and retries after each answer, so the order is kept. The
// machines bound their number by what they have under way.
type journalWorker struct {
	journal Journal
	step    func(...protocol.Event)

	mu      sync.Mutex
	queue   []journalRequest // requests without room
	waits   int              // requests without an answer yet
	arrived []protocol.Event
	closed  bool
	more    chan struct{} // signals new answers, buffered
}

// journalRequest is a request, with the port of its machine.
type journalRequest struct {
	port    protocol.Port
	request protocol.Message
}

func newJournalWorker(journal Journal, step func(...protocol.Event)) *journalWorker {
	return &journalWorker{journal: journal, step: step, more: make(chan struct{}, 1)}
}

// submit accepts a request. It does not block: it is called with the driver's mutex held.
func (c *journalWorker) submit(port protocol.Port, request protocol.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.queue = append(c.queue, journalRequest{port, request})
	c.pass()
}

// pass submits waiting requests to the journal, as long as it has room. It is called with the mutex held.
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

// answered receives the journal's answer, on a goroutine of the journal that must not wait.
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

// run steps answers until the journal worker is closed.
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

// close ends run. Later answers of the journal are dropped.
func (c *journalWorker) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.signal()
}
