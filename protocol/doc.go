// Package protocol is the contract between a protocol and its driver.
//
// A protocol is a [Machine]: an event goes in, effects come out. It does no I/O, reads no clock, starts no goroutine,
// and returns no error: a refused lock is a result, an invalid message is noted and ignored, and a broken invariant
// panics with the fact (a member may die; it may not lie). Because all inputs go through Step, a run is a list of
// events, so recording, replaying and both drivers (run in real time, sim in simulated time) are a few dozen lines
// each.
//
// # The clock rule
//
// [Time] is how long this member has run, by its own clock, which runs while the machine sleeps. It is a Duration, so
// it cannot be mixed with wall time or with another member's clock. Every deadline counts from the moment *we sent* the
// message whose answer it depends on; the arrival of the answer does not matter. A holder counts from its own sending;
// a member that waits for the hold to end counts from its receiving, and waits (1+drift) times as long
// (docs/design/membership.md §1).
//
// # What a machine may rely on
//
//   - Step is called by one caller at a time, with now never going back.
//   - Messages to other members may be lost, delayed, duplicated and reordered.
//   - Storage is a peer, [Storage]: a machine sends it a write and receives the
//     answer. Nothing that depends on the write is sent before that.
//   - After Step the driver drains every effect before it calls Step again, and
//     answers users only then.
//   - The driver calls Wake again after every Step, so timers need no cancelling, and a
//     spurious Tick is harmless.
//   - A large state travels in chunks of limited size.
//
// # Layers
//
// Machines compose into machines. [Stack] puts one membership below and a machine for each lockspace above it. A fact
// that the lower one raises (a [View]) reaches all machines above. Package session wraps a stack with the clients'
// sessions.
package protocol
