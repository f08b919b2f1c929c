package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Reform changes what a member is in a space whose members vote (protocol consensus), and returns when all its shards have
// it: a member that is a Nonmember then may be switched off. The member is given by its name or its address; one that votes and is
// not in the view any more by what it had or, where this member has not seen it since it started, by its id as
// views write ids. The error is an ErrUnsupported where no member votes; an ErrConflict where no such member is known, or
// where something stands against it, which the error says; an ErrUnavailable where no member could say in time; an
// ErrSpace; or the context's. After the last but one it may be done nevertheless, and after the context's.
func (o *Service) Reform(ctx context.Context, space, member string, as protocol.Role) error {
	port, err := o.port(space)
	if err != nil {
		return err
	}
	shards, err := query[*protocol.Shards](ctx, o, port, &protocol.ListShards{})
	if err != nil {
		return err
	}
	view := o.view()
	// A space where no member votes says so first, whichever member is named.
	who, unknown := find(&view, member)
	if unknown != nil {
		if gone := findGone(shards, member); gone != 0 {
			who, unknown = gone, nil
		}
	}
	reformed, err := query[*protocol.Reformed](ctx, o, port, &protocol.Reform{Member: who, As: as})
	switch {
	case err != nil:
		return err
	case errors.Is(reformed.Err, holdfast.ErrUnsupported):
		return o.unsupported(port, "votes of members")
	case unknown != nil:
		return unknown
	case errors.Is(reformed.Err, holdfast.ErrConflict):
		return api.Fail(api.CodeConflict, fmt.Sprintf("member %q cannot be made %v in space %q: %v", member, as, o.name(port), reformed.Err))
	}
	return reformed.Err
}

// Shards returns which members vote in a space, as this member knows it: none where no member does. The errors are
// an ErrUnavailable at a member that was removed from the space, an ErrSpace and the context's.
func (o *Service) Shards(ctx context.Context, space string) (*protocol.Shards, error) {
	port, err := o.port(space)
	if err != nil {
		return nil, err
	}
	shards, err := query[*protocol.Shards](ctx, o, port, &protocol.ListShards{})
	if err != nil {
		return nil, err
	}
	return shards, shards.Err
}

// findGone returns the id of a member that takes part and is in no view any more; 0 where there is none.
func findGone(shards *protocol.Shards, member string) protocol.ID {
	for _, known := range shards.Known {
		if member != "" && (known.Name == member || known.Address == member) {
			return known.ID
		}
	}
	var none protocol.View
	for _, shard := range shards.List {
		for _, id := range slices.Concat(shard.Voters, shard.Learners) {
			if none.Name(id) == member {
				return id
			}
		}
	}
	return 0
}
