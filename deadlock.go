package holdfast

import (
	"cmp"
	"fmt"
	"strings"
)

// DeadlockPolicy is what becomes of a request whose wait is part of a cycle of waits.
type DeadlockPolicy uint8

// The policies.
const (
	// Ignore lets the request wait: until its wait limit, its context, or an operator ends the cycle. It is the default.
	Ignore DeadlockPolicy = iota
	// Fail refuses the request with ErrDeadlock.
	Fail
)

// String returns the policy in lower case, as the command line has it.
func (p DeadlockPolicy) String() string {
	switch p {
	case Ignore:
		return "ignore"
	case Fail:
		return "fail"
	}
	return fmt.Sprintf("DeadlockPolicy(%d)", uint8(p))
}

// CheckDeadlock returns an ErrConflict if the policy does not exist.
func CheckDeadlock(p DeadlockPolicy) error {
	if p > Fail {
		return fmt.Errorf("%w: deadlock %v: want ignore or fail", ErrConflict, p)
	}
	return nil
}

// Deadlock says what becomes of the request if its wait would close a cycle of waits: with [Fail] it is refused at once
// with ErrDeadlock, a [*DeadlockError] with the cycle. A request with Fail that already waits is refused, too, when
// another request, which is to wait regardless, closes a cycle through it.
//
// Those that hold and wait are owners: the goroutines of one Locker that lock independently of one another should each
// name an [Owner]. All requests of a Locker without an owner count as those of one owner, so that one goroutine's wait
// and another's hold can be taken for a deadlock. A wait for a name that its owner holds, or waits for already, is in no
// cycle.
//
// A cycle is seen within one space, and within what one table of locks has: the whole space in protocols central,
// consensus and grantor with one shard, and one shard each if there are several. A cycle over several shards or spaces
// is not seen. A holder of slots counts if the request does not fit next to that holder alone. A holder whose grant is
// to end, and a request that waits for an operator to resume the space, are no part of a cycle.
//
// Other protocols refuse a request with Fail with ErrUnsupported.
func Deadlock(p DeadlockPolicy) Option { return func(r *Request) { r.Deadlock = p } }

// MaxCycle is the maximum number of steps in a DeadlockError.
const MaxCycle = 16

// DeadlockError is an ErrDeadlock with the cycle of waits.
type DeadlockError struct {
	// Cycle has at most MaxCycle steps. The first is the refused request. Each owner waits for a name that the owner of
	// the next step has, and the last one for a name that the first has.
	Cycle []DeadlockStep
	// More is how many steps before the last one are left out.
	More int
}

// DeadlockStep is one owner in a cycle of waits.
type DeadlockStep struct {
	Session string // the id of its session
	Owner   string // its owner id; "" if it named none
	Client  string // its client, for display; "" if it has no name
	Name    string // the name that it waits for
	// Ahead reports that the next owner of the cycle does not hold the name, but waits for it ahead of this one.
	Ahead bool
}

func (e *DeadlockError) Error() string {
	var b strings.Builder
	b.WriteString(ErrDeadlock.Error())
	if len(e.Cycle) == 0 {
		return b.String()
	}
	by := "this session"
	if owner := e.Cycle[0].Owner; owner != "" {
		by = fmt.Sprintf("owner %q", owner)
	}
	b.WriteString(": " + by)
	for i := len(e.Cycle) - 1; i >= 0; i-- {
		step := e.Cycle[i]
		verb := "holds"
		if step.Ahead {
			verb = "waits earlier for"
		}
		if i < len(e.Cycle)-1 {
			b.WriteString(", which")
		}
		fmt.Fprintf(&b, " %s %q", verb, step.Name)
		if i > 0 {
			fmt.Fprintf(&b, ", for which %s waits", step.by())
		}
		if i == len(e.Cycle)-1 && e.More > 0 {
			fmt.Fprintf(&b, ", and so on through %d more", e.More)
		}
	}
	return b.String()
}

// by describes the owner of a step.
func (s *DeadlockStep) by() string {
	switch {
	case s.Owner != "":
		return fmt.Sprintf("owner %q", s.Owner)
	case s.Client != "":
		return fmt.Sprintf("client %q", s.Client)
	}
	return fmt.Sprintf("session %s", cmp.Or(s.Session, "of another client"))
}

// Is reports whether target is ErrDeadlock.
func (e *DeadlockError) Is(target error) bool { return target == ErrDeadlock }
