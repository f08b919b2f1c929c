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

// Reform changes a member's role in a space whose members vote (protocol consensus), and returns when all its shards
// have the change: a member that is then a Nonmember may be switched off. The member is given by its name or its
// address; a voter that is no longer in the view by its former name or address or, if this member has not seen it since
// its start, by its id as views write ids. The error is an ErrUnsupported if no members vote; an ErrConflict if no such
// member is known, or for an obstacle that the error names; an ErrUnavailable if no member could answer in time; an
// ErrSpace; or the context's. After an ErrUnavailable or the context's error the change may have happened nevertheless.
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
	// A space whose members do not vote reports that first, regardless of the named member.
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

// Shards returns the voters of a space, as this member knows them; nil if its members do not vote. The errors are an
// ErrUnavailable at a member that was removed from the space, an ErrSpace and the context's.
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

// findGone returns the id of a participant that is in no view any more; 0 if there is none.
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
