// Package run drives one member's machines in real time.
//
// A [Driver] owns a machine and steps it under one mutex. A call of this process's own users is stepped on the caller's
// goroutine, so a grant that needs no other member costs no goroutine hop. The most frequent calls, a lock and its
// release, have their own methods, which allocate and copy next to nothing ([Driver.Acquire], [Driver.Release]). A
// chain of requests, each of which needs the answer to the previous one, is one step, too, as far as they are answered
// at once ([Driver.Converse]). After every batch of events the driver drains all effects: writes go to the storage, log
// requests to the journal, messages to the other members in one go, and answers to sinks, with one call per sink and
// batch. A frame from another member is one batch: all its messages are stepped under one lock, and their effects leave
// together. One goroutine waits for the machine's Wake. If it is late, because this process did not run or its machine
// was busy, input that has arrived meanwhile is stepped first, for 250 ms at most (wake.go): a heartbeat that has
// arrived counts before its session can expire. [Driver.Lag] returns how long input currently waits.
//
// This package makes no decisions about locks. The same machines run, unchanged, under package sim.
//
// # Bounds
//
// A [Sink] must neither block nor call back: it puts its replies in its own queue, and its owner decides the bound and
// the behaviour at it. [Peers] do likewise, and drop messages that do not fit. The queue of writes to the storage is
// bounded by the machine, which has one in flight. Requests that a [Journal] has no room for wait, and so do its
// answers while a batch is stepped: both are bounded by the machines' outstanding requests.
package run
