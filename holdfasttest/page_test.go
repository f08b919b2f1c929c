package holdfasttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// reprice is the code under test: it works until its context ends.
func reprice(ctx context.Context, locks holdfast.Locker, order string, working chan<- struct{}) error {
	return holdfast.Do(ctx, locks, order, func(ctx context.Context, _ *holdfast.Lock) error {
		close(working)
		<-ctx.Done()
		return ctx.Err()
	}, holdfast.Hold(time.Hour))
}

func TestRepriceStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // an hour takes no time
		locks := holdfasttest.New(t)
		working := make(chan struct{})
		go func() {
			<-working
			if _, err := locks.Client("another").TryLock(t.Context(), "orders/42"); err == nil {
				t.Error("another client has the lock, too")
			}
			locks.Expire() // as if this program were cut off from the members
		}()
		err := reprice(t.Context(), locks, "orders/42", working)
		if holdfast.Why(err) != holdfast.SessionExpired {
			t.Errorf("the work has ended with %v", err)
		}
	})
}

// watch passes each state of an order to show.
func watch(ctx context.Context, locks *holdfasttest.Locker, show func(held bool, client, value string, waiting int, missed bool)) error {
	for state, err := range locks.Observe(ctx, "orders/42") {
		if err != nil {
			return err // that of ctx, or one that no member would answer otherwise
		}
		holder, held := state.Leader()
		show(held, holder.Client, holder.Value, len(state.Waiters), state.Missed)
	}
	return nil
}

// TestPageOfObservers checks that the page for Go users shows the loop of watch as it is, and that it works.
func TestPageOfObservers(t *testing.T) {
	locks := holdfasttest.New(t)
	lock := must(locks.Client("job").Lock(t.Context(), "orders/42", holdfast.Value("half")))
	ctx, cancel := context.WithCancel(t.Context())
	var shown []string
	err := watch(ctx, locks, func(held bool, client, value string, waiting int, missed bool) {
		shown = append(shown, fmt.Sprintf("%v,%s,%s,%d,%v", held, client, value, waiting, missed))
		if !held {
			cancel()
			return
		}
		if err := lock.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
	if want := []string{"true,job,half,0,false", "false,,,0,false"}; !errors.Is(err, context.Canceled) || !slices.Equal(shown, want) {
		t.Errorf("shown: %q, error %v", shown, err)
	}
	source, page := string(must(os.ReadFile("page_test.go"))), string(must(os.ReadFile("../docs/go.md")))
	_, loop, _ := strings.Cut(source, "missed bool)) error {\n")
	loop, _, _ = strings.Cut(loop, "\treturn nil\n")
	if loop = strings.ReplaceAll("\n"+loop, "\n\t", "\n"); len(loop) < 100 || !strings.Contains(page, "```go"+loop+"```\n") {
		t.Errorf("docs/go.md does not show%s", loop)
	}
}

// TestPage checks that the page for Go users shows TestRepriceStops as it is, in less than 20 lines.
func TestPage(t *testing.T) {
	source, page := string(must(os.ReadFile("page_test.go"))), string(must(os.ReadFile("../docs/go.md")))
	_, test, _ := strings.Cut(source, "func TestRepriceStops")
	test, _, _ = strings.Cut(test, "\n}\n")
	test = "func TestRepriceStops" + test + "\n}\n"
	if lines := strings.Count(test, "\n"); lines < 10 || lines >= 20 {
		t.Errorf("the test has %d lines", lines)
	}
	if !strings.Contains(page, "\n```go\n"+test+"```\n") {
		t.Errorf("docs/go.md does not show\n%s", test)
	}
}
