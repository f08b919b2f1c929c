package central_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority/stage"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// TestClusters plays each testdata/*.txt: several members, and views and leases that are
// written by hand. Package stage lists the commands.
func TestClusters(t *testing.T) { stage.Play(t, "testdata/*.txt", newMember) }

func newMember(o stage.Options) (protocol.Machine, error) {
	return central.New(central.Config{Self: o.Self, Chunk: o.Chunk, Operators: o.Operators, Any: o.Any})
}
