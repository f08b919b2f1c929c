package holdfast

import (
	"fmt"
	"time"
)

// Option changes one request.
type Option func(*Request)

// Request is a lock request: a name and its resolved options. It is for implementations of [Locker]; callers use the
// options.
type Request struct {
	Name string
	Attributes
	Try     bool          // fail at once instead of waiting
	Wait    time.Duration // wait limit; 0 means only the context limits it
	Require Class         // fail if the lockspace's class is weaker

	// Queued, if not nil, is called once when the authority has queued the request.
	Queued func(position int)

	err error
}

// Attributes are the properties of a requested lock. They pass unchanged from the caller to the lock table and on to
// clients that inspect the lock; every type that carries a request embeds them. [Request.Check] enforces their limits.
type Attributes struct {
	Shape
	Owner  string        // "" means a fresh owner for this request alone
	Reason string        // for display
	Hold   time.Duration // hold limit; 0 means none
	// Deadlock is what becomes of the request if its wait is part of a cycle; see the option of that name.
	Deadlock DeadlockPolicy
	Value    string // published with the grant; see [Value]
	// Revision numbers the values of one grant: 0 is the requested one, and each SetValue has a higher one.
	Revision uint64
}

// TextBytes returns the total length of its texts, in bytes.
func (a *Attributes) TextBytes() int { return len(a.Owner) + len(a.Reason) + len(a.Value) }

// Shape is the mode of a lock and, for slots, its units and capacity.
type Shape struct {
	Mode     Mode
	Units    int // slots: units of Capacity taken; else 0
	Capacity int // slots: total units of the name; else 0
}

// Describe returns the mode and, for slots, units/capacity.
func (s Shape) Describe() string {
	if s.Mode != ModeSlots {
		return s.Mode.String()
	}
	return fmt.Sprintf("slots %d/%d", s.Units, s.Capacity)
}

// CheckShape returns an ErrConflict if the shape is invalid.
func (s Shape) CheckShape() error {
	switch {
	case s.Mode > ModeSlots:
		return fmt.Errorf("%w: %v: want exclusive, shared or slots", ErrConflict, s.Mode)
	case s.Mode == ModeSlots && (s.Units < 1 || s.Capacity < s.Units || s.Capacity > MaxCapacity):
		return fmt.Errorf("%w: slots %d/%d: want 1 ≤ units ≤ capacity ≤ %d", ErrConflict, s.Units, s.Capacity, MaxCapacity)
	case s.Mode != ModeSlots && (s.Units != 0 || s.Capacity != 0):
		return fmt.Errorf("%w: units %d, capacity %d: they go with mode slots only", ErrConflict, s.Units, s.Capacity)
	}
	return nil
}

// NewRequest resolves and checks the options. The error is an ErrName or an ErrConflict that names the field, the value
// and the allowed values.
func NewRequest(name string, options ...Option) (Request, error) {
	if len(options) == 0 { // the hot path: a request that options change escapes to the heap
		r := Request{Name: name}
		return r, r.Check()
	}
	r := Request{Name: name}
	for _, option := range options {
		option(&r)
	}
	return r, r.Check()
}

// Check returns an error if the request is invalid.
func (r *Request) Check() error {
	if r.err != nil {
		return r.err
	}
	if err := CheckName(r.Name); err != nil {
		return err
	}
	if err := CheckText("owner", r.Owner); err != nil {
		return err
	}
	if err := CheckText("reason", r.Reason); err != nil {
		return err
	}
	if err := CheckValue(r.Value); err != nil {
		return err
	}
	if err := r.CheckShape(); err != nil {
		return err
	}
	if err := CheckDeadlock(r.Deadlock); err != nil {
		return err
	}
	if r.Require > Fenced {
		return fmt.Errorf("%w: %v: want fenced, available or advisory", ErrConflict, r.Require)
	}
	if r.Wait < 0 || r.Hold < 0 {
		return fmt.Errorf("%w: wait %v, hold %v: neither may be negative", ErrConflict, r.Wait, r.Hold)
	}
	return nil
}

// MaxCapacity is the maximum capacity of a name in mode slots.
const MaxCapacity = 1<<31 - 1

// Shared requests the name in shared mode, alongside other shared holders.
func Shared() Option {
	return func(r *Request) { r.setMode(ModeShared, 0, 0) }
}

// Slots requests units of the name's capacity: a weighted semaphore. All holders and waiters of the name must give the
// same capacity, else ErrConflict.
func Slots(units, capacity int) Option {
	return func(r *Request) { r.setMode(ModeSlots, units, capacity) }
}

func (r *Request) setMode(mode Mode, units, capacity int) {
	if r.Mode != ModeExclusive && r.Mode != mode {
		r.err = fmt.Errorf("%w: modes %v and %v in one request; give one", ErrConflict, r.Mode, mode)
	}
	r.Mode, r.Units, r.Capacity = mode, units, capacity
}

// Wait limits how long the request may queue, in addition to the context. After that the call returns ErrHeld, or
// ErrUnavailable if no member was there to decide. Zero or less is an ErrConflict: use TryLock for a call that does not
// wait.
func Wait(d time.Duration) Option {
	return func(r *Request) {
		if d <= 0 {
			r.err = fmt.Errorf("%w: wait limit %v: want more than 0; TryLock does not wait", ErrConflict, d)
		}
		r.Wait = d
	}
}

// Hold limits how long the grant lives, even if its session is healthy. It then ends with ErrLost, [HoldLimit]. Zero or
// less is an ErrConflict.
func Hold(d time.Duration) Option {
	return func(r *Request) {
		if d <= 0 {
			r.err = fmt.Errorf("%w: hold limit %v: want more than 0", ErrConflict, d)
		}
		r.Hold = d
	}
}

// Owner names the owner, which makes the lock reentrant for that owner within this Locker: n locks need n unlocks and
// share one token. Without it each call is a separate owner, because Go has no thread identity.
func Owner(id string) Option { return func(r *Request) { r.Owner = id } }

// Reason is a text for people that says why the lock is wanted; listings of locks show it.
func Reason(text string) Option { return func(r *Request) { r.Reason = text } }

// Value publishes a text with the grant: the address of a leader, the progress of a job. From the grant on, lists, watches
// and queries of the lock show it, and [Lock.SetValue] replaces it. It has at most [MaxValue] bytes of UTF-8; a longer one is an
// ErrName, and one beyond a member's limits.value_bytes an ErrLimit. A request that reenters a grant leaves the grant's
// value as it is. Values are no secrets: each caller that may read the name reads its value.
func Value(text string) Option { return func(r *Request) { r.Value = text } }

// Require makes the request fail with ErrClass if the lockspace has a weaker safety class.
func Require(class Class) Option { return func(r *Request) { r.Require = class } }

// OnQueued calls f once if the request has to wait: when the authority has queued it, with the number of requests ahead
// of it. f runs while the request waits and must not block. If the request is granted or refused at once, f is not
// called. In spaces of protocol permission, position counts only requests of the same member, the only queue the member
// knows.
func OnQueued(f func(position int)) Option { return func(r *Request) { r.Queued = f } }
