package grantor_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestConversations plays each testdata/*.txt: several members, and views that are written
// by hand. Package protocoltest lists the commands.
func TestConversations(t *testing.T) { protocoltest.Play(t, "testdata/*.txt", newMember) }

func newMember(o protocoltest.Options) (protocol.Machine, error) {
	return grantor.New(grantor.Config{
		Config: authority.Config{Self: o.Self, Chunk: o.Chunk, Operators: o.Operators, Any: o.Any},
		Parked: o.Parked, Placement: o.Placement, HoldOn: o.HoldOn,
	})
}
