package host

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestTurns checks that changes of one grant wait for each other, and those of another one for none; and that nothing is
// kept of a grant whose changes are over.
func TestTurns(t *testing.T) {
	lockOf := func(space, name string, token holdfast.Token, request uint64) *holdfast.Lock {
		return holdfast.NewLock(holdfast.Grant{Space: space, Name: name, Token: token}, request, holdfast.Forever, nil, context.Background())
	}
	var all turns
	x := lockOf("s", "x", 1, 1)
	end, err := all.take(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []*holdfast.Lock{lockOf("s", "y", 1, 2), lockOf("s", "x", 2, 3), lockOf("r", "x", 1, 4)} {
		end, err := all.take(t.Context(), other)
		if err != nil {
			t.Fatalf("%v waits for the change of another grant: %v", other, err)
		}
		end()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	again := lockOf("s", "x", 1, 5) // the owner's second lock of the grant
	if _, err := all.take(ended, again); !errors.Is(err, context.Canceled) {
		t.Errorf("a change whose call has ended: %v", err)
	}
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		end, err := all.take(t.Context(), again)
		if err != nil {
			t.Error(err)
			return
		}
		end()
	}()
	for waits := false; !waits; runtime.Gosched() {
		all.mu.Lock()
		waits = all.of[grant{"s", "x", 1}].users == 2
		all.mu.Unlock()
	}
	select {
	case <-taken:
		t.Error("two changes of one grant act at once")
	default:
	}
	end()
	<-taken
	if len(all.of) != 0 {
		t.Errorf("%d grants are kept", len(all.of))
	}
}
