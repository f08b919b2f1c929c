package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// forcedSpaces describes the effect on each space of a view of just the named members. Spaces that members decide under
// a view come back with it. A space of protocol consensus is in the logs of its voters, and without a majority of them
// its decisions are not known: a forced view does not replace that.
func (n *Member) forcedSpaces(ctx context.Context, self *membership.Self, named []string) (spaces []*schema.ForcedSpace, err error) {
	there := map[protocol.ID]bool{}
	for _, member := range self.Cell.Accepted.Members {
		there[member.ID] = slices.Contains(named, member.Name)
	}
	for i := range n.config.Spaces {
		space := &schema.ForcedSpace{Name: n.config.Spaces[i].Name, Protocol: n.config.Spaces[i].Protocol, Serves: true}
		if n.config.Spaces[i].Votes() {
			shards, err := n.admin.Shards(ctx, space.Name)
			if err != nil && shards == nil {
				return nil, ofSpace("force view", space.Name, err)
			}
			if space.Why = lacksVoters(shards, there); err != nil {
				space.Why = "this member was removed from it and does not know its voters any more: ask another member"
			}
			space.Serves = space.Why == ""
		}
		spaces = append(spaces, space)
	}
	return spaces, nil
}

// lacksVoters says which shard has too few voters, and what to do; "" if all have a majority.
func lacksVoters(shards *protocol.Shards, there map[protocol.ID]bool) string {
	if len(shards.List) == 0 {
		return "its log has not begun: that takes all voters at once"
	}
	for i := range shards.List {
		voters := shards.List[i].Voters
		var here, all []string
		for _, id := range voters {
			name := voterName(shards, id)
			if all = append(all, name); there[id] {
				here = append(here, name)
			}
		}
		if len(here) <= len(voters)/2 {
			return fmt.Sprintf("the new view has %d of its %d voters (%s), and it takes %d: start the others again with their data folders. "+
				"If those are lost for good, begin a new cluster with a snapshot (holdfast snapshot restore)",
				len(here), len(voters), protocol.JoinNames(all), len(voters)/2+1)
		}
	}
	return ""
}

// voterName returns a voter's last known name, or its id.
func voterName(shards *protocol.Shards, id protocol.ID) string {
	if i := slices.IndexFunc(shards.Known, func(m protocol.Member) bool { return m.ID == id }); i >= 0 {
		return shards.Known[i].Name
	}
	var none protocol.View
	return none.Name(id)
}
