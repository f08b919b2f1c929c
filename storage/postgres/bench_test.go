package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage/postgres"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// BenchmarkStore on a server that does not wait for its disk.
func BenchmarkStore(b *testing.B) {
	store, err := postgres.Open(b.Context(), realstore.Postgres(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	storagetest.Bench(b, store, 1, 16)
}

// BenchmarkAdvisoryLock is what to compare a Swap with: a round trip that writes nothing.
func BenchmarkAdvisoryLock(b *testing.B) {
	c, err := pgx.Connect(b.Context(), realstore.Postgres(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(b.Context()); err != nil {
			b.Log(err) // the test's context has ended
		}
	})
	for b.Loop() {
		if _, err := c.Exec(b.Context(), "SELECT pg_advisory_lock($1)", 1); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := c.Exec(b.Context(), "SELECT pg_advisory_unlock($1)", 1); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
