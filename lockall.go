package holdfast

import (
	"cmp"
	"fmt"
	"slices"
)

// PlacedRequest is one request of a LockAll, and the place of its name in the list.
// It is for implementations of [Locker].
type PlacedRequest struct {
	Request
	Place int
}

// NewRequests resolves the options of a LockAll for every name, sorted by name: the
// order in which to ask, so that two calls whose names overlap cannot wait for each
// other. The error is an [*Error] about the first name that is malformed, or listed
// twice (an ErrConflict); then nothing should have been asked for.
func NewRequests(space string, names []string, options ...Option) ([]PlacedRequest, error) {
	all := make([]PlacedRequest, len(names))
	for place, name := range names {
		r, err := NewRequest(name, options...)
		if err != nil {
			return nil, &Error{Op: "lock", Space: space, Name: name, Err: err}
		}
		all[place] = PlacedRequest{r, place}
	}
	slices.SortFunc(all, func(a, b PlacedRequest) int { return cmp.Compare(a.Name, b.Name) })
	for i := range max(0, len(all)-1) {
		if name := all[i].Name; name == all[i+1].Name {
			err := fmt.Errorf("%w: the name is listed twice", ErrConflict)
			return nil, &Error{Op: "lock", Space: space, Name: name, Err: err}
		}
	}
	return all, nil
}

// MostTogether is how many names of a durable space a LockAll asks for at the same time, at most.
const MostTogether = 256

// TakeAll takes what NewRequests has returned, in its order. It is for implementations of [Locker], which give it two ways
// to ask.
//
// Together asks for several names at the same time, at most so many, each without waiting for a holder, and returns how many
// of the first ones it has: what it was granted behind one that was refused it gives back. So an authority that writes each
// decision to its disk writes many at once. Elsewhere it gains little, and most is 1. One asks for one name, and waits.
// Nothing is waited for while a later name is held: so two calls whose names overlap cannot wait for each other. Where a name
// was refused fewer are asked for together next, so that what others want is seldom taken and given back.
func TakeAll(wanted []PlacedRequest, most int, together func([]PlacedRequest) (taken int, err error), one func(PlacedRequest) error) error {
	ahead := most
	for len(wanted) > 0 {
		count, taken := min(ahead, len(wanted)), 0
		ahead = min(2*ahead, most)
		if count > 1 {
			var err error
			if taken, err = together(wanted[:count]); err != nil {
				return err
			}
			if wanted = wanted[taken:]; taken == count {
				continue
			}
			ahead = 2
		}
		if err := one(wanted[0]); err != nil {
			return err
		}
		wanted = wanted[1:]
	}
	return nil
}
