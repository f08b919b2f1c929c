package memory_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// TestConformance on handles that share their rows.
func TestConformance(t *testing.T) {
	first := memory.New(memory.Config{})
	defer func() {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}()
	storagetest.Run(t, func(testing.TB) storage.Store { return first.Share() })
}
