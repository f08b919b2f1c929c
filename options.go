package holdfast

import (
	"fmt"
	"time"
)

// Option changes one request.
type Option func(*Request)

// Request is a caller's request: a name and the options, resolved. It is for
// implementations of [Locker]; callers use the options.
type Request struct {
	Name string
	Attributes
	Try     bool          // do not wait
	Wait    time.Duration // wait limit; 0 means none but the context
	Require Class         // refuse rather than give less

	// Queued, if not nil, is called once when the authority has queued the request.
	Queued func(position int)

	err error
}

// Attributes are what a request says of the lock that it asks for. They go unchanged from the caller to
// the lock table, and from there to those who look at the lock: all that carries a request
// embeds them. [Request.Check] has their bounds.
type Attributes struct {
	Shape
	Owner  string        // "" means a fresh owner for this request alone
	Reason string        // for people
	Hold   time.Duration // hold limit; 0 means none
}

// TextBytes is how many bytes its texts have.
func (a *Attributes) TextBytes() int { return len(a.Owner) + len(a.Reason) }

// Shape is how a name is locked.
type Shape struct {
	Mode     Mode
	Units    int // slots: how many of Capacity; else 0
	Capacity int // slots: out of how many; else 0
}

// Describe returns the mode and, of slots, units/capacity.
func (s Shape) Describe() string {
	if s.Mode != ModeSlots {
		return s.Mode.String()
	}
	return fmt.Sprintf("slots %d/%d", s.Units, s.Capacity)
}

// CheckShape says what is wrong with the shape. The error is an ErrConflict.
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

// NewRequest resolves options and checks them. The error is an ErrName or an
// ErrConflict and names the field, the value and what is allowed.
func NewRequest(name string, options ...Option) (Request, error) {
	if len(options) == 0 { // the hot path: what options change has to be on the heap
		r := Request{Name: name}
		return r, r.Check()
	}
	r := Request{Name: name}
	for _, option := range options {
		option(&r)
	}
	return r, r.Check()
}

// Check says what is wrong with the request.
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
	if err := r.CheckShape(); err != nil {
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

// MaxCapacity is the largest capacity of a name in mode slots.
const MaxCapacity = 1<<31 - 1

// Shared asks for the name together with other shared holders.
func Shared() Option {
	return func(r *Request) { r.setMode(ModeShared, 0, 0) }
}

// Slots asks for units of the name's capacity: a weighted semaphore. All who
// hold or want the name must name the same capacity, else ErrConflict.
func Slots(units, capacity int) Option {
	return func(r *Request) { r.setMode(ModeSlots, units, capacity) }
}

func (r *Request) setMode(mode Mode, units, capacity int) {
	if r.Mode != ModeExclusive && r.Mode != mode {
		r.err = fmt.Errorf("%w: modes %v and %v in one request; give one", ErrConflict, r.Mode, mode)
	}
	r.Mode, r.Units, r.Capacity = mode, units, capacity
}

// Wait bounds how long the request may queue, besides the context: then ErrHeld, or
// ErrUnavailable if there was no member to decide. Zero or less is an ErrConflict:
// TryLock is the call that does not wait.
func Wait(d time.Duration) Option {
	return func(r *Request) {
		if d <= 0 {
			r.err = fmt.Errorf("%w: wait limit %v: want more than 0; TryLock does not wait", ErrConflict, d)
		}
		r.Wait = d
	}
}

// Hold bounds how long the grant may live, even if its session is well. It ends
// with ErrLost, [HoldLimit]. Zero or less is an ErrConflict.
func Hold(d time.Duration) Option {
	return func(r *Request) {
		if d <= 0 {
			r.err = fmt.Errorf("%w: hold limit %v: want more than 0", ErrConflict, d)
		}
		r.Hold = d
	}
}

// Owner names the owner, which makes the lock reentrant for it within this
// Locker: n locks need n unlocks and share one token. Without it each call is an
// owner of its own (Go has no thread identity to lend).
func Owner(id string) Option { return func(r *Request) { r.Owner = id } }

// Reason says to people why the lock is wanted: it is shown where locks are listed.
func Reason(text string) Option { return func(r *Request) { r.Reason = text } }

// Require refuses with ErrClass where the lockspace is of a weaker safety class.
func Require(class Class) Option { return func(r *Request) { r.Require = class } }

// OnQueued calls f once if the request has to wait: when the authority has queued
// it, with how many wait before it. f runs while the request waits and must not
// block. A request that is granted or refused at once never calls it. In spaces of
// protocol permission it counts those of the same member, whose queue is the only one
// that is known.
func OnQueued(f func(position int)) Option { return func(r *Request) { r.Queued = f } }
