package codec

import (
	"errors"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// sentinels are the errors that cross by their place in this list, which is part of
// the format: new ones come at the end.
var sentinels = [...]error{
	holdfast.ErrHeld, holdfast.ErrLost, holdfast.ErrNotHeld, holdfast.ErrUnavailable,
	holdfast.ErrLimit, holdfast.ErrDenied, holdfast.ErrClosed, holdfast.ErrClass,
	holdfast.ErrName, holdfast.ErrSpace, holdfast.ErrConflict, holdfast.ErrUnsupported,
}

// The kinds of errors. Above failSentinel stands the sentinel with that place.
const (
	failNone   uint8 = iota
	failHeld         // a *lock.HeldBy
	failReason       // a *lock.Unavailable
	failLimit        // a *holdfast.LimitError
	failLoss         // a holdfast.Loss
	failOther        // one of no kind that a program may test for
	failSentinel
)

// detailedError is an error that says more than the sentinel that it is.
type detailedError struct {
	sentence string
	err      error // nil where it is no sentinel
}

func (t *detailedError) Error() string { return t.sentence }

// Unwrap returns the sentinel.
func (t *detailedError) Unwrap() error { return t.err }

// failure codes an error: what a program may test it for, and its sentence.
func (c *coder) failure(v *error) {
	switch {
	case c.writing && *v == nil:
		c.b = append(c.b, failNone)
		return
	case c.writing:
		c.writeFailure(*v)
		return
	}
	var kind uint8
	enum(c, &kind, failSentinel+uint8(len(sentinels))-1)
	if c.err != nil {
		return
	}
	switch kind {
	case failNone:
	case failHeld:
		held := &lock.HeldBy{}
		c.held(held)
		*v = held
	case failReason:
		unavailable := &lock.Unavailable{}
		c.unavailable(unavailable)
		*v = unavailable
	case failLimit:
		limit := &holdfast.LimitError{}
		c.limit(limit)
		*v = limit
	case failLoss:
		var loss holdfast.Loss
		text(c, &loss)
		*v = loss
	default:
		var sentence string
		text(c, &sentence)
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

func (c *coder) writeFailure(err error) {
	var held *lock.HeldBy
	var unavailable *lock.Unavailable
	var limit *holdfast.LimitError
	var loss holdfast.Loss
	switch {
	case errors.As(err, &unavailable):
		c.b = append(c.b, failReason)
		c.unavailable(unavailable)
	case errors.As(err, &held):
		c.b = append(c.b, failHeld)
		c.held(held)
	case errors.As(err, &limit):
		c.b = append(c.b, failLimit)
		c.limit(limit)
	case errors.As(err, &loss):
		c.b = append(c.b, failLoss)
		text(c, &loss)
	default:
		c.writeSentinel(err)
	}
}

func (c *coder) writeSentinel(err error) {
	kind, sentence := failOther, err.Error()
	for i, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			kind = failSentinel + uint8(i)
			if sentence == sentinel.Error() {
				sentence = ""
			}
			break
		}
	}
	c.b = append(c.b, kind)
	sentence = sentence[:min(len(sentence), maxText)]
	text(c, &sentence)
}

func (c *coder) held(v *lock.HeldBy) {
	text(c, &v.Owner)
	c.count(&v.Others)
	c.session(&v.Holder)
	c.span(&v.Age)
	c.truth(&v.Suspended)
	text(c, &v.Reason)
	c.truth(&v.Gone)
	c.truth(&v.Grace)
	c.span(&v.Left)
}

func (c *coder) unavailable(v *lock.Unavailable) {
	text(c, &v.Why)
	c.span(&v.Left)
}

func (c *coder) limit(v *holdfast.LimitError) {
	text(c, &v.Limit)
	value := time.Duration(v.Value)
	c.span(&value)
	if !c.writing {
		v.Value = int64(value)
	}
}
