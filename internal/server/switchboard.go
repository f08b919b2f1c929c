package server

import (
	"sync"

	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// switchboard is the driver's sink of all one-shot requests: it hands each answer
// to the request that waits for it. An answer that no request waits for any more is
// dropped: a request that stops waiting has cancelled before.
type switchboard struct {
	driver *run.Driver
	sink   uint64

	mu     sync.Mutex
	lastOp uint64
	lines  map[uint64]chan lock.Decision
}

func newSwitchboard(driver *run.Driver) *switchboard {
	b := &switchboard{driver: driver, lines: map[uint64]chan lock.Decision{}}
	b.sink = driver.Attach(b)
	return b
}

func (b *switchboard) close() { b.driver.Detach(b.sink) }

// open returns the call of a new line, and where the decision that ends its wait
// will arrive.
func (b *switchboard) open() (protocol.CallID, <-chan lock.Decision) {
	line := make(chan lock.Decision, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastOp++
	b.lines[b.lastOp] = line
	return protocol.CallID{Sink: b.sink, Op: b.lastOp}, line
}

// hangUp forgets a line.
func (b *switchboard) hangUp(call protocol.CallID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.lines, call.Op)
}

// Deliver hands on what ends a wait. A line carries one decision: the first that
// is not Queued.
func (b *switchboard) Deliver(replies []protocol.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, reply := range replies {
		if reply.Decision.Kind == lock.Queued || reply.Decision.Kind == 0 {
			continue
		}
		line := b.lines[reply.To.Op]
		if line == nil {
			continue
		}
		select {
		case line <- reply.Decision:
		default: // it has its decision; what follows is told by the session
		}
	}
}
