package member

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/storage"
)

// Protocols lists the protocols that members run.
func Protocols() []Protocol {
	return []Protocol{
		{
			Name: "central",
			New: func(s *Config, _ *Space, self protocol.ID) (protocol.Machine, error) {
				return central.New(central.Config{Self: self, Table: s.Table, Patience: s.Patience, Any: s.Available})
			},
		},
		{
			Name: "grantor",
			New: func(s *Config, space *Space, self protocol.ID) (protocol.Machine, error) {
				return grantor.New(grantor.Config{
					Config:    authority.Config{Self: self, Table: s.Table, Patience: s.Patience, Any: s.Available},
					Placement: space.Placement, HoldOn: space.HoldOn,
				})
			},
			Vocabulary: grantor.Vocabulary(),
		},
		{
			Name: "permission",
			New: func(s *Config, space *Space, self protocol.ID) (protocol.Machine, error) {
				return permission.New(permission.Config{
					Self: self, Table: s.Table, Patience: s.Patience,
					Capacity: space.Capacity, Defer: space.Defer, Retain: space.Retain, Any: s.Available,
				})
			},
			Vocabulary: permission.Vocabulary(),
		},
		{
			Name: "bakery",
			New: func(s *Config, space *Space, self protocol.ID) (protocol.Machine, error) {
				return bakery.New(bakery.Config{
					Self: self, Founders: max(1, len(s.Founders)), Table: s.Table, Patience: s.Patience,
					Priority: space.Candidate, Random: space.Random, PID: s.PID,
					Published: space.Published, Grace: space.Grace, GraceOfHold: space.GraceOfHold, Any: s.Available,
				})
			},
			Vocabulary: bakery.Vocabulary(),
		},
		{
			Name: "claim",
			New: func(s *Config, space *Space, self protocol.ID) (protocol.Machine, error) {
				return claim.New(claim.Config{
					Options: space.Claim, Self: self, Table: s.Table, Patience: s.Patience,
					Random: uint64(space.Random), Store: space.Store,
				})
			},
		},
		{
			Name: "consensus", Lasting: true,
			New: func(s *Config, space *Space, self protocol.ID) (protocol.Machine, error) {
				alone := len(s.Founders) == 0
				return consensus.New(consensus.Config{
					Self: self, Life: space.life, Founders: max(1, len(s.Founders)), Founder: s.Founder || alone, Space: space.Name, Shards: space.Shards,
					Autopilot: space.Autopilot, Election: space.Election, Every: space.Every, Keep: space.Keep, Part: space.Part,
					Log: LogOf(space.Name), Logs: space.Logs, Table: s.Table, Sessions: s.Sessions, Random: uint64(space.Random),
					Above: membership.Second(s.Wall),
				})
			},
			Vocabulary: consensus.Vocabulary(),
		},
	}
}

// Vocabulary lists one value of each type that goes into the machines of a member, or
// comes out of them.
func Vocabulary(protocols []Protocol) []any {
	all := slices.Concat(
		storage.Vocabulary(),
		protocol.Vocabulary(), election.Vocabulary(), membership.Vocabulary(), authority.Vocabulary(), local.Vocabulary(), session.Vocabulary(),
	)
	for _, p := range protocols {
		all = append(all, p.Vocabulary...)
	}
	return all
}
