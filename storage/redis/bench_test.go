package redis_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// BenchmarkStore measures requests as locks make them, of one goroutine and of sixteen.
func BenchmarkStore(b *testing.B) { storagetest.Bench(b, open(b, realstore.Redis(b)), 1, 16) }
