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
func Protocols() []protocol.Descriptor {
	return []protocol.Descriptor{
		central.Descriptor(),
		grantor.Descriptor(),
		permission.Descriptor(),
		bakery.Descriptor(),
		claim.Descriptor(),
		consensus.Descriptor(),
	}
}

// Vocabulary lists one value of each type that goes into the machines of a member, or
// comes out of them.
func Vocabulary(protocols []protocol.Descriptor) []any {
	all := slices.Concat(
		storage.Vocabulary(),
		protocol.Vocabulary(), election.Vocabulary(), membership.Vocabulary(), authority.Vocabulary(), local.Vocabulary(), session.Vocabulary(),
	)
	for _, p := range protocols {
		all = append(all, p.Vocabulary...)
	}
	return all
}
