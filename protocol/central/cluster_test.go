package central_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestClusters plays each testdata/*.txt: several members, and views and leases that are
// written by hand. Package protocoltest lists the commands.
func TestClusters(t *testing.T) { protocoltest.Play(t, "testdata/*.txt", central.Descriptor()) }
