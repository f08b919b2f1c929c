package folder_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// BenchmarkStore in a folder of TMPDIR, synced and not.
func BenchmarkStore(b *testing.B) {
	for name, option := range map[string]string{"synced": "", "not synced": "?sync=false"} {
		b.Run(name, func(b *testing.B) { storagetest.Bench(b, open(b, "folder://"+b.TempDir()+option), 1, 16) })
	}
}
