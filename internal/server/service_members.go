package server

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/protocol"
)

// self returns this member's knowledge of itself and of the others; nil without a source for that, or if the member is
// ending.
func (s *service) self() *membership.Self {
	if s.who == nil {
		return nil
	}
	self, err := s.who(s.life)
	if err != nil {
		return nil
	}
	return self
}

// clusterDocument returns a status without its spaces. Self is nil if only the view is known.
func (s *service) clusterDocument(view protocol.View, self *membership.Self) *schema.Status {
	identity := s.identity()
	me := &schema.Member{}
	proto.Merge(me, identity.Member)
	if _, over := s.lag(); over && (me.State == "" || me.State == "normal") {
		me.State = "overloaded"
	}
	document := &schema.Status{Version: identity.Version, Cluster: identity.Cluster, Member: me, View: &schema.View{Number: view.Number}}
	if identity.Sync > 0 {
		document.Disk = &schema.Disk{Sync: api.Span(identity.Sync)}
	}
	if self == nil {
		for _, member := range view.Members {
			if uint64(member.ID) == me.Id {
				document.View.Members = append(document.View.Members, me)
				continue
			}
			document.View.Members = append(document.View.Members, memberDocument(member, "normal", "normal"))
		}
	} else {
		document.View.Why = self.Why
		if me.State == "" || self.State != membership.Present {
			me.State = self.State.String()
		}
		me.Election = self.Election.Status.String()
		for _, standing := range self.Members {
			if uint64(standing.ID) == me.Id {
				me.Voter, me.Founder, me.Since = standing.Founder, standing.Founder, s.wall(standing.Since)
				document.View.Members = append(document.View.Members, me)
				continue
			}
			member := memberDocument(standing.Member.Member, standing.State.String(), standing.Election.String())
			member.Http, member.Since = standing.HTTP, s.wall(standing.Since)
			document.View.Members = append(document.View.Members, member)
		}
	}
	if coordinator, known := view.Of(view.Coordinator); known {
		document.View.Coordinator = coordinator.Name
	}
	if self != nil {
		document.Expected, document.Missing = int32(self.Founders), s.missingDocuments(self)
		if self.Stale != nil {
			document.Unwritten = &schema.Unwritten{Since: s.wall(self.Stale.Since), Why: self.Stale.Why}
		}
	}
	if s.warnings != nil {
		document.Warnings = s.warnings()
	}
	if s.forcer != nil {
		document.View.Forced = s.forcer.Forced()
	}
	return document
}

// memberDocument returns a view's data on a member.
func memberDocument(member protocol.Member, state, election string) *schema.Member {
	return &schema.Member{
		Name: member.Name, Id: uint64(member.ID), Incarnation: member.Tenure.Incarnation, Voter: member.Founder, Founder: member.Founder,
		Address: member.Address, State: state, Election: election,
	}
}

// roster returns the addresses for clients, as far as they are known here.
func (s *service) roster() *edge.Roster {
	view := s.view()
	r := &edge.Roster{}
	if authority, known := view.Of(s.authority(&view)); known {
		r.Authority = authority.Address
	}
	self := s.self()
	if self == nil {
		for _, member := range view.Members {
			if member.Address != "" {
				r.Members = append(r.Members, member.Address)
			}
		}
		return r
	}
	for _, standing := range self.Members {
		if standing.Serves && standing.Address != "" && standing.State != membership.Leaving {
			r.Members = append(r.Members, standing.Address)
		}
	}
	return r
}

// authority returns the member that decides in the default space; 0 while none is known. That is the view's
// coordinator, unless an elder names the authority: then it is the one found at the last check of the space. If all
// members decide, this one is as good as any, and no client is sent elsewhere.
func (s *service) authority(view *protocol.View) protocol.ID {
	seen := s.seen.Load()
	if seen != nil && len(seen.Authority) > 1 {
		if self := protocol.ID(s.identity().Member.GetId()); slices.Contains(seen.Authority, self) {
			return self
		}
	}
	switch {
	case seen == nil || seen.Elder == 0:
		return view.Coordinator
	case len(seen.Authority) == 0:
		return 0
	}
	return seen.Authority[0]
}
