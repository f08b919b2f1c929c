package replica

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
)

// TestReignBeginsAbove checks that an entry can give a lower bound for its reign, that this is read back, and that an
// impossible one is refused.
func TestReignBeginsAbove(t *testing.T) {
	r, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct{ above, want uint64 }{{0, 1}, {28_479_252, 28_479_253}, {7, 28_479_254}, {0, 28_479_255}} {
		entry := Entry{Begin: true, Above: tt.above}
		var read Entry
		if err := read.Decode(entry.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if read.Begin != entry.Begin || read.Above != entry.Above {
			t.Errorf("%d: read %+v, want %+v", i, read, entry)
		}
		r.Apply(&read, &Effects{})
		if got := r.Reign(); got != tt.want {
			t.Errorf("%d: reign %d above %d, want %d", i, got, tt.above, tt.want)
		}
	}
	last := Entry{Begin: true, Above: lock.MaxReign - 1}
	b := last.Append(nil)
	if err := new(Entry).Decode(b); err != nil {
		t.Error(err)
	}
	far := append(binary.AppendUvarint(b[:3], lock.MaxReign), 0)
	if err := new(Entry).Decode(far); err == nil || !strings.Contains(err.Error(), "2147483647") {
		t.Errorf("a reign above the last one is read, or refused for something else: %v", err)
	}
}
