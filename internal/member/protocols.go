package member

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
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

// Vocabulary lists one value of each type that goes into the machines of a member, or comes out of them.
func Vocabulary(protocols []protocol.Descriptor) []any {
	return slices.Concat(
		storage.Vocabulary(), protocol.Vocabulary(), membership.Vocabulary(), session.Vocabulary(), wire.Values(messages(protocols)...),
	)
}

// Messages makes the table of the messages between members that run these protocols.
func Messages(protocols []protocol.Descriptor) *wire.Table {
	return wire.NewTable(messages(protocols)...)
}

func messages(protocols []protocol.Descriptor) [][]wire.Type {
	lists := [][]wire.Type{election.Messages, membership.Messages}
	for i := range protocols {
		lists = append(lists, protocols[i].Messages)
	}
	return lists
}
