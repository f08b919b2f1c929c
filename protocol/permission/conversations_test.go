package permission_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority/stage"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// TestConversations plays each testdata/*.txt: several members, and views that are written
// by hand. Package stage lists the commands.
func TestConversations(t *testing.T) { stage.Play(t, "testdata/*.txt", newMember) }

func newMember(o stage.Options) (protocol.Machine, error) {
	return permission.New(permission.Config{
		Self: o.Self, Operators: o.Operators, Any: o.Any, Capacity: o.Capacity, Defer: o.Defer, Retain: o.Retain,
	})
}
