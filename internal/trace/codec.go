package trace

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/trace/text"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// sentinels returns the errors that a program may test for.
func sentinels() []text.Sentinel {
	return []text.Sentinel{
		{Name: "holdfast.ErrHeld", Err: holdfast.ErrHeld}, {Name: "holdfast.ErrLost", Err: holdfast.ErrLost},
		{Name: "holdfast.ErrNotHeld", Err: holdfast.ErrNotHeld}, {Name: "holdfast.ErrUnavailable", Err: holdfast.ErrUnavailable},
		{Name: "holdfast.ErrLimit", Err: holdfast.ErrLimit}, {Name: "holdfast.ErrDenied", Err: holdfast.ErrDenied},
		{Name: "holdfast.ErrClosed", Err: holdfast.ErrClosed}, {Name: "holdfast.ErrClass", Err: holdfast.ErrClass},
		{Name: "holdfast.ErrName", Err: holdfast.ErrName}, {Name: "holdfast.ErrSpace", Err: holdfast.ErrSpace},
		{Name: "holdfast.ErrConflict", Err: holdfast.ErrConflict}, {Name: "holdfast.ErrUnsupported", Err: holdfast.ErrUnsupported},
		{Name: "storage.ErrRefused", Err: storage.ErrRefused}, {Name: "storage.ErrInvalid", Err: storage.ErrInvalid},
		{Name: "storage.ErrUnknown", Err: storage.ErrUnknown}, {Name: "storage.ErrGone", Err: storage.ErrGone},
	}
}

// NewCodec returns the codec for the values of a trace: those of every member, and those of the given protocols. The
// error names a type that cannot be written.
func NewCodec(protocols []protocol.Descriptor) (*text.Codec, error) {
	values := slices.Concat(
		[]any{about{}, keeping{}, member.Config{}, session.Secret{}, lock.Decision{}, &lock.HeldBy{}, &lock.Unavailable{}, &holdfast.LimitError{}, &holdfast.DeadlockError{}, holdfast.Loss("")},
		member.Vocabulary(protocols),
	)
	c, err := text.New(values, sentinels()...)
	if err != nil {
		return nil, fmt.Errorf("make the codec of traces: %w", err)
	}
	c.Veil(reflect.TypeFor[session.Secret]())
	return c, nil
}
