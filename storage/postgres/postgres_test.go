package postgres_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/postgres"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// opener makes handles on the store at url.
func opener(url string) func(testing.TB) storage.Store {
	return func(tb testing.TB) storage.Store {
		store, err := postgres.Open(tb.Context(), url)
		if err != nil {
			tb.Fatal(err)
		}
		return store
	}
}

// TestConformance on a real server.
func TestConformance(t *testing.T) { storagetest.Run(t, opener(realstore.Postgres(t))) }
