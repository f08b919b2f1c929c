package descriptors_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/descriptors"
)

func TestShares(t *testing.T) {
	for _, tt := range []struct{ limit, connections, tables int }{
		{8, 4, 4}, {64, 32, 4}, {512, 256, 32}, {1024, 768, 64}, {20_256, 20_000, 64}, {1 << 30, 1<<30 - 256, 64},
	} {
		if c, f := descriptors.ForConnections(tt.limit), descriptors.ForTables(tt.limit); c != tt.connections || f != tt.tables {
			t.Errorf("of %d descriptors connections get %d, and tables %d; want %d and %d", tt.limit, c, f, tt.connections, tt.tables)
		}
	}
	if l := descriptors.Limit(); l < 16 || l > 1<<30 {
		t.Errorf("the limit is %d", l)
	}
}

func TestExhausted(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.ENOSPC: false, syscall.EIO: false, errors.New("too many open files"): false,
	} {
		if got := descriptors.Exhausted(fmt.Errorf("open a file: %w", &fs.PathError{Op: "open", Path: "f", Err: err})); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
