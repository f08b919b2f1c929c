package lock

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// sentinels are the errors that are encoded by their index in this list, which is part of the format: append new ones
// at the end.
var sentinels = [...]error{
	holdfast.ErrHeld, holdfast.ErrLost, holdfast.ErrNotHeld, holdfast.ErrUnavailable,
	holdfast.ErrLimit, holdfast.ErrDenied, holdfast.ErrClosed, holdfast.ErrClass,
	holdfast.ErrName, holdfast.ErrSpace, holdfast.ErrConflict, holdfast.ErrUnsupported,
	holdfast.ErrDeadlock,
}

// The kinds of errors. failSentinel and above encode a sentinel's index.
const (
	failNone        uint8 = iota
	failHeld              // a *HeldBy
	failUnavailable       // an *Unavailable
	failLimit             // a *holdfast.LimitError
	failLoss              // a holdfast.Loss
	failDeadlock          // a *holdfast.DeadlockError
	failOther             // any other error, for which a program may not test
	failSentinel
)

// detailedError is a sentinel error with more text.
type detailedError struct {
	sentence string
	err      error // nil if it is not a sentinel
}

func (t *detailedError) Error() string { return t.sentence }

// Unwrap returns the sentinel.
func (t *detailedError) Unwrap() error { return t.err }

// CodeError codes an error: the number of its kind, then the data that a program may test and its text. Nil has its own
// kind.
func CodeError(c *wire.Coder, v *error) {
	kind := failNone
	if c.Writing() && *v != nil {
		writeError(c, *v)
		return
	}
	wire.Enum(c, &kind, failSentinel+uint8(len(sentinels))-1)
	if c.Writing() || c.Err() != nil {
		return
	}
	switch kind {
	case failNone:
	case failHeld:
		held := &HeldBy{}
		held.Code(c)
		*v = held
	case failUnavailable:
		unavailable := &Unavailable{}
		unavailable.Code(c)
		*v = unavailable
	case failLimit:
		limit := &holdfast.LimitError{}
		codeLimit(c, limit)
		*v = limit
	case failDeadlock:
		deadlock := &holdfast.DeadlockError{}
		codeDeadlock(c, deadlock)
		*v = deadlock
	case failLoss:
		var loss holdfast.Loss
		wire.Text(c, &loss)
		*v = loss
	default:
		var sentence string
		wire.Text(c, &sentence)
		*v = sentinelOf(kind, sentence)
	}
}

func sentinelOf(kind uint8, sentence string) error {
	if kind == failOther {
		return &detailedError{sentence, nil}
	}
	sentinel := sentinels[kind-failSentinel]
	if sentence == "" {
		return sentinel
	}
	return &detailedError{sentence, sentinel}
}

func writeError(c *wire.Coder, err error) {
	var held *HeldBy
	var unavailable *Unavailable
	var limit *holdfast.LimitError
	var deadlock *holdfast.DeadlockError
	var loss holdfast.Loss
	write := func(kind uint8) { wire.Enum(c, &kind, kind) }
	switch {
	case errors.As(err, &unavailable):
		write(failUnavailable)
		unavailable.Code(c)
	case errors.As(err, &held):
		write(failHeld)
		held.Code(c)
	case errors.As(err, &limit):
		write(failLimit)
		codeLimit(c, limit)
	case errors.As(err, &deadlock):
		write(failDeadlock)
		codeDeadlock(c, deadlock)
	case errors.As(err, &loss):
		write(failLoss)
		wire.Text(c, &loss)
	default:
		kind, sentence := failOther, err.Error()
		if i := slices.IndexFunc(sentinels[:], func(sentinel error) bool { return errors.Is(err, sentinel) }); i >= 0 {
			kind = failSentinel + uint8(i)
			if sentence == sentinels[i].Error() {
				sentence = ""
			}
		}
		write(kind)
		sentence = sentence[:min(len(sentence), wire.MaxText)]
		wire.Text(c, &sentence)
	}
}

func codeLimit(c *wire.Coder, v *holdfast.LimitError) {
	wire.Text(c, &v.Limit)
	value := time.Duration(v.Value)
	c.Duration(&value)
	if !c.Writing() {
		v.Value = int64(value)
	}
}

func codeDeadlock(c *wire.Coder, v *holdfast.DeadlockError) {
	wire.ListFunc(c, &v.Cycle, 5, holdfast.MaxCycle, func(s *holdfast.DeadlockStep, c *wire.Coder) {
		wire.Text(c, &s.Session)
		wire.Text(c, &s.Owner)
		wire.Text(c, &s.Client)
		wire.Text(c, &s.Name)
		c.Bool(&s.Ahead)
	})
	c.Int(&v.More)
}
