package clustertest

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// The locks that the workers pass around.
const (
	RegisterName = "demo/register" // exclusive
	PoolName     = "demo/pool"     // slots
	PoolUnits    = 2               // that each worker takes,
	PoolCapacity = 5               // of these: so two have the pool at a time
)

// Event is a worker's report, one JSON object a line on its standard output. At is
// read on the clock that all processes of the machine share.
type Event struct {
	At     time.Duration  `json:"at"`
	Kind   Kind           `json:"kind"`
	Name   string         `json:"name,omitempty"`
	Token  holdfast.Token `json:"token,omitempty"`
	Member string         `json:"member,omitempty"` // the one that the worker goes through
	Why    string         `json:"why,omitempty"`

	Worker int `json:"-"` // from 1, filled in by the reader; 0 for what the trial itself notes
}

// Kind is the kind of an event.
type Kind string

// The workers' reports.
const (
	Ready   Kind = "ready"   // the worker has its session
	Entered Kind = "entered" // it has had the lock at At
	Left    Kind = "left"    // it has had the lock until At, and has given it back
	Lost    Kind = "lost"    // it has had the lock until At; then the lock ended by itself
	Keeping Kind = "keeping" // as ordered, it keeps the lock that it has just entered
	Wrote   Kind = "wrote"   // the register took its write
	Refused Kind = "refused" // the register refused its write: the token is stale
	Failed  Kind = "failed"  // something else went wrong; Why says what
)

// The trial's own notes.
const (
	Killed Kind = "killed" // a worker was killed: what it had it does not use any more
	Gone   Kind = "gone"   // a worker's output has ended, because of Why if it failed
	Fault  Kind = "fault"  // something was done to a member or the network; Why says what
	Calm   Kind = "calm"   // after the last fault, of any kind, all goes on
)
