package terraform

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

// ErrStale reports a write under a token that is smaller than one which the state has seen.
var ErrStale = errors.New("stale token")

// StaleError is an ErrStale with both tokens.
type StaleError struct {
	Name        string
	Token, Seen holdfast.Token
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("state %q: %v: a lock with token %v has been taken since the one with token %v", e.Name, ErrStale, e.Seen, e.Token)
}

// Is reports whether target is ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// States keeps states by their names, which satisfy [CheckName]. Its methods are safe for concurrent use, by several
// processes too if they share the states.
type States interface {
	// Read returns a state. The error is an fs.ErrNotExist if there is none.
	Read(ctx context.Context, name string) ([]byte, error)
	// Fence remembers the token of a lock on a state. From then on Write refuses each smaller one. The error is an
	// ErrStale if a larger token was seen before.
	Fence(ctx context.Context, name string, token holdfast.Token) error
	// Write replaces a state, wholly or not at all. An empty state removes it. Write implies Fence, and has its
	// errors.
	Write(ctx context.Context, name string, token holdfast.Token, state []byte) error
}
