package client

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// shared is a connection to a place for observations, which gRPC opens on first use, and makes again after it has broken.
// It is closed when no observation uses it any more.
type shared struct {
	*member
	of    linkKey
	users int // the links' mutex guards it
}

// borrow returns a connection to each place for one more observation.
func (all *links) borrow(s *settings, places []api.Address) (borrowed []*shared, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, place := range places {
		key := s.linkTo(place)
		at := slices.IndexFunc(all.shared[key], func(b *shared) bool { return b.users < mostStreams })
		if at < 0 {
			b := &shared{member: &member{door: door{place: place}}, of: key}
			if b.conn, err = connect(s, &b.door, attemptLimit); err != nil {
				return borrowed, err
			}
			at, all.shared[key] = len(all.shared[key]), append(all.shared[key], b)
		}
		b := all.shared[key][at]
		b.users++
		borrowed = append(borrowed, b)
	}
	return borrowed, nil
}

// giveBack ends the use of connections.
func (all *links) giveBack(borrowed []*shared) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, b := range borrowed {
		if b.users--; b.users == 0 {
			all.removeShared(b)
			_ = b.conn.Close() // it fails only if it is closed
		}
	}
}

// abandon stops a connection from being borrowed, since it may be dead.
func (all *links) abandon(b *shared) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.removeShared(b)
}

func (all *links) removeShared(b *shared) {
	all.shared[b.of] = slices.DeleteFunc(all.shared[b.of], func(other *shared) bool { return other == b })
	if len(all.shared[b.of]) == 0 {
		delete(all.shared, b.of)
	}
}
