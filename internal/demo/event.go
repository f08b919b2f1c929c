package demo

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// The locks that the workers pass around.
const (
	registerName = "demo/register" // exclusive
	poolName     = "demo/pool"     // slots
	poolUnits    = 2               // that each worker takes,
	poolCapacity = 5               // of these: so two have the pool at a time
)

// What a worker tells, one JSON object a line on its standard output. At is read on
// the clock that all processes of the machine share.
type event struct {
	At    time.Duration  `json:"at"`
	Kind  kind           `json:"kind"`
	Name  string         `json:"name,omitempty"`
	Token holdfast.Token `json:"token,omitempty"`
	Why   string         `json:"why,omitempty"`

	worker int // filled in by who reads it
}

type kind string

const (
	ready   kind = "ready"   // the worker has its session
	entered kind = "entered" // it holds the lock from At on, at the latest
	left    kind = "left"    // it has not used the lock after At
	lost    kind = "lost"    // the lock ended by itself; the worker knew at At
	keeping kind = "keeping" // as told, it keeps the lock that it has just entered
	wrote   kind = "wrote"   // the register took its write
	refused kind = "refused" // the register refused its write: the token is stale
	failed  kind = "failed"  // something else went wrong; Why says what
	gone    kind = "gone"    // not told but heard: its output has ended, because of Why if it failed
)
