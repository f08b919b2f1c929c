package bakery_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestConversations plays each testdata/*.txt: several members, and views that are written by hand. Package
// protocoltest lists the commands.
func TestConversations(t *testing.T) { protocoltest.Play(t, bakery.Descriptor()) }
