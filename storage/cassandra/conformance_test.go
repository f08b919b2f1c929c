package cassandra

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// TestConformance: what every store promises.
func TestConformance(t *testing.T) {
	url := realstore.Cassandra(t)
	storagetest.Run(t, func(tb testing.TB) storage.Store {
		s, err := Open(tb.Context(), url)
		if err != nil {
			tb.Fatal(err)
		}
		return s
	})
}
