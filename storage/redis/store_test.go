package redis_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/redis"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

func open(tb testing.TB, url string) *redis.Store {
	tb.Helper()
	store, err := redis.Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// TestConformance: it does what package storage promises.
func TestConformance(t *testing.T) {
	url := realstore.Redis(t)
	storagetest.Run(t, func(tb testing.TB) storage.Store { return open(tb, url) })
}

// TestFaulty: it does so, too, where some of what is asked for comes to nothing.
func TestFaulty(t *testing.T) {
	url := realstore.Redis(t)
	storagetest.RunFaulty(t, func(tb testing.TB) storage.Store { return open(tb, url) })
}
