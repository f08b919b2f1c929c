package permission_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestConversations plays each testdata/*.txt: several members, and views that are written
// by hand. Package protocoltest lists the commands.
func TestConversations(t *testing.T) { protocoltest.Play(t, "testdata/*.txt", newMember) }

func newMember(o protocoltest.Options) (protocol.Machine, error) {
	return permission.New(permission.Config{
		Self: o.Self, Operators: o.Operators, Any: o.Any, Capacity: o.Capacity, Defer: o.Defer, Retain: o.Retain,
	})
}
