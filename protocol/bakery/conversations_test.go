package bakery_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestConversations plays each testdata/*.txt: several members, and views that are written
// by hand. Package protocoltest lists the commands.
func TestConversations(t *testing.T) { protocoltest.Play(t, "testdata/*.txt", newMember) }

func newMember(o protocoltest.Options) (protocol.Machine, error) {
	return bakery.New(bakery.Config{
		Self: o.Self, Operators: o.Operators, Any: o.Any, Founders: o.Founders, Priority: o.Priority,
		Random: o.Random, Published: o.Published, Grace: o.Grace, GraceOfHold: o.GraceOfHold,
	})
}
