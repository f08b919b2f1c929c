// Package run drives one member's machines in real time.
//
// A [Driver] owns a machine and steps it under one mutex. A call of this process's
// own users is stepped on the caller's goroutine, so that a grant that needs nobody
// else costs no goroutine hop. After every batch of events the driver drains all
// effects: messages go to their outboxes, writes to the storage, answers to sinks,
// each sink being called once a batch. One goroutine waits for the machine's Wake.
//
// Nothing here decides anything about locks. The same machines run, unchanged,
// under package sim.
//
// # Bounds
//
// A [Sink] must neither block nor call back: it puts what it is told in a queue of
// its own, whose bound and whose behaviour at the bound are its owner's. The queue
// of writes to the storage is bounded by the machine, which has one in flight.
package run
