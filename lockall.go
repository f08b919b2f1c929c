package holdfast

import (
	"cmp"
	"fmt"
	"slices"
)

// PlacedRequest is one request of a LockAll, with its name's index in the list. It is for implementations of [Locker].
type PlacedRequest struct {
	Request
	Place int
}

// NewRequests resolves the options of a LockAll for every name, sorted by name. Requests made in this order cannot
// deadlock between calls with overlapping names. The error is an [*Error] about the first name that is malformed or
// listed twice (an ErrConflict); send nothing then.
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
