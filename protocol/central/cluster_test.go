package central_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestClusters plays each testdata/*.txt: several members, and views and leases that are
// written by hand. Package protocoltest lists the commands.
func TestClusters(t *testing.T) { protocoltest.Play(t, "testdata/*.txt", newMember) }

func newMember(o protocoltest.Options) (protocol.Machine, error) {
	return central.New(central.Config{Self: o.Self, Chunk: o.Chunk, Operators: o.Operators, Any: o.Any})
}
