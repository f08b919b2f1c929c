package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// needs describes in words which members a space needs in order to grant, and names the present members without which
// it cannot: both empty if it does not depend on voters. In spaces in memory that follows from the view
// ([membership.Self.Needs]); if members vote on a space's decisions, each shard needs more than half of its voters.
func (s *service) needs(view *protocol.View, space *Space, self *membership.Self) (text string, indispensable []string, err error) {
	if self == nil || space.Store != "" || space.Class == holdfast.Available {
		return "", nil, nil
	}
	known := naming(view, self)
	if !space.described.Logs {
		need := self.Needs()
		return needText(need, self, known, s.driver.Wall), names(need.Indispensable, known), nil
	}
	shards, err := query[*protocol.Shards](s, space.Port, &protocol.ListShards{})
	if err != nil {
		return "", nil, err
	}
	if shards.Err != nil {
		return "", nil, nil // it does not know the present voters
	}
	name := func(id protocol.ID) string {
		if i := slices.IndexFunc(shards.Known, func(m protocol.Member) bool { return m.ID == id }); i >= 0 {
			return shards.Known[i].Name
		}
		return known(id)
	}
	var texts []string
	for _, shard := range shards.List {
		need := majority(view, shard.Voters)
		text := needText(need, self, name, s.driver.Wall)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		for _, one := range names(need.Indispensable, name) {
			if !slices.Contains(indispensable, one) {
				indispensable = append(indispensable, one)
			}
		}
	}
	return strings.Join(texts, "; "), indispensable, nil
}

// majority returns a shard's need: more than half of its voters.
func majority(view *protocol.View, voters []protocol.ID) membership.Need {
	need := membership.Need{Voters: voters, Count: len(voters)/2 + 1}
	for _, id := range voters {
		if _, here := view.Of(id); here {
			need.Here = append(need.Here, id)
		}
	}
	if len(need.Here) == need.Count {
		need.Indispensable = need.Here
	}
	return need
}

// needText describes a need for people:
//
//	2 of m1, m2, m3
//	m1 and m2 (m3 is missing)
//	m1 (alone since 12:03:05; m2 and m3 are missing)
//	2 of m1, m2, m3 (m2 and m3 are missing)
func needText(need membership.Need, self *membership.Self, name func(protocol.ID) string, wall func(protocol.Time) time.Time) string {
	if len(need.Voters) == 0 {
		return ""
	}
	voters := names(need.Voters, name)
	slices.Sort(voters)
	text := fmt.Sprintf("%d of %s", need.Count, strings.Join(voters, ", "))
	switch {
	case len(need.Indispensable) > 0:
		indispensable := names(need.Indispensable, name)
		slices.Sort(indispensable)
		text = protocol.JoinNames(indispensable)
	case need.Half:
		text += fmt.Sprintf(", or %d with %s", len(need.Voters)/2, name(need.Voters[0]))
	}
	var missing []string
	var since protocol.Time
	for _, m := range slices.SortedFunc(slices.Values(self.Missing), byName) {
		missing, since = append(missing, cmp.Or(m.Name, m.Address)), max(since, m.Since)
	}
	if len(missing) == 0 {
		return text
	}
	verb := "is"
	if len(missing) > 1 {
		verb = "are"
	}
	text += " ("
	if len(need.Here) == 1 && len(need.Indispensable) == 1 {
		text += "alone since " + wall(since).Local().Format("15:04:05") + "; "
	}
	return fmt.Sprintf("%s%s %s missing)", text, protocol.JoinNames(missing), verb)
}

// byName orders missing members: those without a name, which have never appeared, are last.
func byName(a, b membership.Missing) int {
	if (a.Name == "") != (b.Name == "") {
		return cmp.Compare(b.Name, a.Name)
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
}

// naming returns a function that names a member: one outside the view by the newest view known here, or as a missing
// one. Only an unknown one is named by its id.
func naming(view *protocol.View, self *membership.Self) func(protocol.ID) string {
	return func(id protocol.ID) string {
		if member, listed := view.Of(id); listed || self == nil {
			return cmp.Or(member.Name, view.Name(id))
		}
		if member, listed := self.Cell.Accepted.Of(id); listed {
			return member.Name
		}
		if i := slices.IndexFunc(self.Missing, func(m membership.Missing) bool { return m.ID == id }); i >= 0 {
			return self.Missing[i].Name
		}
		if i := slices.IndexFunc(self.Members, func(m membership.Standing) bool { return m.ID == id }); i >= 0 { // this member, outside of the view
			return cmp.Or(self.Members[i].Name, view.Name(id))
		}
		return view.Name(id)
	}
}

func names(ids []protocol.ID, name func(protocol.ID) string) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = name(id)
	}
	return all
}

// missingDocuments lists the missing voters.
func (s *service) missingDocuments(self *membership.Self) (all []*schema.MissingMember) {
	for _, m := range self.Missing {
		all = append(all, &schema.MissingMember{Name: m.Name, Address: m.Address, Since: s.wall(m.Since)})
	}
	return all
}

func (s *service) wall(at protocol.Time) *timestamppb.Timestamp { return api.Stamp(s.driver.Wall(at)) }
