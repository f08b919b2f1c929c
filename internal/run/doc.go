// Package run drives one member's machines in real time.
//
// A [Driver] owns a machine and steps it under one mutex. A call of this process's
// own users is stepped on the caller's goroutine, so that a grant that needs no other
// member costs no goroutine hop; what it asks for most, a lock and its release, has calls of
// its own, which allocate and copy next to nothing ([Driver.Acquire], [Driver.Release]). Questions of which each needs the
// answer to the one before are one step, too, as far as they are answered at once ([Driver.Converse]).
// After every batch of events the driver drains all
// effects: writes go to the storage, what is asked of logs to the journal, messages to the
// other members in one go, answers to sinks, each sink being called once a batch. What arrives
// from another member in one frame is one batch: all its messages are stepped under one lock,
// and what they cause leaves together. One goroutine waits for the machine's Wake. When it comes
// late, because this process did not run or its machine was at work, what has arrived meanwhile is stepped first, for
// 250 ms at the most (wake.go): a heartbeat that has arrived counts before the end of its session is judged.
// [Driver.Lag] says how long what arrives waits at present.
//
// Nothing here decides anything about locks. The same machines run, unchanged,
// under package sim.
//
// # Bounds
//
// A [Sink] must neither block nor call back: it puts its replies in a queue of
// its own, whose bound and whose behaviour at the bound are its owner's. [Peers] do
// likewise, and drop what their queues cannot take. The queue
// of writes to the storage is bounded by the machine, which has one in flight. What a [Journal]
// has no room for waits, and so do its answers while a batch is stepped: both are bounded by what
// the machines have under way.
package run
