package cassandra

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// BenchmarkStore measures requests as locks make them, of one goroutine and of sixteen:
//
//	TEST_STORES=required go test ./storage/cassandra -run '^$' -bench Store
func BenchmarkStore(b *testing.B) { storagetest.Bench(b, open(b, realstore.Cassandra(b)), 1, 16) }
